"use strict";

/** The last item; undefined for an empty list. */
function last(items) {
  return items[items.length - 1];
}

module.exports = { last };
