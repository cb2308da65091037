"""Events made up for hooks: their matchers accept them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.event import KINDS, find_kind
from boathook.core.hook import Hook, Script
from boathook.core.matcher import Matcher, compile_names, compile_pattern, make_field_matcher
from boathook.dialects.dialect import find_hook_dialect
from boathook.errors import ConfigError
from boathook.hosts.claude_events import CLAUDE_EVENTS
from boathook.sources.hook_md.folder import read_hook
from boathook.sources.samples import build_sample_event, list_matching_tools

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("**/HOOK.md"))
PATTERNS = (
    r"rm\s+-rf",
    r"\bgit push.*--force\b",
    r"\.(py|js)$",
    r"[^a-z]x",
    r"(?i)DROP\s+TABLE",
    r"curl.*\|\s*(ba)?sh",
    r"[\d]{3}-\w+",
    r"^\s*sudo\b",
    r"\S+@\S+",
    r"(?:a|b)+c?d*",
    r"[^\s\d]{2,}\D",
    r"\$\(|`",
)


def _hook(kind="pre-tool-call", tool=None, pattern=None, **fields):
    matcher = Matcher(compile_pattern(tool or ""), compile_pattern(pattern or ""))
    return Hook(
        "h",
        find_kind(kind),
        kind,
        "user",
        Script("/f"),
        "/f/HOOK.md",
        find_hook_dialect("native"),
        matcher=matcher,
        **fields,
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_of_event_can_be_made_up(kind):
    event = build_sample_event(_hook(kind.name), "/w")
    assert event is not None
    assert (event.kind, event.work_dir, event.session_id) == (kind, "/w", "doctor")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_gets_an_input_that_it_is_found_in(pattern):
    hook = _hook(tool="^(Shell|Bash)$", pattern=pattern)
    event = build_sample_event(hook, "/w")
    assert event is not None
    assert hook.matcher.explain_mismatch(event) == ""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_every_example_hook_gets_an_event(path):
    hook, _ = read_hook(str(path), str(path.parent), "user")
    event = build_sample_event(hook, "/w")
    assert event is not None
    assert hook.matcher.explain_mismatch(event) == ""


@pytest.mark.parametrize("row", [row for row in CLAUDE_EVENTS if row.subject], ids=lambda row: row.name)
def test_a_matcher_of_settings_gets_what_it_asks_for(row):
    matcher = make_field_matcher(row.subject, compile_names("special|other"))
    hook = Hook("h", row.kind, row.name, "user", Script("/f"), "/f", find_hook_dialect("native"), matcher=matcher)
    event = build_sample_event(hook, "/w")
    assert event is not None
    assert hook.matcher.explain_mismatch(event) == ""


def test_a_hook_may_define_its_sample_event():
    hook = _hook(pattern=r"\pL{3}", metadata={"doctor": {"tool_input": {"command": "äöü"}}})
    event = build_sample_event(hook, "/w")
    assert event is not None
    assert event.tool_input == {"command": "äöü"}


def test_a_pattern_beyond_this_gets_nothing():
    assert build_sample_event(_hook(pattern=r"\p{Greek}"), "/w") is None


def test_the_known_tools_of_a_matcher():
    assert list_matching_tools(_hook(tool="^Web")) == ["WebFetch", "WebSearch"]
    assert list_matching_tools(_hook(tool="NoSuchTool")) == []


@given(st.from_regex(r"[a-z\\\[\]().*+?|^$\d{}-]{0,12}", fullmatch=True))
def test_no_pattern_raises_or_returns_a_sample_that_does_not_match(source):
    try:
        hook = _hook(pattern=source)
    except ConfigError:
        return
    event = build_sample_event(hook, "/w")
    assert event is None or not hook.matcher.explain_mismatch(event)
