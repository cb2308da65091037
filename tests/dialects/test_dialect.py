"""Dialects as rows (of hooks) and objects (of hosts): what is found by name, and what a new one needs."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from boathook.core.event import KINDS
from boathook.core.hook import HookDialect, hook_from_data, hook_to_data
from boathook.core.outcome import NOTHING
from boathook.core.verdict import Call, Exit, Verdict
from boathook.dialects.dialect import HOOK_DIALECTS, NATIVE, HostDialect, find_hook_dialect, find_host_dialect
from boathook.entry.options import Options
from boathook.errors import DialectError, UsageError
from boathook.hosts.claude_events import CLAUDE_EVENTS_BY_KIND
from boathook.hosts.host import list_host_names
from boathook.sources.hook_md.manifest import parse_manifest
from tests.core.builders import a_call, a_hook


@pytest.mark.parametrize("name", HOOK_DIALECTS)
def test_every_row_of_a_hook_dialect_has_a_module_with_its_functions(name):
    row, event = find_hook_dialect(name), a_call()
    assert row.write_event(event, "PreToolUse").endswith(b"\n")
    assert row.read_answer(Call(a_hook().replace(dialect=row), event), Exit(0)) == (NOTHING, ())


def test_a_toy_dialect_needs_only_a_module_and_a_row(monkeypatch):
    module = ModuleType("toy_dialect")
    module.write_event = lambda event, trigger: f"{trigger} {event.tool_name}".encode()
    module.read_answer = lambda call, end, *, strict=False: (NOTHING, (f"{call.hook.name} {end.code} {strict}",))
    monkeypatch.setitem(sys.modules, "toy_dialect", module)
    monkeypatch.setitem(HOOK_DIALECTS, "toy", HookDialect("toy", "toy_dialect"))
    hook = a_hook().replace(dialect=find_hook_dialect("toy"))
    again = hook_from_data(hook_to_data(hook), {kind.name: kind for kind in KINDS}, find_hook_dialect)
    assert again == hook
    assert again.dialect.write_event(a_call(), "Call") == f"Call {a_call().tool_name}".encode()
    answer = again.dialect.read_answer(Call(again, a_call()), Exit(3), strict=True)
    assert answer == (NOTHING, (f"{hook.name} 3 True",))


@pytest.mark.parametrize(("event", "dialect"), [("pre-step", "toy"), ("post-session", "native")])
def test_a_toy_dialect_can_be_named_in_hook_md(monkeypatch, event, dialect):
    monkeypatch.setitem(HOOK_DIALECTS, "toy", HookDialect("toy", "toy_dialect", missing_events=("post-session",)))
    text = f"---\nname: a\ndescription: A hook\ntrigger: {event}\ndialect: toy\n---\n"
    hook, _ = parse_manifest(text, path="/p/a/HOOK.md", folder="/p/a", scope="user")
    assert (hook.dialect.name, hook.state) == (dialect, "armed")
    messages = [diagnostic.message for diagnostic in hook.diagnostics]
    assert messages == ["the dialect 'toy' has no event like post-session; native is used"] * (dialect == "native")


def test_the_row_of_claude_lists_every_event_that_settings_json_lacks():
    missing = {kind.name for kind in KINDS} - CLAUDE_EVENTS_BY_KIND.keys()
    assert set(find_hook_dialect("claude").missing_events) == missing


def test_not_every_agent_has_a_dialect_of_hooks():
    with pytest.raises(DialectError, match=r"hooks cannot use the dialect 'cline' \(known: native, claude, codex, "):
        find_hook_dialect("cline")


@pytest.mark.parametrize("name", ["", "other", "host", "../native", "claude.py"])
def test_a_host_that_does_not_exist_is_a_usage_error(name):
    with pytest.raises(UsageError, match=f"unknown host '{name}' \\(known: native, claude, "):
        find_host_dialect(name)


@pytest.mark.parametrize("name", [NATIVE, *list_host_names()])
def test_every_host_has_one_dialect(name):
    dialect = find_host_dialect(name)
    assert (isinstance(dialect, HostDialect), dialect.name) == (True, name)
    assert find_host_dialect(name) is dialect


def test_the_default_host_is_native():
    assert Options().host == NATIVE


def test_a_host_dialect_needs_only_a_reader_and_a_writer():
    dialect, event = HostDialect("toy"), a_call()
    verdict = Verdict(event, event, NOTHING)
    assert dialect.write_nothing() == Exit(0)
    assert dialect.refuse("PreToolUse", "no", 2) == (Exit(2), None)
    assert (dialect.find_caller(b"{}", {}), dialect.find_result_file(event)) == ("", "")
    assert dialect.apply_result(event, "text") is event
    assert (dialect.derive_events(verdict), dialect.list_degraded(verdict)) == ((), ())
    with pytest.raises(NotImplementedError):
        dialect.read_event(b"{}")
    with pytest.raises(NotImplementedError):
        dialect.write_answer(verdict)
