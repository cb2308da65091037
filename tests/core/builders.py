"""What the tests of the core make again and again: hooks, events, and values for hypothesis to play with."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from boathook.core.event import KINDS, PRE_TOOL, Event
from boathook.core.hook import SETTINGS, Command, Hook, HookHandler, Http, Prompt, Script
from boathook.core.matcher import Matcher, compile_names, compile_pattern
from boathook.dialects.dialect import find_hook_dialect


def a_hook(
    name: str = "guard",
    *,
    tool: str = "",
    pattern: str = "",
    tool_kinds: tuple[str, ...] = (),
    field_patterns: dict[str, str] | None = None,
    **fields: Any,
) -> Hook:
    compiled = ((key, compile_pattern(source)) for key, source in (field_patterns or {}).items())
    matched = tuple((key, found) for key, found in compiled if found)
    matcher = Matcher(compile_pattern(tool), compile_pattern(pattern), tool_kinds, matched)
    known = {"kind": PRE_TOOL, "trigger": "pre-tool-call", "scope": "user", "path": f"/h/{name}/HOOK.md"}
    known["dialect"] = find_hook_dialect("native")
    return Hook(name, handler=Script(f"/h/{name}"), **{**known, "matcher": matcher, **fields})


def a_settings_hook(name: str = "guard", handler: HookHandler | None = None, *, tool: str = "", **fields: Any) -> Hook:
    """Return a hook as settings.json has them; unless one is given, its handler is its own."""
    known = {"kind": PRE_TOOL, "trigger": "PreToolUse", "scope": "user", "path": "/c/settings.json"}
    known |= {"matcher": Matcher(compile_names(tool)), "dialect": find_hook_dialect("claude")}
    known |= {"source": SETTINGS, "runs_together": True}
    return Hook(name, handler=handler or Command(f"./{name}.sh"), **{**known, **fields})


def a_call(command: Any = "ls", tool: str = "Shell", kind: str = "pre-tool-call") -> Event:
    return Event.of(kind, tool_name=tool, tool_input={"command": command}, session_id="s", work_dir="/w", timestamp="t")


texts = st.text(max_size=8)
handlers = st.one_of(
    st.builds(Script, texts),
    st.builds(Command, texts, st.none() | st.lists(texts, max_size=3).map(tuple), texts, texts),
    st.builds(Prompt, texts, texts),
    st.builds(Http, texts, st.lists(st.tuples(texts, texts), max_size=2).map(tuple), st.lists(texts).map(tuple)),
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)
json_objects = st.dictionaries(st.text(), json_values, max_size=5)
kinds = st.sampled_from(KINDS)
tools = st.sampled_from(["", "Shell", "Write", "Read", "mcp__x__y"])
words = st.sampled_from(["ls", "rm -rf /", "git push", "naïve", "a.b", "", "mkfs", "\n", "x" * 40])
commands = st.lists(words, max_size=4).map(" ".join)
inputs = st.fixed_dictionaries(
    {}, optional={"command": commands, "path": words, "deep": st.lists(commands, max_size=3)}
)
patterns = st.sampled_from(
    [
        "",
        "*",
        "rm",
        "rm -rf|mkfs",
        "^ls$",
        "push.*x",
        "(?i)GIT",
        "a\\.b",
        "[xy]+",
        "na.ve",
        "(git|hg) push",
        "\\bls\\b",
        "$",
    ]
)
tool_patterns = st.sampled_from(["", "*", "Shell", "^(Shell|Write)$", "Sh|Re", "mcp__.*", "^mcp", "[A-Z]", "(?i)shell"])
COMMON = {"event_type", "timestamp", "session_id", "work_dir", "context"}
fields = json_objects.map(lambda found: {key: value for key, value in found.items() if key not in COMMON})
tool_events = st.builds(
    lambda kind, tool, data: Event.of(kind, tool_name=tool, tool_input=data, timestamp="t", work_dir="/w"),
    st.sampled_from([kind for kind in KINDS if kind.has_tool]),
    tools,
    inputs,
)
