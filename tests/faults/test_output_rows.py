"""Faults 35 to 47: what a hook prints and how it exits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.faults.harness import LONG, LONG_MS, FaultProject, Result, assert_clean, python

INVALID = "the answer is not valid: "


def answer(project: FaultProject, way: str, data: bytes, code: int = 0, **fields: object) -> Result:
    """Let a hook print bytes and exit; everything that was promised about it must hold."""
    (project.scratch / "answer").write_bytes(data)
    project.write_hook("says", f'cat "$SCRATCH/answer"; exit {code}', timeout=LONG_MS, **fields)
    result = project.fire(way)
    assert_clean(project, result, LONG)
    return result


def assert_unreadable(result: Result, why: str) -> None:
    """The answer did not count, and the run names the fault."""
    assert (result.decision, result.runs) == ("none", [("says", "unreadable", 0, "none")])
    [reported] = result.why
    assert reported is not None
    assert reported.startswith(why)


UNREADABLE = {
    "row_35_a_list_100k_deep": (b"[" * 100_000, "nested too deep"),
    "row_35_an_object_100k_deep": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deep"),
    "row_35_an_answer_300_deep": (
        b'{"decision": "allow", "x": ' + b"[" * 300 + b"]" * 300 + b"}",
        "nested too deep (more than 200 levels)",
    ),
    "row_36_a_number_of_5000_digits": (
        b'{"decision": "allow", "n": ' + b"9" * 5000 + b"}",
        "number of 5000 digits is beyond limits",
    ),
    "row_37_nan": (b'{"decision": "allow", "n": NaN}', "NaN is not JSON"),
    "row_37_infinity": (b'{"decision": "allow", "n": -Infinity}', "-Infinity is not JSON"),
    "row_37_a_float_beyond_limits": (b'{"decision": "allow", "n": 1e400}', "number 1e400 is beyond limits"),
    "row_38_deny_then_allow": (b'{"decision": "deny", "decision": "allow"}', "repeated key 'decision'"),
    "row_38_an_escaped_repetition": (b'{"decision": "deny", "decisio\\u006e": "allow"}', "repeated key 'decision'"),
    "row_40_utf_16": ('{"decision": "allow"}'.encode("utf-16"), "not UTF-8 at byte 0"),
    "row_40_utf_16_without_mark": ('{"decision": "allow"}'.encode("utf-16-le"), "NUL at character 1"),
    "row_41_text_after_the_object": (
        b'{"decision": "allow"}\nDone.\n',
        "text after the JSON value at line 1 column 22",
    ),
    "row_41_two_documents": (
        b'{"decision": "allow"}\n{"decision": "deny"}',
        "a second document after the JSON value at line 1 column 22",
    ),
    "row_42_a_list": (b'[{"decision": "allow"}]', "the top level is a list, not an object"),
    "row_42_a_text": (b'"allow"', "the top level is text, not an object"),
    "row_42_a_decision_that_is_a_list": (b'{"decision": ["allow"]}', "'decision' must be text, not a list"),
    "row_42_a_reason_that_is_a_number": (
        b'{"decision": "allow", "reason": 1}',
        "'reason' must be text, not a number",
    ),
    "row_43_an_unknown_decision": (
        b'{"decision": "maybe"}',
        "unknown decision 'maybe'",
    ),
    "row_43_a_decision_with_a_space": (
        b'{"decision": "deny "}',
        "unknown decision 'deny '",
    ),
    "row_46_an_input_that_is_a_text": (
        b'{"modified_input": "rm -rf /"}',
        "'modified_input' must be an object, not text",
    ),
    "row_46_an_input_that_is_a_list": (b'{"modified_input": []}', "'modified_input' must be an object, not a list"),
    "row_46_an_input_with_nan": (b'{"modified_input": {"n": NaN}}', "NaN is not JSON"),
}


@pytest.mark.parametrize(("data", "error"), UNREADABLE.values(), ids=UNREADABLE)
def test_an_answer_that_hides_something_is_unreadable_with_the_reason(
    project: FaultProject, way: str, data: bytes, error: str
) -> None:
    assert_unreadable(answer(project, way, data), INVALID + error)


@pytest.mark.parametrize("data", [case[0] for case in UNREADABLE.values()], ids=UNREADABLE)
def test_an_unreadable_answer_blocks_where_failing_blocks(project: FaultProject, data: bytes) -> None:
    result = answer(project, "in process", data, on_failure="block")
    assert (result.decision, result.verdict["runs"][0]["status"]) == ("block", "unreadable")
    [reason] = result.reasons
    assert reason.startswith("hook 'says' ")
    assert INVALID in reason


@pytest.mark.parametrize("data", [case[0] for case in UNREADABLE.values()], ids=UNREADABLE)
def test_exit_2_blocks_with_any_text_on_stdout(project: FaultProject, data: bytes) -> None:
    result = answer(project, "in process", data, code=2)
    assert (result.decision, result.runs) == ("block", [("says", "ok", 2, "block")])


def test_row_39_a_lone_surrogate_goes_through_everything(project: FaultProject, way: str) -> None:
    project.write_hook(
        "rewrites", r"""echo '{"modified_input": {"command": "\ud800"}}'""", priority=200, timeout=LONG_MS
    )
    project.write_hook(
        "reads", r"""grep -q '"command": "\\ud800"' && echo '{"decision": "deny", "reason": "\udfff"}'"""
    )
    result = project.fire(way)
    assert (result.decision, result.reasons) == ("block", ["\udfff"])
    assert result.verdict["modified_input"] == {"command": "\ud800"}


def test_row_39_a_lone_surrogate_reaches_a_plain_host_escaped(project: FaultProject) -> None:
    (project.scratch / "answer").write_bytes(rb'{"decision": "deny", "reason": "a\ud800"}')
    project.write_hook("says", 'cat "$SCRATCH/answer"')
    ended = project.run_plain()
    assert (ended.code, ended.stderr) == (2, b"a\\ud800\n")


def test_row_40_a_byte_order_mark_is_forgiven(project: FaultProject, way: str) -> None:
    result = answer(project, way, b'\xef\xbb\xbf{"decision": "deny", "reason": "no"}')
    assert (result.decision, result.reasons) == ("block", ["no"])


def test_row_41_an_answer_behind_a_log_line_is_unreadable_and_no_consent(project: FaultProject, way: str) -> None:
    result = answer(project, way, b'Checking...\n{"decision": "allow"}\n')
    assert (result.decision, result.runs) == ("none", [("says", "unreadable", 0, "none")])
    assert result.verdict["additional_context"] == []


def test_row_41_text_without_an_answer_in_it_is_context(project: FaultProject, way: str) -> None:
    result = answer(project, way, b"Checking {this} and [that].\n")
    assert (result.decision, result.runs) == ("none", [("says", "ok", 0, "none")])
    assert result.verdict["additional_context"] == ["Checking {this} and [that]."]


@pytest.mark.parametrize(
    ("word", "decision"),
    [("DENY", "block"), ("block", "block"), ("Approve", "allow"), ("ALLOW", "allow"), ("Ask", "ask")],
)
def test_row_43_known_words_count_in_any_case(project: FaultProject, word: str, decision: str) -> None:
    assert answer(project, "in process", json.dumps({"decision": word}).encode()).decision == decision


TOO_LARGE = {
    # The memory of a hook counts as growth of a command, so it writes them one by one.
    "a_million_keys": "print('{\"k\": 1', end='')\n"
    "for n in range(1000000): print(f', \"k{n}\": 1', end='')\nprint('}')",
    "a_text_of_100_mb": "import os\nos.write(1, b'{\"reason\": \"')\nfor n in range(100): os.write(1, b'x' * 1000000)",
}


@pytest.mark.parametrize("code", TOO_LARGE.values(), ids=TOO_LARGE)
def test_row_44_an_answer_beyond_a_mebibyte_is_not_even_read(project: FaultProject, way: str, code: str) -> None:
    project.write_hook("says", python(code), script_name="run.py", timeout=LONG_MS)
    result = project.fire(way)
    assert_unreadable(result, "the answer is longer than 1 MiB")
    assert_clean(project, result, 20.0)


def test_row_44_an_answer_of_just_a_mebibyte_is_read_in_bounded_memory(project: FaultProject, way: str) -> None:
    head, tail = b'{"decision": "deny", "reason": "no", "x": "', b'"}'
    result = answer(project, way, head + b"x" * ((1 << 20) - len(head) - len(tail)) + tail)
    assert (result.decision, result.reasons) == ("block", ["no"])


WEIGHTS: dict[str, tuple[int, dict[str, Any], tuple[str, str, list[str]]]] = {
    "exit_2_with_allow": (2, {"decision": "allow"}, ("ok", "block", ["blocked by hook 'says'"])),
    "exit_2_with_a_reason_in_json": (2, {"decision": "allow", "reason": "no"}, ("ok", "block", ["no"])),
    "exit_0_with_deny": (0, {"decision": "deny", "reason": "no"}, ("ok", "block", ["no"])),
    "exit_0_with_allow_and_stop": (0, {"decision": "allow", "continue": False}, ("ok", "stop", [])),
    "exit_1_with_deny": (1, {"decision": "deny", "reason": "no"}, ("failed", "none", [])),
    "exit_3_with_allow": (3, {"decision": "allow"}, ("failed", "none", [])),
}


@pytest.mark.parametrize(("code", "reported", "expected"), WEIGHTS.values(), ids=WEIGHTS)
def test_row_45_exit_code_and_answer_have_one_meaning(
    project: FaultProject, way: str, code: int, reported: dict[str, Any], expected: tuple[str, str, list[str]]
) -> None:
    result = answer(project, way, json.dumps(reported).encode(), code)
    assert (result.verdict["runs"][0]["status"], result.decision, result.reasons) == expected


def test_row_45_the_most_restrictive_of_several_wins_in_any_order(project: FaultProject, way: str) -> None:
    for priority, word in enumerate(["ask", "allow", "ask"], start=100):
        project.write_hook(
            f"h{priority}", f"""echo '{{"decision": "{word}", "reason": "{priority}"}}'""", priority=priority
        )
    result = project.fire(way)
    assert (result.decision, result.reasons) == ("ask", ["102", "100"])


def test_row_46_a_rewrite_is_shown_to_guards_that_ran_before_it(project: FaultProject, way: str) -> None:
    project.write_hook(
        "guard", "echo no >&2; exit 2", priority=900, matcher="{pattern: 'rm -rf'}", description="Runs first."
    )
    project.write_hook("rewrites", """echo '{"modified_input": {"command": "rm -rf /"}}'""", timeout=LONG_MS)
    result = project.fire(way)
    assert (result.decision, result.reasons) == ("block", ["no"])
    assert [run[0] for run in result.runs] == ["rewrites", "guard"]


ESCAPES = {
    "colours": (r"\033[31mred\033[0m", "red"),
    "a_title": (r"\033]0;title\007text", "text"),
    "a_title_ended_by_st": (r"\033]0;title\033\\text", "text"),
    "a_link": (r"\033]8;;http://x\033\\link\033]8;;\033\\", "link"),
    "eight_bit_controls": (r"a\302\23331mb", "a31mb"),
    "a_bell_and_a_backspace": (r"a\007\010b", "ab"),
    "a_carriage_return": (r"good\rbad", "goodbad"),
    "an_unended_sequence": (r"text\033[31", "text"),
}


@pytest.mark.parametrize(("printed", "remaining"), ESCAPES.values(), ids=ESCAPES)
def test_row_47_a_reason_reaches_no_terminal_as_commands(project: FaultProject, printed: str, remaining: str) -> None:
    project.write_hook("says", f"printf '{printed}' >&2; exit 2", timeout=LONG_MS)
    assert project.run_plain().stderr == remaining.encode() + b"\n"


def test_row_47_a_reason_of_a_megabyte_is_cut(project: FaultProject, way: str) -> None:
    project.write_hook("says", "head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 2", timeout=LONG_MS)
    result = project.fire(way)
    [reason] = result.reasons
    assert (result.decision, reason[:8192]) == ("block", "x" * 8192)
    assert len(reason) < 8300
    assert_clean(project, result, LONG)
