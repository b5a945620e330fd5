"""How names are shown."""


def join_names(names, separator=", "):
    """All names in one line."""
    return separator.join(names)
