"""llamagent: a coding agent on a local language model, served to any editor over the Language Server Protocol."""

__version__ = "0.1.0"
