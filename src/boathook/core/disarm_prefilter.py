"""Whether a tool call may concern what self-protection guards: cheap. A "no" is certain, because the guard asks this first."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

# Most calls name no word of a protected place and change nothing: they end here. A call is handed on if it names such a word, if it
# changes a path that is, holds or is in a protected place, or if it changes something by a pattern or a variable that only the
# reader of shell commands understands. The fast path imports this, so annotations are quoted.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    # The words of protected places, the programs that change something, the places (see `make_places_text`), the home folder, the
    # ends of folders that hold a place (see `list_holder_ends`), and tools that change nothing.
    DisarmRow = tuple[
        tuple[str, ...], frozenset[str], tuple[str, tuple[str, ...]], str, tuple[str, ...], frozenset[str]
    ]
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
_IMPLIED_PATHS = {
    "clean": ".",
    "stash": ".",
    "sparse-checkout": ".",
    "uv": ".venv",
    "find": ".",
    "fd": ".",
    "fdfind": ".",
}
# Programs that may print what another one then runs or changes.
_PRINTERS = frozenset(("base64", "base32", "xxd", "printf", "openssl", "rev", "tr", "eval"))
# Programs that take what they change from what another one lists.
_TAKERS = frozenset(("xargs", "parallel"))
_LISTERS = frozenset(
    (
        *(
            "ls",
            "gls",
            "dir",
            "exa",
            "eza",
            "find",
            "fd",
            "fdfind",
            "grep",
            "egrep",
            "fgrep",
            "zgrep",
            "rg",
            "ag",
            "ack",
        ),
        *("git", "locate", "plocate", "mlocate", "mdfind", "tree", "du"),
    )
)
_PATHSPEC_MARKS = (" :!", " :^", " :(", " :/")
_MODULE = ("boathook", ".")
_PATCH_LINES = ("*** ", "+++ ", "--- ", "rename ")


def may_disarm(tool: str, tool_input: "Any", folder: str, row: "DisarmRow", find_real: "Callable[[str], str]") -> bool:
    """Whether self-protection may object to a call. `find_real` returns the real path of a path."""
    words, verbs, places, home, ends, reading_tools = row
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
        if tool not in _FILE_TOOLS and _may_change(text, bases, verbs, places, home, ends, find_real):
            return True
        if tool not in _SHELL_TOOLS and _has_protected_path(_list_path_leaves(text), bases, places, home, find_real):
            return True
    return False


def make_places_text(paths: "Iterable[str]") -> "Places":
    """Return places so that a path can be compared with all of them at once: as lines, and as beginnings of what is in them."""
    lower = [path.lower() for path in paths]
    return "\n" + "\n".join(lower) + "\n", tuple([f"{path}/" for path in lower])


def list_holder_ends(paths: "Iterable[str]", roots: "Iterable[str]") -> "tuple[str, ...]":
    """Return how paths end that are folders which hold a place, and are more than a home folder or a project."""
    ends: list[str] = []
    tops = sorted(roots, key=len)
    for path in paths:
        top = [root for root in tops if path.startswith(f"{root}/")][-1:]
        parts = path[len(top[0]) :].strip("/").split("/")[:-1] if top else []
        names = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
        ends += [name.lower() if name.startswith(".") else f"/{name.lower()}" for name in names]
    return tuple(dict.fromkeys(ends))


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
            # The program may be one value, and what it is called with others.
            if len(item) > 1:
                leaves.append(_join_texts(item.values()))
            pending.extend(item.values())
            keys.extend([key for key in item if isinstance(key, str)])
        elif isinstance(item, list | tuple):
            # A command may be a list of words.
            if item and all(isinstance(one, str) for one in item):
                leaves.append(" ".join(item))
            else:
                pending.extend(item)
    return leaves, keys, folders


def _join_texts(values: "Iterable[Any]") -> str:
    return " ".join(
        [
            " ".join([str(one) for one in value]) if isinstance(value, list) else value
            for value in values
            if isinstance(value, str | list)
        ]
    )


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
    ends: "tuple[str, ...]",
    find_real: "Callable[[str], str]",
) -> bool:
    tokens = text.translate(_SPLIT).split()
    # `FOLDER:FOLDER` of containers, `!program` of aliases, `@program` of rules.
    tokens += [part for token in tokens if ":" in token for part in token.split(":") if part]
    names = {token.rpartition("/")[2].lower().lstrip("!@") for token in tokens}
    has_verb = not verbs.isdisjoint(names) or _has_vague_program(text)
    # Where a path leads after that is for the reader of shell commands.
    if any(name in names for name in _FOLDER_CHANGES) and (has_verb or ">" in text):
        return True
    holders = [token for token in tokens if token.rstrip("/").lower().endswith(ends)]
    # Code puts names behind the home folder that it asks for.
    if holders and has_verb and "home" in text.lower():
        return True
    if not has_verb:
        # A program that is not known may change a folder that it is called with.
        if holders and _has_protected_path(holders, bases, places, home, find_real):
            return True
        if holders and any(name in names for name in _FOLDER_CHANGES):
            return True
        if ">" not in text:
            return False
        tokens = _list_redirection_targets(text)
    elif not _PRINTERS.isdisjoint(names) or (not _TAKERS.isdisjoint(names) and not _LISTERS.isdisjoint(names)):
        return True
    # A path of git's that begins with a colon is more than a path.
    if has_verb and any(mark in text for mark in _PATHSPEC_MARKS):
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
            written = path if not base else f"{base}/{path}" if base.startswith("/") else f"{bases[0]}/{base}/{path}"
            # A program may cut `..` out of the text, or leave it to the system.
            forms = [_normalize(written), *([resolve_parents(written, find_real)] if "/.." in written else [])]
            for one in dict.fromkeys((*forms, *map(find_real, forms))):
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


def resolve_parents(path: str, find_real: "Callable[[str], str]") -> str:
    """Return an absolute path as the system reads it: `..` behind a link is the folder above the target of the link."""
    parts: list[str] = []
    # So many of the parts are known to have no links, so that a long row of `..` is looked up once.
    real_count = 0
    for part in path.split("/"):
        if part == "..":
            if len(parts) > real_count:
                parts = [name for name in find_real("/" + "/".join(parts)).split("/") if name]
            del parts[-1:]
            real_count = len(parts)
        elif part and part != ".":
            parts.append(part)
    return "/" + "/".join(parts)
