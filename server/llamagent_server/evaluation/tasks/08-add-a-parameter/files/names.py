"""How names are shown."""


def join_names(names):
    """All names in one line."""
    return ", ".join(names)
