"""Orders as they come in."""

from store.discounts import discount
from store.money import cents


def total(order):
    """What the customer pays, in cents."""
    full = sum(cents(item["price"]) * item["count"] for item in order["items"])
    return full - discount(full, order["customer"])
