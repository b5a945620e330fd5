"""What a prompt mentions."""

import pytest

from llamagent_server.core.mentions import Mention, mentions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("look at @src/app.py", [Mention("@src/app.py", "src/app.py")]),
        ("@a.py", [Mention("@a.py", "a.py")]),
        ("(@a.py), '@b.py'!", [Mention("@a.py", "a.py"), Mention("@b.py", "b.py")]),
        ("is it @a.py? Or @b.py.", [Mention("@a.py", "a.py"), Mention("@b.py", "b.py")]),
        ("@a.py:10-20", [Mention("@a.py:10-20", "a.py", 10, 20)]),
        ("@a.py:7, please", [Mention("@a.py:7", "a.py", 7, 7)]),
        ("@a.py:", [Mention("@a.py", "a.py")]),
        ("@a.py:0-3", [Mention("@a.py:0-3", "a.py", 1, 3)]),
        ("@a.py:x", [Mention("@a.py:x", "a.py:x")]),
        ('@"my file.txt" and', [Mention('@"my file.txt"', "my file.txt")]),
        ('@"my file.txt":3-4', [Mention('@"my file.txt":3-4', "my file.txt", 3, 4)]),
        ('@"my file.txt:3-4" and', [Mention('@"my file.txt:3-4"', "my file.txt", 3, 4)]),
        ("see @'a b.py' and", [Mention("@'a b.py'", "a b.py")]),
        ("@'a b.py':3-4", [Mention("@'a b.py':3-4", "a b.py", 3, 4)]),
        ("@'it's here.py'.", [Mention("@'it's here.py'", "it's here.py")]),
        ("@“a b.py”, @„c d.py“:7", [Mention("@“a b.py”", "a b.py"), Mention("@„c d.py“:7", "c d.py", 7, 7)]),
        ("@‘a b.py’ @’it’s c.py’", [Mention("@‘a b.py’", "a b.py"), Mention("@’it’s c.py’", "it’s c.py")]),
        ("@«\u00a0a b.py\u00a0» !", [Mention("@«\u00a0a b.py\u00a0»", "a b.py")]),
        ("in “@a.py” and ‘@b.py’", [Mention("@a.py", "a.py"), Mention("@b.py", "b.py")]),
        ("that's @'s end, isn't it", []),
        ("don't, it's @a.py, isn't it", [Mention("@a.py", "a.py")]),
        ("an open @'a b.py", []),
        ("an open @“a b.py", []),
        ("@src/", [Mention("@src/", "src/")]),
        ("@.", []),
        ("@./a.py", [Mention("@./a.py", "./a.py")]),
        ("@.gitignore", [Mention("@.gitignore", ".gitignore")]),
        ("@\u00e4\u00f6.py", [Mention("@\u00e4\u00f6.py", "\u00e4\u00f6.py")]),
        ("@a.py @a.py @a.py:1", [Mention("@a.py", "a.py"), Mention("@a.py:1", "a.py", 1, 1)]),
        ("write to me@example.org or <me@example.org>", []),
        ("a @ b, @, @@", []),
        ('@""', []),
        ("use `@dataclass` here", []),
        ("```\n@property\ndef x(self): ...\n```\nsee @a.py", [Mention("@a.py", "a.py")]),
        ("`a\n\n@a.py `", [Mention("@a.py", "a.py")]),
        ("``a ` @b.py`` @a.py", [Mention("@a.py", "a.py")]),
        ("an open ` and @a.py", [Mention("@a.py", "a.py")]),
        ("", []),
    ],
)
def test_what_is_mentioned(text: str, expected: list[Mention]) -> None:
    assert list(mentions(text)) == expected


def test_a_long_prompt_takes_no_time_to_speak_of() -> None:
    assert mentions("`" * 5000 + " @a.py " + "@" * 5000 + '@"' * 5000) != ()
    assert len(mentions(" @'a'b" * 5000 + " @“a" * 5000 + " @‘a’b" * 5000 + " @c.py")) == 1
