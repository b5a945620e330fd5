"""A list of files that is too long is told by its folders, however they lie."""

from llamagent_server.tools.folding import folded


def test_folders_are_opened_while_there_is_room_and_counted_else() -> None:
    paths = [*(f"many/{number}/x.py" for number in range(100)), "a/one.py", "top.py"]
    short = folded(sorted(paths), 60)
    assert short.rows == (("a/one.py",) * 2, ("many/ (100 files)", "many"), ("top.py",) * 2)
    assert short.left_out and not short.more


def test_a_file_below_more_folders_than_a_recursion_has_levels_is_listed_with_the_others() -> None:
    deep = "/".join(["a"] * 5000)
    short = folded([f"{deep}/x.txt", *(f"b/{number}.txt" for number in range(300)), "top.txt"], 12_000)
    lines = [line for line, _ in short.rows]
    assert lines[0].startswith("a/a/") and lines[0].count("/") > 2000
    assert "b/7.txt" in lines and lines[-1] == "top.txt"
