"""Small statistics."""


def mean(values):
    """The average. Raises ValueError for no values."""
    if not values:
        raise ValueError("no values")
    return sum(values) / len(values)


def median(values):
    """The middle value, or the mean of the two middle ones. Raises ValueError for no values."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
