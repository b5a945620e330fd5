"""Titles as parts of addresses."""

import re


def slug(title):
    """Lower case, words joined by one hyphen, nothing else; "untitled" where nothing is left."""
    words = re.findall(r"[a-z0-9]+", title.lower())
    return "-".join(words) or "untitled"
