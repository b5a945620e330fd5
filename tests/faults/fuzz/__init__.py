"""Fuzzing of everything that reads what others wrote: `python -m tests.faults.fuzz --help`."""
