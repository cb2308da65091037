"""Make a case of an event that the ledger recorded, and add it to the tests of its hook."""

from __future__ import annotations

import json
import os
from typing import Any

from boathook.assembly import resolve_state
from boathook.core.event import find_kind
from boathook.core.hook import Hook
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.hook_tests.case_event import MAIN_FIELDS, choose_tool, find_main_key
from boathook.hook_tests.case_file import parse_cases
from boathook.hook_tests.find_tests import HookTestFinder, HookTests
from boathook.ledger.reader import LedgerReader
from boathook.ledger.record import DISPATCH_TYPE

_REDACTED = "[redacted "
_NO_OPINION = "none"
_INDENT, _BODY_INDENT, _WORD_WIDTH = " " * 7, " " * 9, 7
_RECORD_WHOLE = 'set record = "whole" under [hooks] in your hooks.toml, and let it happen again'


class AddedCase(Value):
    """A case that was added to a tests.txt, and what the person should know about it."""

    path: str
    line: int
    hook: str
    text: str
    notes: tuple[str, ...] = ()


def append_recorded_case(
    finder: HookTestFinder, record_id: str, expect: str, names: tuple[str, ...], state: str | None
) -> AddedCase:
    """Add the event of a record to the tests of the hook that decided it, or of the one that is named."""
    record = _find_dispatch(resolve_state(state), record_id.strip().lower())
    tests = _choose_tests(finder, record, names)
    hook = tests.hooks[0]
    text = format_recorded_case(record, expect, hook)
    comment = f"# {record['time'][:10]}, {record['id'][:12]}: was {record['decision']}\n"
    before = _read_before(tests.path)
    section = f"hook {hook.name}\n" if not hook.edited_folder and _find_section(before) != hook.name else ""
    added = f"{section}{comment}{text}"
    with open(tests.path, "a", encoding="utf-8") as file:
        file.write(added if not before else f"\n{added}")
    line = before.count("\n") + (1 if before else 0) + section.count("\n") + 2
    return AddedCase(tests.path, line, hook.name, text, _list_notes(record, before, hook))


def _read_before(path: str) -> str:
    if not os.path.lexists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if not text or text.endswith("\n"):
        return text
    with open(path, "a", encoding="utf-8") as file:
        file.write("\n")
    return f"{text}\n"


def _find_section(text: str) -> str:
    names = [line.split(None, 1)[1].strip() for line in text.splitlines() if line.startswith("hook ")]
    return names[-1] if names else ""


def _list_notes(record: dict[str, Any], before: str, hook: Hook) -> tuple[str, ...]:
    project = str(record.get("project") or "")
    is_named = bool(project) and project in str(record["input"])
    notes = [f"the case names {project}, which is not where it runs"] if is_named else []
    if not before:
        notes.append("the file is new: add a case with the other answer, too")
    if hook.pack:
        notes.append(
            f"this edits the pack {hook.pack}: to update it, you will need boathook pack add --discard, which removes the case"
        )
    return tuple(notes)


def _find_dispatch(state: str, prefix: str) -> dict[str, Any]:
    reader = LedgerReader(state)
    found = {
        record["id"]: record
        for record in reader.read()
        if prefix and record["type"] == DISPATCH_TYPE and record["id"].startswith(prefix)
    }
    if not found:
        raise ConfigError(f"no event in {reader.folder} has an id that starts with '{prefix}': boathook log lists them")
    if len(found) > 1 and prefix not in found:
        raise ConfigError(f"several events have an id that starts with '{prefix}': write more of the id")
    record: dict[str, Any] = dict(found.get(prefix) or next(iter(found.values())))
    return record


def _choose_tests(finder: HookTestFinder, record: dict[str, Any], names: tuple[str, ...]) -> HookTests:
    if len(names) > 1:
        raise ConfigError("name one hook for --from-log")
    runs = record["hooks"]
    deciding = [run for run in runs if run["decision"] == record["decision"] != _NO_OPINION]
    if names:
        wanted = names[0]
    else:
        candidates = list(dict.fromkeys(run["hook"] for run in deciding or runs))
        if len(candidates) != 1:
            what = f"these hooks ran: {', '.join(candidates)}" if candidates else "no hook ran on that event"
            raise ConfigError(
                f"it is not clear whose test it becomes; {what}. Name it: boathook test HOOK --from-log …"
            )
        wanted = candidates[0]
    found = [tests for tests in finder.find(wanted) if tests.hooks]
    if not found:
        raise ConfigError(f"the hook '{wanted}' cannot be tested")
    single = [tests.replace(hooks=(hook,)) for tests in found for hook in tests.hooks if hook.name == wanted]
    return (single or found)[0]


def format_recorded_case(record: dict[str, Any], expect: str, hook: Hook) -> str:
    """Return the lines of a case for a record; ConfigError if the ledger does not have all of the event."""
    kind = find_kind(record["event"])
    whole = record.get("whole")
    fields: dict[str, Any] = whole if isinstance(whole, dict) else {}
    if kind.has_tool:
        value: Any = fields.get("tool_input", record["input"])
    else:
        value = {name: fields[name] for name in kind.fields if name in fields} if fields else None
    where = f"record {record['id'][:12]}"
    if _REDACTED in json.dumps(value):
        raise ConfigError(f"{where} cannot become a test: what looks secret in it was redacted. Write the case by hand")
    if not isinstance(value, dict):
        raise ConfigError(f"{where} does not hold the whole event: {_RECORD_WHOLE}, or write the case by hand")
    event = "" if kind is hook.kind else f"@{kind.name}"
    if not kind.has_tool:
        return format_event(expect, event, value, MAIN_FIELDS.get(kind.name, ""))
    tool = str(record.get("tool") or "")
    named_tool = "" if tool == choose_tool(hook) else f"{tool}:"
    if named_tool and parse_cases(f"pass {named_tool}\n").cases[0].tool != tool:
        raise ConfigError(f"{where} is about a tool that no case can name: {tool}. Write the case with 'event'")
    return format_call(expect, " ".join(filter(None, (event, named_tool))), value, find_main_key(tool, hook))


def format_call(word: str, about: str, tool_input: dict[str, Any], main_key: str) -> str:
    """Return the lines of a case about a tool call; `about` names its event and tool where the hook does not."""
    start = " ".join(filter(None, (word.ljust(_WORD_WIDTH - 1), about)))
    rest = {name: text for name, text in tool_input.items() if name != main_key}
    main = tool_input.get(main_key)
    fields = [line for name, text in rest.items() for line in _format_field(name, text)]
    forms = [[start, f"{_INDENT}input {json.dumps(tool_input)}"]]
    if isinstance(main, str):
        forms = [[f"{start} {main}", *fields], [start, *_format_field(main_key, main), *fields], *forms]
    return next(text for form in forms if _is_read_as(text := _join(form), start, tool_input, main_key))


def format_event(word: str, about: str, fields: dict[str, Any], main_field: str) -> str:
    """Return the lines of a case about an event without a tool."""
    start = " ".join(filter(None, (word.ljust(_WORD_WIDTH - 1), about)))
    main = fields.get(main_field)
    rest = {name: value for name, value in fields.items() if name != main_field}
    first = [f"{start} {main}", *([f"{_INDENT}event {json.dumps(rest)}"] if rest else [])]
    read = parse_cases(_join(first)).cases
    if isinstance(main, str) and main.strip() and len(read) == 1 and read[0].text == main:
        return _join(first)
    return _join([start, *([f"{_INDENT}event {json.dumps(fields)}"] if fields else [])])


def _is_read_as(text: str, start: str, tool_input: dict[str, Any], main_key: str) -> bool:
    """Whether lines are read as a case for this very input: a value may look like the name of a tool, or end with a line."""
    plain, read = parse_cases(f"{start}\n").cases, parse_cases(text)
    if read.diagnostics or len(read.cases) != 1:
        return False
    case = read.cases[0]
    given = dict(case.fields) if case.value is None else {main_key: case.value, **dict(case.fields)}
    is_same = (case.event, case.tool) == (plain[0].event, plain[0].tool)
    return is_same and {**(case.input or {}), **given} == tool_input


def _join(lines: list[str]) -> str:
    return "\n".join([*lines, ""])


def _format_field(name: str, value: Any) -> list[str]:
    if not isinstance(value, str):
        # No line can say it: the input is written as JSON.
        return [f"{_INDENT}with"]
    quoted = name if name and not any(char in name for char in ' \t"\n\r') else json.dumps(name)
    if "\n" not in value:
        return [f"{_INDENT}with {quoted} {value}"]
    return [f"{_INDENT}with {quoted}", *(f"{_BODY_INDENT}{line}" if line else "" for line in value.split("\n"))]
