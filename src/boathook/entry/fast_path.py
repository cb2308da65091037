"""Behind the door: most events match no hook, and that is decided here with almost no imports; else the engine is opened.

This is no second engine. It answers only "nothing to do", and only when the compiled catalogue proves it; everything else,
trouble of any kind included, is the engine's. `boathook run` comes in this way too.
"""

from __future__ import annotations

import sys

from boathook.catalog_cache.format import load_compiled, may_match
from boathook.core.json_text import MAX_TEXT_CHARS, JsonError, decode, dumps, iter_leaves, loads
from boathook.entry.options import NATIVE_HOST, UsageError, parse_options
from boathook.sources import source
from boathook.system.locations import (
    current_dir,
    find_host_project,
    is_dir,
    read_environment,
    resolve_locations,
    system,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from boathook.entry.options import Options

COUNTED = ("pre-agent-turn", "post-agent-turn", "post-agent-turn-stop", "post-session")  # they end counts of a session
_CLAUDE_LIKE = (("hook_event_name",), ("session_id",), "cwd")
KEYS = {
    NATIVE_HOST: (("event_type",), ("session_id",), "work_dir"),
    "opencode": (("event_type",), ("session_id",), "work_dir"),
    "copilot": (("hook_event_name", "hookName"), ("session_id", "sessionId"), "cwd"),
    **dict.fromkeys(("claude", "codex", "gemini", "kimi-code", "kimi-cli", "qwen", "vscode"), _CLAUDE_LIKE),
}  # where a host says event, session and folder; a host that is not here, for it says so otherwise, is the engine's


def enter(args: list[str]) -> NoReturn:
    """Answer an event and end the process."""
    if args[:1] == ["--supervise"]:
        _find_libraries()
        from boathook.assembly import supervise

        supervise()
        system._exit(0)
    if args[:1] == ["--ask"]:
        _find_libraries()
        from boathook.process.remote_hooks import ask

        system._exit(ask())
    options = _read_fast_options(args)
    try:
        data = _read_all() if options is not None else None
    except KeyboardInterrupt:
        system._exit(130)
    if options is not None and data is not None and _is_certain(options, data):
        system._exit(0)
    _find_libraries()
    from boathook.entry.run_once import main

    code = 130
    try:
        code = main(args, data)
    finally:
        system._exit(code)  # whatever else comes, such as a second signal: nothing is left to be done


def _read_fast_options(args: list[str]) -> Options | None:
    """Return the options, or None if only the engine can answer with them."""
    try:
        options = parse_options(args)
    except UsageError:
        return None
    return options if options.is_fast and options.host in KEYS else None


def _read_all() -> bytes | None:
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


def _is_certain(options: Options, data: bytes) -> bool:
    """Whether there is nothing to do; any trouble with finding that out is the engine's to tell."""
    try:
        return _nothing_to_do(options, data)
    except Exception:  # noqa: BLE001
        return False


def _nothing_to_do(options: Options, data: bytes) -> bool:
    """Whether it is certain that no hook has anything to do with an event."""
    if len(data) > MAX_TEXT_CHARS:
        return False
    try:
        event = loads(decode(data))
    except JsonError:
        return False
    host = options.host
    event_keys, _, folder_key = KEYS[host]
    if not _well_formed(event, host):
        return False
    names = [event[key] for key in event_keys if key in event]
    names = [options.event, *names] if options.event is not None else names
    env = read_environment()
    start = options.project or find_host_project(host, env) or event.get(folder_key) or current_dir()
    if not start.startswith("/") or "//" in start or "\0" in start or _is_crooked(start + "/"):
        return False
    if options.project is not None and not is_dir(options.project):
        return False
    locations = resolve_locations(
        source.SOURCES, start, env, given=options.folders, without=options.without, trust_all=options.trust_all
    )
    found = load_compiled(locations)
    call = _call(found, host, names, event) if found is not None and names else None
    if found is None or call is None:
        return False
    kinds, tools, tool_input = call
    if any(kind in COUNTED for kind in kinds) and is_dir(locations.state + "/sessions"):
        return False
    return not any(_may_be_wanted(found, kind, tools, tool_input) for kind in kinds)


def _is_crooked(path: str) -> bool:
    return "/./" in path or "/../" in path


def _call(found: Any, host: str, names: list[str], event: dict[str, Any]) -> tuple[Any, Any, Any] | None:
    """Return the kinds of an event, the names of its tool and the input, as they are here; None if that is not plain."""
    if host == NATIVE_HOST:
        kinds = {found.head["spellings"].get(name) for name in names}
        return (
            ((kinds.pop(),), (event.get("tool_name", ""),), event.get("tool_input")) if len(set(names)) == 1 else None
        )
    events, tools = found.section(f"host {host}")
    rows = {events.get(name) for name in names}
    row = rows.pop() if len(rows) == 1 else None
    if row is None:
        return None
    kinds, needs, name_at, input_at = row
    name, given = (_first(event, places) for places in (name_at, input_at))
    if needs and not event.get(needs):
        return None
    if not name_at:  # no tool is called
        return kinds, ("",), {}
    if not isinstance(name, str) or not (given is None or isinstance(given, dict)):
        return None
    ways, renames = tools.get(name) or found.section("tools").get(name) or ((name,), ())
    if renames and given:
        from boathook.hosts.tool_calls import translate_call

        _, given, _ = translate_call({name: (name, renames)}, name, given)
    if ways[0] == "Shell" and given and not isinstance(given.get("command", ""), str):
        return None  # a command that cannot be read is refused
    return kinds, ways, given


def _first(event: dict[str, Any], places: tuple[str, ...]) -> Any:
    return next((event[place] for place in places if place in event), None)


def _may_be_wanted(found: Any, kind: str | None, tools: tuple[str, ...], tool_input: Any) -> bool:
    """Whether a hook may have anything to do with a kind of event and a tool that has these names."""
    rows = found.section(f"rows {kind}") if kind is not None else None
    if rows is None or (kind in found.head["with_tool"] and not tools[0]):
        return True
    return bool(rows) and _may_match(rows, tools, tool_input, found.head["gram"])


def _may_match(rows: Any, tools: tuple[str, ...], tool_input: Any, gram: int) -> bool:
    tool_input = {} if tool_input is None else tool_input
    whole = dumps(tool_input)
    text = "\n".join((*iter_leaves(tool_input), whole))
    return len(whole) > MAX_TEXT_CHARS or any(may_match(rows, tool, text, gram) for tool in tools)


def _well_formed(event: Any, host: str) -> bool:
    """Leave every event with something odd about it to the engine, which can say what."""
    if not isinstance(event, dict) or "host_tool_name" in event:  # a tool with several names
        return False
    if host == "claude" and (
        "timestamp" in event or "cursor_version" in event
    ):  # another agent calls, see core.hosts.callers
        return False
    event_keys, session_keys, folder_key = KEYS[host]
    texts = [event.get(key, "") for key in (*event_keys, *session_keys, folder_key)]
    texts += [event.get(key, "") for key in ("timestamp", "tool_name")] if host == NATIVE_HOST else []
    return all(isinstance(text, str) for text in texts) and (
        host != NATIVE_HOST or isinstance(event.get("context", {}), dict)
    )


class _LateSite:
    """Makes third-party packages importable when one is first asked for: `-S` left them out, and most events need none."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Do at the first unknown import what the interpreter does at its start without -S, then look again."""
        sys.meta_path.remove(self)
        import site

        site.main()
        from importlib.machinery import PathFinder

        return PathFinder.find_spec(name, path, target)


def _find_libraries() -> None:
    if "site" not in sys.modules:
        sys.meta_path.append(_LateSite())
