"""The entry stands under Unreleased, Fixed; the releases below are as they were."""

from pathlib import Path

text = Path("CHANGELOG.md").read_text(encoding="utf-8")
entry = "A sensor that is unplugged no longer stops the service."
assert text.count(entry) == 1, "the entry is not there once"
unreleased, _, released = text.partition("## 1.2.0")
head, fixed, body = unreleased.partition("### Fixed")
assert fixed and f"- {entry}" in body, "it is not under Fixed of what is not released"
assert "- `station read --json`." in head, "what was added is gone"
assert entry not in released
right = "\n\n### Added\n\n- A log of the sensors.\n\n### Fixed\n\n- Values below zero are shown with their sign.\n"
assert released == right, "the released part was changed"
