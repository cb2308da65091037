"""The first tests of a new hook: cases that its matcher accepts and refuses."""

from __future__ import annotations

from typing import Any

from boathook.core.event import Event
from boathook.core.hook import Hook
from boathook.hook_tests.case import PASS, SKIP
from boathook.hook_tests.case_event import MAIN_FIELDS, choose_tool, find_main_key
from boathook.hook_tests.ledger_case import format_call, format_event
from boathook.sources.samples import build_sample_fields, find_matching_text

_HEADER = """\
# The tests of this hook: `boathook test {name}` runs them. Each line is a case: what the hook should answer (block, ask,
# allow, pass: no opinion, skip: it is not asked), then {value}, exactly as it is.
"""
_ORDINARY_VALUES = {"command": "ls", "file_path": "README.md", "path": "README.md", "url": "https://example.org"}
_OTHER_VALUES = ("README.md", "ls", "x", "0")
_UNWANTED_VALUE = "something that it should block"


def write_first_tests(hook: Hook, *, blocks: bool) -> str:
    """Return a tests.txt for a new hook that blocks all it is asked about, or nothing."""
    kind = hook.kind
    if kind is None:
        return ""
    fields = {name: find_matching_text(pattern) for name, pattern in hook.matcher.fields}
    if not kind.has_tool:
        main = MAIN_FIELDS.get(kind.name, "")
        header = _HEADER.format(name=hook.name, value=f"the field '{main}'" if main else "nothing more")
        return f"{header}\n{format_event(PASS, '', fields, main)}"
    tool = choose_tool(hook)
    key = find_main_key(tool, hook)
    header = _HEADER.format(name=hook.name, value=f"the '{key}' of the tool {tool}")
    values = (_ORDINARY_VALUES.get(key, _OTHER_VALUES[0]), *_OTHER_VALUES)
    wanted = find_matching_text(hook.matcher.pattern) or values[0]
    cases = [format_call("block" if blocks else PASS, "", {key: wanted}, key)]
    if blocks:
        other = next((text for text in values if not _is_asked(hook, {key: text})), None)
        cases += [format_call(SKIP, "", {key: other}, key)] if other is not None else []
    elif kind.is_pre:
        cases.append(format_call("todo-block", "", {key: _UNWANTED_VALUE}, key))
    return f"{header}\n{''.join(cases)}"


def _is_asked(hook: Hook, tool_input: dict[str, Any]) -> bool:
    kind = hook.kind
    if kind is None:
        return False
    fields = {**build_sample_fields(kind), "tool_name": choose_tool(hook), "tool_input": tool_input}
    return not hook.matcher.explain_mismatch(Event.of(kind, **fields))
