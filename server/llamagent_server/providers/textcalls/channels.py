"""The channels of a reply whose marks leaked into its content: what was thought, and what is said."""

import re

_HEAD = r"\s*+(?:<\|start\|>\s*+assistant)?\s*+<\|channel\|>\s*+"
_END = r"(?:<\|end\|>|<\|return\|>|(?=<\|start\|>|<\|channel\|>)|\Z)"
_THOUGHT = re.compile(
    rf"{_HEAD}analysis\s*<\|message\|>(?P<harmony>.*?){_END}"
    r"|\s*<\|START_THINKING\|>(?P<cohere>.*?)(?:<\|END_THINKING\|>|\Z)"
    # The marks themselves may be lost, and only the words in them be left.
    r"|analysis(?=[A-Z])(?P<bare>.*?)(?=assistant(?:final|commentary))",
    re.DOTALL,
)
_SAID = re.compile(
    rf"{_HEAD}(?:final|commentary)\s*(?:<\|constrain\|>\w+)?<\|message\|>|\s*<\|START_RESPONSE\|>|assistantfinal(?=\S)"
)
_LAST = ("<|return|>", "<|end|>", "<|END_RESPONSE|>")


def split_channels(content: str) -> tuple[str, str]:
    """(thinking, content) of a content that begins with channel marks; any other is given back as it is."""
    thoughts, at = [], 0
    while True:
        if thought := _THOUGHT.match(content, at):
            thoughts.append("".join(text for text in thought.groups() if text).strip())
            at = thought.end()
        elif said := _SAID.match(content, at):
            at = said.end()
        else:
            break
        if at == len(content):
            break
    if not at:
        return "", content
    return "\n\n".join(filter(None, thoughts)), _without_last(content[at:])


def _without_last(text: str) -> str:
    for mark in _LAST:
        if text.rstrip().endswith(mark):
            return _without_last(text.rstrip().removesuffix(mark))
    return text
