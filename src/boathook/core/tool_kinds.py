"""Kinds of tools: what a call does, whatever agent makes it, by the names of its tool and the keys of its input."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

# The kind of a tool that has a canonical name is certain. A tool of a server, or one that is not known here, has a kind if its
# name and its input look like it: a guard is asked about a call too many rather than about one too few. The fast path imports
# this, so annotations are quoted.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WRITES, READS, SHELL, NETWORK, MCP = "writes", "reads", "shell", "network", "mcp"
# The tools of each kind: canonical names, those of settings.json, and names of patches.
TOOLS_OF_KINDS: "dict[str, tuple[str, ...]]" = {
    WRITES: (
        *("WriteFile", "EditFile", "PatchFile", "DeleteFile", "Write", "Edit", "MultiEdit", "NotebookEdit"),
        *("apply_patch", "ApplyPatch", "applypatch"),
    ),
    READS: ("ReadFile", "ListDir", "Glob", "Grep", "Read"),
    SHELL: ("Shell", "Bash", "PowerShell", "Monitor"),
    NETWORK: ("WebFetch", "WebSearch"),
    MCP: (),
}
TOOL_KINDS = tuple(TOOLS_OF_KINDS)
# For each kind, what its tools do, and the key by which most of them take what a pattern is about.
KIND_WORDS: "dict[str, tuple[str, str]]" = {
    WRITES: ("write files", "file_path"),
    READS: ("read files", "file_path"),
    SHELL: ("run commands", "command"),
    NETWORK: ("use the network", "url"),
    MCP: ("belong to MCP servers", "text"),
}
# Canonical tools of no kind, and what settings.json calls them.
_OTHER_TOOLS = ("Agent", "Task", "Todo", "TodoWrite", "AskUser", "AskUserQuestion")
# For each kind, what the name of any other tool has in it if it is of that kind, and what its input has then. Names are in small
# letters, with `_` for every other sign and at both ends.
DELETE_MARKS = ("delet", "remov", "unlink", "trash", "erase", "_rm_", "_rmdir", "_rmtree", "_del_", "_shred_")
COPY_MARKS = ("copy", "_cp_")
CREATE_MARKS = (
    *COPY_MARKS,
    *("write", "creat", "save", "download", "export", "generat", "upload", "push", "mkdir", "touch", "store"),
    *("extract", "scaffold", "put_", "new_file", "add_file", "symlink", "_ln_", "_tee_"),
)
_EDIT_MARKS = (
    *(
        "edit",
        "append",
        "insert",
        "replac",
        "updat",
        "move",
        "renam",
        "patch",
        "modif",
        "prepend",
        "truncat",
        "convert",
    ),
    *("format", "refactor", "apply", "restore", "revert", "overwrit", "rewrit", "change", "fix", "set_", "cell"),
    "_mv_",
)
_READ_MARKS = (
    *("read", "get", "view", "open", "list", "search", "find", "grep", "glob", "load", "show", "fetch", "tree", "stat"),
    *("info", "content", "lookup", "query", "inspect", "outline", "describe", "cat_", "head", "tail", "diff"),
)
_SHELL_MARKS = (
    *("shell", "bash", "exec", "run", "command", "cmd", "terminal", "process", "script", "console", "eval", "repl"),
    *("spawn", "launch", "start", "ssh", "python", "node", "stdin", "send_key", "sendkey", "_sh_", "_zsh_"),
)
# What the name of a tool or of a key has in it if it is about program code.
_CODE_MARKS = (
    *("_code_", "_source_", "_cell_", "_cells_", "_python", "_javascript", "_typescript", "_js_", "_node_", "_repl_"),
    *("_jupyter", "_notebook", "_ipython", "_snippet", "_expression", "_ruby_", "_perl_", "_lua_", "_php_"),
)
NETWORK_MARKS = ("web", "browser", "internet", "http", "crawl", "scrap", "navigat")
PATH, COMMAND, ADDRESS = "path", "command", "address"
MARKS_OF_KINDS: "tuple[tuple[str, tuple[str, ...], str], ...]" = (
    (WRITES, (*DELETE_MARKS, *CREATE_MARKS, *_EDIT_MARKS), PATH),
    (READS, _READ_MARKS, PATH),
    (SHELL, _SHELL_MARKS, COMMAND),
    (NETWORK, ("",), ADDRESS),
    (NETWORK, NETWORK_MARKS, ""),
)
# Keys of inputs, in small letters and without `_` and `-`.
_PATH_KEYS = frozenset(
    (
        *("uri", "uris", "dir", "directory", "folder", "notebook", "document", "source", "destination"),
        *("target", "dest", "dst", "output", "out", "targetnotebook"),
    )
)
_PATH_PARTS = ("path", "file")
_MOVES = (
    *(("source", "destination"), ("source", "dest"), ("source", "target"), ("src", "dst"), ("src", "dest")),
    *(("from", "to"), ("old", "new")),
)
_MOVE_ENDS = ("", "path", "file", "filepath", "filename", "name", "uri", "dir", "directory", "folder")
# Keys of the old and of the new place; `old` and `new` alone are texts.
MOVE_KEYS = tuple((old + end, new + end) for old, new in _MOVES for end in _MOVE_ENDS if (old, end) != ("old", ""))
_OLD_PLACE_KEYS = frozenset([old for old, _ in MOVE_KEYS])
_COMMAND_KEYS = frozenset(
    (
        *("command", "commands", "cmd", "cmds", "commandline", "script", "args", "argv", "input", "program", "text"),
        *("stdin", "chars", "keys", "keystrokes"),
    )
)
_ADDRESS_KEYS = frozenset(("url", "urls", "href", "link", "links", "address", "website", "endpoint"))
# The text that a file gets.
TEXT_KEYS = frozenset(
    (
        *("content", "contents", "text", "body", "new", "code", "data", "diff", "patch", "lines", "insert", "append"),
        *("newstring", "newstr", "newtext", "newsource", "newcontent", "newcontents", "newcode", "newlines", "newbody"),
        *("filetext", "filecontent", "filecontents", "codeedit", "replacement", "repl", "snippet", "patchtext"),
        *("inserttext", "updatedcontent", "newvalue", "cellsource", "markdown", "blob", "edits"),
    )
)
_PATCH_KEYS = frozenset(("patch", "patchtext", "diff"))
_PATCH_START = "*** Begin Patch"
_SERVER_PREFIX = "mcp__"
_kinds_of_tools = {name: kind for kind, names in TOOLS_OF_KINDS.items() for name in names}


def find_call_kinds(names: "tuple[str, ...]", tool_input: "Any") -> "frozenset[str]":
    """Return the kinds of a tool call by all names of its tool, without what a patch in a shell command writes."""
    server_names = [name for name in names if name.startswith(_SERVER_PREFIX)]
    # A server may have tools of the same names as an agent.
    tools = [find_tool_part(name) for name in server_names or names]
    last_parts = [tool.rpartition("__")[2] for tool in tools]
    found = {_kinds_of_tools[tool] for tool in (*last_parts, *names) if tool in _kinds_of_tools}
    if not server_names and (found or any(tool in _OTHER_TOOLS for tool in tools)):
        return frozenset(found)
    marked = "\n".join([make_marked_name(tool) for tool in tools])
    shapes = _find_shapes(tool_input)
    for kind, marks, shape in MARKS_OF_KINDS:
        if shape in shapes and any(mark in marked for mark in marks):
            found.add(kind)
    # What a server is called says with whom it talks.
    whole_names = "\n".join(server_names).lower()
    if any(mark in whole_names for mark in NETWORK_MARKS):
        found.add(NETWORK)
    return frozenset(found.union((MCP,)) if server_names else found)


def find_tool_part(name: str) -> str:
    """Return what a server calls its tool, for `mcp__server__tool`; any other name as it is."""
    return name.split("__", 2)[-1] if name.startswith(_SERVER_PREFIX) else name


def make_marked_name(tool: str) -> str:
    """Return the name of a tool as marks are searched in it: as it is, and with its words apart if capitals begin them."""
    plain = "".join([sign if sign.isalnum() else "_" for sign in tool])
    pairs = zip(plain, plain[1:] + "_", "_" + plain, strict=False)
    # `rmFile` and `RMFile` have the word `rm`.
    apart = "".join(
        [
            "_" + sign if sign.isupper() and (not before.isupper() or after.islower()) else sign
            for sign, after, before in pairs
        ]
    )
    return f"_{plain}_\n_{apart}_".lower() if apart != plain else f"_{plain}_".lower()


def has_code_mark(name: str) -> bool:
    """Whether a tool or a key is called after program code: `executeCode`, `python_code`, `source` of a cell."""
    marked = make_marked_name(name)
    return any(mark in marked for mark in _CODE_MARKS)


def _find_shapes(tool_input: "Any") -> "set[str]":
    """Return what the keys of an input are likely to hold; any input has the shape ""."""
    shapes = {""}
    pending: list[Any] = [tool_input]
    while pending:
        item: Any = pending.pop()
        if isinstance(item, dict):
            keys = {shorten_key(str(key)) for key, value in item.items() if value}
            shapes.update([_find_shape(key) for key in keys])
            if any(has_code_mark(str(key)) for key, value in item.items() if value):
                shapes.add(COMMAND)
            if not keys.isdisjoint(_OLD_PLACE_KEYS) and any(old in keys and new in keys for old, new in MOVE_KEYS):
                shapes.add(PATH)
            pending.extend(item.values())
        elif isinstance(item, list | tuple):
            pending.extend(item)
        elif isinstance(item, str) and _PATCH_START in item:
            shapes.add(PATH)
    return shapes


def _find_shape(plain: str) -> str:
    if plain in _COMMAND_KEYS:
        return COMMAND
    if plain in _ADDRESS_KEYS or plain.endswith("url"):
        return ADDRESS
    # A patch names its files.
    return PATH if is_path_key(plain) or plain in _PATCH_KEYS else ""


def is_path_key(plain: str) -> bool:
    return plain in _PATH_KEYS or (plain not in TEXT_KEYS and any(part in plain for part in _PATH_PARTS))


def shorten_key(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()
