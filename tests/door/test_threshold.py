"""Behind the door, in this process: "nothing to do" is said only when the engine would do nothing."""

from __future__ import annotations

import json
import os
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from boathook.core.catalog import Catalog, Plan, Settings
from boathook.core.event import KINDS, SPELLINGS, Event
from boathook.core.hook import (
    ARMED,
    DENIED,
    DISABLED,
    ERROR,
    INVALID,
    MODIFIED,
    NO_ENTRY,
    SHADOWED,
    UNTRUSTED,
    WARNING,
    Diagnostic,
)
from boathook.dialects import native
from boathook.sources.cache import keep
from boathook.threshold import _nothing_to_do, _plain
from core.making import a_hook, inputs, json_values, patterns, tool_patterns, tools


@pytest.fixture(scope="module")
def here(new_world):
    """A world that this process lives in during all tests of this module."""
    world = new_world("threshold")
    world.hooks("project").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in world.variables.items():
            patch.setenv(name, value)
        patch.chdir(world.project)
        yield world


def keep_as(world, catalog: Catalog, trust: str | None = None) -> Catalog:
    """Keep a catalogue as that of the world's project; with nothing to watch it is fresh at once."""
    catalog = catalog.replace(project=str(world.project))
    places = {"cache": str(world.cache), "agents": str(world.agents), "claude": str(world.claude)}
    assert keep(catalog, (), started=time.time(), trust=str(world.state) if trust is None else trust, **places)
    return catalog


def ask(event: dict | bytes, /, *flags: str, **wanted: str) -> bool:
    data = event if isinstance(event, bytes) else json.dumps(event, ensure_ascii=False).encode()
    return _nothing_to_do({f"--{key}": value for key, value in wanted.items()} | dict.fromkeys(flags, ""), data)


hooks = st.builds(
    lambda tool, pattern, kind, state, failing, background: a_hook(
        tool=tool, pattern=pattern, kind=kind, state=state, on_failure=failing, background=background, why="why"
    ),
    tool_patterns | st.just("^Shell$"),
    patterns | st.just("rm -rf"),
    st.sampled_from([*KINDS, None, *[k for k in KINDS if k.has_tool] * 4]),
    st.sampled_from([ARMED] * 8 + [INVALID, NO_ENTRY, DISABLED, SHADOWED, UNTRUSTED, MODIFIED, DENIED]),
    st.sampled_from(["allow", "allow", "block"]),
    st.booleans(),
).map(lambda hook: hook if hook.kind is not None else hook.replace(state=INVALID))
catalogs = st.builds(
    lambda found, debug, level: Catalog(
        tuple(hook.replace(name=f"h{n}", path=f"/{n}") for n, hook in enumerate(found)),
        Settings(debug=debug),
        (Diagnostic("/t", None, "", level, "odd"),) if level else (),
    ),
    st.lists(hooks, max_size=5),
    st.sampled_from([False] * 9 + [True]),
    st.sampled_from(["", "", "", "", WARNING, ERROR]),
)
names = st.sampled_from([*SPELLINGS, *["pre-tool-call", "PostToolUse"] * 9, "", "unknown"])
events = st.fixed_dictionaries(
    {},
    optional={
        "event_type": names | json_values,
        "tool_name": tools | tools | tools | json_values,
        "tool_input": inputs | inputs | json_values,
        "work_dir": st.sampled_from(["HERE", "HERE/src", "/", "", "relative", "HERE/../x", "HERE//", "/a\0b", "HERE/"]),
        "session_id": st.sampled_from(["s", 1]),
        "context": st.sampled_from([{}, [], None]),
        "more": json_values,
    },
)


@given(catalogs, st.lists(st.tuples(events, st.none() | names), min_size=1, max_size=6))
@settings(max_examples=250)
@example(Catalog(), [({}, "")])
@example(Catalog((a_hook(tool="^$"),)), [({}, "pre-tool-call")])
@example(Catalog((a_hook(pattern="^\\{\\}$"),)), [({"tool_input": None}, "pre-tool-call")])
@example(Catalog((a_hook(kind=None, state=INVALID, on_failure="block"),)), [({}, "Stop")])
def test_nothing_to_do_is_said_only_when_the_engine_would_do_and_tell_nothing(here, catalog, asked):
    catalog = keep_as(here, catalog)
    for event, name in asked:
        work_dir = str(event.get("work_dir", "HERE")).replace("HERE", str(here.project))
        data = json.dumps({**event, "work_dir": work_dir}, separators=(",", ":")).encode()
        if _nothing_to_do({} if name is None else {"--event": name}, data):
            assert engine_is_silent(catalog, data, name)


def engine_is_silent(catalog: Catalog, data: bytes, name: str | None) -> bool:
    """Say whether the engine has no hook to run for an event, nothing to tell and no debug lines to write."""
    event = native.read_event(data, name)
    loud = [skip for skip in catalog.skips(event) if skip.loud]
    unread = [hook for hook in catalog.hooks if hook.kind is None]
    return (catalog.plan(event), loud, unread, catalog.settings.debug) == (Plan(), [], [], False)


CALL = {"event_type": "PreToolUse", "tool_name": "Shell", "tool_input": {"command": "ls -la"}}
GUARDS = Catalog(
    (
        a_hook("rm", tool="^Shell$", pattern="rm -rf|mkfs"),
        a_hook("push", tool="Shell|Bash", pattern="git (push|pull)"),
        a_hook("write", tool="Write"),
        a_hook("regex", tool="mcp__.*", pattern="delete.*all"),
    )
)
QUIET = {
    "a harmless command": CALL,
    "another tool": {**CALL, "tool_name": "Read", "tool_input": {"path": "rm -rf"}},
    "an event that no hook wants": {"event_type": "Stop"},
    "an input that is null": {**CALL, "tool_input": None},
    "no input": {"event_type": "before_tool", "tool_name": "Shell"},
    "non-ASCII": {**CALL, "tool_input": {"command": "naïve — 😀"}},
}
LOUD = {
    "a word of a pattern": {**CALL, "tool_input": {"command": "sudo rm -rf /"}},
    "a word deep inside": {**CALL, "tool_input": {"a": [{"b": ["mkfs"]}]}},
    "a tool with another name beside": {**CALL, "tool_name": "EditFile", "host_tool_name": "Write"},
    "a word that only the JSON text has": {**CALL, "tool_input": {"rm -rf": 1}},
    "a tool whose every call is wanted": {**CALL, "tool_name": "WriteFile"},
    "a hint": {**CALL, "tool_name": "mcp__db__x", "tool_input": {"q": "delete all"}},
    "a wrong type": {**CALL, "context": []},
    "a tool that is no text": {**CALL, "tool_name": None},
    "an unknown event": {"event_type": "PreToolUsed"},
    "no event": {},
    "a relative folder": {**CALL, "work_dir": "project"},
    "a folder with dots": {**CALL, "work_dir": "/a/../b"},
}


@pytest.mark.parametrize("event", QUIET.values(), ids=QUIET)
def test_an_event_that_plainly_concerns_nobody_is_answered_at_the_door(here, event):
    keep_as(here, GUARDS)
    assert ask({"work_dir": str(here.project), **event}) is True
    assert ask(event) is True


@pytest.mark.parametrize("event", LOUD.values(), ids=LOUD)
def test_anything_else_is_left_to_the_engine(here, event):
    keep_as(here, GUARDS)
    assert ask({"work_dir": str(here.project), **event}) is False


JUNK = {
    "nothing": b"",
    "no JSON": b"{",
    "a list": b"[]",
    "bytes": b"\xff",
    "two documents": b"{}{}",
    "a repeated key": b'{"event_type": "Stop", "event_type": "Stop"}',
    "a NUL": b'{"event_type": "Stop"}\0',
    "nesting": b'{"event_type": "Stop", "x": ' + b"[" * 100_000,
}


@pytest.mark.parametrize("data", JUNK.values(), ids=JUNK)
def test_junk_is_left_to_the_engine(here, data):
    keep_as(here, GUARDS)
    assert ask(data) is False
    assert ask(data, event="Stop") is False


@given(st.binary(max_size=60), st.none() | st.sampled_from(["Stop", "", "x"]))
def test_any_bytes_are_left_to_the_engine_or_are_an_event(here, data, name):
    keep_as(here, Catalog())
    certain = _nothing_to_do({} if name is None else {"--event": name}, data)
    assert not certain or isinstance(native.read_event(data, name), Event)


def test_an_input_too_long_to_be_searched_is_left_to_the_engine(here):
    keep_as(here, GUARDS)
    long = {**CALL, "tool_input": {"command": "x" * (1 << 20)}}
    compact = json.dumps({**CALL, "tool_input": {"x": [0] * 400_000}}, separators=(",", ":")).encode()
    said = [ask(long), len(compact) < 1 << 20, ask(compact)]
    assert said == [False, True, False]  # the second grows beyond the limit only when it is written with spaces


def test_the_argument_and_the_data_must_say_the_same(here):
    keep_as(here, GUARDS)
    assert ask(CALL, event="PreToolUse") is True
    assert ask({"tool_name": "Read"}, event="PreToolUse") is True
    assert ask(CALL, event="pre-tool-call") is False
    assert ask(CALL, event="Stop") is False
    assert ask({}, event="") is False


def test_a_project_may_be_named_beside_the_event(here, tmp_path):
    keep_as(here, GUARDS)
    assert ask({**CALL, "work_dir": "/"}, project=str(here.project)) is True
    assert ask(CALL, project="project") is False
    assert ask(CALL, project=str(tmp_path)) is False


def test_without_a_compiled_catalogue_everything_is_the_engine_s(here, tmp_path):
    assert ask({**CALL, "work_dir": str(tmp_path)}) is False


def test_a_folder_that_is_gone_is_the_engine_s(here, monkeypatch, tmp_path):
    keep_as(here, GUARDS)
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    os.rmdir(folder)
    assert ask(CALL) is False


def test_a_catalogue_is_taken_only_for_the_trust_that_it_was_made_with(here, tmp_path):
    trusts = {"usual": str(here.state), "other": str(tmp_path), "all": ""}
    roads = {
        "usual": lambda: ask(CALL),
        "other": lambda: ask(CALL, state=str(tmp_path)),
        "all": lambda: ask(CALL, "--trust-all"),
    }
    for kept in here.cache.iterdir():
        kept.unlink()
    for made, trust in trusts.items():
        keep_as(here, GUARDS, trust)
        assert {name: road() for name, road in roads.items()} == {name: name == made for name in roads}
        for kept in here.cache.iterdir():
            kept.unlink()


def test_an_untrusted_hook_is_the_engine_s_to_tell_where_it_matches_and_nowhere_else(here):
    keep_as(here, Catalog((a_hook("rm", tool="^Shell$", pattern="rm -rf", state=UNTRUSTED, why="why"),)))
    dangerous = {**CALL, "tool_input": {"command": "rm -rf /"}}
    assert (ask(CALL), ask(dangerous)) == (True, False)


@pytest.mark.parametrize("state", ["state", "./state"])
def test_a_state_folder_that_is_not_absolute_is_the_engine_s(here, state):
    keep_as(here, GUARDS)
    assert ask(CALL, state=state) is False


PLAIN = {
    ("PreToolUse",): {"--event": "PreToolUse"},
    ("--event", "Stop"): {"--event": "Stop"},
    ("--host", "native", "--project", "/p", "Stop"): {"--host": "native", "--project": "/p", "--event": "Stop"},
    ("--event", "A", "--event", "B"): {"--event": "B"},
    ("--trust-all", "Stop"): {"--trust-all": "", "--event": "Stop"},
    ("--state", "/s", "--trust-all"): {"--state": "/s", "--trust-all": ""},
    (): {},
    ("--host", "other"): None,
    ("--event",): None,
    ("--state",): None,
    ("--trust-all=yes",): None,
    ("--json",): None,
    ("--debug", "Stop"): None,
    ("--no-ask",): None,
    ("A", "B"): None,
    ("--event=Stop",): None,
    ("--event", "A", "B"): None,
}


@pytest.mark.parametrize(("args", "expected"), PLAIN.items())
def test_only_a_plain_command_line_is_read_at_the_door(args, expected):
    assert _plain(list(args)) == expected
