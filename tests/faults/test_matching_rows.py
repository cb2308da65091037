"""Faults 70 to 76: which events reach a hook."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults.harness import LONG_MS, FaultProject, assert_clean

MATCHING = 1.0
NO = "echo no >&2; exit 2"


def guard(project: FaultProject, pattern: str, **more: object) -> None:
    """Lay out a hook that blocks everything it sees."""
    quoted = pattern.replace("'", "''")
    project.write_hook("guard", NO, timeout=LONG_MS, matcher=f"{{pattern: '{quoted}'}}", **more)


def call(command: Any) -> dict[str, Any]:
    return {"tool_input": {"command": command}}


EXPLODING = {
    "nested_plus": ("(a+)+$", "a" * 5000 + "!", False),
    "nested_alternatives": ("(a|aa)+$", "a" * 5000 + "!", False),
    "nested_plus_that_matches": ("(a+)+$", "a" * 5000, True),
    "many_stars": (".*.*.*.*.*x$", "a" * 50_000, False),
    "optional_in_a_row": ("(a?){40}a{40}b", "a" * 20_000, False),
}


@pytest.mark.parametrize(("pattern", "text", "hit"), EXPLODING.values(), ids=EXPLODING)
def test_row_70_a_pattern_that_explodes_elsewhere_takes_linear_time(
    project: FaultProject, way: str, pattern: str, text: str, hit: bool
) -> None:
    guard(project, pattern)
    result = project.fire(way, call(text))
    assert result.decision == ("block" if hit else "none")
    assert_clean(project, result, MATCHING)


NOT_COMPILING = ["(", "[", "a{2,1}", "*a", r"\p{Nonsense}", "a{1001}"]


@pytest.mark.parametrize("pattern", NOT_COMPILING)
@pytest.mark.parametrize("on_failure", ["allow", "block"])
def test_row_71_a_pattern_that_does_not_compile_is_found_at_load_and_never_silent(
    project: FaultProject, pattern: str, on_failure: str
) -> None:
    guard(project, pattern, on_failure=on_failure)
    result = project.fire_in_process()
    if on_failure == "block":
        assert (result.decision, result.verdict["runs"][0]["status"]) == ("block", "refused")
    else:
        assert (result.decision, list(result.skipped)) == ("none", ["guard"])
        assert "does not compile" in result.skipped["guard"]


def test_row_71_a_pattern_that_does_not_compile_is_reported_to_a_plain_host(project: FaultProject) -> None:
    guard(project, "(")
    ended = project.run_plain()
    assert ended.code == 0
    assert ended.stderr.startswith(b"boathook: hook 'guard' did not run: the pattern '(' does not compile")


@pytest.mark.parametrize("pattern", ["*", ""])
def test_row_71_a_star_and_nothing_match_everything(project: FaultProject, way: str, pattern: str) -> None:
    guard(project, pattern)
    assert project.fire(way).reasons == ["no"]


SEEN = {
    "row_72_the_end_of_a_value": (r"\.py$", {"file_path": "src/main.py"}, True),
    "row_72_the_start_of_a_value": ("^rm ", {"command": "rm -rf x"}, True),
    "row_72_the_json_text": (r'"command": "rm', {"command": "rm -rf x"}, True),
    "row_72_a_value_deep_inside": (r"^secret$", {"a": [{"b": ["x", "secret"]}]}, True),
    "row_72_a_key_alone_is_no_value": (r"^command$", {"command": "x"}, False),
    "row_73_letters_beyond_ascii": ("Überweisung", {"command": "eine Überweisung"}, True),
    "row_73_beyond_ascii_in_the_json_text": ('"ü": "日本"', {"ü": "日本"}, True),
    "row_73_letters_beyond_the_first_plane": ("^🦀+$", {"command": "🦀🦀"}, True),
}


@pytest.mark.parametrize(("pattern", "tool_input", "hit"), SEEN.values(), ids=SEEN)
def test_a_pattern_is_searched_in_every_value_and_in_the_json(
    project: FaultProject, way: str, pattern: str, tool_input: dict[str, Any], hit: bool
) -> None:
    guard(project, pattern)
    assert project.fire(way, {"tool_input": tool_input}).decision == ("block" if hit else "none")


def test_row_74_an_input_of_ten_megabytes_matches_every_pattern_and_reaches_the_guard(
    project: FaultProject, way: str
) -> None:
    guard(project, "never in there")
    result = project.fire(way, call("x" * 10_000_000))
    assert (result.decision, result.reasons) == ("block", ["no"])


def test_row_74_an_input_below_the_limit_is_searched(project: FaultProject, way: str) -> None:
    guard(project, "never in there")
    assert project.fire(way, call("x" * 1_000_000)).decision == "none"


LACKING = {
    "lookahead": ("rm(?= -rf)", "rm -rf", "rm -r"),
    "negative_lookahead": ("git push(?!.*--dry-run)", "git push -f", "git push --dry-run"),
    "lookbehind": ("(?<=sudo )rm", "sudo rm", "rm"),
    "backreference": (r"(\w+) \1", "rm rm", "rm x"),
    "end_of_text": (r"rm\Z", "rm", "rm x"),
}


@pytest.mark.parametrize(("pattern", "hit", "miss"), LACKING.values(), ids=LACKING)
def test_row_75_a_construct_that_re2_lacks_guards(project: FaultProject, pattern: str, hit: str, miss: str) -> None:
    guard(project, pattern)
    assert [project.fire_in_process(call(text)).decision for text in (hit, miss)] == ["block", "none"]


def test_row_75_a_search_that_would_not_end_counts_as_a_match_and_is_reported(project: FaultProject, way: str) -> None:
    guard(project, "^(a|aa)+$(?<!b)x?")
    result = project.fire(way, call("a" * 5000 + "!"))
    assert result.decision == "block"
    note = result.verdict["runs"][0]["notes"][-1]
    assert note.startswith(
        "this counts as a match only because its pattern was not searched to the end within the 250 ms"
    )
    assert result.skipped == {}


SHELL_GUARD = """input=$(cat)
case $input in *'"command": "rm -rf /'*) echo no >&2; exit 2;; esac"""


@pytest.mark.parametrize("command", ["rm -rf /", "rm -rf / --no-preserve-root"])
def test_row_76_a_shell_guard_that_looks_for_colon_and_space_finds_them(
    project: FaultProject, way: str, command: str
) -> None:
    """The engine writes `": "` however compact the host wrote its event."""
    project.write_hook("guard", SHELL_GUARD, timeout=LONG_MS)
    assert project.fire(way, call(command)).reasons == ["no"]


def test_row_76_a_compact_event_reaches_hooks_with_spaces(project: FaultProject) -> None:
    project.write_hook("guard", SHELL_GUARD, timeout=LONG_MS)
    compact = b'{"event_type":"pre-tool-call","tool_name":"Shell","tool_input":{"command":"rm -rf /"}}'
    ended = project.run_event(None, data=compact)
    assert (ended.code, ended.stderr) == (2, b"no\n")
