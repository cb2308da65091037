"""Tool calls at the border: a host's name and keys become ours, and what hooks made of an input goes back under the host's."""

# Keys without a counterpart stay. A model may add keys of ours to deceive a guard: the host's own key replaces them.

from boathook.core.json_text import get_at_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from boathook.hosts.host import Renames, ToolTable

# At the end of a host's key: a list of texts or objects, which here is one text of several lines beside it.
LIST_MARK = "[]"
# What the objects in a list have for a key of ours; "path" for any other key.
_ITEM_KEYS = {
    "file_path": ("path", "filePath", "file_path"),
    "old_string": ("oldString", "old_str", "old_string"),
    "new_string": ("newString", "new_str", "new_string"),
}
# Other keys for the same command.
COMMAND_KEYS = ("command", "args", "cmd")
# Where a tool that calls the tool of any server has the input of that one, which may be JSON in a text.
SERVER_ARGUMENTS = "arguments"
# So many ways to split the name of a server's tool are tried.
MAX_SPLITS = 16
# Instead of a host's key: the host expresses this in a way that has no counterpart here.
NO_KEY = ""


def translate_call(
    tools: "ToolTable", name: str, given: "Mapping[str, Any]"
) -> "tuple[str, dict[str, Any], dict[str, str]]":
    ours, renames = tools.get(name, (name, ()))
    names = {key: key for key in given}
    texts: dict[str, str] = {}
    for key, places in _group_by_key(renames).items():
        found = next(iter(_list_present(places, given)), None)
        if found is None:
            if NO_KEY in places and key in given:
                names[key] = _move_away(key, given)
        elif found.endswith(LIST_MARK):
            if key in given:
                names[key] = _move_away(key, given)
            text = join_lines(given[found.removesuffix(LIST_MARK)], key)
            texts |= {key: text} if text is not None else {}
        elif found != key:
            names[found] = key
            if key in given:
                names[key] = found
    renamed = {new: old for old, new in names.items() if old != new}
    return ours, {**{names[key]: value for key, value in given.items()}, **texts}, renamed


def find_key_conflict(renames: "Renames", given: "Mapping[str, Any]") -> str:
    """Return which keys of an input say differently what one key of ours means, "" if none do: a host reads only one."""
    for key, places in _group_by_key(renames).items():
        found = [place.removesuffix(LIST_MARK) for place in _list_present(places, given)]
        values = [given[name] for name in found if given[name] is not None]
        if any(value != values[0] for value in values):
            return f"the keys {' and '.join(repr(name) for name in found)} differ, which both mean '{key}',"
    return ""


def list_server_names(
    form: str, places: "tuple[str, ...]", name: str, fields: "Mapping[str, Any]"
) -> "tuple[str, ...]":
    """Return `mcp__server__tool` for the name that a host has for the tool of a server; none if it has not the host's form.

    Where the server ends is uncertain if the sign behind it is in its name, too; then every split is returned. A name with signs
    that most agents do not allow is also returned without them.
    """
    prefix, _, rest = form.partition("{")
    if name.startswith("mcp__"):
        return (name, _replace_signs(name)) if name != _replace_signs(name) else ()
    if not form or not name.startswith(prefix):
        return ()
    body, separator = name[len(prefix) :], rest.partition("}")[2].partition("{")[0]
    server, tool = [get_at_place(fields, place) if place else body for place in places] or (None, None)
    names = [f"mcp__{server}__{tool}"] if isinstance(server, str) and isinstance(tool, str) and server and tool else []
    at = body.find(separator, 1) if separator else -1
    while at > 0 and len(names) < MAX_SPLITS:
        if at + len(separator) < len(body):
            names.append(f"mcp__{body[:at]}__{body[at + len(separator) :]}")
        at = body.find(separator, at + 1)
    return tuple(dict.fromkeys((*names, *(_replace_signs(name) for name in names))))


def _replace_signs(name: str) -> str:
    """Return the name that agents which allow no other signs have for the tool of a server."""
    return "".join(char if (char.isascii() and char.isalnum()) or char in "_-" else "_" for char in name)


def normalize_input(tools: "ToolTable", name: str, given: "Any") -> "Any":
    """Return an input as an object with the list that the host reads, where its tool takes other shapes as well."""
    # A call without that list is put in one: the host takes it, and a guard sees a text under `command` whatever the model
    # chose. A patch may come as the whole input.
    ours, renames = tools.get(name, (name, ()))
    if ours == "PatchFile" and isinstance(given, str):
        return {renames[0][0] if renames else "patch": given}
    place = next((theirs for theirs, key in renames if theirs.endswith(LIST_MARK) and key == "command"), "")
    listed, fields = place.removesuffix(LIST_MARK), _fields(given)
    text = join_lines(given) if place and listed not in fields else None
    if text is None:
        return given
    return {**{key: value for key, value in fields.items() if key not in COMMAND_KEYS}, listed: [text]}


def _fields(value: "Any") -> "dict[str, Any]":
    found: dict[str, Any] = value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    return found


def restore_input(
    tools: "ToolTable", name: str, renamed: "Mapping[str, Any]", before: "Mapping[str, Any]", now: "Mapping[str, Any]"
) -> "dict[str, Any]":
    """Return a whole input under the host's keys: `before` is what `translate_call` returned, `now` what hooks made of it."""
    _, renames = tools.get(name, (name, ()))
    now = _remove_texts(renames, before, now)
    found = {renamed.get(key, key): value for key, value in now.items() if key in before}
    places = _group_by_key(renames)
    for key in now.keys() - before.keys():
        theirs = places.get(key, [key])[0]
        found.setdefault(key if theirs == NO_KEY or theirs.endswith(LIST_MARK) else theirs, now[key])
    return found


def _group_by_key(renames: "Renames") -> "dict[str, list[str]]":
    """Return the host's keys that each of our keys may have there, the likeliest first."""
    found: dict[str, list[str]] = {}
    for theirs, key in renames:
        found.setdefault(key, []).append(theirs)
    return found


def _list_present(places: "list[str]", given: "Mapping[str, Any]") -> "list[str]":
    """Return the places that an input has, those with a value first."""
    found = [place for place in places if place and place.removesuffix(LIST_MARK) in given]
    return sorted(found, key=lambda place: given[place.removesuffix(LIST_MARK)] is None)


def _move_away(key: str, given: "Mapping[str, Any]") -> str:
    while key in given:
        key = f"host_{key}"
    return key


def _remove_texts(renames: "Renames", before: "Mapping[str, Any]", now: "Mapping[str, Any]") -> "dict[str, Any]":
    left = dict(now)
    for theirs, key in renames:
        listed = theirs.removesuffix(LIST_MARK)
        text = join_lines(before.get(listed), key) if theirs.endswith(LIST_MARK) else None
        if text is not None and before.get(key) == text:
            value = left.pop(key, text)
            if value != text:
                left[listed] = _put_text(left.get(listed), key, value)
    return left


def _put_text(listed: "Any", key: str, text: "Any") -> "list[Any]":
    """Return a list with a new text. Where it belongs is certain for one object only; a host refuses a text among objects."""
    items: list[Any] = listed if isinstance(listed, list) else []  # pyright: ignore[reportUnknownVariableType]
    one = _fields(items[0]) if len(items) == 1 else {}
    name = next((name for name in _ITEM_KEYS.get(key, ()) if name in one), "")
    return [{**one, name: text}] if name else [text]


def join_lines(value: "Any", key: str = "command") -> "str | None":
    """Return a text, or a list of texts or objects, as lines of text; None if there is none, or a command cannot be read.

    An object is a program with arguments if the lines become a command, otherwise it has the text under a key of its own.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        one: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        texts = [one[name] for name in _ITEM_KEYS.get(key, ("path",)) if isinstance(one.get(name), str)]
        return _join_program(one) if key == "command" else texts[0] if texts else None
    if not isinstance(value, list):
        return None
    listed: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
    parts = [join_lines(one, key) for one in listed]
    lines = [part for part in parts if part is not None]
    is_complete = key != "command" or len(lines) == len(parts)
    return "\n".join(lines) if lines and is_complete else None


def _join_program(value: "dict[str, Any]") -> "str | None":
    for key in ("commands", "cmd"):
        if key in value:
            return join_lines(value[key])
    command, args = value.get("command"), value.get("args")
    if not isinstance(command, str) or args is None:
        return command if isinstance(command, str) else None
    listed: list[Any] = args if isinstance(args, list) else [args]  # pyright: ignore[reportUnknownVariableType]
    return " ".join((command, *(_quote(str(one)) for one in listed)))


def _quote(word: str) -> str:
    plain = word and all(char.isalnum() or char in "@%+=:,./-_*?[]~" for char in word)
    return word if plain else "'" + word.replace("'", "'\"'\"'") + "'"
