"""The forms in which models write a tool call as text, family by family; ../toolcall_text.py puts them together."""
