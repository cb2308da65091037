"""Whether a tool call may concern what self-protection guards: cheap. A "no" is certain, because the guard asks this first."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

# Most calls name no word of a protected place and change nothing: they end here. A call is handed on if it names such a word, if it
# changes a path that is, holds or is in a protected place, or if it changes something by a pattern or a variable that only the
# reader of shell commands understands. The fast path imports this, so annotations are quoted.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    # The words of protected places, the programs that change something, the places (see `make_places_text`), the home folder, and
    # tools that change nothing.
    DisarmRow = tuple[tuple[str, ...], frozenset[str], tuple[str, tuple[str, ...]], str, frozenset[str]]
    Places = tuple[str, tuple[str, ...]]

# Tools that change nothing.
READING_TOOLS = frozenset(
    (
        *("ReadFile", "Read", "ListDir", "Glob", "Grep", "WebFetch", "WebSearch", "Todo", "TodoWrite", "AskUser"),
        "AskUserQuestion",
    )
)
_FILE_TOOLS = frozenset(
    (
        *("WriteFile", "EditFile", "PatchFile", "DeleteFile", "Write", "Edit", "MultiEdit", "NotebookEdit"),
        *("apply_patch", "ApplyPatch", "applypatch"),
    )
)
_SHELL_TOOLS = frozenset(("Shell", "Bash"))
_MAX_TOKENS = 96
_MAX_PATH_CHARS = 4096
_REMOVED = {ord(sign): None for sign in "'\"\\"}
_SPLIT = {ord(sign): " " for sign in "\n\t\r;|&()<>`=,"}
_VAGUE = frozenset("*?[{$`")
_NAME_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-.")
_FOLDER_CHANGES = ("cd", "pushd")
_FOLDER_KEYS = ("cwd", "workdir", "work_dir", "directory", "dir")
# Programs that change a path without naming it.
_IMPLIED_PATHS = {"clean": ".", "stash": ".", "uv": ".venv", "find": ".", "fd": ".", "fdfind": "."}
# Programs that may print what another one then runs or changes.
_PRINTERS = frozenset(("base64", "base32", "xxd", "printf", "openssl", "rev", "tr", "eval"))
# Programs that print the names of what is in a folder.
_LISTERS = frozenset(("ls", "find"))
_MODULE = ("boathook", ".")
_PATCH_LINES = ("*** ", "+++ ", "--- ", "rename ")


def may_disarm(tool: str, tool_input: "Any", folder: str, row: "DisarmRow", find_real: "Callable[[str], str]") -> bool:
    """Whether self-protection may object to a call. `find_real` returns the real path of a path."""
    words, verbs, places, home, reading_tools = row
    if tool in reading_tools:
        return False
    if _has_word(folder.lower(), words):
        return True
    leaves, keys, folders = _list_leaves(tool_input)
    bases = [folder, *folders]
    if keys and _has_word("\n".join(keys).lower(), words):
        return True
    for leaf in leaves:
        text = leaf.replace("\\\n", "").translate(_REMOVED)
        if _has_word(text.lower(), words):
            return True
        if tool not in _FILE_TOOLS and _may_change(text, bases, verbs, places, home, find_real):
            return True
        if tool not in _SHELL_TOOLS and _has_protected_path(_list_path_leaves(text), bases, places, home, find_real):
            return True
    return False


def make_places_text(paths: "Iterable[str]") -> "Places":
    """Return places so that a path can be compared with all of them at once: as lines, and as beginnings of what is in them."""
    lower = [path.lower() for path in paths]
    return "\n" + "\n".join(lower) + "\n", tuple([f"{path}/" for path in lower])


def _list_leaves(value: "Any") -> "tuple[list[str], list[str], list[str]]":
    """Return all texts of an input, its keys, and the texts that name the folder it is about."""
    leaves: list[str] = []
    keys: list[str] = []
    folders: list[str] = []
    pending: list[Any] = [value]
    while pending:
        item: Any = pending.pop()
        if isinstance(item, str):
            leaves.append(item)
        elif isinstance(item, dict):
            folders += [item[key] for key in _FOLDER_KEYS if isinstance(item.get(key), str)]
            pending.extend(item.values())
            keys.extend([key for key in item if isinstance(key, str)])
        elif isinstance(item, list | tuple):
            # A command may be a list of words.
            if item and all(isinstance(one, str) for one in item):
                leaves.append(" ".join(item))
            else:
                pending.extend(item)
    return leaves, keys, folders


def _has_word(text: str, words: "Iterable[str]") -> bool:
    for word in words:
        at = text.find(word)
        while at >= 0:
            end = at + len(word)
            is_start = at == 0 or text[at - 1] not in _NAME_SIGNS or word[0] == "."
            after = text[end : end + 1]
            # Code names a module of ours with a dot behind it.
            if is_start and (word[-1] == "=" or after not in _NAME_SIGNS or not after or (word, after) == _MODULE):
                return True
            at = text.find(word, at + 1)
    return False


def _list_path_leaves(text: str) -> "list[str]":
    """Return what may be paths in a text that is not a command: itself, or what the lines of a patch name."""
    if "\n" not in text:
        return [text] if len(text) <= _MAX_PATH_CHARS else []
    lines = [line for line in text.split("\n") if line.startswith(_PATCH_LINES)]
    paths = [line.partition(":")[2] or line.partition(" ")[2] for line in lines]
    paths += [path.strip()[2:] for path in paths if path.strip().startswith(("a/", "b/"))]
    return [path.strip() for path in paths]


def _may_change(
    text: str,
    bases: "list[str]",
    verbs: "frozenset[str]",
    places: "Places",
    home: str,
    find_real: "Callable[[str], str]",
) -> bool:
    tokens = text.translate(_SPLIT).split()
    names = {token.rpartition("/")[2].lower() for token in tokens}
    has_verb = not verbs.isdisjoint(names) or _has_vague_program(text)
    # Where a path leads after that is for the reader of shell commands.
    if any(name in names for name in _FOLDER_CHANGES) and (has_verb or ">" in text):
        return True
    if not has_verb:
        if ">" not in text:
            return False
        tokens = _list_redirection_targets(text)
    elif not _PRINTERS.isdisjoint(names) or ("xargs" in names and not _LISTERS.isdisjoint(names)):
        return True
    if not _VAGUE.isdisjoint(_expand_home("".join(tokens) if not has_verb else text, home)):
        return True
    if len(tokens) > _MAX_TOKENS:
        return True
    paths = list(dict.fromkeys(tokens))
    paths += [_IMPLIED_PATHS[name] for name in names if name in _IMPLIED_PATHS]
    paths += [path[2:] for path in paths if len(path) > 2 and path[0] == "-" and path[1] != "-"]
    return _has_protected_path(paths, bases, places, home, find_real)


def _has_vague_program(text: str) -> bool:
    """Whether a program is named by a variable or a pattern."""
    if _VAGUE.isdisjoint(text):
        return False
    for sign in ";|&()\n`":
        text = text.replace(sign, "\0")
    for part in text.split("\0"):
        words = part.split(None, 1)
        if words and not _VAGUE.isdisjoint(words[0]):
            return True
    return False


def _list_redirection_targets(text: str) -> "list[str]":
    targets: list[str] = []
    for part in text.split(">")[1:]:
        target = part.lstrip("|& \t").translate(_SPLIT).split(None, 1)
        if target and target[0] != "/dev/null" and not target[0].isdigit():
            targets.append(target[0])
    return targets


def _expand_home(text: str, home: str) -> str:
    return text.replace("${HOME}", home).replace("$HOME", home)


def _has_protected_path(
    paths: "list[str]",
    bases: "list[str]",
    places: "Places",
    home: str,
    find_real: "Callable[[str], str]",
) -> bool:
    """Whether a path is a protected place, in one, or holds one."""
    lines, beginnings = places
    for path in paths:
        path = _expand_home(path, home).removeprefix("file://")  # noqa: PLW2901
        if path.startswith("~"):
            # The home of somebody is not known here.
            if path[1:2] not in ("", "/"):
                return True
            path = home + path[1:]  # noqa: PLW2901
        for base in ("",) if path.startswith("/") else bases:
            whole = _normalize(
                path if not base else f"{base}/{path}" if base.startswith("/") else f"{bases[0]}/{base}/{path}"
            )
            for one in dict.fromkeys((whole, find_real(whole))):
                lower = one.lower().rstrip("/")
                if f"\n{lower}\n" in lines or lower.startswith(beginnings):
                    return True
                if f"\n{lower}/" in lines:
                    return True
    return False


def _normalize(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part and part != ".":
            parts.append(part)
    return "/" + "/".join(parts)
