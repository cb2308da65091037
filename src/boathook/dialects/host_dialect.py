"""The tongues of all hosts that have a table in `core.hosts`: one reader, one writer.

What a host cannot be told is never dropped in silence: it is among the texts that `degraded` gives, and told to the person.
"""

from __future__ import annotations

from boathook.core.event import (
    COMMON_FIELDS,
    DERIVED,
    HOST_EVENT,
    HOST_KEYS,
    HOST_TOOL,
    SPELLINGS,
    UNMAPPED,
    Event,
    parse_host_object,
)
from boathook.core.json_text import JsonError, describe_json_type, dump_line, dumps, loads
from boathook.core.outcome import ABSENT, Decision
from boathook.core.tool_names import find_canonical_name
from boathook.core.verdict import Exit, Verdict
from boathook.errors import BeyondLimits, DialectError
from boathook.hosts.host import SPECIFIC_OUTPUT, Host, HostEvent, list_derived_kinds
from boathook.hosts.tool_calls import normalize_input, restore_input, translate_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from boathook.core.event import EventKind
    from boathook.hosts.host import Renames, Template


ENDED = (
    "end_turn",
    "completed",
    "stop",
)  # hosts' words for an agent that has no more to do: any other cannot be refused
FILE = "@"  # in front of the place of a failure: the file named there knows


class HostDialect:
    """The tongue of one host."""

    def __init__(self, host: Host) -> None:
        """Remember the table."""
        self.host = host
        self.project_variable = host.project_variable

    def read_event(self, data: bytes, name: str | None = None) -> Event:
        """Read an event; one that has no counterpart here is read too, as an event nobody can hook."""
        fields = parse_host_object(data)
        row, said = self._row(fields, name)
        if row is None or (row.required_key and not fields.get(row.required_key)):
            return Event(UNMAPPED, data={**fields, HOST_EVENT: said})
        return self._event(fields, row)

    def find_caller(self, data: bytes, env: Mapping[bytes, bytes]) -> str:
        """Return the host that really sent an event if it runs a command of this host's configuration, else ""."""
        if not any(f'"{key}"'.encode() in data for key in self.host.foreign_keys):
            return ""
        from boathook.hosts.detection import find_caller

        return find_caller(self.host, parse_host_object(data), env)

    def _row(self, fields: dict[str, Any], beside: str | None) -> tuple[HostEvent | None, str]:
        """Find the event by its name in the payload, and by the one beside it; None if it has no counterpart."""
        found: list[tuple[HostEvent | None, str]] = []
        inside = next((fields[key] for key in self.host.event_keys if fields.get(key) is not None), None)
        for name in (inside, beside):
            if name is not None and not isinstance(name, str):
                raise DialectError(f"the event's name must be text, not {describe_json_type(name)}")
            row = self.host.find_event(name) if name is not None else None
            if name is not None and (row or name in self.host.unmapped_events):
                found.append((row, name))
            elif name is not None and (name is beside or beside is None):
                raise DialectError(f"{self.host.title} has no event '{name[:100]}' that is known here")
        if not found:
            keys = " or ".join(f"'{key}'" for key in self.host.event_keys)
            raise DialectError(f"which event? Name it with --event, or as {keys} in the JSON")
        if len({row.kind_name if row else "" for row, _ in found}) > 1:
            raise DialectError(f"--event says '{beside}', but the JSON says '{inside}'")
        return found[0]

    def _event(self, fields: dict[str, Any], row: HostEvent) -> Event:
        session, folder = (self._first(fields, places) for places in (self.host.session_keys, self.host.folder_keys))
        left = {
            key: value for key, value in fields.items() if key not in (session[0], folder[0], *self.host.event_keys)
        }
        stamp = left.get("timestamp")
        if isinstance(stamp, str):
            del left["timestamp"]
        data = _renamed(left, row)
        if row.tool_name:
            data.setdefault("tool_name", _fill_places(row.tool_name, fields))
        kind = row.kind
        if row.failure_at and kind.has_tool and _failed(fields, row.failure_at):
            kind = SPELLINGS["post-tool-call-failure"]
            data.setdefault("error", _at(fields, row.failure_at.partition("=")[0]) or "the tool failed")
            data[DERIVED] = row.name
        if row.continues_agent and data.get("stop_reason") in ENDED:
            data["host_stop_reason"] = data.pop("stop_reason")
        data = {f"host_{key}" if key in COMMON_FIELDS else key: value for key, value in data.items()}
        data[HOST_EVENT] = row.name
        if kind.has_tool:
            self._translate(data, kind)
        return Event(kind, stamp if isinstance(stamp, str) else "", session[1], folder[1], {}, data)

    def _first(self, fields: dict[str, Any], places: Sequence[str]) -> tuple[str, str]:
        """Return the first of several places that holds something, and the text there."""
        for place in places:
            value = _at(fields, place)
            if isinstance(value, str):
                return place, value
            if value is not None:
                raise DialectError(f"the event's '{place}' must be text, not {describe_json_type(value)}")
        return "", ""

    def _translate(self, data: dict[str, Any], kind: EventKind) -> None:
        """Put the tool call under our names; the host's stay beside them."""
        name, given = data.get("tool_name"), _object_in(data.get("tool_input"))
        if name is not None and not isinstance(name, str):
            raise DialectError(f"the tool's name must be text, not {describe_json_type(name)}")
        if not name:
            return
        tools = self.host.tools
        if name not in tools:
            tools = {
                name: (find_canonical_name(name), ())
            }  # a tool that the table does not know, under a name that others have
        given = normalize_input(tools, name, given)
        data[HOST_TOOL] = name
        data["tool_name"], data["tool_input"], renamed = (
            translate_call(tools, name, given) if isinstance(given, dict) else (tools[name][0], given, {})
        )
        if renamed:
            data[HOST_KEYS] = renamed
        if given is None:
            del data["tool_input"]
        elif data["tool_name"] == "Shell" and given and kind.is_pre and _is_hidden(data["tool_input"], tools[name][1]):
            raise BeyondLimits(f"no command can be read in the input of {name}, so no hook could look at it")

    def find_result_file(self, event: Event) -> str:
        """Return the file that says whether a tool call failed, where the payload does not; nothing if there is none."""
        row = self._row_of(event)
        if row is None or not row.failure_at.startswith(FILE) or event.kind is not row.kind:
            return ""
        path = event.data.get(row.failure_at[1:])
        return path if isinstance(path, str) and isinstance(event.data.get("tool_use_id"), str) else ""

    def apply_result(self, event: Event, text: str) -> Event:
        """Return an event as the end of that file has it: a failure if the item of this call says so."""
        call = event.data["tool_use_id"]
        for line in reversed(text.splitlines()):
            item = _item(line, call) if call in line else None
            if item is not None:
                failed = item.get("status") == "failed"
                return (
                    event.replace(
                        kind=SPELLINGS["post-tool-call-failure"],
                        data={
                            **event.data,
                            "error": f"exit code {item.get('exit_code')}",
                            DERIVED: event.data[HOST_EVENT],
                        },
                    )
                    if failed
                    else event
                )
        return event

    def derive_events(self, verdict: Verdict) -> tuple[Event, ...]:
        """Return the events that the host has not, made of one that has passed."""
        row = self._row_of(verdict.event)
        if row is None or verdict.decision == Decision.BLOCK:
            return ()
        event = verdict.original
        return tuple(
            event.replace(kind=SPELLINGS[name], data={**event.data, DERIVED: row.name})
            for name in list_derived_kinds(self.host, row)
        )

    def write_nothing(self) -> Exit:
        """Write the answer of an engine that has nothing to say."""
        return Exit(0, stdout=f"{self.host.empty_answer}\n".encode() if self.host.empty_answer else b"")

    def refuse(self, name: str | None, reason: str, code: int) -> tuple[Exit, EventKind | None]:
        """Answer an event that could not be read, and return the kind that was refused, None if the host cannot be told.

        A host that fails closed makes a refusal of any error and shows nobody why, so it gets the reason.
        """
        if name is None:
            # Which event it is cannot be known. Most hosts take exit code 2 for a refusal.
            return Exit(code), None
        row = self.host.find_event(name)
        if (
            row is None
            or not row.block
            or not row.kind.is_pre
            or row.continues_agent
            or not (code == 2 or self.host.fails_closed)
        ):
            # There is nothing to refuse, and an error must not send an agent back to work.
            return Exit(1), None
        answer = _Answer(row)
        answer.say(row.block, reason)
        return answer.end(self.host.empty_answer), row.kind

    def write_answer(self, verdict: Verdict, later: Sequence[Verdict] = (), *, refuses: bool = False) -> Exit:
        """Write a verdict as the host wants it said.

        `later` are those of derived events, which only the person hears of; with `refuses` an event is refused, where it can be,
        if the host cannot be told all that hooks want.
        """
        row = self._row_of(verdict.event)
        if row is None:
            return Exit(0)
        answer = _Answer(row)
        notes = self._say(verdict, row, answer, refuses=refuses)
        messages = [*verdict.system_message, *notes]
        messages += [text for one in later for text in (*one.system_message, *self.list_degraded(one))]
        if self.host.message:
            messages += [text for one in (verdict, *later) for text in one.warnings()]  # nobody sees stderr there
        for message in ["\n".join(messages)] if messages else []:
            answer.say(self.host.message or (("stderr", "$"),), message)
        return answer.end(self.host.empty_answer)

    def list_degraded(self, verdict: Verdict, *, refuses: bool = False) -> tuple[str, ...]:
        """Return a text for everything that the hooks want and the host cannot be told, or does otherwise."""
        if DERIVED in verdict.event.data and not verdict.event.kind.has_tool:
            return self._unheard(verdict)
        row = self._row_of(verdict.event)
        return tuple(self._say(verdict, row, _Answer(row), refuses=refuses)) if row is not None else ()

    def _unheard(self, verdict: Verdict) -> tuple[str, ...]:
        """Return what hooks of a derived event want: the host has no ear for any of it."""
        wants = [f"{verdict.decision.word}: {reason}" for reason in verdict.reasons]
        wants += [f"context for the model: {text}" for text in verdict.additional_context]
        name = verdict.event.kind.name
        return tuple(f"a hook of {name}, which {self.host.title} does not have, wanted {want}" for want in wants)

    def _row_of(self, event: Event) -> HostEvent | None:
        name = event.data.get(HOST_EVENT)
        return self.host.find_event(name if isinstance(name, str) else event.kind.name)

    def _say(self, verdict: Verdict, row: HostEvent, answer: _Answer, *, refuses: bool) -> list[str]:
        """Report all that can be said; return what cannot."""
        reasons = "\n".join(verdict.reasons)
        notes = self._say_decision(verdict.decision, row, reasons, answer)
        effects = self._say_effects(verdict, row, answer)
        lost = [text for text in effects if text != self.host.block_side_effect]
        asked = verdict.decision == Decision.ASK and not row.ask
        can = row.block and row.kind.is_pre and not row.continues_agent and not verdict.is_blocked and not asked
        if refuses and lost and can:
            answer.clear()
            answer.say(row.block, "\n".join((*verdict.reasons, *lost)))
            effects.append("so it was refused (hooks.degraded)")
        return [*notes, *effects]

    def _say_decision(self, decision: Decision, row: HostEvent, reasons: str, answer: _Answer) -> list[str]:
        title, name = self.host.title, row.name
        if decision == Decision.STOP:
            return self._say_stop(row, reasons or "stopped by a hook", answer)
        if decision == Decision.BLOCK:
            answer.say(row.block, reasons or "blocked by a hook")
            return [] if row.block else [f"a hook wanted to block, which {title} cannot at {name}: {reasons}"]
        if decision == Decision.ASK and not row.ask and row.kind_name != "permission-request":
            # there the person is asked in any case
            if row.block and row.kind.is_pre and not row.continues_agent:
                answer.say(row.block, reasons or "a hook wants a person to decide")
                return [f"a hook wanted to ask, which {title} cannot at {name}: denied instead"]
            return [f"a hook wanted to ask, which {title} cannot at {name}: {reasons}"]
        if decision in (Decision.ASK, Decision.ALLOW):
            answer.say(row.ask if decision == Decision.ASK else row.allow, reasons)
        return []

    def _say_stop(self, row: HostEvent, reasons: str, answer: _Answer) -> list[str]:
        """End the run; refuse what is about to happen as well, for a host may end it only after that."""
        title = self.host.title
        answer.say(row.stop, reasons)
        if not row.continues_agent and (row.kind.is_pre or not row.stop):
            answer.say(row.block, reasons)
        if row.stop or row.kind_name == "pre-agent-turn-stop":  # there silence ends it
            return []
        done = "blocked instead" if answer.is_said else reasons
        return [f"a hook wanted to end the run, which {title} cannot at {row.name}: {done}"]

    def _say_effects(self, verdict: Verdict, row: HostEvent, answer: _Answer) -> list[str]:
        title, name, notes = self.host.title, row.name, []
        refused = answer.is_said and (verdict.is_blocked or (verdict.decision == Decision.ASK and not row.ask))
        if (
            refused
            and row.kind_name == "pre-tool-call"
            and self.host.block_side_effect
            and verdict.decision != Decision.STOP
        ):
            notes.append(self.host.block_side_effect)
        if verdict.modified_input is not None and not refused:
            heard = row.input and (verdict.decision == Decision.ALLOW or row.kind_name != "permission-request")
            answer.say(row.input if heard else (), self._back(verdict))
            if not heard:
                notes.append(f"a hook changed the input, which {title} cannot take at {name}")
        if verdict.outcome.output is not ABSENT:
            answer.say(row.output, verdict.outcome.output, even_empty=True)
            if not row.output:
                notes.append(f"a hook changed the output, which {title} cannot take at {name}")
        if contexts := "\n".join(verdict.additional_context):
            heard = row.context and not answer.code
            answer.say(row.context if heard else (), contexts)
            if not heard:
                notes.append(f"a hook has context for the model, which {title} cannot take at {name}: {contexts}")
        return notes

    def _back(self, verdict: Verdict) -> Any:
        """Return the changed input under the host's keys."""
        data, before, now = verdict.event.data, verdict.original.tool_input, verdict.modified_input
        name, renamed = data.get(HOST_TOOL), data.get(HOST_KEYS) or {}
        if not (isinstance(name, str) and isinstance(now, dict) and isinstance(before, dict)):
            return now
        return restore_input(self.host.tools, name, renamed if isinstance(renamed, dict) else {}, before, now)


class _Answer:
    """An answer on its way: what was said, and where."""

    def __init__(self, row: HostEvent) -> None:
        self.row, self.code = row, 0
        self.fields: dict[str, Any] = {}
        self.streams = {"stdout": "", "stderr": ""}

    @property
    def is_said(self) -> bool:
        """Whether anything was."""
        return bool(self.fields or self.code or any(self.streams.values()))

    def clear(self) -> None:
        """Take back all that was said."""
        self.code, self.fields, self.streams = 0, {}, {"stdout": "", "stderr": ""}

    def say(self, saying: Template, what: Any, *, even_empty: bool = False) -> None:
        """Report one thing; texts in a place that has one already are added to it, and a reason that is empty is none."""
        for place, value in saying:
            if value == "$" and what == "" and not even_empty:
                continue
            self._put(place, what if value == "$" else value)

    def _put(self, place: str, value: Any) -> None:
        if place == "exit":
            self.code = value
        elif place in self.streams:
            self.streams[place] += f"{value}\n"
        else:
            *outer, last = place.split(".")
            fields = self.fields
            for key in outer:
                fields = fields.setdefault(key, {"hookEventName": self.row.name} if key == SPECIFIC_OUTPUT else {})
            old = fields.get(last)
            text = place.endswith("textResultForLlm") and not isinstance(value, str)
            value = dumps(value) if text else value
            fields[last] = f"{old}\n{value}" if isinstance(old, str) and old != value else value

    def end(self, empty: str) -> Exit:
        """Return the answer as the host reads it."""
        plain = self.streams["stdout"] or (f"{empty}\n" if empty else "")
        stdout = dump_line(self.fields) if self.fields else plain.encode("utf-8", "backslashreplace")
        return Exit(self.code, stdout=stdout, stderr=self.streams["stderr"].encode("utf-8", "backslashreplace"))


def _at(fields: Any, place: str) -> Any:
    """Return what stands at a place such as `a.b` or `a.0`; None if there is nothing."""
    for key in place.split("."):
        if isinstance(fields, list) and key.isdigit():
            fields = fields[int(key)] if int(key) < len(fields) else None
        else:
            fields = fields.get(key) if isinstance(fields, dict) else None
    return fields


def _fill_places(text: str, fields: dict[str, Any]) -> str:
    """Return a text with `{place}` replaced by what is there."""
    start, brace, rest = text.partition("{")
    if not brace:
        return text
    place, _, rest = rest.partition("}")
    value = _at(fields, place)
    return start + (value if isinstance(value, str) else "") + _fill_places(rest, fields)


def _item(line: str, call: str) -> dict[str, Any] | None:
    """Return the item of a call that a line of a transcript says is done."""
    try:
        found = _at(loads(line), "payload.item")
    except JsonError:
        return None
    return found if isinstance(found, dict) and found.get("id") == call and "status" in found else None


def _failed(fields: dict[str, Any], place: str) -> bool:
    if place.startswith(FILE):
        return False
    place, equals, start = place.partition("=")
    if equals:
        return str(_at(fields, place)).startswith(start)
    return _at(fields, place[1:]) is False if place.startswith("!") else bool(_at(fields, place))


def _renamed(fields: dict[str, Any], row: HostEvent) -> dict[str, Any]:
    """Return the fields under our names; what lies deeper is copied, and nothing is overwritten."""
    data = dict(fields)
    for theirs, ours in row.renames:
        value = _at(fields, theirs)
        if (value is None and theirs not in fields) or ours in data:
            continue
        data.pop(theirs, None)
        data[ours] = {"role": "assistant", "content": value} if _is_plain_message(ours, value) else value
    parts = data.get("prompt")
    if isinstance(parts, list):
        told = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
        data |= {"prompt": "\n".join(told), "prompt_parts": parts}
    return data


def _is_plain_message(name: str, value: Any) -> bool:
    return name == "final_message" and isinstance(value, str)


def _is_hidden(given: Any, renames: Renames) -> bool:
    """Whether a call of a shell has a command that cannot be read; one without any is the host's to refuse."""
    if isinstance(given, dict) and "command" in given:
        return not isinstance(given["command"], str)
    return not isinstance(given, dict) or any(key == "command" for _, key in renames)


def _object_in(value: Any) -> Any:
    """Return a tool input as an object where a host wrote it as text."""
    if isinstance(value, str):
        try:
            found = loads(value)
        except JsonError:
            return value
        return found if isinstance(found, dict) else value
    return value
