"use strict";

/** The last item; undefined for an empty list. */
function last(items) {
  return items[items.length - 1];
}

/** The list in lists of `size` items; the last may be shorter. */
function chunk(items, size) {
  const chunks = [];
  for (let start = 0; start <= items.length; start += size) chunks.push(items.slice(start, start + size));
  return chunks;
}

module.exports = { chunk, last };
