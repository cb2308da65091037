"""The dialects of all agents in `hosts`: one reader, one writer. What an agent cannot express is reported to the person."""

from __future__ import annotations

from boathook.core.event import (
    COMMON_FIELDS,
    DERIVED,
    HOST_EVENT,
    HOST_KEYS,
    HOST_TOOL,
    HOST_WORDS,
    PATCH_TOOL,
    SPELLINGS,
    UNMAPPED,
    Event,
    parse_host_object,
)
from boathook.core.json_text import JsonError, describe_json_type, dump_line, dumps, get_at_place, loads
from boathook.core.notices import list_names
from boathook.core.outcome import (
    ABSENT,
    DEFAULT_ASK_REASON,
    DEFAULT_BLOCK_REASON,
    DEFAULT_STOP_REASON,
    Decision,
    Outcome,
)
from boathook.core.text import MAX_REASON_CHARS, clean_text, reveal_text
from boathook.core.verdict import ALLOWED, DENIED_INSTEAD, REFUSED, Exit, Run, Verdict
from boathook.dialects.answers import default_reason
from boathook.dialects.dialect import HostDialect
from boathook.errors import BeyondLimits, DialectError
from boathook.hosts.host import (
    SPECIFIC_OUTPUT,
    SUBAGENT_KIND,
    SUBAGENT_TOOL_KIND,
    HostEvent,
    find_subagent_call,
    list_derived_kinds,
    load_host,
)
from boathook.hosts.shell_words import is_word_list, join_command, replace_command
from boathook.hosts.tool_calls import (
    SERVER_ARGUMENTS,
    find_key_conflict,
    list_server_names,
    normalize_input,
    restore_input,
    translate_call,
)
from boathook.hosts.tool_names import find_aliases, find_canonical_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from boathook.core.event import EventKind
    from boathook.hosts.host import Renames, Template


# What hosts send if an agent has nothing more to do; a stop for any other reason cannot be refused.
_NORMAL_STOPS = ("end_turn", "completed", "stop")
# Before the place of a failure: the file that is named there has it.
_FILE_MARK = "@"
_FAILURE_KIND = "post-tool-call-failure"
# The fields of an event of a subagent, and the keys of the call that starts it.
_SUBAGENT_KEYS = {
    "subagent_name": ("name", "subagent_type"),
    "subagent_type": ("subagent_type",),
    "task_description": ("prompt", "description"),
}
_CALL_FIELDS = ("tool_name", "tool_input", HOST_TOOL, HOST_KEYS)


class AgentHost(HostDialect):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.host = load_host(name)
        self.project_at = self.host.project_at
        self.env_file_variable = self.host.env_file_variable
        self.hides_messages, self.shows_stderr = bool(self.host.message_unseen), not self.host.message
        self.hides_reasons, self.marks_refused_stops = self.host.hides_reasons, self.host.marks_refused_stops

    def read_event(self, data: bytes, name: str | None = None) -> Event:
        fields = parse_host_object(data)
        row, spelling = self._find_row(fields, name)
        if row is None or (row.required_key and not fields.get(row.required_key)):
            return Event(UNMAPPED, data={**fields, HOST_EVENT: spelling})
        return self._make_event(fields, row)

    def find_caller(self, data: bytes, env: Mapping[bytes, bytes]) -> str:
        if not any(f'"{key}"'.encode() in data for key in self.host.foreign_keys):
            return ""
        from boathook.hosts.detection import detect_caller

        return detect_caller(self.host, parse_host_object(data), env)

    def _find_row(self, fields: dict[str, Any], beside: str | None) -> tuple[HostEvent | None, str]:
        rows: list[tuple[HostEvent | None, str]] = []
        inside = next((fields[key] for key in self.host.event_keys if fields.get(key) is not None), None)
        for name in (inside, beside):
            if name is not None and not isinstance(name, str):
                raise DialectError(f"the event's name must be text, not {describe_json_type(name)}")
            row = self.host.find_event(name) if name is not None else None
            if name is not None and (row or name in self.host.unmapped_events):
                rows.append((row, name))
            elif name is not None and (name is beside or beside is None):
                known = f"{self.host.title} has no event '{name[:100]}' that is known here"
                raise DialectError(f"{known}: no hook was asked{self._suggest_event(name)}")
        if not rows:
            keys = " or ".join(f"'{key}'" for key in self.host.event_keys)
            raise DialectError(f"which event? Name it with --event, or as {keys} in the JSON")
        if len({row.kind_name if row else "" for row, _ in rows}) > 1:
            raise DialectError(f"--event says '{beside}', but the JSON says '{inside}'")
        return rows[0]

    def _suggest_event(self, name: str) -> str:
        from boathook.core.near_words import ask_if_meant, find_near_word

        near = find_near_word(name, (*(row.name for row in self.host.events), *self.host.unmapped_events))
        return f" ({ask_if_meant(near)})" if near else ""

    def _make_event(self, fields: dict[str, Any], row: HostEvent) -> Event:
        session_key, session = _find_text(fields, self.host.session_keys)
        folder_key, folder = _find_text(fields, self.host.folder_keys)
        used_keys = (session_key, folder_key, *self.host.event_keys)
        rest = {key: value for key, value in fields.items() if key not in used_keys}
        timestamp = rest.get("timestamp")
        if isinstance(timestamp, str):
            del rest["timestamp"]
        data = _rename_fields(rest, row)
        if row.input_keys:
            data["tool_input"] = {key: data.pop(key) for key in row.input_keys if key in data}
        if row.tool_name and (row.input_keys or data.get("tool_name") is None):
            data["tool_name"] = _fill_places(row.tool_name, fields)
        kind = row.kind
        if row.failure_at and kind.has_tool and _has_failed(fields, row.failure_at):
            kind = SPELLINGS[_FAILURE_KIND]
            data.setdefault("error", get_at_place(fields, row.failure_at.partition("=")[0]) or "the tool failed")
            data[DERIVED] = row.name
        if row.continues_agent and data.get("stop_reason") in _NORMAL_STOPS:
            data["host_stop_reason"] = data.pop("stop_reason")
        data = {f"host_{key}" if key in COMMON_FIELDS else key: value for key, value in data.items()}
        data[HOST_EVENT] = row.name
        aliases = self._translate_tool(data, kind) if kind.has_tool else ()
        return Event(kind, timestamp if isinstance(timestamp, str) else "", session, folder, {}, data, aliases)

    def _translate_tool(self, data: dict[str, Any], kind: EventKind) -> tuple[str, ...]:
        name, tool_input = data.get("tool_name"), _parse_object(data.get("tool_input"), must_be_read=kind.is_pre)
        if name is not None and not isinstance(name, str):
            raise DialectError(f"the tool's name must be text, not {describe_json_type(name)}")
        if not name:
            return ()
        # A tool that the table does not have may have a name that another agent uses.
        tools = self.host.tools if name in self.host.tools else {name: (find_canonical_name(name), ())}
        ours, renames = tools[name]
        # It may also be the tool of a server: then a matcher may mean either.
        server_names = self._list_server_names(name, {**data, "tool_input": tool_input})
        ours = server_names[0] if server_names and ours == name else ours
        tool_input = normalize_input(tools, name, tool_input)
        if name in self.host.server_callers and isinstance(tool_input, dict) and SERVER_ARGUMENTS in tool_input:
            arguments = _parse_object(tool_input[SERVER_ARGUMENTS], must_be_read=kind.is_pre)
            tool_input = {**tool_input, SERVER_ARGUMENTS: arguments}
        data[HOST_TOOL], data["tool_name"] = name, ours
        if isinstance(tool_input, dict):
            if kind.is_pre and (conflict := find_key_conflict(renames, tool_input)):
                raise BeyondLimits(f"{conflict} in the input of {name}, so no hook could know which of them counts")
            _, tool_input, host_keys = translate_call(tools, name, tool_input)
            if host_keys:
                data[HOST_KEYS] = host_keys
            if ours == "Shell" and is_word_list(tool_input.get("command")):
                data[HOST_WORDS] = tool_input["command"]
                tool_input["command"] = join_command(data[HOST_WORDS])
        if tool_input is None:
            data.pop("tool_input", None)
        else:
            data["tool_input"] = tool_input
            if ours == "Shell" and tool_input and kind.is_pre and _hides_command(tool_input, renames):
                raise BeyondLimits(f"no command can be read in the input of {name}, so no hook could look at it")
            if ours == PATCH_TOOL and kind.is_pre and _hides_patch(tool_input):
                raise BeyondLimits(f"no patch can be read in the input of {name}, so no hook could look at it")
        return tuple(dict.fromkeys((*find_aliases(ours, name), *server_names)))

    def _list_server_names(self, name: str, data: dict[str, Any]) -> tuple[str, ...]:
        if name in self.host.tools:
            return ()
        places = self.host.server_callers.get(name, self.host.server_places)
        return list_server_names(self.host.server_tool, places, name, data)

    def get_field(self, event: Event, place: str) -> object:
        # The key of the event's folder is not among the other fields any more.
        return event.work_dir if place in self.host.folder_keys[:1] else get_at_place(event.data, place)

    def describe_unmapped_event(self, event: Event) -> str:
        name = event.data[HOST_EVENT]
        # A prompt that a host repeats with nothing in it is not worth a message.
        is_known = self._find_row_of(event) is not None
        return "" if is_known else f"{self.host.title}'s event '{name}' has no counterpart here: no hook was asked"

    def find_same_call(self, event: Event) -> str:
        row = self._find_row_of(event)
        if row is None or row.same_call_as is None:
            return ""
        name, version_key, first_version = row.same_call_as
        major = str(event.data.get(version_key)).partition(".")[0]
        return name if major.isascii() and major.isdigit() and int(major) >= first_version else ""

    def find_result_file(self, event: Event) -> str:
        row = self._find_row_of(event)
        if row is None or not row.failure_at.startswith(_FILE_MARK) or event.kind is not row.kind:
            return ""
        path = event.data.get(row.failure_at[1:])
        return path if isinstance(path, str) and isinstance(event.data.get("tool_use_id"), str) else ""

    def apply_result(self, event: Event, text: str) -> Event:
        call_id = event.data["tool_use_id"]
        for line in reversed(text.splitlines()):
            item = _find_finished_item(line, call_id) if call_id in line else None
            if item is None:
                continue
            if item.get("status") != "failed":
                return event
            failure = {"error": f"exit code {item.get('exit_code')}", DERIVED: event.data[HOST_EVENT]}
            return event.replace(kind=SPELLINGS[_FAILURE_KIND], data={**event.data, **failure})
        return event

    def derive_subagent(self, verdict: Verdict) -> Event | None:
        event, row = verdict.event, self._find_row_of(verdict.event)
        is_start = row is not None and row.kind_name == "pre-tool-call" and event.tool_name == SUBAGENT_TOOL_KIND
        if row is None or not is_start or verdict.is_blocked or find_subagent_call(self.host) is None:
            return None
        given = event.tool_input if isinstance(event.tool_input, dict) else {}
        data = {key: value for key, value in event.data.items() if key not in _CALL_FIELDS}
        for name, keys in _SUBAGENT_KEYS.items():
            value = next((given[key] for key in keys if isinstance(given.get(key), str)), None)
            data |= {} if value is None else {name: value}
        return Event(
            SPELLINGS[SUBAGENT_KIND], event.timestamp, event.session_id, event.work_dir, {}, {**data, DERIVED: row.name}
        )

    def add_subagent_verdict(self, verdict: Verdict, subagent: Verdict) -> Verdict:
        # An approval of the subagent is not one of the call, and its context is for its own model.
        outcome = subagent.outcome.remove_allow().replace(contexts=())
        outcome |= Outcome(messages=self._list_lost_contexts(subagent))
        return verdict.replace(
            outcome=verdict.outcome | outcome,
            runs=verdict.runs + subagent.runs,
            background=verdict.background + subagent.background,
            skipped=verdict.skipped + subagent.skipped,
        )

    def comes_after_call(self, event: Event) -> bool:
        is_own = event.kind.name == SUBAGENT_KIND and DERIVED not in event.data
        return is_own and find_subagent_call(self.host) is not None

    def _list_lost_contexts(self, subagent: Verdict) -> tuple[str, ...]:
        call = find_subagent_call(self.host)
        if call is None or call.context:
            return ()
        prefix = f"a hook has context for a subagent, which {self.host.title} cannot take"
        return tuple(f"{prefix}: {text}" for text in subagent.additional_context)

    def can_add_context(self, verdict: Verdict) -> bool:
        row = self._find_row_of(verdict.event)
        return row is not None and row.reaches_model and verdict.decision < Decision.ASK

    def asks_person(self, event: Event, env: Mapping[bytes, bytes]) -> bool:
        row = self._find_row_of(event)
        if row is None or not row.ask:
            return False
        if any(self._read_place(event, env, place) == value for place, value in self.host.unasked_at):
            return False
        return not self.find_ask_doubt(event, env)

    def find_ask_doubt(self, event: Event, env: Mapping[bytes, bytes]) -> str:
        row, rule = self._find_row_of(event), self.host.ask_versions
        if rule is None or row is None or not row.ask or not self._read_place(event, env, rule.sent_at):
            return ""
        import re

        from boathook.core.ask_rule import describe_ask_doubt

        match = re.match(rule.pattern, str(self._read_place(event, env, rule.version_at)))
        numbers = tuple(map(int, match.groups())) if match else ()
        if numbers >= rule.since:
            return ""
        who = f"{self.host.title} {'.'.join(map(str, numbers)) or 'of an unknown version'}"
        return describe_ask_doubt(who, rule.describe_since())

    def _read_place(self, event: Event, env: Mapping[bytes, bytes], place: str) -> object:
        if place.startswith("$"):
            return env.get(place[1:].encode(), b"").decode("utf-8", "replace")
        return self.get_field(event, place)

    def find_wait_seconds(self, event: Event, texts: Sequence[str]) -> float:
        from boathook.hosts.setup import load_setup

        row = self._find_row_of(event)
        return load_setup(self.name).find_wait_seconds(row.name, texts) if row is not None else 0

    def derive_events(self, verdict: Verdict) -> tuple[Event, ...]:
        row = self._find_row_of(verdict.event)
        if row is None or verdict.decision == Decision.BLOCK:
            return ()
        event = verdict.original
        return tuple(
            event.replace(kind=SPELLINGS[name], data={**event.data, DERIVED: row.name})
            for name in list_derived_kinds(self.host, row)
        )

    def write_nothing(self) -> Exit:
        return Exit(0, stdout=f"{self.host.empty_answer}\n".encode() if self.host.empty_answer else b"")

    def refuse(self, name: str | None, reason: str, code: int) -> tuple[Exit, EventKind | None]:
        """Refuse an event that could not be read. A host that fails closed would hide the reason, so it is in the answer."""
        if name is None:
            # The event is unknown. Most hosts read exit code 2 as a refusal.
            return Exit(code), None
        row = self.host.find_event(name)
        if row is None or not _can_refuse(row) or not (code == 2 or self.host.fails_closed):
            # There is nothing to refuse, and an error must not send an agent back to work.
            return Exit(1), None
        answer = _Answer(row)
        answer.add(row.block, reason)
        return answer.make_exit(self.host.empty_answer), row.kind

    def answer_broken(self, name: str, reason: str, *, refuses: bool) -> Exit:
        """Return the answer if the engine cannot start: a tool call is refused, every other event goes on with a message."""
        row = self.host.find_event(name)
        if row is None:
            raise DialectError(f"{self.host.title} has no event '{name}'")
        answer, is_refused = _Answer(row), refuses and bool(row.block) and row.kind.is_pre and row.kind.has_tool
        if is_refused:
            answer.add(row.block, reason)
        if not is_refused or row.hides_block:
            answer.add(self.host.message or (("stderr", "$"),), reason)
        return answer.make_exit(self.host.empty_answer)

    def write_answer(self, verdict: Verdict, later: Sequence[Verdict] = (), *, refuses: bool = False) -> Exit:
        """Write a verdict for the host. Only the person sees the messages of `later`, the verdicts on derived events."""
        row = self._find_row_of(verdict.event)
        if row is None:
            return Exit(0)
        answer = _Answer(row)
        notes = self._fill_answer(verdict, row, answer, refuses=refuses)
        messages = [*verdict.system_message, *notes, *(_describe_blocks(verdict) if row.hides_block else ())]
        messages += [text for one in later for text in (*one.system_message, *self.list_degraded(one))]
        warnings = [text for one in (verdict, *later) for text in one.warnings()]
        # A host without a place for messages gets the warnings on stderr in any case; others do not show stderr.
        messages = [*messages, *warnings] if self.host.message else [text for text in messages if text not in warnings]
        if messages:
            answer.add(self.host.message or (("stderr", "$"),), "\n".join(dict.fromkeys(messages)))
        return answer.make_exit(self.host.empty_answer)

    def list_degraded(self, verdict: Verdict, *, refuses: bool = False) -> tuple[str, ...]:
        if DERIVED in verdict.event.data and verdict.event.kind.name == SUBAGENT_KIND:
            row = self._find_row_of(verdict.event)
            plain = verdict.replace(outcome=verdict.outcome.replace(contexts=()))
            notes = self._fill_answer(plain, row, _Answer(row), refuses=False) if row is not None else []
            return (*notes, *self._list_lost_contexts(verdict))
        if DERIVED in verdict.event.data and not verdict.event.kind.has_tool:
            # Nothing of a derived event can be expressed.
            # An approval of what has happened already is nothing to lose.
            reasons = verdict.reasons if verdict.decision > Decision.ALLOW else ()
            wants = [f"{verdict.decision.word}: {reason}" for reason in reasons]
            wants += [f"context for the model: {text}" for text in verdict.additional_context]
            prefix = f"a hook of {verdict.event.kind.name}, which {self.host.title} does not have, wanted"
            return tuple(f"{prefix} {want}" for want in wants)
        row = self._find_row_of(verdict.event)
        return tuple(self._fill_answer(verdict, row, _Answer(row), refuses=refuses)) if row is not None else ()

    def _find_row_of(self, event: Event) -> HostEvent | None:
        name = event.data.get(HOST_EVENT)
        return self.host.find_event(name if isinstance(name, str) else event.kind.name)

    def _fill_answer(self, verdict: Verdict, row: HostEvent, answer: _Answer, *, refuses: bool) -> list[str]:
        reasons = "\n".join(_list_reasons(verdict, row))
        is_input_lost = _loses_input(verdict, row)
        # An approval is for the new input: nothing may approve the old one.
        is_withdrawn = is_input_lost and verdict.decision == Decision.ALLOW
        decision = Decision.NONE if is_withdrawn else verdict.decision
        notes = self._add_decision(decision, row, reasons, answer, _describe_askers(verdict))
        effects = self._refuse_lost_input(verdict, row, answer) if is_input_lost else []
        effects += self._add_effects(verdict, row, answer)
        lost = [text for text in effects if text != self.host.block_side_effect]
        is_denied_question = verdict.decision == Decision.ASK and not row.ask
        is_refused = verdict.is_blocked or is_denied_question or (is_input_lost and _refuses_lost_input(verdict, row))
        if refuses and lost and _can_refuse(row) and not is_refused:
            answer.clear()
            answer.add(row.block, "\n".join((*verdict.reasons, *lost)))
            effects.append("so it was refused (hooks.degraded)")
        return [*notes, *effects]

    def _refuse_lost_input(self, verdict: Verdict, row: HostEvent, answer: _Answer) -> list[str]:
        """Refuse a call whose new input the host cannot take, and name that input so that the model can send it."""
        lost = f"a hook changed the input, which {self.host.title} cannot take at {row.name}"
        if not _refuses_lost_input(verdict, row):
            return [lost]
        answer.clear()
        new_input = clean_text(dumps(self._restore_input(verdict)), MAX_REASON_CHARS)
        wanted = f"a hook wants another input, which {self.host.title} cannot take here: call the tool with {new_input}"
        reasons = verdict.reasons
        if verdict.asked[1] == ALLOWED:
            # The yes was for the new input: as a reason of a refusal it would mislead.
            reasons = ("A person allowed this call with another input than yours, so yours did not run.",)
        answer.add(row.block, "\n".join((*reasons, wanted)))
        return [f"{lost}: refused instead, with the new input as the reason"]

    def _add_decision(
        self, decision: Decision, row: HostEvent, reasons: str, answer: _Answer, askers: str
    ) -> list[str]:
        title, name = self.host.title, row.name
        if decision == Decision.STOP:
            return self._add_stop(row, reasons or DEFAULT_STOP_REASON, answer)
        if decision == Decision.BLOCK:
            answer.add(row.block, reasons or DEFAULT_BLOCK_REASON)
            return [] if row.block else [f"a hook wanted to block, which {title} cannot at {name}: {reasons}"]
        # At a permission request the person is asked in any case.
        if decision == Decision.ASK and not row.ask and row.kind_name != "permission-request":
            if _can_refuse(row):
                answer.add(row.block, reasons or DEFAULT_ASK_REASON)
                reason = f". The reason: {reasons}" if reasons else ""
                return [f"{askers} wanted to ask, which {title} cannot at {name}: {DENIED_INSTEAD}{reason}"]
            return [f"{askers} wanted to ask, which {title} cannot at {name}: {reasons}"]
        if decision in (Decision.ASK, Decision.ALLOW):
            answer.add(row.ask if decision == Decision.ASK else row.allow, reasons)
        return []

    def _add_stop(self, row: HostEvent, reasons: str, answer: _Answer) -> list[str]:
        """End the run; refuse what is about to happen as well, because a host may end the run only after that."""
        answer.add(row.stop, reasons)
        if not row.continues_agent and (row.kind.is_pre or not row.stop):
            answer.add(row.block, reasons)
        # An empty answer to a stop ends the run.
        if row.stop or row.kind_name == "pre-agent-turn-stop":
            return []
        effect = reasons if answer.is_empty else "blocked instead"
        return [f"a hook wanted to end the run, which {self.host.title} cannot at {row.name}: {effect}"]

    def _add_effects(self, verdict: Verdict, row: HostEvent, answer: _Answer) -> list[str]:
        cannot = f"{self.host.title} cannot take at {row.name}"
        notes: list[str] = []
        is_denied_question = verdict.decision == Decision.ASK and not row.ask
        is_refused = not answer.is_empty and (verdict.is_blocked or is_denied_question)
        if is_refused and row.kind_name == "pre-tool-call" and verdict.decision != Decision.STOP:
            notes += [self.host.block_side_effect] if self.host.block_side_effect else []
        if verdict.modified_input is not None and not is_refused and not _loses_input(verdict, row):
            answer.add(row.input, self._restore_input(verdict))
        if verdict.outcome.output is not ABSENT:
            answer.add(row.output, verdict.outcome.output, even_empty=True)
            if not row.output:
                notes.append(f"a hook changed the output, which {cannot}")
        if context := "\n".join(verdict.additional_context):
            if row.context and not answer.code:
                answer.add(row.context, context)
            else:
                notes.append(f"a hook has context for the model, which {cannot}: {context}")
        return notes

    def _restore_input(self, verdict: Verdict) -> Any:
        data, before, after = verdict.event.data, verdict.original.tool_input, verdict.modified_input
        name, host_keys = data.get(HOST_TOOL), data.get(HOST_KEYS)
        if not (isinstance(name, str) and isinstance(after, dict) and isinstance(before, dict)):
            return after
        words, text = data.get(HOST_WORDS), after.get("command")
        if is_word_list(words) and isinstance(text, str):
            after = {**after, "command": words if text == before.get("command") else replace_command(words, text)}
        return restore_input(self.host.tools, name, host_keys if isinstance(host_keys, dict) else {}, before, after)


class _Answer:
    def __init__(self, row: HostEvent) -> None:
        self.row = row
        self.clear()

    @property
    def is_empty(self) -> bool:
        return not (self.fields or self.code or any(self.streams.values()))

    def clear(self) -> None:
        self.code = 0
        self.fields: dict[str, Any] = {}
        self.streams = {"stdout": "", "stderr": ""}

    def add(self, template: Template, value: Any, *, even_empty: bool = False) -> None:
        for place, content in template:
            if content not in ("$", "$text"):
                self._set(place, content)
            elif value != "" or even_empty:
                self._set(place, value if content == "$" or isinstance(value, str) else dumps(value))

    def _set(self, place: str, value: Any) -> None:
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
            fields[last] = f"{old}\n{value}" if isinstance(old, str) and old != value else value

    def make_exit(self, empty_answer: str) -> Exit:
        text = self.streams["stdout"] or (f"{empty_answer}\n" if empty_answer else "")
        stdout = dump_line(self.fields) if self.fields else text.encode("utf-8", "backslashreplace")
        return Exit(self.code, stdout=stdout, stderr=self.streams["stderr"].encode("utf-8", "backslashreplace"))


def _list_reasons(verdict: Verdict, row: HostEvent) -> tuple[str, ...]:
    """Return the reasons; if the host denies what it cannot ask, with how a person can allow the call."""
    is_denied_question = verdict.decision == Decision.ASK and not row.ask and _can_refuse(row) and not _asks_person(row)
    if not is_denied_question or not verdict.question:
        return verdict.reasons
    from boathook.core.permit import add_permission

    return add_permission(verdict.reasons, verdict.question)


def _describe_askers(verdict: Verdict) -> str:
    names = [run.hook.name for run in verdict.runs if run.outcome.decision == Decision.ASK]
    return f"hook {list_names([repr(name) for name in dict.fromkeys(names)])}" if names else "a hook"


def _describe_blocks(verdict: Verdict) -> list[str]:
    """Return which hook blocked the event and why, for a host that does not show this to the person."""
    if not verdict.is_blocked:
        return []
    what = reveal_text(verdict.event.tool_name) or verdict.event.kind.name
    runs = [run for run in verdict.runs if run.outcome.decision == verdict.decision]
    blocks = [
        (f"hook '{run.hook.name}'" if run.status != REFUSED else "boathook", _find_own_reason(run)) for run in runs
    ]
    blocks = blocks or [("boathook", "\n".join(verdict.reasons))]
    return [f"{who} blocked {what}{f': {why}' if why else ''}" for who, why in blocks]


def _find_own_reason(run: Run) -> str:
    return "" if run.outcome.reason == default_reason(run.hook) else run.outcome.reason


def _can_refuse(row: HostEvent) -> bool:
    return bool(row.block) and row.kind.is_pre and not row.continues_agent


def _loses_input(verdict: Verdict, row: HostEvent) -> bool:
    is_denied_question = verdict.decision == Decision.ASK and not row.ask and _can_refuse(row)
    if verdict.modified_input is None or verdict.is_blocked or (is_denied_question and not _asks_person(row)):
        return False
    return not row.input or (_asks_person(row) and verdict.decision != Decision.ALLOW)


def _refuses_lost_input(verdict: Verdict, row: HostEvent) -> bool:
    """Whether a call is refused because its new input is lost: hooks after the change have not seen the old one."""
    # Without an approval, a permission request is for the person, who sees the old input.
    return _can_refuse(row) and (not _asks_person(row) or verdict.decision == Decision.ALLOW)


def _asks_person(row: HostEvent) -> bool:
    return row.kind_name == "permission-request"


def _find_text(fields: dict[str, Any], places: Sequence[str]) -> tuple[str, str]:
    for place in places:
        value = get_at_place(fields, place)
        if isinstance(value, str):
            return place, value
        if value is not None:
            raise DialectError(f"the event's '{place}' must be text, not {describe_json_type(value)}")
    return "", ""


def _fill_places(text: str, fields: dict[str, Any]) -> str:
    start, brace, rest = text.partition("{")
    if not brace:
        return text
    place, _, rest = rest.partition("}")
    value = get_at_place(fields, place)
    return start + (value if isinstance(value, str) else "") + _fill_places(rest, fields)


def _find_finished_item(line: str, call_id: str) -> dict[str, Any] | None:
    try:
        item = get_at_place(loads(line), "payload.item")
    except JsonError:
        return None
    return item if isinstance(item, dict) and item.get("id") == call_id and "status" in item else None


def _has_failed(fields: dict[str, Any], place: str) -> bool:
    if place.startswith(_FILE_MARK):
        return False
    place, equals, start = place.partition("=")
    if equals:
        return str(get_at_place(fields, place)).startswith(start)
    return get_at_place(fields, place[1:]) is False if place.startswith("!") else bool(get_at_place(fields, place))


def _rename_fields(fields: dict[str, Any], row: HostEvent) -> dict[str, Any]:
    data = dict(fields)
    for theirs, ours in row.renames:
        value = get_at_place(fields, theirs)
        if (value is None and theirs not in fields) or ours in data:
            continue
        data.pop(theirs, None)
        is_message = ours == "final_message" and isinstance(value, str)
        data[ours] = {"role": "assistant", "content": value} if is_message else value
    parts = data.get("prompt")
    if isinstance(parts, list):
        texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
        data |= {"prompt": "\n".join(texts), "prompt_parts": parts}
    return data


def _hides_command(tool_input: Any, renames: Renames) -> bool:
    """Whether a call of a shell has a command that cannot be read; a call without one is for the host to refuse."""
    if isinstance(tool_input, dict) and "command" in tool_input:
        return not isinstance(tool_input["command"], str)
    return not isinstance(tool_input, dict) or any(key == "command" for _, key in renames)


def _hides_patch(tool_input: Any) -> bool:
    return bool(tool_input) and not (isinstance(tool_input, dict) and isinstance(tool_input.get("patch"), str))


def _parse_object(value: Any, *, must_be_read: bool) -> Any:
    """Return the object that a text is, any other value as it is. The host may read an object that is refused here."""
    if not isinstance(value, str):
        return value
    try:
        parsed = loads(value)
    except JsonError as error:
        if must_be_read and value.lstrip().startswith("{"):
            raise BeyondLimits(
                f"the tool's input cannot be read as JSON, so no hook could look at it: {error}"
            ) from None
        return value
    return parsed if isinstance(parsed, dict) else value
