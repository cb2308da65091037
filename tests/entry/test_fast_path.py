"""The fast path, in this process: "nothing to do" is proved only when the engine would do nothing."""

from __future__ import annotations

import json
import marshal
import os
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from boathook.catalog_cache.format import Compiled
from boathook.catalog_cache.host_section import make_host_sections
from boathook.catalog_cache.write import write_compiled
from boathook.core.catalog import Catalog, Plan, Settings
from boathook.core.event import (
    FILE_CHANGES,
    KINDS,
    PATCH_PROGRAMS,
    PATCH_TOOL,
    SHELL_TOOLS,
    SPELLINGS,
    UNMAPPED,
    Event,
)
from boathook.core.hook import (
    ARMED,
    DENIED,
    DISABLED,
    ERROR,
    GONE,
    HIDDEN,
    INVALID,
    MODIFIED,
    NO_ENTRY,
    SHADOWED,
    UNTRUSTED,
    WARNING,
    Diagnostic,
)
from boathook.core.outcome import Outcome
from boathook.core.prefilter import GRAM_CHARS, index_words
from boathook.core.tool_kinds import TOOL_KINDS
from boathook.core.verdict import Verdict
from boathook.dialects.dialect import find_host_dialect
from boathook.entry.fast_path import (
    FILE_TOOLS,
    _may_be_patch,
    _may_be_wanted,
    _prove_nothing_to_do,
    read_fast_options,
)
from boathook.entry.options import Options, parse_options
from boathook.hosts.host import list_host_names, load_host
from boathook.hosts.tool_names import list_tool_names
from tests.core.builders import a_hook, inputs, json_values, patterns, tool_patterns, tools
from tests.example_counts import count_examples


@pytest.fixture(scope="module")
def here(new_project):
    """A project that this process lives in during all tests of this module."""
    project = new_project("fast-path")
    project.hooks_folder("project").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in project.variables.items():
            patch.setenv(name, value)
        patch.chdir(project.path)
        yield project


def write_cache_of(project, catalog: Catalog, trust: str | None = None) -> Catalog:
    """Keep a catalogue as that of the project's project; with nothing to watch it is fresh at once."""
    catalog = catalog.replace(projects=(("HOOK.md", str(project.path)), ("settings.json", "")))
    locations = project.make_locations(claude=str(project.claude_folder), trust_all=trust == "")
    if trust:
        locations.state, locations.cache = trust, f"{trust}/cache"
    assert write_compiled(catalog, (), locations, time.time())
    return catalog


def ask(event: dict | bytes, /, *flags: str, **wanted: str) -> bool:
    data = event if isinstance(event, bytes) else json.dumps(event, ensure_ascii=False).encode()
    named = [word for key, value in wanted.items() for word in (f"--{key}", value)]
    return _prove_nothing_to_do(parse_options([*named, *flags]), data) is not None


FIELD_PATTERNS = ("startup", "^(?:startup|resume)$", "^big", "a.*b", "", "start|x", "^$")
FIELD_VALUES = ("startup", "resume", "clear", "big-1", "aab", "", "x")
field_patterns = st.dictionaries(st.integers(0, 1), st.sampled_from(FIELD_PATTERNS), max_size=2)


def name_fields(kind, chosen: dict[int, str]) -> dict[str, str]:
    """Return patterns for fields that the matcher of an event may ask about."""
    names = kind.matched_fields if kind is not None else ()
    return {names[at]: pattern for at, pattern in chosen.items() if at < len(names)}


hooks = st.builds(
    lambda tool, pattern, tool_kinds, kind, state, failing, background, chosen: a_hook(
        tool=tool,
        pattern=pattern,
        tool_kinds=tool_kinds,
        kind=kind,
        state=state,
        on_failure=failing,
        background=background,
        state_reason="why",
        field_patterns=name_fields(kind, chosen),
    ),
    tool_patterns
    | st.sampled_from(["^Shell$", "^(WriteFile|EditFile)$", "^Write$", "Delete", "^PatchFile$", "^mcp__x_y__z$"]),
    patterns | st.just("rm -rf"),
    st.just(()) | st.lists(st.sampled_from(TOOL_KINDS), min_size=1, max_size=2).map(tuple),
    st.sampled_from([*KINDS, None, *[k for k in KINDS if k.has_tool] * 4]),
    st.sampled_from([ARMED] * 8 + [INVALID, NO_ENTRY, DISABLED, SHADOWED, UNTRUSTED, MODIFIED, DENIED, GONE, HIDDEN]),
    st.sampled_from(["allow", "allow", "block"]),
    st.booleans(),
    field_patterns,
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
field_values = st.sampled_from(FIELD_VALUES) | st.sampled_from(FIELD_VALUES) | json_values
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
        **dict.fromkeys(sorted({name for kind in KINDS for name in kind.matched_fields}), field_values),
        "more": json_values,
    },
)


@given(catalogs, st.lists(st.tuples(events, st.none() | names), min_size=1, max_size=6))
@settings(max_examples=count_examples(250))
@example(Catalog(), [({}, "")])
@example(Catalog((a_hook(tool="^$"),)), [({}, "pre-tool-call")])
@example(Catalog((a_hook(pattern="^\\{\\}$"),)), [({"tool_input": None}, "pre-tool-call")])
@example(Catalog((a_hook(kind=None, state=INVALID, on_failure="block"),)), [({}, "Stop")])
@example(
    Catalog((a_hook(tool="Delete"),)),
    [({"tool_name": "PatchFile", "tool_input": {"patch": "*** Delete File: a"}}, "pre-tool-call")],
)
def test_nothing_to_do_is_proved_only_when_the_engine_would_do_and_report_nothing(here, catalog, asked):
    catalog = write_cache_of(here, catalog)
    for event, name in asked:
        work_dir = str(event.get("work_dir", "HERE")).replace("HERE", str(here.path))
        data = json.dumps({**event, "work_dir": work_dir}, separators=(",", ":")).encode()
        if _prove_nothing_to_do(parse_options([] if name is None else ["--event", name]), data) is not None:
            assert engine_is_silent(catalog, data, name)


def test_files_are_looked_at_once_and_only_before_the_answer_that_nothing_is_to_do(here, monkeypatch):
    write_cache_of(here, Catalog((a_hook(tool="^Shell$"),)))
    looks: list[bool] = []
    for is_fresh, tool, answers in ((True, "Shell", False), (True, "Read", True), (False, "Read", False)):
        looks.clear()
        monkeypatch.setattr(Compiled, "is_fresh", lambda _, is_fresh=is_fresh: looks.append(is_fresh) or is_fresh)
        call = {"event_type": "pre-tool-call", "tool_name": tool, "tool_input": {}, "work_dir": str(here.path)}
        assert (ask(call), looks) == (answers, [] if tool == "Shell" else [is_fresh])


def test_the_fast_path_knows_every_name_of_the_tools_that_patches_become():
    assert {name for names in FILE_CHANGES.values() for name in names} == {*FILE_TOOLS}
    asked = [*((name, {"command": f"{word} x"}) for name in SHELL_TOOLS for word in PATCH_PROGRAMS), (PATCH_TOOL, {})]
    assert all(_may_be_patch(name, tool_input) for name, tool_input in asked)


def engine_is_silent(catalog: Catalog, data: bytes, name: str | None) -> bool:
    """Whether the engine has no hook to run for an event, nothing to report and no debug lines to write."""
    return is_silent(catalog, find_host_dialect("native").read_event(data, name))


def is_silent(catalog: Catalog, event: Event) -> bool:
    """Return the same for an event that was read."""
    loud = [skip for skip in catalog.find_skips(event) if skip.is_warning]
    unread = [hook for hook in catalog.hooks if hook.kind is None]
    return (catalog.plan(event), loud, unread, catalog.settings.debug) == (Plan(), [], [], False)


# Hosts


def test_what_the_fast_path_needs_of_a_host_survives_its_file():
    sections = make_host_sections()
    assert [*sections] == [f"host {name}" for name in ("native", *list_host_names())]
    assert marshal.loads(marshal.dumps(sections)) == sections


SERVER_TOOLS = [
    *("x_y_z", "x-y-z", "mcp_x_y_z", "@x_y/z", "MCP:z", "x_y___z"),
    *(form % "write_file" for form in ("fs_%s", "my-fs-%s", "mcp_fs_%s", "@fs/%s", "MCP:%s", "fs___%s", "mcp__fs__%s")),
    *("fs_read_file", "mcp__fs__move_file", "mcp__sh__run_command", "pw-browser_click", "mcp__x__Write", "web_get"),
    *("x_y_write", "fs_write", "save-file", "use_mcp_tool", "mcp__x y__z"),
]
USE_MCP_TOOL = {"preToolUse": {"toolName": "use_mcp_tool", "parameters": {"server_name": "web", "tool_name": "search"}}}
PATCHES = [
    "*** Begin Patch\n*** Add File: mkfs\n+x\n*** End Patch",
    "apply_patch <<E\n*** Begin Patch\n*** Update File: a\n*** Move to: rm -rf\n@@\n-a\n+git\n+push\n*** End Patch\nE",
    "*** Delete File: a\n*** Add File: b",
]
host_keys = st.sampled_from(
    [
        *("command", "cmd", "path", "file_path", "old_str", "notebook_path", "dir_path", "commands"),
        *("command", "patch", "input", "patchText", "url", "destination", "edits", "server_name", "tool_name"),
    ]
)
host_inputs = st.dictionaries(
    host_keys, st.sampled_from(["ls", "rm -rf /", "git push", "mkfs", "", *PATCHES]), max_size=3
)


@st.composite
def host_calls(draw: st.DrawFn) -> tuple[str, str | None, dict[str, object]]:
    """Draw a host, the event that its command names, and a payload, mostly one that it could send."""
    host = load_host(draw(st.sampled_from(list_host_names())))
    row = draw(st.sampled_from([one for one in host.events if one.kind.has_tool] * 3 + list(host.events)))
    tool = draw(st.sampled_from([*host.tools, *list_tool_names(), "mcp__x__y", "", *SERVER_TOOLS]) | json_values)
    given = draw(host_inputs | host_inputs | host_inputs.map(json.dumps) | json_values)
    theirs = {ours: place for place, ours in row.renames}
    own = (theirs.get("tool_name", "tool_name"), theirs.get("tool_input", "tool_input"))
    names = draw(st.sampled_from([("tool_name", "tool_input"), ("toolName", "toolArgs"), own, own]))
    other = draw(st.sampled_from([row.name, row.name, row.name, row.kind_name, "Stop", "unknown", 5]))
    event = {names[0]: tool, names[1]: given, host.event_keys[0]: other, "prompt": draw(st.sampled_from(["", "x"]))}
    path = draw(st.sets(st.sampled_from(sorted(event)), min_size=2))
    payload: dict[str, object] = {}
    for place in sorted(path):
        outer, _, inner = place.rpartition(".")
        fields = payload.setdefault(outer, {}) if outer else payload
        fields[inner] = event[place]
    for name in row.kind.matched_fields:
        place = draw(st.sampled_from([name, theirs.get(name, name), *theirs.values()]))
        if draw(st.booleans()) and "." not in place:
            payload[place] = draw(field_values)
    return host.name, draw(st.sampled_from([row.name] * 4 + [None])), payload


@given(catalogs, st.lists(host_calls(), min_size=1, max_size=6))
@settings(max_examples=count_examples(250))
@example(Catalog((a_hook(tool="^Bash$"),)), [("codex", "PreToolUse", {"tool_name": "Shell"})])
@example(Catalog((a_hook(tool="^Shell$"),)), [("claude", "PreToolUse", {"tool_name": "Bash"})])
@example(Catalog((a_hook(tool="^Edit$"),)), [("copilot", "preToolUse", {"toolName": "edit"})])
@example(Catalog((a_hook(kind=SPELLINGS["post-agent-turn"]),)), [("codex", "Stop", {})])
@example(Catalog((a_hook(tool="^mcp__fs__"),)), [("opencode", "pre-tool-call", {"tool_name": "fs_write"})])
@example(Catalog((a_hook(tool="^mcp__x_y__z$"),)), [("claude", "PreToolUse", {"tool_name": "mcp__x y__z"})])
@example(Catalog((a_hook(tool="^Edit$"),)), [("droid", "PreToolUse", {"tool_name": "MultiEdit"})])
@example(Catalog((a_hook(tool="^mcp__web__search$"),)), [("cline", "PreToolUse", USE_MCP_TOOL)])
@example(
    Catalog((a_hook(tool="^Shell$"),)),
    [("cursor", "preToolUse", {"tool_name": "Write", "tool_input": {"file_path": "a", "path": ".env"}})],
)
@example(
    Catalog((a_hook(tool="^Write$", pattern="mkfs"),)),
    [("codex", "PreToolUse", {"tool_name": "apply_patch", "tool_input": {"command": PATCHES[0]}})],
)
@example(
    Catalog((a_hook(tool="^EditFile$", pattern="^git\npush$"),)),
    [
        (
            "claude",
            "PreToolUse",
            {"tool_name": "Bash", "tool_input": {"command": PATCHES[1].replace("*** Move to: rm -rf\n", "")}},
        )
    ],
)
@example(
    Catalog((a_hook(kind=SPELLINGS["SessionEnd"], field_patterns={"exit_reason": "^other$"}),)),
    [("claude", "SessionEnd", {"reason": "clear"}), ("claude", "SessionEnd", {"reason": "other"})],
)
@example(Catalog((a_hook(kind=SPELLINGS["post-tool-call-failure"]),)), [("gemini", "AfterTool", {"tool_name": "glob"})])
def test_for_a_host_nothing_to_do_is_proved_only_when_the_engine_would_do_and_report_nothing(here, catalog, asked):
    catalog = write_cache_of(here, catalog)
    for host, name, event in asked:
        folder = {"work_dir": str(here.path)} if host == "opencode" else {"cwd": str(here.path)}
        data = json.dumps({**event, **folder}, separators=(",", ":")).encode()
        options = parse_options(["--host", host, *(["--event", name] if name else [])])
        if _prove_nothing_to_do(options, data) is not None:
            assert host_is_silent(catalog, host, data, name)


def host_is_silent(catalog: Catalog, host: str, data: bytes, name: str | None) -> bool:
    """Whether the engine would do nothing for a host's event, and for those made of it."""
    dialect = find_host_dialect(host)
    event = dialect.read_event(data, name)
    assert event.kind is not UNMAPPED
    later = dialect.derive_events(Verdict(event, event, Outcome()))
    return all(is_silent(catalog, one) for one in (event, *later))


@pytest.mark.parametrize(
    ("host", "name", "event", "quiet"),
    [
        ("claude", "PreToolUse", {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}, True),
        ("claude", "PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}}, False),
        ("codex", "PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "rm -rf /"}}, False),
        ("codex", "PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "ls"}}, True),
        ("copilot", "preToolUse", {"toolName": "bash", "toolArgs": {"command": "ls"}}, True),
        ("copilot", "preToolUse", {"toolName": "create", "toolArgs": {"path": "x"}}, False),
        ("copilot", "preToolUse", {"toolName": "bash", "toolArgs": '{"command": "ls"}'}, False),
        ("gemini", "BeforeTool", {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}}, True),
        ("gemini", "BeforeTool", {"tool_name": "write_file", "tool_input": {}}, False),
        ("gemini", "AfterAgent", {"prompt_response": "x"}, True),
        ("kimi-code", "PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "ls"}}, True),
        ("kimi-code", "UserPromptSubmit", {"hook_event_name": "UserPromptSubmit", "prompt": [{"text": "x"}]}, True),
        ("kimi-code", "Stop", {"hook_event_name": "PreToolUse"}, False),
        ("cline", "PreToolUse", {"preToolUse": {"toolName": "run_commands", "parameters": {"commands": ["ls"]}}}, True),
        ("cline", "PreToolUse", {"tool_call": {"name": "run_commands", "input": {"command": "rm", "args": ["-rf"]}}}, False),
        ("cline", "PreToolUse", {"preToolUse": {"toolName": "run_commands", "parameters": {"x": 1}}}, False),
        # a text may be JSON, in which the words of a pattern can be escaped
        ("cline", "PreToolUse", {"tool_call": {"name": "run_commands", "input": '{"commands": ["rm \\u002drf /"]}'}}, False),
        ("cline", "PreToolUse", {"tool_call": {"name": "run_commands", "input": '{"commands": [[1]]}'}}, False),
        ("cursor", "preToolUse", {"tool_name": "Shell", "tool_input": {"command": "ls"}}, True),
        ("cursor", "preToolUse", {"tool_name": "Shell", "tool_input": {"command": "rm -rf /"}}, False),
        ("opencode", "pre-tool-call", {"event_type": "pre-tool-call", "tool_name": "bash", "tool_input": {}}, True),
    ],
)  # fmt: skip
def test_most_events_of_a_host_are_answered_on_the_fast_path(here, host, name, event, quiet):
    write_cache_of(here, GUARDS)
    assert ask(event, host=host, event=name) is quiet


AT_THE_END = Catalog((a_hook(kind=SPELLINGS["SessionEnd"], field_patterns={"exit_reason": "^(?:other|logout)$"}),))


@pytest.mark.parametrize(
    ("reason", "quiet"), [("clear", True), ("logout", False), ("", True), (None, False), (5, False), ("others", True)]
)
def test_an_event_whose_field_no_matcher_accepts_is_answered_on_the_fast_path(here, reason, quiet):
    write_cache_of(here, AT_THE_END)
    assert ask({"hook_event_name": "SessionEnd", "reason": reason}, host="claude", event="SessionEnd") is quiet
    assert ask({"event_type": "SessionEnd", "exit_reason": reason}) is quiet


def test_the_folder_of_an_event_is_the_one_that_the_engine_takes(here, tmp_path):
    write_cache_of(here, GUARDS)
    call = {"tool_name": "Shell", "tool_input": {"command": "ls"}, "cwd": None}
    assert ask({**call, "workspace_roots": [str(tmp_path)]}, host="cursor", event="preToolUse") is False
    assert ask({**call, "workspace_roots": [str(here.path)]}, host="cursor", event="preToolUse") is True
    assert ask({**call, "workspace_roots": "/"}, host="cursor", event="preToolUse") is True


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
    "a tool that is not text": {**CALL, "tool_name": None},
    "an unknown event": {"event_type": "PreToolUsed"},
    "no event": {},
    "a relative folder": {**CALL, "work_dir": "project"},
    "a folder with dots": {**CALL, "work_dir": "/a/../b"},
}


@pytest.mark.parametrize("event", QUIET.values(), ids=QUIET)
def test_an_event_that_plainly_concerns_no_hook_is_answered_on_the_fast_path(here, event):
    write_cache_of(here, GUARDS)
    assert ask({"work_dir": str(here.path), **event}) is True
    assert ask(event) is True


@pytest.mark.parametrize("event", LOUD.values(), ids=LOUD)
def test_anything_else_is_left_to_the_engine(here, event):
    write_cache_of(here, GUARDS)
    assert ask({"work_dir": str(here.path), **event}) is False


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
    write_cache_of(here, GUARDS)
    assert ask(data) is False
    assert ask(data, event="Stop") is False


class OneRow:
    """A catalogue with hooks that ask for some words."""

    def __init__(self, words: list[str]) -> None:
        self.head = {"with_tool": ("pre-tool-call",), "gram": GRAM_CHARS}
        self.rows = (((None, (), ()), (), index_words(words)),)

    def section(self, name: str) -> object:
        return self.rows


# Some of these are written in another way in JSON, so a text with them is not in there as it is.
leaves = st.text(alphabet='ab "\\/\n\u00e9\U0001f600', max_size=12)


@given(st.lists(leaves, min_size=1, max_size=12), st.data(), st.integers(0, 400))
def test_a_word_in_any_text_of_an_input_is_found_among_few_and_many(texts, data, count):
    text = data.draw(st.sampled_from(texts))
    start = data.draw(st.integers(0, len(text)))
    word = text[start : data.draw(st.integers(start, len(text)))]
    others = [f"zz{number}" for number in range(count)]
    tool_input = {f"k{number}": [one] for number, one in enumerate(texts)}
    assert _may_be_wanted(OneRow([*others, word]), "pre-tool-call", ("Shell",), tool_input, {})
    assert not _may_be_wanted(OneRow(["zz", *others]), "pre-tool-call", ("Shell",), tool_input, {})


@given(st.binary(max_size=60), st.none() | st.sampled_from(["Stop", "", "x"]))
def test_any_bytes_are_left_to_the_engine_or_are_an_event(here, data, name):
    write_cache_of(here, Catalog())
    certain = _prove_nothing_to_do(parse_options([] if name is None else ["--event", name]), data) is not None
    assert not certain or isinstance(find_host_dialect("native").read_event(data, name), Event)


def test_an_input_too_long_to_be_searched_is_left_to_the_engine(here):
    write_cache_of(here, GUARDS)
    long = {**CALL, "tool_input": {"command": "x" * (1 << 20)}}
    compact = json.dumps({**CALL, "tool_input": {"x": [0] * 400_000}}, separators=(",", ":")).encode()
    answers = [ask(long), len(compact) < 1 << 20, ask(compact)]
    assert answers == [False, True, False]  # the second grows beyond the limit only when it is written with spaces


def test_the_argument_and_the_data_must_name_the_same_event(here):
    write_cache_of(here, GUARDS)
    assert ask(CALL, event="PreToolUse") is True
    assert ask({"tool_name": "Read"}, event="PreToolUse") is True
    assert ask(CALL, event="pre-tool-call") is True
    assert ask(CALL, event="Stop") is False
    assert ask({}, event="") is False


def test_a_project_may_be_named_beside_the_event(here, tmp_path):
    write_cache_of(here, GUARDS)
    assert ask({**CALL, "work_dir": "/"}, project=str(here.path)) is True
    assert ask(CALL, project="project") is False
    assert ask(CALL, project=str(tmp_path)) is False


def test_without_a_compiled_catalogue_everything_is_the_engine_s(here, tmp_path):
    assert ask({**CALL, "work_dir": str(tmp_path)}) is False


def test_a_folder_that_is_gone_is_the_engine_s(here, monkeypatch, tmp_path):
    write_cache_of(here, GUARDS)
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    os.rmdir(folder)
    assert ask(CALL) is False


def test_a_catalogue_is_taken_only_for_the_trust_that_it_was_made_with(here, tmp_path):
    trusts = {"usual": None, "other": str(tmp_path), "all": ""}
    calls = {
        "usual": lambda: ask(CALL),
        "other": lambda: ask(CALL, state=str(tmp_path)),
        "all": lambda: ask(CALL, "--trust-all"),
    }
    for path in here.cache.glob("*"):
        path.unlink()
    for made, trust in trusts.items():
        write_cache_of(here, GUARDS, trust)
        assert {name: call() for name, call in calls.items()} == {name: name == made for name in calls}
        for path in [*here.cache.glob("*"), *tmp_path.glob("cache/*")]:
            path.unlink()


def test_an_untrusted_hook_needs_the_engine_where_it_matches_and_nowhere_else(here):
    write_cache_of(
        here, Catalog((a_hook("rm", tool="^Shell$", pattern="rm -rf", state=UNTRUSTED, state_reason="why"),))
    )
    dangerous = {**CALL, "tool_input": {"command": "rm -rf /"}}
    assert (ask(CALL), ask(dangerous)) == (True, False)


@pytest.mark.parametrize("state", ["state", "./state"])
def test_a_state_folder_that_is_not_absolute_is_the_engine_s(here, state):
    write_cache_of(here, GUARDS)
    assert ask(CALL, state=state) is False


FAST_OPTIONS = {
    ("PreToolUse",): {"event": "PreToolUse"},
    ("--event", "Stop"): {"event": "Stop"},
    ("--event=Stop",): {"event": "Stop"},
    ("--host", "native", "--project", "/p", "Stop"): {"host": "native", "project": "/p", "event": "Stop"},
    ("--event", "A", "--event", "B"): {"event": "B"},
    ("--trust-all", "Stop"): {"trust_all": True, "event": "Stop"},
    ("--state", "/s", "--trust-all"): {"folders": {"state": "/s"}, "trust_all": True},
    ("--config", "/c", "--claude=/d"): {"folders": {"config": "/c", "claude": "/d"}},
    ("--without", "settings", "--without", "project-hook-md"): {"without": ("settings", "project-hook-md")},
    ("--without", ""): {},
    (): {},
    ("--host", "other"): {"host": "other"},
    ("--event",): None,
    ("--state",): None,
    ("--trust-all=yes",): None,
    ("--without", "other"): None,
    ("--json",): None,
    ("--debug", "Stop"): None,
    ("--no-ask",): None,
    ("A", "B"): None,
    ("--event", "A", "B"): None,
}


@pytest.mark.parametrize(("args", "expected"), FAST_OPTIONS.items())
def test_only_a_plain_command_line_is_answered_on_the_fast_path(args, expected):
    options = read_fast_options(list(args))
    found = None if options is None else vars(options)
    assert found == (None if expected is None else {**vars(Options()), **expected})
