"""What is kept: journals, the list of conversations, trust, skills, settings files."""
