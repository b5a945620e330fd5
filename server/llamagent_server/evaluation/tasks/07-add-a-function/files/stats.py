"""Small statistics."""


def mean(values):
    """The average. Raises ValueError for no values."""
    if not values:
        raise ValueError("no values")
    return sum(values) / len(values)
