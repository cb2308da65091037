"""Hooks and diagnostics as values."""

from __future__ import annotations

import marshal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.event import KINDS
from boathook.core.hook import (
    ARMED,
    DISABLED,
    HANDLERS,
    HOOK_MD,
    INVALID,
    PLUGIN,
    SETTINGS,
    BuiltIn,
    Command,
    Diagnostic,
    Hook,
    Http,
    Needs,
    Prompt,
    Script,
    hook_from_data,
    hook_to_data,
)
from boathook.core.matcher import ALL, Matcher, compile_names, compile_pattern, make_field_matcher
from boathook.dialects.dialect import find_hook_dialect
from tests.core.builders import a_hook, a_settings_hook, handlers, json_objects, kinds, patterns, tool_patterns

names = st.lists(st.text(max_size=5), max_size=3).map(tuple)
problems = st.lists(
    st.builds(Diagnostic, st.text(), st.none() | st.integers(1, 9), st.text(), st.just("error"), st.text(), st.text())
).map(tuple)
matchers = st.one_of(
    st.builds(lambda t, p: Matcher(compile_pattern(t), compile_pattern(p)), tool_patterns, patterns),
    st.builds(
        lambda names, subject: make_field_matcher(subject, compile_names(names)),
        st.sampled_from(["startup", "a|b", "a, b", "mcp__.*"]),
        st.sampled_from(["source", "trigger", "tool_name"]),
    ),
)
hooks = st.builds(
    Hook,
    name=st.text(),
    kind=kinds | st.none(),
    trigger=st.text(),
    scope=st.sampled_from(["user", "project", "local"]),
    handler=handlers,
    path=st.text(),
    description=st.text(),
    matcher=matchers,
    priority=st.integers(0, 1000),
    timeout=st.floats(0.1, 600),
    background=st.booleans(),
    on_failure=st.sampled_from(["allow", "block"]),
    protected=st.booleans(),
    needs=st.builds(Needs, names, names, names),
    env=names,
    metadata=st.none() | json_objects,
    source=st.sampled_from([HOOK_MD, SETTINGS, PLUGIN]),
    runs_together=st.booleans(),
    place=st.text(),
    dialect=st.sampled_from([find_hook_dialect("native"), find_hook_dialect("claude")]),
    state=st.sampled_from([ARMED, INVALID, DISABLED]),
    state_reason=st.text(),
    diagnostics=problems,
)
KINDS_BY_NAME = {kind.name: kind for kind in KINDS}


@given(hooks)
def test_a_hook_survives_as_plain_data(hook):
    again = hook_from_data(marshal.loads(marshal.dumps(hook_to_data(hook))), KINDS_BY_NAME, find_hook_dialect)
    assert again == hook
    assert [p and p.words for p in (again.matcher.tool, again.matcher.pattern)] == [
        p and p.words for p in (hook.matcher.tool, hook.matcher.pattern)
    ]


WHOLE = {
    "script": Script("/h/guard"),
    "command": Command("prog", ("a", ""), "powershell", "/plugin"),
    "prompt": Prompt("Is $ARGUMENTS fine?", "claude-haiku-4-5"),
    "http": Http("https://h/", (("A", "$T"), ("B", "")), ("T",)),
    "built-in": BuiltIn((("/h", "what"), "x"), (("word",), frozenset({"rm"}))),
}


@pytest.mark.parametrize("word", HANDLERS)
def test_a_handler_of_every_kind_survives_with_all_its_fields(word):
    hook = a_settings_hook(handler=WHOLE[word])
    data = marshal.loads(marshal.dumps(hook_to_data(hook)))
    assert data[Hook.FIELDS.index("handler")][0] == word
    assert hook_from_data(data, KINDS_BY_NAME, find_hook_dialect) == hook


def test_a_line_for_the_shell_is_not_a_program_without_arguments():
    line, program = a_settings_hook(handler=Command("x")), a_settings_hook(handler=Command("x", ()))
    assert line != program
    assert [hook_from_data(hook_to_data(hook), KINDS_BY_NAME, find_hook_dialect) for hook in (line, program)] == [
        line,
        program,
    ]


def test_a_matcher_survives_with_what_it_asks_and_as_it_was_written():
    hook = a_settings_hook(matcher=make_field_matcher("source", compile_names("startup, clear")))
    again = hook_from_data(marshal.loads(marshal.dumps(hook_to_data(hook))), KINDS_BY_NAME, find_hook_dialect).matcher
    assert (again, again.fields[0][1].display_text) == (hook.matcher, "startup, clear")
    assert hook_from_data(hook_to_data(a_settings_hook(matcher=ALL)), KINDS_BY_NAME, find_hook_dialect).matcher is ALL


def test_only_a_script_has_a_folder():
    assert [a_settings_hook(handler=handler).folder for handler in WHOLE.values()] == ["/h/guard", "", "", "", ""]


def test_the_order_is_priority_then_scope_then_name_then_path():
    found = [
        a_hook("b", priority=100, scope="project"),
        a_hook("a", priority=100, scope="project"),
        a_hook("z", priority=100, scope="user"),
        a_hook("y", priority=500, scope="project"),
        a_hook("x", priority=0, scope="user"),
        a_hook("a", priority=100, scope="project", path="/0"),
        a_hook("a", priority=100, scope="local"),
    ]
    ordered = [(hook.name, hook.path[:2]) for hook in sorted(found, key=lambda hook: hook.order)]
    assert ordered == [("y", "/h"), ("z", "/h"), ("a", "/0"), ("a", "/h"), ("b", "/h"), ("a", "/h"), ("x", "/h")]


def test_the_mode_is_sync_or_async():
    assert [a_hook().mode, a_hook(background=True).mode] == ["sync", "async"]


def test_a_diagnostic_shows_the_place_the_error_and_the_fix():
    full = Diagnostic("/a/HOOK.md", 3, "timeout", "error", "is wrong", "fix it")
    assert str(full) == "/a/HOOK.md:3: [timeout] is wrong (fix it)"
    assert str(Diagnostic("/a", None, "", "warning", "is odd")) == "/a: is odd"
    assert full.to_json() == {
        "path": "/a/HOOK.md",
        "line": 3,
        "key": "timeout",
        "level": "error",
        "message": "is wrong",
        "fix": "fix it",
    }
