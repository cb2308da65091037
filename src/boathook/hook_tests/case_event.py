"""Make the event of a case: its tool, its input and its fields, as the hook would get them from an agent."""

from __future__ import annotations

from typing import Any

from boathook.core.event import Event, EventKind, find_kind
from boathook.core.hook import Hook
from boathook.core.tool_kinds import KIND_WORDS, NETWORK, READS, SHELL, WRITES, find_call_kinds
from boathook.errors import ConfigError, DialectError
from boathook.hook_tests.case import Case
from boathook.hosts.host import Host, HostEvent, load_host
from boathook.hosts.tool_names import TOOL_INPUT_KEYS, find_canonical_name
from boathook.sources.samples import build_sample_fields, find_matching_text, list_matching_tools

# Always the same, so that a hook that writes them can be tested.
SESSION_ID, TIMESTAMP = "boathook-test", "2026-01-15T10:30:00Z"
_CALL_ID = "test-call"
_PATH_KEY, _OTHER_KEY = "path", "text"
# The field that the value of a case is, for events without a tool; any other event of that sort has none.
MAIN_FIELDS = {
    "pre-session": "source",
    "post-session": "exit_reason",
    "pre-agent-turn": "prompt",
    "post-agent-turn": "final_message",
    "pre-agent-turn-stop": "final_message",
    "post-agent-turn-stop": "final_message",
    "pre-subagent": "task_description",
    "post-subagent": "result",
    "pre-context-compact": "trigger",
    "post-context-compact": "trigger",
    "notification": "message",
    "turn-failure": "error",
}


class CaseEventError(ConfigError):
    """Why no event can be made of a case."""


def make_case_event(case: Case, hook: Hook, project: str) -> Event:
    """Return the event of a case for a hook, in a scratch project."""
    kind = choose_kind(case, hook)
    fields = {key: value for key, value in build_sample_fields(kind).items() if key not in ("tool_name", "tool_input")}
    if kind.has_tool:
        tool = case.tool or choose_tool(hook)
        fields |= {"tool_name": tool, "tool_input": _make_input(case, hook, tool), "tool_use_id": _CALL_ID}
    else:
        fields |= _list_own_fields(case, kind)
    common = {"session_id": SESSION_ID, "timestamp": TIMESTAMP, "work_dir": project}
    merged = {**common, **fields, **(case.event_fields or {})}
    merged = {key: value for key, value in merged.items() if value is not None}
    _check_fields(merged)
    return Event.of(kind, **merged)


def choose_kind(case: Case, hook: Hook) -> EventKind:
    if case.event:
        return find_kind(case.event)
    if hook.kind is None:
        raise CaseEventError(
            f"the hook '{hook.name}' has no event that is known here: name one, such as @pre-tool-call"
        )
    return hook.kind


def choose_tool(hook: Hook) -> str:
    """Return the first tool that a matcher means, in the order in which it names them."""
    tool = hook.matcher.tool
    known = list_matching_tools(hook)
    if tool is None or hook.matcher.tool_kinds:
        return known[0] if known else "Shell"
    named = [name for name in known if name in tool.source]
    if named:
        return min(named, key=tool.source.index)
    found = known[0] if known else find_matching_text(tool)
    if not found:
        message = f"no tool is known that the matcher '{tool.display_text}' means"
        raise CaseEventError(f"{message}: name one in the case, such as Shell: ls")
    return found


def find_main_key(tool: str, hook: Hook) -> str:
    """Return the key of a tool's input that the value of a case is."""
    keys = TOOL_INPUT_KEYS.get(find_canonical_name(tool))
    if keys:
        return keys[0]
    shape = {"command": "x", _PATH_KEY: "x", "url": "x"}
    kinds = find_call_kinds((tool,), shape)
    wanted = [kind for kind in hook.matcher.tool_kinds if kind in kinds]
    for kind in (*wanted, WRITES, READS, SHELL, NETWORK):
        if kind in kinds:
            return _PATH_KEY if kind in (WRITES, READS) else KIND_WORDS[kind][1]
    return _OTHER_KEY


def choose_main_key(case: Case, tool: str, hook: Hook) -> str:
    """Return the key that `becomes` is about: that of the value, else the first one that the case gives."""
    key = find_main_key(tool, hook)
    given = [*(case.input or {}), *(name for name, _ in case.fields)]
    return given[0] if case.value is None and given and key not in given else key


def _make_input(case: Case, hook: Hook, tool: str) -> Any:
    if case.input is not None:
        return {**case.input, **dict(case.fields)}
    if case.value is None:
        return dict(case.fields)
    return {find_main_key(tool, hook): case.value, **dict(case.fields)}


def _list_own_fields(case: Case, kind: EventKind) -> dict[str, Any]:
    if case.input is not None:
        raise CaseEventError(f"{kind.name} is not about a tool, so the case cannot have 'input': use 'event'")
    fields: dict[str, Any] = dict(case.fields)
    if case.text.strip():
        name = MAIN_FIELDS.get(kind.name)
        if name is None:
            raise CaseEventError(f"an event {kind.name} has no value: write its fields with 'with' or 'event'")
        fields[name] = case.text
    return fields


def _check_fields(fields: dict[str, Any]) -> None:
    for name in ("session_id", "timestamp", "work_dir", "tool_name"):
        if name in fields and not isinstance(fields[name], str):
            raise CaseEventError(f"the field '{name}' of an event must be a text")
    if not isinstance(fields.get("context", {}), dict):
        raise CaseEventError("the field 'context' of an event must be an object")


def send_through_host(event: Event, host_name: str) -> Event | None:
    """Return an event as the engine gets it from an agent: in the words of that agent; None if it has no such event."""
    from boathook.dialects.agent_hook import find_agent_hooks
    from boathook.dialects.dialect import find_host_dialect

    row = _find_host_event(event, load_host(host_name))
    if row is None:
        return None
    data = find_agent_hooks(host_name).write_event(event, row.name)
    try:
        # Some agents name the event beside it.
        received = find_host_dialect(host_name).read_event(data, row.name)
    except DialectError as error:
        raise CaseEventError(f"{host_name} would refuse it: {error}") from None
    # Not every agent says where and when.
    return received.replace(work_dir=event.work_dir, timestamp=received.timestamp or event.timestamp)


def can_host_refuse(event: Event, host_name: str) -> bool:
    """Whether a block reaches an agent at an event that it sent."""
    rows = [row for row in load_host(host_name).events if event.kind.name in row.kind_names]
    return any(row.get_template("block") or row.get_template("stop") for row in rows)


def _find_host_event(event: Event, host: Host) -> HostEvent | None:
    """Return the event of an agent for one of ours; some agents have one for each tool."""
    rows = [row for row in host.events if event.kind.name in row.kind_names]
    own = [row for row in rows if host.tools.get(row.tool_name, (row.tool_name, ()))[0] == event.tool_name]
    general = [row for row in rows if not row.tool_name]
    return next(iter((*own, *general)), None)
