"""What the model can do: one file per tool, one row each in `tools.base`."""
