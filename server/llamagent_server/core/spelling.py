"""Names that models know from other agents, read as ours. A foreign spelling is an alias, not an error."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from llamagent_server.core.messages import Json, ToolCall

TOOLS: Mapping[str, str] = {
    "read_local_file": "read_file",
    "open_file": "read_file",
    "view_file": "read_file",
    "cat": "read_file",
    "create_file": "write_file",
    "write_local_file": "write_file",
    "save_file": "write_file",
    "str_replace": "edit_file",
    "replace_in_file": "edit_file",
    "bash": "run_command",
    "shell": "run_command",
    "execute_command": "run_command",
    "run_shell_command": "run_command",
    "grep": "search_text",
    "search": "search_text",
    "search_files": "search_text",
    "ls": "list_files",
    "list_directory": "list_files",
    "list_dir": "list_files",
    "skill": "load_skill",
}

ARGUMENTS: Mapping[str, str] = {
    "filepath": "path",
    "file_path": "path",
    "filename": "path",
    "file": "path",
    "directory": "path",
    "dir": "path",
    "old_str": "old_text",
    "old_string": "old_text",
    "new_str": "new_text",
    "new_string": "new_text",
    "cmd": "command",
    "start_line": "start",
    "end_line": "end",
    "query": "pattern",
    "regex": "pattern",
    "text": "content",
    "contents": "content",
    "file_content": "content",
    "skill": "name",
    "skill_name": "name",
}


_JOINTS = str.maketrans("", "", "-_ \t")


def canonical(call: ToolCall, declared: Mapping[str, frozenset[str]]) -> ToolCall:
    """`call` in our spelling. `declared` maps a tool's name to its argument names; what is declared keeps its name."""
    if call.name == "run_python_script" and "run_python_script" not in declared:
        return _python_script(call)
    name = _tool(call.name, declared)
    known = declared.get(name, frozenset())
    arguments: dict[str, Json] = {}
    for key, value in call.arguments.items():
        alias = ARGUMENTS.get(key)
        use_alias = key not in known and alias in known and alias not in call.arguments
        arguments[alias if use_alias and alias is not None else key] = value
    same = name == call.name and arguments.keys() == call.arguments.keys()
    return call if same else replace(call, name=name, arguments=arguments, respelled=True)


def _tool(name: str, declared: Collection[str]) -> str:
    """The declared tool that `name` means: as it is, by another agent's name, or but for case and what joins words."""
    if name in declared or name in TOOLS:
        return name if name in declared else TOOLS[name]
    folded = _folded(name)
    ours = {known for known in declared if _folded(known) == folded}
    alias = {known for foreign, known in TOOLS.items() if _folded(foreign) == folded and known in declared}
    meant = ours or alias
    return meant.pop() if len(meant) == 1 else name


def _folded(name: str) -> str:
    return name.casefold().translate(_JOINTS)


def _python_script(call: ToolCall) -> ToolCall:
    path = call.arguments.get("filepath", call.arguments.get("path"))
    command = f"python {quote(path)}" if isinstance(path, str) and path else ""
    return replace(call, name="run_command", arguments={"command": command} if command else {}, respelled=True)


def quote(word: str) -> str:
    """One word of a POSIX shell command."""
    plain = word and all(character.isalnum() or character in "_-./:=@%+," for character in word)
    return word if plain else "'" + word.replace("'", "'\"'\"'") + "'"
