"""Prices of orders."""


def total_price(items):
    """The sum of price times count."""
    return sum(price * count for price, count in items)
