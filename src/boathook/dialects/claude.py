"""The dialect of hooks in settings.json, for every host; `hosts.claude_events` lists what each event can express.

The hooks of several other agents answer in the same way, with other words: `AnswerRules` says what differs.
"""

from __future__ import annotations

from boathook.core.event import FILE_CHANGES, HOST_EVENT, HOST_GUESS, HOST_KEYS, HOST_TOOL, HOST_WORDS, Event
from boathook.core.hook import Http, Prompt
from boathook.core.json_text import JsonError, decode, dump_line, loads
from boathook.core.outcome import ABSENT, NOTHING, Decision, Outcome
from boathook.core.text import MAX_REASON_CHARS, clean_text
from boathook.core.value import Value
from boathook.core.verdict import FAILED, UNREADABLE, AnswerError, Call, Exit
from boathook.dialects.answers import (
    ANY_VALUE,
    FLAG,
    OBJECT,
    TEXT,
    check_types,
    default_reason,
    describe_exit,
    read_stderr_reason,
    refuse_hidden_json,
    to_texts,
)
from boathook.hosts.claude_events import CLAUDE_EVENTS_BY_KIND, HookEvent
from boathook.hosts.host import load_host
from boathook.hosts.tool_names import FAMILIAR_TOOLS, find_claude_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from boathook.dialects.answers import Types

    Reasons = tuple[tuple[Decision, str], ...]

DEFAULT_FIELDS: tuple[tuple[str, Any], ...] = (("transcript_path", ""), ("permission_mode", "default"))

_PERMISSION_DECISIONS = {"allow": Decision.ALLOW, "deny": Decision.BLOCK, "ask": Decision.ASK, "defer": Decision.ASK}
_OLD_DECISIONS = {
    "approve": Decision.ALLOW,
    "block": Decision.BLOCK,
    "allow": Decision.ALLOW,
    "deny": Decision.BLOCK,
    "ask": Decision.ASK,
}
_BEHAVIORS = {"allow": Decision.ALLOW, "deny": Decision.BLOCK}
ANSWER_TYPES: Types = {
    "continue": FLAG,
    "stopReason": TEXT,
    "suppressOutput": FLAG,
    "systemMessage": TEXT,
    "decision": TEXT,
    "reason": TEXT,
    "hookSpecificOutput": OBJECT,
}
_NESTED = "hookSpecificOutput"
_TOOL_CALL, _PERMISSION_REQUEST = "pre-tool-call", "permission-request"
NESTED_TYPES: Types = {
    "hookEventName": TEXT,
    "permissionDecision": TEXT,
    "permissionDecisionReason": TEXT,
    "updatedInput": OBJECT,
    "additionalContext": TEXT,
    "decision": OBJECT,
    "updatedToolOutput": ANY_VALUE,
    "updatedMCPToolOutput": ANY_VALUE,
}
PERMISSION_TYPES: Types = {"behavior": TEXT, "message": TEXT, "updatedInput": OBJECT, "interrupt": FLAG}
JUDGEMENT_TYPES: Types = {"ok": FLAG, "reason": TEXT}
# A delete is an edit without texts for these hooks.
_DELETE_TOOL, _EDIT_TEXTS = FILE_CHANGES["delete"][0], ("old_string", "new_string")
_DECISIVE = ("decision", "continue", _NESTED, "permissionDecision", "systemMessage")


class AnswerRules(Value):
    """How answers are read at one event: its row, the words of `decision`, and what turns an answer and an input into ours."""

    row: HookEvent
    rename_input: Callable[[Event, Any], Any]
    words: tuple[str, ...] = ("approve", "block")
    translate: Callable[[dict[str, Any]], dict[str, Any]] | None = None


def flatten_message(name: str, value: Any) -> Any:
    plain = name == "final_message" and isinstance(value, dict) and isinstance(value.get("content"), str)
    return value["content"] if plain else value


def _make_fields(event: Event, row: HookEvent | None) -> dict[str, Any]:
    names = {ours: theirs for theirs, ours in row.renames} if row else {}
    data = {names.get(key, key): flatten_message(key, value) for key, value in event.data.items()}
    event_name = row.name if row else data.get("hook_event_name") or event.kind.name
    first = {"session_id": event.session_id, "cwd": event.work_dir, "hook_event_name": event_name}
    # Also last, because the data of a host may have other values of these names.
    return {**first, **data, **first}


def write_event(event: Event, trigger: str = "") -> bytes:  # noqa: ARG001
    row = CLAUDE_EVENTS_BY_KIND.get(event.kind.name)
    fields = _make_fields(event, row)
    _name_tool(event, fields)
    if event.context:
        fields.setdefault("context", event.context)
    for key, value in (*DEFAULT_FIELDS, *(row.filled if row else ())):
        fields.setdefault(key, value)
    return dump_line(fields)


def _name_tool(event: Event, fields: dict[str, Any]) -> None:
    """Give a call the name and the keys that it has in Claude Code, whatever agent it came from."""
    theirs = fields.pop(HOST_TOOL, None)
    for name in (HOST_KEYS, HOST_EVENT, HOST_WORDS, HOST_GUESS):
        fields.pop(name, None)
    if not isinstance(theirs, str):
        return
    fields["tool_name"] = find_claude_name(event.tool_name, theirs)
    keys = _find_claude_keys(event)
    if keys and isinstance(event.tool_input, dict):
        fields["tool_input"] = {keys.get(key, key): value for key, value in event.tool_input.items()}
    if event.tool_name == _DELETE_TOOL and isinstance(event.tool_input, dict):
        fields["tool_input"] = event.tool_input | {key: "" for key in _EDIT_TEXTS if key not in event.tool_input}


def _find_claude_keys(event: Event) -> dict[str, str]:
    """Return Claude Code's key for each of ours in a tool's input, where it is another one (and the other way round)."""
    theirs, keys = event.data.get(HOST_TOOL), event.data.get(HOST_KEYS)
    if not (isinstance(theirs, str) and theirs in FAMILIAR_TOOLS and isinstance(keys, dict) and keys):
        return {}
    # Kimi Code and Cursor have tools of the same names, with other keys: only Claude Code's own keys count.
    _, renames = load_host("claude").tools.get(theirs, ("", ()))
    pairs = {ours: key for key, ours in renames if keys.get(ours) == key}
    return pairs | {key: ours for ours, key in pairs.items()}


def read_answer(call: Call, end: Exit, *, strict: bool = False) -> tuple[Outcome, tuple[str, ...]]:  # noqa: ARG001
    is_remote = isinstance(call.hook.handler, Prompt | Http)
    if is_remote and end.code != 0:
        raise AnswerError(FAILED, read_stderr_reason(end) or describe_exit(end))
    row = CLAUDE_EVENTS_BY_KIND.get(call.event.kind.name) or HookEvent(
        call.event.kind.name, call.event.kind.name, refuses=True, context=True
    )
    return read_by_rules(call, end, AnswerRules(row, _rename_keys))


def read_by_rules(call: Call, end: Exit, rules: AnswerRules) -> tuple[Outcome, tuple[str, ...]]:
    row = rules.row
    if end.code == 2:
        return _read_refusal(call, rules, end)
    try:
        if end.overflow:
            raise JsonError("it is longer than 1 MiB")
        text = decode(end.stdout).strip()
        if isinstance(call.hook.handler, Prompt):
            return _read_judgement(call, text)
        answer = _parse_answer(text, rules)
    except JsonError as error:
        if end.code != 0:
            raise AnswerError(FAILED, describe_exit(end)) from None
        raise AnswerError(UNREADABLE, f"the answer is not valid: {error}") from None
    if answer is None:
        if end.code != 0:
            raise AnswerError(FAILED, describe_exit(end))
        plain = to_texts(text)
        return (Outcome(contexts=plain) if row.plain else Outcome(logs=plain)) if plain else NOTHING, ()
    outcome, notes = _AnswerReader(call, rules, answer).read()
    return (outcome, notes) if end.code == 0 else _read_failed_answer(call, end, outcome, notes)


def _read_failed_answer(
    call: Call, end: Exit, outcome: Outcome, notes: tuple[str, ...]
) -> tuple[Outcome, tuple[str, ...]]:
    """Read a JSON answer of a hook that failed: Claude Code takes it, but a failure must not look like an approval."""
    notes += (f"exit code {end.code}, but its JSON answer counts",)
    if outcome.decision == Decision.ALLOW:
        outcome = outcome.replace(decision=Decision.NONE, all_reasons=())
        notes += ("its 'allow' is ignored because the hook failed",)
    if outcome == NOTHING or (call.hook.on_failure == "block" and not outcome.is_blocked):
        raise AnswerError(FAILED, describe_exit(end))
    return outcome, notes


def _parse_answer(text: str, rules: AnswerRules) -> dict[str, Any] | None:
    # Claude Code reads nothing else as JSON.
    if not text.startswith("{"):
        refuse_hidden_json(text, _DECISIVE)
        return None
    answer: dict[str, Any] = loads(text)
    if rules.translate is not None:
        answer = rules.translate(answer)
    check_types(answer, ANSWER_TYPES)
    nested = answer.get(_NESTED) or {}
    check_types(nested, NESTED_TYPES, f"{_NESTED}.")
    check_types(nested.get("decision") or {}, PERMISSION_TYPES, f"{_NESTED}.decision.")
    hint = f" (a tool call is denied with {_NESTED}.permissionDecision)"
    words = {word: _OLD_DECISIONS[word] for word in rules.words}
    _check_decision(answer.get("decision"), words, "decision", hint)
    _check_decision(nested.get("permissionDecision"), _PERMISSION_DECISIONS, f"{_NESTED}.permissionDecision")
    _check_decision((nested.get("decision") or {}).get("behavior"), _BEHAVIORS, f"{_NESTED}.decision.behavior")
    return answer


def _check_decision(word: str | None, words: dict[str, Decision], key: str, hint: str = "") -> None:
    if word is not None and word not in words:
        raise JsonError(f"unknown '{key}' {word!r} (known: {', '.join(words)}){hint}")


def _read_refusal(call: Call, rules: AnswerRules, end: Exit) -> tuple[Outcome, tuple[str, ...]]:
    """Read exit 2: a block if the event can be refused, else a message to the person. JSON can only add to that."""
    row, outcome, reason = rules.row, NOTHING, read_stderr_reason(end)
    notes: tuple[str, ...] = ()
    try:
        answer = _parse_answer(decode(end.stdout).strip(), rules) or {}
    except JsonError:
        answer = {}
    if answer:
        outcome, notes = _AnswerReader(call, rules, answer).read()
        reasons = "\n".join(text for decision, text in outcome.all_reasons if decision != Decision.STOP)
        reason = reason or reasons or (clean_text(answer.get("reason") or "", MAX_REASON_CHARS) if row.refuses else "")
        if outcome.decision != Decision.STOP:
            outcome = outcome.replace(decision=Decision.NONE)
        outcome = outcome.replace(all_reasons=tuple(one for one in outcome.all_reasons if one[0] == Decision.STOP))
    if not row.refuses:
        message = reason or f"hook '{call.hook.name}' ended with exit 2"
        return outcome | Outcome(messages=(f"{message} ({row.name} cannot be blocked)",)), notes
    return Outcome.block(reason or default_reason(call.hook)) | outcome, notes


def _read_judgement(call: Call, text: str) -> tuple[Outcome, tuple[str, ...]]:
    answer: dict[str, Any] = loads(text)
    check_types(answer, JUDGEMENT_TYPES)
    if answer.get("ok") is None:
        raise JsonError('there is no "ok": the model is to answer {"ok": true} or {"ok": false, "reason": "…"}')
    reason = clean_text(answer.get("reason") or "", MAX_REASON_CHARS)
    if answer["ok"]:
        return Outcome(logs=to_texts(reason)) if reason else NOTHING, ()
    return Outcome.block(reason or default_reason(call.hook)), ()


def _rename_keys(event: Event, new_input: dict[str, Any]) -> dict[str, Any]:
    if event.tool_name == _DELETE_TOOL and HOST_TOOL in event.data:
        added = [key for key in _EDIT_TEXTS if new_input.get(key) == "" and key not in event.tool_input]
        return {key: value for key, value in new_input.items() if key not in added}
    keys = _find_claude_keys(event)
    return {keys.get(key, key): value for key, value in new_input.items()} if keys else new_input


class _AnswerReader:
    def __init__(self, call: Call, rules: AnswerRules, answer: dict[str, Any]) -> None:
        self.call, self.rules, self.row, self.answer = call, rules, rules.row, answer
        self.nested: dict[str, Any] = answer.get(_NESTED) or {}
        self.permission: dict[str, Any] = self.nested.get("decision") or {}
        self.notes: list[str] = []

    def read(self) -> tuple[Outcome, tuple[str, ...]]:
        newer, older = self._read_newer(), self._read_older()
        # The newer fields count, unless the older ones object more.
        decision, reasons = newer if newer[0] >= older[0] else older
        contexts, messages = to_texts(self.nested.get("additionalContext")), to_texts(self.answer.get("systemMessage"))
        if contexts and not self.row.context:
            self._note_no_effect("'additionalContext'")
            contexts = ()
        # In Claude Code, context at a stop sends the agent back to work.
        if self.row.continues_agent and contexts and decision == Decision.NONE:
            decision, reasons, contexts = Decision.BLOCK, ((Decision.BLOCK, contexts[0]),), ()
        if decision == Decision.BLOCK and not self.row.refuses:
            self._note_no_effect("a block")
            messages += tuple(text for _, text in reasons)
            decision, reasons = Decision.NONE, ()
        if decision == Decision.BLOCK and not reasons:
            reasons = ((decision, default_reason(self.call.hook)),)
        if self.answer.get("continue") is False:
            stop = clean_text(self.answer.get("stopReason") or self.answer.get("reason") or "", MAX_REASON_CHARS)
            decision, reasons = Decision.STOP, (*reasons, *(((Decision.STOP, stop),) if stop else ()))
        kind, nested = self.call.event.kind, self.nested
        inputs = (self.permission.get("updatedInput"), nested.get("updatedInput"))
        outputs = (nested.get("updatedToolOutput"), nested.get("updatedMCPToolOutput"))
        new_input = self._change("updatedInput", *inputs, can_change=kind.rewrites_input)
        if isinstance(new_input, dict):
            # Our keys, so that the hooks that follow find what they look for.
            new_input = self.rules.rename_input(self.call.event, new_input)
        new_output = self._change("updatedToolOutput", *outputs, can_change=kind.rewrites_output)
        outcome = Outcome(decision, reasons, new_input, new_output, contexts, messages)
        self._report_unused_keys()
        return outcome, tuple(self.notes)

    def _note_no_effect(self, what: str) -> None:
        self.notes.append(f"{what} has no effect on {self.row.name}")

    def _read_newer(self) -> tuple[Decision, Reasons]:
        word = self.nested.get("permissionDecision")
        if word is not None and self.row.kind_name != _TOOL_CALL:
            self._note_no_effect("'permissionDecision'")
            word = None
        if self.permission and self.row.kind_name != _PERMISSION_REQUEST:
            self._note_no_effect(f"'{_NESTED}.decision'")
            self.permission = {}
        if word is not None:
            if word == "defer":
                self.notes.append("'defer' is read as 'ask', because a call cannot be deferred here")
            return self._make_reason(
                _PERMISSION_DECISIONS[word], self.nested.get("permissionDecisionReason") or self.answer.get("reason")
            )
        behavior = self.permission.get("behavior")
        if behavior is None:
            return Decision.NONE, ()
        decision = _BEHAVIORS[behavior]
        if decision == Decision.BLOCK and self.permission.get("interrupt"):
            decision = Decision.STOP
        return self._make_reason(decision, self.permission.get("message"))

    def _read_older(self) -> tuple[Decision, Reasons]:
        word = self.answer.get("decision")
        is_decided = self.row.kind_name in (_TOOL_CALL, _PERMISSION_REQUEST)
        if word is not None and _OLD_DECISIONS[word] != Decision.BLOCK and not is_decided:
            self._note_no_effect(f"'{word}'")
            word = None
        if word is None:
            return Decision.NONE, ()
        return self._make_reason(_OLD_DECISIONS[word], self.answer.get("reason"))

    def _make_reason(self, decision: Decision, reason: str | None) -> tuple[Decision, Reasons]:
        text = clean_text(reason or "", MAX_REASON_CHARS)
        return decision, ((decision, text),) if text else ()

    def _change(self, key: str, *values: Any, can_change: bool) -> Any:
        value = next((value for value in values if value is not None), ABSENT)
        if value is not ABSENT and not can_change:
            self._note_no_effect(f"'{key}'")
            return ABSENT
        return value

    def _report_unused_keys(self) -> None:
        name = self.nested.get("hookEventName")
        if name is not None and name != self.row.name:
            self.notes.append(f"'hookEventName' says '{name}', but the event is {self.row.name}")
        for key in self.answer:
            if key in NESTED_TYPES and key not in ANSWER_TYPES:
                self.notes.append(f"'{key}' has no effect there: write it inside '{_NESTED}'")
        unknown = [key for key in self.answer if key not in (*ANSWER_TYPES, *NESTED_TYPES)]
        unknown += [f"{_NESTED}.{key}" for key in self.nested if key not in NESTED_TYPES]
        unknown += [f"{_NESTED}.decision.{key}" for key in self.permission if key not in PERMISSION_TYPES]
        # A logger may print its input, which is not meant as an answer.
        if unknown and "hook_event_name" not in self.answer:
            self.notes.append(f"unknown keys: {', '.join(map(repr, unknown))}")
