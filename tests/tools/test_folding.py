"""A list of files that is too long is told by its folders, however they lie."""

from llamagent_server.tools.folding import folded


def test_folders_are_opened_while_there_is_room_and_counted_else() -> None:
    paths = [*(f"many/{number}/x.py" for number in range(100)), "a/one.py", "top.py"]
    lines, left_out = folded(sorted(paths), 60)
    assert (lines, left_out) == (["a/one.py", "many/ (100 files)", "top.py"], True)


def test_a_file_below_more_folders_than_a_recursion_has_levels_is_listed_with_the_others() -> None:
    deep = "/".join(["a"] * 5000)
    lines, _ = folded([f"{deep}/x.txt", *(f"b/{number}.txt" for number in range(300)), "top.txt"], 12_000)
    assert lines[0].startswith("a/a/") and lines[0].count("/") > 2000
    assert "b/7.txt" in lines and lines[-1] == "top.txt"
