"""A long list in pages."""


def pages(items, size):
    """How many pages of `size` items are needed."""
    return len(items) // size + 1


def page(items, number, size):
    """The items of page `number`, counted from 1."""
    start = number * size
    return items[start : start + size]
