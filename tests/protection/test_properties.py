"""What holds for any text: nothing is raised, and quoting or wrapping a command changes nothing."""

from __future__ import annotations

import shlex
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.protection.guarded_home import GuardedHome, read_cases

PLAIN = (
    *("rm -rf .agents/hooks", "mv .agents away", "sed -i s/a/b/ .agents/hooks/no-push/HOOK.md"),
    *("boathook trust --yes", "pip uninstall boathook", "chmod -x .agents/hooks/no-push/scripts/run.sh"),
)
DISARMING = [case for case in read_cases("disarming.jsonl") if "command" in case]
SIGNS = "ab .~/$'\"\\`|&;()<>#{}[]*?\n=-"
TEXTS = (
    *("rm -rf ", ".agents", "$(", "${", "<<E\n", "\nE\n", "$'", "A=", "find . ", "-exec ", "xargs ", "sh -c ", "eval "),
    *("boathook ", "trust", "cd ", "python -c ", "git ", "tar ", "cp -r ", "ln -s ", "env "),
)
PIECES = st.sampled_from([*SIGNS, *TEXTS])


def _hands_over(guarded: GuardedHome, case: dict[str, Any]) -> bool:
    return guarded.is_handed_over(guarded.make_event(case))


@given(st.lists(PIECES, max_size=40).map("".join))
def test_no_command_raises_and_the_fast_path_keeps_none_from_the_guard(guarded: GuardedHome, command: str) -> None:
    case = {"command": command}

    if guarded.find_objection(case):
        assert _hands_over(guarded, case)


@given(
    st.sampled_from(DISARMING), st.lists(PIECES, max_size=4).map("".join), st.sampled_from([" ; ", "\n", " && ", " | "])
)
def test_what_comes_after_a_way_to_disarm_does_not_hide_it(
    guarded: GuardedHome, case: dict[str, Any], rest: str, joint: str
) -> None:
    # What is left open would be part of the text that follows.
    command = case["command"] if case["command"].endswith(("\nE", "\nEOF")) else f"{case['command']}{joint}true"
    longer = {**case, "command": f"{command}\n: {shlex.quote(rest)}\n"}

    assert guarded.find_objection(longer)
    assert _hands_over(guarded, longer)


def _quote_inside(word: str, marks: list[str]) -> str:
    return "".join(
        mark + sign if sign.isalnum() or sign == "." else sign for mark, sign in zip(marks, word, strict=True)
    )


@given(st.data(), st.sampled_from(PLAIN))
def test_quotes_and_escapes_hide_nothing(guarded: GuardedHome, data: st.DataObject, command: str) -> None:
    size = len(command)
    marks = data.draw(st.lists(st.sampled_from(["", "", '""', "''", "\\", "\\\n"]), min_size=size, max_size=size))
    case = {"command": _quote_inside(command, marks)}

    assert guarded.find_objection(case)
    assert _hands_over(guarded, case)


WRAPPERS = [
    *("sudo {}", "env A=1 {}", "timeout 9 {}", "nohup {}", "( {} )", "if true; then {}; fi", "cd .; {}", "A=1; {}"),
    *(
        "bash -c {q}",
        "eval {q}",
        "echo {q} | sh",
        "sh <<< {q}",
        "sh <<'E'\n{}\nE",
        "true && {}",
        "{{ {}; }}",
        "x=$({})",
    ),
]


@given(st.lists(st.sampled_from(WRAPPERS), max_size=3), st.sampled_from(PLAIN))
def test_wrappers_hide_nothing(guarded: GuardedHome, wrappers: list[str], command: str) -> None:
    for wrapper in wrappers:
        # A program cannot start what only a shell understands.
        is_program = wrapper.startswith(("sudo", "env", "timeout", "nohup"))
        if is_program and command not in PLAIN:
            command = f"bash -c {shlex.quote(command)}"
        command = wrapper.format(command, q=shlex.quote(command))
    case = {"command": command}

    assert guarded.find_objection(case)
    assert _hands_over(guarded, case)


def test_a_call_that_takes_long_to_judge_is_a_question(guarded: GuardedHome) -> None:
    links = " ".join(f"s{number}" for number in range(2_000))
    files = " ".join(f"x{number}" for number in range(2_000))
    case = {"command": f"ln -s {links} d; rm -f {files}; true"}

    assert "cannot be read within" in guarded.find_objection(case)
