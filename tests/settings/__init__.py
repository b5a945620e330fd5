"""Tests of the settings: what a key may hold, and which source counts."""
