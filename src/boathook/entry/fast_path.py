"""Most events match no hook: that is decided here, with almost no imports. For everything else the engine is loaded."""

# It answers only that there is nothing to do, and only if the compiled catalogue proves it; the engine reports all errors.
# Annotations are quoted in the modules that are imported here, because `__future__` would be one more import.

import sys

if "boathook" not in sys.modules:
    # Started by `hook_entry`. To import an empty package takes as long as to import a module, so these are made here.
    for _name in ("catalog_cache", "core", "hosts", "sources", "system"):
        _package = sys.modules["boathook." + _name] = type(sys)("boathook." + _name)
        _package.__path__ = [__file__.replace("entry/fast_path.py", _name)]

from boathook.catalog_cache.format import find_compiled, may_match, may_match_tool
from boathook.core.json_text import MAX_TEXT_CHARS, JsonError, decode, dumps, get_at_place, iter_leaves, loads
from boathook.entry.options import parse_options
from boathook.sources.source import SOURCES, choose_sources, list_default_sources
from boathook.system.locations import (
    OWN_FOLDER,
    RealPaths,
    choose_start,
    current_dir,
    find_host_project,
    is_dir,
    read_environment,
    resolve_locations,
    system,
)

# The tools that write files, under every name that the files of a patch have (see `core.patch`).
FILE_TOOLS = ("WriteFile", "Write", "EditFile", "Edit", "DeleteFile")

# As in `core.notices`, which is not imported here.
NEAR_MISSES, REPORTED_TO_PERSON, UNTRUSTED, WAITING = "near-miss", "person", "untrusted", "waiting"
SESSION_START = "pre-session"
MAX_SESSION_CHARS = 128
# Each of them is looked for in the whole text.
FEW_LEAVES = 8
# As in `process.sessions`.
TRUSTED_NOTE = "trusted-"

# As in `core.disarm_prefilter`, which is imported only if these leave something open.
VAGUE_SIGNS = frozenset("*?[{$`>")
NO_QUOTES = {39: None, 34: None, 92: None}
NO_SEPARATORS = {ord(sign): " " for sign in ";|&()<=,!:@"}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from boathook.entry.options import Options


def enter(
    args: "list[str]",
    data: "bytes | None" = None,
    leave: "Callable[[int], object] | None" = None,
    *,
    is_for_hooks: bool = False,
) -> "NoReturn":
    """Answer one event. The warm engine has read the input already, may know that hooks are wanted, and leaves in its own way."""
    if args[:1] == ["--supervise"]:
        _find_libraries()
        from boathook.assembly import supervise_async_hook

        supervise_async_hook()
        system._exit(0)
    if args[:1] == ["--ask"]:
        _find_libraries()
        from boathook.process.remote_hooks import run_remote_hook

        system._exit(run_remote_hook())
    leave = leave or _end_cold
    options = read_fast_options(args)
    try:
        if data is None and options is not None:
            data = _read_all()
    except KeyboardInterrupt:
        leave(130)
    answer = None
    if options is not None and data is not None and not is_for_hooks:
        answer = find_answer(options, data)
    if answer is not None and _write(answer):
        leave(0)
    _find_libraries()
    from boathook.entry.run_once import main

    code, is_broken = 130, False
    try:
        code = main(args, data)
    except Exception:
        is_broken = True
        raise
    finally:
        # Nothing is left to do, so a second signal cannot change the code. `hook_entry` answers if this cannot run.
        if not is_broken:
            leave(code)
    raise AssertionError


def _end_cold(code: int) -> "NoReturn":
    # It is imported where `hooks.warm` is on.
    if warm_start := sys.modules.get("boathook.entry.warm_start"):
        warm_start.start_requested()
    system._exit(code)


def read_fast_options(args: "list[str]") -> "Options | None":
    """Return the options if the fast path may answer with them, else None."""
    try:
        options = parse_options(args)
    except Exception:  # noqa: BLE001  (the engine reports it)
        return None
    return options if options.is_fast else None


def _read_all() -> "bytes | None":
    if system.isatty(0):
        system.write(2, b"boathook: reading the event (JSON) from the terminal; end it with Ctrl-D\n")
    parts = []
    try:
        while part := system.read(0, 1 << 16):
            parts.append(part)
    except BlockingIOError:
        from boathook.entry.run_once import read_all

        parts.append(read_all(0))
    except OSError:
        return None
    return b"".join(parts)


def _write(answer: bytes) -> bool:
    try:
        return not answer or system.write(1, answer) == len(answer)
    except OSError:
        return False


def find_answer(options: "Options", data: bytes, env: "Any" = None) -> "bytes | None":
    """Return the answer that says nothing if it is certain that no hook has anything to do with an event, else None."""
    try:
        return _prove_nothing_to_do(options, data, env)
    except Exception:  # noqa: BLE001
        return None


def _prove_nothing_to_do(options: "Options", data: bytes, env: "Any" = None) -> "bytes | None":
    if len(data) > MAX_TEXT_CHARS:
        return None
    try:
        event = loads(decode(data))
    except JsonError:
        return None
    # A tool with several names is for the engine.
    if not isinstance(event, dict) or "host_tool_name" in event:
        return None
    found = _find_catalogue(options, event, read_environment() if env is None else env)
    if found is None:
        return None
    locations, compiled, (rule, events, tools) = found
    call = _find_call(compiled, options, event, rule, events, tools) if _is_well_formed(event, rule) else None
    if call is None:
        return None
    kinds, tool_names, tool_input, has_context, fields = call
    if _has_unreported(compiled, locations, event, rule, kinds, has_context=has_context):
        return None
    if any(kind in compiled.head["reset_kinds"] for kind in kinds) and is_dir(locations.state + "/sessions"):
        return None
    is_wanted = any(_may_be_wanted(compiled, kind, tool_names, tool_input, fields) for kind in kinds)
    if is_wanted or any(_may_be_protected(compiled, kind, tool_names, tool_input, event, rule) for kind in kinds):
        return None
    # Last, because the engine looks at all files, too: an event that is left to it needs no look here.
    if not compiled.is_fresh():
        return None
    if compiled.head["is_warm"]:
        from boathook.entry.warm_start import request_resident

        request_resident(options.folders)
    answer: bytes = rule["answer"]
    return answer


def _find_catalogue(options: "Options", event: "dict[str, Any]", env: "Any") -> "tuple[Any, Any, Any] | None":
    """Return the locations of an event, their catalogue, and the host's row in it, which the engine would use, too.

    Whether the catalogue is fresh was not looked at yet.
    """
    # The row says where the host names its project, and is part of the catalogue, which is found by that project. Every
    # catalogue has the same rows: one that a guess leads to says whether the guess is right, or which one to look at.
    variable = f"${options.host.upper().replace('-', '_')}_PROJECT_DIR"
    guesses = [
        _find_start(options, event, env, {"folder_keys": ("work_dir", "cwd"), "project_at": (place,)})
        for place in (variable, OWN_FOLDER)
    ]
    for start in dict.fromkeys(guesses):
        for _ in range(2):
            locations, compiled = _load_catalogue(options, start, env)
            if compiled is None:
                break
            row = compiled.section(f"host {options.host}")
            guessed, start = start, _find_start(options, event, env, row[0])  # noqa: PLW2901
            if start == guessed:
                return locations, compiled, row
    return None


def _find_start(options: "Options", event: "dict[str, Any]", env: "Any", rule: "dict[str, Any]") -> str:
    folders = [get_at_place(event, place) for place in rule["folder_keys"]]
    folder = next((folder for folder in folders if isinstance(folder, str)), "")
    host_project = find_host_project(rule["project_at"], env, lambda place: get_at_place(event, place))
    start = choose_start(options.project, host_project, folder)
    if not start.startswith("/") or "//" in start or "\0" in start:
        return ""
    return "" if "/./" in start + "/" or "/../" in start + "/" else start


def _load_catalogue(options: "Options", start: str, env: "Any") -> "tuple[Any, Any]":
    """Return the locations of a start and their catalogue, None if there is none; it says which sources are enabled.

    Whether it is fresh was not looked at yet, only whether the one is that says so.
    """
    if not start or (options.project is not None and not is_dir(options.project)):
        return None, None
    locations = _locate(options, start, env)
    compiled = find_compiled(locations)
    if compiled is None:
        return None, None
    rules = compiled.head["source_rules"]
    enabled = choose_sources(rules, locations.real_start) if rules else ()
    if rules and enabled != list_default_sources():
        # What was enabled before may be enabled in another folder of the project now, with a catalogue that is fresh.
        if not compiled.is_fresh():
            return None, None
        locations = _locate(options, start, env, enabled)
        compiled = find_compiled(locations)
    return locations, compiled


def _locate(options: "Options", start: str, env: "Any", enabled: "tuple[str, ...] | None" = None) -> "Any":
    return resolve_locations(
        SOURCES,
        start,
        env,
        given=options.folders,
        without=options.without,
        enabled=enabled,
        trust_all=options.trust_all,
    )


def _is_well_formed(event: "dict[str, Any]", rule: "dict[str, Any]") -> bool:
    """Whether nothing is unusual about an event; the engine reports what is, and finds out whether another agent calls."""
    texts = [get_at_place(event, key) for key in rule["text_keys"]]
    return (
        all(text is None or isinstance(text, str) for text in texts)
        and all(isinstance(event.get(key, {}), dict) for key in rule["object_keys"])
        and not any(key in event for key in rule["foreign_keys"])
    )


def _find_call(
    compiled: "Any", options: "Options", event: "dict[str, Any]", rule: "dict[str, Any]", events: "Any", tools: "Any"
) -> "tuple[Any, Any, Any, bool, dict[str, Any]] | None":
    names = [event[key] for key in rule["event_keys"] if event.get(key) is not None]
    rows = {events.get(name) for name in ([options.event, *names] if options.event is not None else names)}
    row = rows.pop() if len(rows) == 1 else None
    if row is None:
        return None
    kinds, required_key, tool_name, name_places, input_places, has_context, field_places = row
    if required_key and not event.get(required_key):
        return None
    fields = {key: _find_value(event, places) for key, places in field_places}
    if not name_places:
        return kinds, ("",), {}, has_context, fields
    name, tool_input = _find_value(event, name_places), _find_value(event, input_places)
    name = tool_name if name is None and tool_name else name
    # An input that is a text may be JSON, which the engine parses first.
    if not isinstance(name, str) or "{" in name or isinstance(tool_input, str):
        return None
    known = tools.get(name) or (compiled.section("tools").get(name) if rule["knows_all_tools"] else None)
    all_names, renames = known or ((name,), ())
    # A name with other signs has a second one.
    if name.startswith("mcp__") and not (name.isascii() and name.replace("-", "_").isidentifier()):
        return None
    # The input of the tool of a server may be a text as well.
    if name in rule["server_callers"]:
        return None
    if rule["server_tool"] and name not in tools:
        server_names = _list_names_of_servers(rule, name, {**event, "tool_input": tool_input})
        all_names = (*all_names, *server_names) if known else (*server_names, name)
    if renames and tool_input:
        from boathook.hosts.tool_calls import find_key_conflict, normalize_input, translate_call

        table = {name: (name, renames)}
        tool_input = normalize_input(table, name, tool_input)
        if isinstance(tool_input, dict):
            # The engine refuses such a call.
            if find_key_conflict(renames, tool_input):
                return None
            _, tool_input, _ = translate_call(table, name, tool_input)
    if not (tool_input is None or isinstance(tool_input, dict)):
        return None
    # A call that starts a subagent is for the hooks of subagents, too.
    if all_names[0] == "Agent":
        return None
    # The engine refuses some calls of a shell without a command that can be read, and patches that cannot be read.
    text_key = {"Shell": "command", "PatchFile": "patch"}.get(all_names[0])
    if text_key and tool_input and not isinstance(tool_input.get(text_key), str):
        return None
    return kinds, all_names, tool_input, has_context, fields


def _list_names_of_servers(rule: "dict[str, Any]", name: str, fields: "dict[str, Any]") -> "tuple[str, ...]":
    from boathook.hosts.tool_calls import list_server_names

    places = rule["server_callers"].get(name, rule["server_places"])
    return list_server_names(rule["server_tool"], places, name, fields)


def _has_unreported(
    compiled: "Any",
    locations: "Any",
    event: "dict[str, Any]",
    rule: "dict[str, Any]",
    kinds: "Any",
    *,
    has_context: bool,
) -> bool:
    """Whether something is to be said at this event, because it was not yet said in the session."""
    # A pause of self-protection is said, and its file is removed when it is over.
    if _is_there(locations.state + "/unlocked.json"):
        return True
    counts = [name for name, _ in compiled.head["counts"]]
    tells_model, trusted = rule["hides_messages"] and has_context, compiled.head["trusted_digest"]
    wanted = {*(counts if tells_model else ()), *((REPORTED_TO_PERSON,) if NEAR_MISSES in counts else ())}
    if UNTRUSTED in counts and SESSION_START in kinds and not rule["hides_messages"]:
        wanted.add(WAITING)
    if not wanted and not tells_model and not trusted:
        return False
    places = [get_at_place(event, place) for place in rule["session_keys"]]
    session = next((text for text in places if isinstance(text, str)), "")
    # Files of sessions with unusual names have other names.
    is_plain = session.isascii() and session.replace("-", "").replace("_", "").isalnum()
    if not is_plain or len(session) > MAX_SESSION_CHARS:
        return bool(wanted or session)
    path = f"{locations.state}/sessions/{session}."
    # The engine notes once which trusted hooks a session has, so that one that disappears is missed.
    if trusted and not _is_there(path + TRUSTED_NOTE + trusted):
        return True
    if not wanted and not tells_model:
        return False
    is_waiting = tells_model and any(_is_there(path + kind) for kind in ("failing", "refused"))
    return is_waiting or not wanted.issubset(_read_words(path + "reported"))


def _is_there(path: str) -> bool:
    try:
        system.stat(path)
    except OSError:
        return False
    return True


def _read_words(path: str) -> "list[str]":
    try:
        handle = system.open(path, system.O_RDONLY | system.O_CLOEXEC | system.O_NOFOLLOW | system.O_NONBLOCK)
    except OSError:
        return []
    try:
        return system.read(handle, 1 << 10).decode("utf-8", "replace").split()
    finally:
        system.close(handle)


def _find_value(event: "dict[str, Any]", places: "tuple[str, ...]") -> "Any":
    for place in places:
        value = get_at_place(event, place)
        if value is not None or place in event:
            return value
    return None


def _may_be_wanted(
    compiled: "Any", kind: "str | None", tools: "tuple[str, ...]", tool_input: "Any", fields: "dict[str, Any]"
) -> bool:
    rows = compiled.section(f"rows {kind}") if kind is not None else None
    if rows is None or (kind in compiled.head["with_tool"] and not tools[0]):
        return True
    if kind not in compiled.head["with_tool"]:
        return any(_may_match_fields(row, fields) for row in rows)
    rows = [row for row in rows if not row[1] or _may_match_fields(row[1], fields)]
    tool_input = {} if tool_input is None else tool_input
    has_patch = _may_be_patch(tools[0], tool_input)
    if any(row[0][2] for row in rows):
        rows = _select_rows_of_kinds(rows, tools, tool_input, has_patch=has_patch)
    if not rows:
        return False
    if has_patch and any(may_match_tool(rows, tool) for tool in FILE_TOOLS):
        return True
    whole = dumps(tool_input)
    leaves = [*iter_leaves(tool_input)]
    if len(leaves) <= FEW_LEAVES:
        # Most texts are in the JSON text as they are, so a word in one of them is in there, too.
        leaves = [leaf for leaf in leaves if leaf not in whole]
    text = "\n".join((*leaves, whole))
    gram = compiled.head["gram"]
    return len(whole) > MAX_TEXT_CHARS or may_match(rows, tools, text, gram)


def _may_match_fields(row: "tuple[Any, ...]", fields: "dict[str, Any]") -> bool:
    return all(_may_match_field(name, fields.get(name), *words) for name, *words in row)


def _may_match_field(name: str, value: "Any", equal: "tuple[str, ...]", inside: "tuple[str, ...]") -> bool:
    # As in `core.matcher`.
    is_object = name == "tool_output" and isinstance(value, dict | list)
    texts = (*iter_leaves(value), dumps(value)) if is_object else (value,)
    if not isinstance(texts[-1], str) or len(texts[-1]) > MAX_TEXT_CHARS:
        return True
    return any(text in equal or any(word in text for word in inside) for text in texts)


def _may_be_protected(
    compiled: "Any", kind: "str | None", tools: "tuple[str, ...]", tool_input: "Any", event: "Any", rule: "Any"
) -> bool:
    """Whether a built-in hook may have an opinion."""
    rows = compiled.section(f"built-in {kind}") if kind is not None else ()
    if not rows:
        return False
    folders = [get_at_place(event, place) for place in rule["folder_keys"]]
    folder = next((folder for folder in folders if isinstance(folder, str)), "") or current_dir()
    if all(tools[0] in row[-1] for row in rows):
        return False
    if tools[0] == "Shell" and _is_plain_command(tool_input, folder, rows):
        return False
    from boathook.core.disarm_prefilter import may_disarm

    paths = RealPaths()
    # What is behind a link that was not followed is not known.
    return any(may_disarm(tools[0], tool_input, folder, row, paths.find) for row in rows) or paths.has_too_many_links


def _is_plain_command(tool_input: "Any", folder: str, rows: "Any") -> bool:
    """Whether a command names no word of a protected place and no program that changes something, so `may_disarm` says no."""
    if not isinstance(tool_input, dict):
        return False
    # A shell reads a line that ends with a backslash and the next one as one.
    text = "\n".join(iter_leaves(tool_input)).replace("\\\n", "").translate(NO_QUOTES).lower()
    names = [token.rpartition("/")[2] for token in text.translate(NO_SEPARATORS).split()]
    whole = "\n".join((text, folder.lower(), *map(str, tool_input))).lower()
    return VAGUE_SIGNS.isdisjoint(text) and not any(
        any(word in whole for word in (*words, *ends)) or not verbs.isdisjoint(names)
        for words, verbs, _, _, ends, _ in rows
    )


def _select_rows_of_kinds(
    rows: "list[Any]", tools: "tuple[str, ...]", tool_input: "Any", *, has_patch: bool
) -> "list[Any]":
    """Return the rows of hooks that name no kinds of tools, or one that a call is of."""
    from boathook.core.tool_kinds import WRITES, find_call_kinds

    found = {*find_call_kinds(tools, tool_input), *((WRITES,) if has_patch else ())}
    return [row for row in rows if not row[0][2] or not found.isdisjoint(row[0][2])]


def _may_be_patch(tool: str, tool_input: "dict[str, Any]") -> bool:
    if tool not in ("Shell", "Bash"):
        return tool == "PatchFile"
    command = tool_input.get("command")
    return isinstance(command, str) and ("apply_patch" in command or "applypatch" in command)


class _LateSite:
    """Makes third-party packages importable when one is first asked for: `-S` left them out, and most events need none."""

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        sys.meta_path.remove(self)
        import site

        site.main()
        from importlib.machinery import PathFinder

        return PathFinder.find_spec(name, path, target)


def _find_libraries() -> None:
    if "site" not in sys.modules:
        sys.meta_path.append(_LateSite())
