"""Prices as people write them."""


def cents(price):
    """"12.34" as 1234. Prices have two digits after the point, one, or none."""
    whole, _, rest = price.partition(".")
    return int(whole) * 100 + int(rest or 0)
