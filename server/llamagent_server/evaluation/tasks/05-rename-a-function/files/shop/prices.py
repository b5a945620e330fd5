"""Prices of orders."""


def calc(items):
    """The sum of price times count."""
    return sum(price * count for price, count in items)
