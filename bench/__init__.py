"""Benchmarks: how long things take, measured by hand, never asserted in a test."""
