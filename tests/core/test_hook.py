"""Hooks and diagnostics as values."""

from __future__ import annotations

import marshal

from hypothesis import given
from hypothesis import strategies as st

from boathook.core.event import KINDS
from boathook.core.hook import ARMED, DISABLED, INVALID, Diagnostic, Hook, Needs, Script, hook_from_data, hook_to_data
from boathook.core.matcher import Matcher, compile_pattern
from core.making import a_hook, json_objects, kinds, patterns, tool_patterns

names = st.lists(st.text(max_size=5), max_size=3).map(tuple)
problems = st.lists(
    st.builds(Diagnostic, st.text(), st.none() | st.integers(1, 9), st.text(), st.just("error"), st.text(), st.text())
).map(tuple)
hooks = st.builds(
    Hook,
    name=st.text(),
    kind=kinds | st.none(),
    trigger=st.text(),
    scope=st.sampled_from(["user", "project"]),
    handler=st.builds(Script, st.text()),
    path=st.text(),
    description=st.text(),
    matcher=st.builds(lambda t, p: Matcher(compile_pattern(t), compile_pattern(p)), tool_patterns, patterns),
    priority=st.integers(0, 1000),
    timeout=st.floats(0.1, 600),
    background=st.booleans(),
    on_failure=st.sampled_from(["allow", "block"]),
    protected=st.booleans(),
    needs=st.builds(Needs, names, names, names),
    env=names,
    metadata=st.none() | json_objects,
    state=st.sampled_from([ARMED, INVALID, DISABLED]),
    why=st.text(),
    problems=problems,
)
KINDS_BY_NAME = {kind.name: kind for kind in KINDS}


@given(hooks)
def test_a_hook_survives_as_plain_data(hook):
    again = hook_from_data(marshal.loads(marshal.dumps(hook_to_data(hook))), KINDS_BY_NAME)
    assert again == hook
    assert [p and p.words for p in (again.matcher.tool, again.matcher.pattern)] == [
        p and p.words for p in (hook.matcher.tool, hook.matcher.pattern)
    ]


def test_the_order_is_priority_then_scope_then_name_then_path():
    found = [
        a_hook("b", priority=100, scope="project"),
        a_hook("a", priority=100, scope="project"),
        a_hook("z", priority=100, scope="user"),
        a_hook("y", priority=500, scope="project"),
        a_hook("x", priority=0, scope="user"),
        a_hook("a", priority=100, scope="project", path="/0"),
    ]
    ordered = [(hook.name, hook.path[:2]) for hook in sorted(found, key=lambda hook: hook.order)]
    assert ordered == [("y", "/h"), ("z", "/h"), ("a", "/0"), ("a", "/h"), ("b", "/h"), ("x", "/h")]


def test_the_mode_says_sync_or_async():
    assert [a_hook().mode, a_hook(background=True).mode] == ["sync", "async"]


def test_a_diagnostic_says_where_what_and_how_to_mend_it():
    full = Diagnostic("/a/HOOK.md", 3, "timeout", "error", "is wrong", "mend it")
    assert str(full) == "/a/HOOK.md:3: [timeout] is wrong (mend it)"
    assert str(Diagnostic("/a", None, "", "warning", "is odd")) == "/a: is odd"
    assert full.to_json() == {
        "path": "/a/HOOK.md",
        "line": 3,
        "key": "timeout",
        "level": "error",
        "message": "is wrong",
        "fix": "mend it",
    }
