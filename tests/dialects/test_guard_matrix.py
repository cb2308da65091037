"""Every form of guards in every agent: asked about a call, shown it as its own agent would, and obeyed (S35)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from boathook.core.hook import Hook
from boathook.core.json_text import get_at_place, iter_leaves
from boathook.core.verdict import Call, Exit
from boathook.dialects.agent_host import AgentHost
from boathook.hosts.host import list_host_names
from boathook.sources.agent_forms.hook_form import HOOK_FORMS, find_form
from boathook.sources.settings_json.settings_entry import FileContext, read_entry
from tests.dialects.guard_matrix import (
    CALLS,
    COMMAND,
    OTHER_CALLS,
    PATCH_IN_SHELL,
    PATH,
    READ,
    REASON,
    SERVER,
    SHELL,
    TEXTS,
    TOOLS,
    WAYS,
    Way,
    find_call,
    is_impossible,
    is_refused,
    make_payload,
)
from tests.engine.fakes import an_engine

BY_WAY = pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.form}-{way.event}-{way.matchers.get('write', '')}")
HOSTS = list_host_names()


def make_guard(way: Way, matcher: str | None) -> Hook:
    form = find_form(way.form)
    file = FileContext("/h/file", "user", way.form, form=form)
    entry = {"type": "command", form.command_keys[0]: "guard"} | ({"event": way.event} if form.has_tables else {})
    hook = read_entry(file, form.events[way.event], "hooks[0]", matcher, entry)
    assert hook.state == "armed", hook.diagnostics
    return hook


class Guard:
    """A guard that refuses what it finds at the places that its author knows, and what it was shown."""

    def __init__(self, way: Way, kind: str, matcher: str | None, refusal: Exit) -> None:
        self.way, self.kind, self.refusal = way, kind, refusal
        self.shown: list[dict[str, Any]] = []
        hook = make_guard(way, matcher)
        self.engine = an_engine([hook], {hook.name: self.decide})

    def decide(self, call: Call) -> Exit:
        fields = json.loads(call.hook.dialect.write_event(call.event, call.hook.trigger))
        self.shown.append(fields)
        found = json.dumps([get_at_place(fields, place) for place in self.way.places[self.kind]])
        return self.refusal if (COMMAND if self.kind == SHELL else PATH) in found else Exit(0)

    def call(self, host: str, tool: str, given: Any) -> Exit:
        self.shown.clear()
        payload, name = make_payload(host, tool, given)
        dialect = AgentHost(host)
        return dialect.write_answer(self.engine.dispatch(dialect.read_event(payload, name)))

    def find_problem(self, host: str, tool: str, given: Any) -> str:
        """Return what went wrong with a call, "" if the guard saw everything where its own agent has it, and was obeyed."""
        end = self.call(host, tool, given)
        if not self.shown:
            return "not asked"
        if not is_refused(host, end):
            shown = [fields.get("toolArgs", fields.get("tool_input", fields)) for fields in self.shown]
            return f"it did not refuse {shown}" if end.code == 0 else f"answered by {end}"
        texts = [text for fields in self.shown for text in iter_leaves(fields)]
        lost = [text for text in TEXTS.get(self.kind, ()) if not any(text in one for one in texts)]
        return f"{lost} were not shown" if lost else ""


def test_the_matrix_has_every_agent_every_form_and_every_kind_of_call():
    assert set(CALLS) == set(HOSTS)
    assert {way.form for way in WAYS} == {form.source.name for form in HOOK_FORMS}
    assert all({*calls, PATCH_IN_SHELL} == set(TOOLS) for calls in CALLS.values())


def list_cells(way: Way) -> list[tuple[str, str | None, str, str, Any]]:
    """Return the cells of a form: a kind of call, a matcher or None, and an agent that makes the call."""
    kinds = TOOLS if way.sees_all_tools else tuple(way.matchers)
    matchers: list[tuple[str, str | None]] = [*way.matchers.items()]
    matchers += [(kind, None) for kind in kinds if way.without_matcher]
    return [(kind, matcher, *call) for kind, matcher in matchers for call in list_calls(kind, way)]


def list_calls(kind: str, way: Way) -> list[tuple[str, str, Any]]:
    usual = [(host, find_call(host, kind)) for host in HOSTS]
    # In its own agent a guard sees each tool as it is there, and not as another one.
    own = find_form(way.form).source.host
    others = [(host, tool, given) for host, of_kind, tool, given in OTHER_CALLS if of_kind == kind and host != own]
    return [*((host, *call) for host, call in usual if not isinstance(call, str)), *others]


@BY_WAY
def test_a_guard_is_asked_about_every_call_of_every_agent_and_sees_it_as_in_its_own(way):
    problems = []
    for kind, matcher, host, tool, given in list_cells(way):
        problem = Guard(way, kind, matcher, way.refusals[0]).find_problem(host, tool, given)
        if bool(problem) != is_impossible(way, host, kind, matcher):
            problems.append(f"{kind} by {tool} of {host} with matcher {matcher}: {problem or 'it is possible'}")
    assert not problems, "\n".join(problems)


@BY_WAY
def test_every_way_to_refuse_reaches_every_agent_as_a_refusal(way):
    (kind, matcher), problems = next(iter(way.matchers.items())), []
    calls = [call for call in list_calls(kind, way) if not is_impossible(way, call[0], kind, matcher)]
    for refusal in way.refusals:
        guard = Guard(way, kind, matcher, refusal)
        problems += [(call, refusal, end) for call in calls if not is_refused(call[0], end := guard.call(*call))]
    assert not problems, "\n".join(map(str, problems))


@BY_WAY
def test_a_guard_of_one_kind_of_tool_is_not_asked_about_others(way):
    for kind, other in ((SHELL, SERVER), (SERVER, SHELL), (READ, SHELL), (SHELL, READ)):
        if way.sees_all_tools and kind in way.matchers:
            guard = Guard(way, kind, way.matchers[kind], way.refusals[0])
            assert not [call for call in list_calls(other, way) if guard.call(*call) is None or guard.shown]


def test_the_check_of_refusals_knows_what_is_none():
    assert not any(is_refused(host, Exit(0, b"{}")) for host in HOSTS)
    assert not any(is_refused(host, Exit(1, stderr=REASON.encode())) for host in HOSTS)
