"""The dialects of hooks in the files of agents other than Claude Code, all from the rows of `hosts`.

An event is written as the agent of the hook would send it, whichever agent calls, and an answer is read as that agent would read
it. Answers are those of Claude Code with other words and places, so `dialects.claude` reads them. Where an agent lets a call go
on although its hook ended with exit code 2, the call is refused here: a refusal never becomes an approval.
"""

from __future__ import annotations

from boathook.core.event import (
    DERIVED,
    FILE_CHANGES,
    HOST_EVENT,
    HOST_GUESS,
    HOST_KEYS,
    HOST_TOOL,
    HOST_WORDS,
    PATCH_TOOL,
)
from boathook.core.json_text import JsonError, dump_line, dumps, get_at_place, loads
from boathook.core.outcome import ABSENT, Decision, Outcome
from boathook.core.value import Value
from boathook.core.verdict import UNREADABLE, AnswerError
from boathook.dialects.claude import AnswerRules, flatten_message, read_by_rules
from boathook.hosts.hook_events import make_hook_event
from boathook.hosts.host import (
    EVENT_NAME,
    EXIT_2_AND_MORE,
    EXIT_NOT_0,
    FOLDER,
    MILLISECONDS,
    SESSION,
    TIME,
    HostEvent,
    load_host,
)
from boathook.hosts.tool_calls import restore_input, translate_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from boathook.core.event import Event
    from boathook.core.verdict import Call, Exit
    from boathook.hosts.host import Host, Renames, Template

_OUR_FIELDS = (HOST_TOOL, HOST_KEYS, HOST_GUESS, HOST_EVENT, HOST_WORDS, DERIVED)
_WRITE_TOOL, _EDIT_TOOL, _DELETE_TOOL = (FILE_CHANGES[change][0] for change in ("write", "edit", "delete"))
_EDIT_TEXTS = ("old_string", "new_string")
_SERVER_PREFIX, _SERVER_TOOL = "mcp__", "mcp__{server}__{tool}"
_LOST_INPUT = "the hook wants another input for this call, which cannot be expressed"


class WrittenCall(Value):
    """A tool call as an agent has it: its name and its input there, and the input under our keys that this was made from."""

    name: str
    input: Any
    # Whether the input is a patch, or the text of several edits, that stands for a call of another tool.
    is_patch: bool = False


class AgentHooks:
    """Writes events for the hooks of one agent, and reads their answers."""

    def __init__(self, name: str) -> None:
        self.host: Host = load_host(name)

    def write_event(self, event: Event, trigger: str = "") -> bytes:
        host_event = self._find_event(event, trigger)
        fields = {key: value for key, value in event.data.items() if key not in _OUR_FIELDS}
        if event.kind.has_tool:
            self._write_call(event, fields, host_event)
        for theirs, ours in host_event.renames:
            if ours in fields:
                put_at_place(fields, theirs, flatten_message(ours, fields.pop(ours)))
        _write_failure(fields, host_event, event)
        _shape_fields(fields, host_event)
        if event.context:
            fields.setdefault("context", event.context)
        for key, value in make_hook_event(self.host, host_event).filled:
            if get_at_place(fields, key) is None:
                put_at_place(fields, key, value)
        first: dict[str, Any] = {}
        for place, what in self._list_keys(host_event):
            put_at_place(first, place, _find_common_value(what, event, host_event))
        if host_event.input_keys and isinstance(event.tool_input, dict):
            folder = event.tool_input.get("cwd")
            first |= {"cwd": folder} if isinstance(folder, str) and folder.startswith("/") else {}
        # Also last, because the data of a host may have other values of these names.
        return dump_line({**first, **fields, **first})

    def _list_keys(self, host_event: HostEvent) -> Renames:
        host = self.host
        times = (("timestamp", TIME),) if host.own.sends_timestamp else ()
        names = ((host.session_keys, SESSION), (host.folder_keys, FOLDER), (host.event_keys, EVENT_NAME))
        # Some agents do not say in which folder they are.
        usual = (*((places[0], what) for places, what in names if places), *times)
        return host_event.own.keys or host.own.keys or usual

    def _find_event(self, event: Event, trigger: str) -> HostEvent:
        named = self.host.find_event(trigger) if trigger else None
        if named is not None and event.kind.name in named.kind_names:
            return named
        rows = [one for one in self.host.events if event.kind.name in one.kind_names]
        return rows[0] if rows else HostEvent(event.kind.name, event.kind.name)

    def _write_call(self, event: Event, fields: dict[str, Any], host_event: HostEvent) -> None:
        if "tool_name" not in fields and HOST_TOOL not in event.data:
            return
        if host_event.input_keys:
            # The event of one tool, with the tool's input at the top.
            for name in ("tool_name", "tool_input"):
                fields.pop(name, None)
            fields |= _list_inputs(event, host_event.input_keys)
            return
        written = self.translate_call(event, host_event)
        fields["tool_name"] = written.name
        if "tool_input" in fields:
            fields["tool_input"] = written.input
        names = event.tool_name.removeprefix(_SERVER_PREFIX).split("__", 1)
        if event.tool_name.startswith(_SERVER_PREFIX) and len(names) > 1:
            for place, name in zip(self.host.server_places, names, strict=False):
                if place:
                    put_at_place(fields, place, name)
            if host_event.tool_name:
                fields["tool_name"] = names[1]

    def translate_call(self, event: Event, host_event: HostEvent) -> WrittenCall:
        """Return a tool call as this agent has it; a tool that it does not have keeps the name it has in the agent that calls."""
        ours, theirs, tool_input = event.tool_name, event.data.get(HOST_TOOL), event.tool_input
        given = tool_input if isinstance(tool_input, dict) else None
        hidden = host_event.own.hidden_tools
        name = self.find_tool(ours, theirs if isinstance(theirs, str) else "", hidden)
        if given is not None and name != theirs and (new_text := _join_edits(event, given)):
            joined = {**tool_input, "new_string": new_text}
            written = self.translate_call(event.with_data(tool_input=joined), host_event)
            return written.replace(is_patch=True)
        has_edit = ours == _DELETE_TOOL and self.find_tool(_EDIT_TOOL, hidden=hidden)
        if not name and not has_edit and given is not None and (patch_tool := self.find_tool(PATCH_TOOL)):
            patch = _make_patch(ours, given)
            if patch:
                return WrittenCall(patch_tool, self._restore(patch_tool, {"patch": patch}), is_patch=True)
        if not name and ours == _DELETE_TOOL and (edit_tool := self.find_tool(_EDIT_TOOL, hidden=hidden)):
            # As for hooks of settings.json: a guard of files reads the keys of an edit.
            texts = {key: "" for key in _EDIT_TEXTS if key not in (given or {})}
            return WrittenCall(
                edit_tool, self._restore(edit_tool, {**given, **texts}) if given is not None else tool_input
            )
        if not name:
            return WrittenCall(
                self._name_server_tool(ours) or (theirs if isinstance(theirs, str) else ours), tool_input
            )
        return WrittenCall(name, self._restore(name, given) if given is not None else tool_input)

    def find_tool(self, ours: str, theirs: str = "", hidden: tuple[str, ...] = ()) -> str:
        """Return this agent's name for a tool of ours: the one that the caller uses, if it is the same, else the usual one."""
        names = [name for name, (kind, _) in self.host.tools.items() if kind == ours and name not in hidden]
        usual = [name for name in names if name not in self.host.own.special_tools]
        return theirs if theirs in names else usual[0] if usual else ""

    def _restore(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        found = restore_input(self.host.tools, name, {}, {}, given)
        for place, key in self.host.own.inputs.get(name, ()):
            if key in found:
                put_at_place(found, place, found.pop(key))
        return found

    def _name_server_tool(self, ours: str) -> str:
        server, _, tool = ours.removeprefix(_SERVER_PREFIX).partition("__")
        is_server_tool = ours.startswith(_SERVER_PREFIX) and server and tool
        form = self.host.server_tool or _SERVER_TOOL
        return form.format(server=server, tool=tool) if is_server_tool else ""

    def read_answer(self, call: Call, end: Exit, *, strict: bool = False) -> tuple[Outcome, tuple[str, ...]]:  # noqa: ARG002
        host_event = self._find_event(call.event, call.hook.trigger)
        row = make_hook_event(self.host, host_event)
        if host_event.own.ignores_exit_2 and end.code == 2:
            row = row.replace(refuses=False)

        def rename_input(event: Event, new_input: dict[str, Any]) -> dict[str, Any]:
            return self._rename_input(event, new_input, host_event)

        def translate(answer: dict[str, Any]) -> dict[str, Any]:
            return self._translate_answer(answer, host_event)

        if self.host.own.needs_json and host_event.block and call.hook.on_failure == "block":
            _check_json(end)
        rules = AnswerRules(row, rename_input, self.host.own.decision_words, translate)
        outcome, notes = read_by_rules(call, self._read_exit(host_event, end), rules)
        if outcome.decision == Decision.ALLOW and not host_event.allow:
            # In its own agent such an answer only means that the hook has nothing against the call, and most hooks give it.
            outcome = outcome.remove_allow()
        if outcome.input is not ABSENT and self._is_patch(call.event, host_event):
            return _refuse_lost_input(outcome), notes
        return outcome, notes

    def _read_exit(self, event: HostEvent, end: Exit) -> Exit:
        """Return an end with the exit code 2 where another code refuses in this agent, and with its texts where we read them."""
        if self.host.own.has_progress_lines:
            end = end.replace(stdout=_remove_progress(end.stdout))
        if self.host.own.reads_stderr:
            end = end.replace(stdout=_unwrap_answer(end.stdout), stderr=_unwrap_answer(end.stderr))
        code, stdout, stderr = end.code or 0, end.stdout.strip(), end.stderr.strip()
        is_plain = not stdout.startswith(b"{") and not (not stdout and stderr.startswith(b"{"))
        if self.host.own.reads_stderr:
            if not stdout and stderr.startswith(b"{"):
                end = end.replace(stdout=stderr, stderr=b"")
            elif code >= 2 and is_plain and stdout:
                end = end.replace(stdout=b"", stderr=stdout)
        if self.host.own.blocking_exits == EXIT_2_AND_MORE and code > 2 and is_plain and (stdout or stderr):
            return end.replace(code=2)
        if self.host.own.blocking_exits == EXIT_NOT_0 and code != 0 and event.kind_name == "pre-tool-call":
            return end.replace(code=2)
        return end

    def _translate_answer(self, answer: dict[str, Any], host_event: HostEvent) -> dict[str, Any]:
        """Return an answer with Claude Code's places for those that only this agent has."""
        moved = _apply_answers(answer, host_event.own.answers)
        for theirs, place in self.host.own.answer_places:
            value = get_at_place(moved, theirs)
            if value is not None and get_at_place(moved, place) is None:
                _remove_at_place(moved, theirs)
                put_at_place(moved, place, value)
        return moved

    def _is_patch(self, event: Event, host_event: HostEvent) -> bool:
        return event.kind.has_tool and self.translate_call(event, host_event).is_patch

    def _rename_input(self, event: Event, new_input: dict[str, Any], host_event: HostEvent) -> dict[str, Any]:
        written = self.translate_call(event, host_event)
        if written.is_patch:
            return new_input
        if event.tool_name == _DELETE_TOOL:
            added = [key for key in _EDIT_TEXTS if new_input.get(key) == "" and key not in event.tool_input]
            new_input = {key: value for key, value in new_input.items() if key not in added}
        places = self.host.own.inputs.get(written.name, ())
        inside = {key: get_at_place(new_input, place) for place, key in places}
        new_input = {
            key: value
            for key, value in new_input.items()
            if key not in {place.partition(".")[0] for place, _ in places}
        }
        found = translate_call(self.host.tools, written.name, new_input)[1]
        return found | {key: value for key, value in inside.items() if value is not None}


_agent_hooks: dict[str, AgentHooks] = {}


def find_agent_hooks(name: str) -> AgentHooks:
    hooks = _agent_hooks.get(name)
    if hooks is None:
        hooks = _agent_hooks[name] = AgentHooks(name)
    return hooks


def put_at_place(fields: dict[str, Any], place: str, value: Any) -> None:
    """Put a value where `get_at_place` finds it; what is in the way is replaced, and objects on the way are copied."""
    key, dot, rest = place.partition(".")
    if not dot:
        fields[key] = value
    elif rest == "0":
        fields[key] = [value]
    else:
        inner = fields.get(key)
        fields[key] = dict(inner) if isinstance(inner, dict) else {}
        put_at_place(fields[key], rest, value)


def _remove_at_place(fields: dict[str, Any], place: str) -> None:
    key, dot, rest = place.partition(".")
    if not dot:
        fields.pop(key, None)
    elif isinstance(fields.get(key), dict):
        fields[key] = dict(fields[key])
        _remove_at_place(fields[key], rest)


def _find_common_value(what: str, event: Event, host_event: HostEvent) -> Any:
    if what == MILLISECONDS:
        return _count_milliseconds(event.timestamp)
    values = {SESSION: event.session_id, FOLDER: event.work_dir, EVENT_NAME: host_event.name, TIME: event.timestamp}
    return values[what]


def _count_milliseconds(timestamp: str) -> int:
    # Imported here, because only few agents want a number.
    from datetime import datetime

    try:
        return int(datetime.fromisoformat(timestamp).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0


def _list_inputs(event: Event, keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the input of a call under the keys of an event of one tool; the texts of a change are a list there."""
    given = event.tool_input if isinstance(event.tool_input, dict) else {}
    found = {key: given[key] for key in keys if key in given}
    if "edits" in keys and not isinstance(found.get("edits"), list):
        old, new = given.get("old_string", ""), given.get("new_string", given.get("content", ""))
        found["edits"] = [{"old_string": old, "new_string": new or _join_edits(event, given)}]
    return found


def _shape_fields(fields: dict[str, Any], host_event: HostEvent) -> None:
    """Give fields the type that they have in this agent."""
    for place in host_event.own.texts:
        value = get_at_place(fields, place)
        if value is not None and not isinstance(value, str):
            put_at_place(fields, place, _write_text(value))
    for place, template in host_event.own.shapes:
        value = fields.get(place)
        if value is not None and not (isinstance(value, dict) and all(key in value for key, _ in template)):
            fields[place] = _fill_template({}, template, value)


def _write_text(value: Any) -> str:
    """Return the text of a tool's output, which is an object in some agents."""
    texts = [value.get(key) for key in ("stdout", "stderr")] if isinstance(value, dict) else []
    plain = [text for text in texts if isinstance(text, str) and text]
    if plain:
        return "\n".join(plain)
    return value if isinstance(value, str) else dumps(value)


def _fill_template(fields: dict[str, Any], template: Template, value: Any) -> dict[str, Any]:
    for place, filled in template:
        if get_at_place(fields, place) is None:
            put_at_place(fields, place, value if filled == "$" else _write_text(value) if filled == "$text" else filled)
    return fields


def _apply_answers(answer: dict[str, Any], answers: tuple[tuple[str, Any, Template], ...]) -> dict[str, Any]:
    """Return an answer with what its places mean at one event; a place that means nothing more stays where it is."""
    moved = dict(answer)
    for place, value, template in answers:
        found = get_at_place(moved, place)
        is_meant = found is not None and (value is None or (found == value and type(found) is type(value)))
        if is_meant and any(get_at_place(moved, target) is None or target == place for target, _ in template):
            _remove_at_place(moved, place)
            _fill_template(moved, template, found)
    return moved


def _check_json(end: Exit) -> None:
    stdout = end.stdout.strip()
    if not end.code and stdout and not stdout.startswith(b"{"):
        raise AnswerError(UNREADABLE, "the answer is not valid: it is not a JSON object")


def _unwrap_answer(output: bytes) -> bytes:
    """Return the answer in a JSON text, because these agents read an answer that was written as JSON twice."""
    if not output.lstrip().startswith(b'"{'):
        return output
    try:
        text = loads(output.decode("utf-8", "replace"))
    except JsonError:
        return output
    return text.encode() if isinstance(text, str) else output


def _remove_progress(stdout: bytes) -> bytes:
    lines = stdout.split(b"\n")
    return b"\n".join(line for line in lines if not _is_progress(line)) if b"progress" in stdout else stdout


def _is_progress(line: bytes) -> bool:
    try:
        found = loads(line.decode("utf-8", "replace")) if line.lstrip().startswith(b"{") else None
    except JsonError:
        return False
    return isinstance(found, dict) and found.get("type") == "progress"


def _write_failure(fields: dict[str, Any], host_event: HostEvent, event: Event) -> None:
    """Say that a tool failed where an agent without an event for it says so."""
    place = host_event.failure_at
    if not place or event.kind.name == host_event.kind_name:
        return
    error = fields.pop("error", None) or "the tool failed"
    is_place = not place.startswith(("@", "!")) and "=" not in place
    response = next((theirs for theirs, ours in host_event.renames if ours == "tool_output"), "tool_output")
    if is_place:
        put_at_place(fields, place, error)
    elif get_at_place(fields, response) is None:
        put_at_place(fields, response, error)
    place, _, start = place.partition("=")
    if start:
        put_at_place(fields, place, f"{start} {_write_text(get_at_place(fields, place))}")


def _join_edits(event: Event, given: dict[str, Any]) -> str:
    """Return the new texts of a change that has them in a list or an object, "" for any other call."""
    has_parts = any(isinstance(value, list | dict) for value in given.values())
    if event.tool_name != _EDIT_TOOL or not has_parts or isinstance(given.get("new_string"), str):
        return ""
    # Imported here, because most calls have their text under one key.
    from boathook.core.file_writes import list_writes

    return "\n".join(dict.fromkeys(write.text for write in list_writes(event) if write.text))


def _make_patch(ours: str, given: dict[str, Any]) -> str:
    """Return a patch that does what a call of another tool does, "" if that cannot be said."""
    path, content, old, new = (given.get(key) for key in ("file_path", "content", *_EDIT_TEXTS))
    if not isinstance(path, str):
        return ""
    if ours == _WRITE_TOOL and isinstance(content, str):
        body = [f"*** Add File: {path}", *_mark_lines("+", content)]
    elif ours == _EDIT_TOOL:
        # The texts of several edits, or of cells, are not a hunk; the file is what most guards look at.
        texts = [text if isinstance(text, str) else "" for text in (old, new)]
        body = [f"*** Update File: {path}", "@@", *_mark_lines("-", texts[0]), *_mark_lines("+", texts[1])]
    elif ours == _DELETE_TOOL:
        body = [f"*** Delete File: {path}"]
    else:
        return ""
    return "\n".join(("*** Begin Patch", *body, "*** End Patch"))


def _mark_lines(mark: str, text: str) -> list[str]:
    return [mark + line for line in text.split("\n")] if text else []


def _refuse_lost_input(outcome: Outcome) -> Outcome:
    if outcome.decision >= Decision.BLOCK:
        return outcome.replace(input=ABSENT)
    return outcome.replace(input=ABSENT) | Outcome.block(_LOST_INPUT)
