from names import join_names


def badge(team):
    """The team's members, one a line."""
    return join_names(team, separator="\n")
