"""Tests of what is kept: journals, conversations, trust, skills, settings files."""
