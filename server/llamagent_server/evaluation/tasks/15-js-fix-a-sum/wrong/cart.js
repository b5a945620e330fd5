"use strict";

/** The sum of an order. Prices come from a form, as text. */
function total(items) {
  let sum = 0;
  for (const item of items) {
    sum += item.price * item.count;
    sum += item.wrapped ? item.wrapping : 0;
  }
  return parseInt(sum, 10);
}

module.exports = { total };
