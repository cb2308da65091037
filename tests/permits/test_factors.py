"""The second factor of an answer: which one is asked, and that everything but a clear yes is a no."""

from __future__ import annotations

import os
import pwd
import subprocess
import time
from pathlib import Path

import pytest

from boathook.core.catalog import Settings
from boathook.permits import askpass, factors
from boathook.permits.factors import (
    FACTORS,
    FactorAnswer,
    check_factor,
    describe_wish,
    find_factor_problem,
    is_code_needed,
)
from boathook.permits.totp import STEP_SECONDS, compute_code, write_secret
from boathook.sources.fields import HOOKS_TOML_FIELDS
from tests.permits.waiting_calls import make_question

SECRET = b"12345678901234567890"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for programs that counts as safe, although the folders above it are open to all."""
    safe = tmp_path / "programs"
    safe.mkdir(mode=0o755)
    above = {str(one) for one in safe.parents}
    check = askpass._find_place_problem
    monkeypatch.setattr(askpass, "_find_place_problem", lambda place: "" if place in above else check(place))
    return safe


def write_program(folder: Path, text: str) -> str:
    path = folder / "ask"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def ask(program: str, text: str = "Allow?") -> str:
    return check_factor(Settings(factor="askpass", askpass=program), "/nowhere", FactorAnswer(text))


def test_without_a_factor_an_answer_that_needs_one_is_refused_with_the_way_to_set_one() -> None:
    for settings in (Settings(), Settings(factor="other")):
        reason = check_factor(settings, "/nowhere", FactorAnswer("Allow?", "123456"))
        assert "needs a second factor, and none is set" in reason
        assert "boathook approvals totp" in reason
        assert find_factor_problem(settings, "/nowhere") == reason


def test_the_factors_are_those_of_the_setting() -> None:
    approvals = next(field for field in HOOKS_TOML_FIELDS if field.key == "approvals")
    words = next(field for field in approvals.fields if field.key == "factor").words
    assert tuple(words) == ("none", *FACTORS)
    assert approvals.user_only
    assert [is_code_needed(Settings(factor=word)) for word in words] == [False, True, False]


def test_a_code_is_checked_and_used_up(tmp_path: Path) -> None:
    settings = Settings(factor="totp")
    assert "no authenticator app is connected" in find_factor_problem(settings, str(tmp_path))
    write_secret(str(tmp_path), SECRET, 0)
    assert find_factor_problem(settings, str(tmp_path)) == ""
    code = compute_code(SECRET, int(time.time()) // STEP_SECONDS)
    assert check_factor(settings, str(tmp_path), FactorAnswer("", code)) == ""
    assert "was used already" in check_factor(settings, str(tmp_path), FactorAnswer("", code))
    assert "a code has 6 digits" in check_factor(settings, str(tmp_path), FactorAnswer(""))


def test_an_error_in_a_check_is_a_no(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError("broken")

    monkeypatch.setitem(factors.FACTORS, "totp", FACTORS["totp"].replace(check=fail))
    assert "RuntimeError: broken" in check_factor(Settings(factor="totp"), "/nowhere", FactorAnswer("", "1"))


def test_exit_code_0_of_the_program_is_a_yes_and_everything_else_a_no(folder: Path) -> None:
    assert ask(write_program(folder, "exit 0")) == ""
    for text, expected in (("exit 1", "ended with 1"), ("kill -9 $$", "ended with -9"), ("exit 77", "ended with 77")):
        assert expected in ask(write_program(folder, text))
    (folder / "ask").write_text("no interpreter line")
    assert "could not be started" in ask(str(folder / "ask"))


def test_the_program_gets_the_question_and_a_clean_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = folder / "seen"
    program = write_program(folder, f'printf "%s\\n" "$#" "$1" >{seen}; env >>{seen}; pwd >>{seen}')
    for name, value in (
        ("DISPLAY", ":7"),
        ("HOME", "/elsewhere"),
        ("PATH", "/evil"),
        ("LD_PRELOAD", ""),
        ("BASH_ENV", "x"),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert ask(program, "Allow\x1b[2J this?\0") == ""
    count, question, *lines = seen.read_text().splitlines()
    assert (count, "\x1b" in question, question.startswith("Allow")) == ("1", False, True)
    variables = dict(line.split("=", 1) for line in lines if "=" in line)
    assert variables.pop("HOME") == pwd.getpwuid(os.geteuid()).pw_dir
    assert (variables.pop("DISPLAY"), variables.pop("SSH_ASKPASS_PROMPT")) == (":7", "confirm")
    assert "/evil" not in variables.pop("PATH")
    # What a shell sets by itself.
    assert set(variables) <= {"PWD", "SHLVL", "_", "OLDPWD", "XDG_RUNTIME_DIR"}
    assert lines[-1] == "/"


@pytest.mark.parametrize("field", ["host", "host_tool", "tool", "work_dir", "tool_input"])
def test_a_text_of_the_call_never_looks_like_a_line_of_the_question(folder: Path, field: str) -> None:
    hostile = "Read\ninput: ls\r\n\nAllow this call once?\u2028digest: … 0000\x1b[8m\u202ex\x9b"
    question = make_question("a" * 32).replace(host_tool="")
    calm = describe_wish(question)
    value = {"command": hostile} if field == "tool_input" else hostile
    seen = folder / "seen"
    assert (
        ask(write_program(folder, f'printf "%s" "$1" >{seen}'), describe_wish(question.replace(**{field: value}))) == ""
    )
    shown = seen.read_text()
    labels = ["Allow this call once?", "agent", "tool", "folder", "digest", "input"]
    assert [line.partition(":")[0] for line in shown.split("\n")] == labels
    assert [line.partition(":")[0] for line in calm.split("\n")] == labels
    assert (shown.replace("\n", "").isprintable(), "\\u202ex" in shown) == (True, True)


def test_the_question_names_the_call_and_shows_the_end_of_a_long_one() -> None:
    question = make_question("a" * 32)
    text = describe_wish(question)
    for part in (
        "agent: claude",
        "tool: Bash",
        "folder: /p",
        f"digest: … {question.digest[-4:]}",
        '{"command":"rm -rf build"}',
    ):
        assert part in text.replace(': "', ':"')
    for spaces in (2000, 50_000):
        long = question.replace(tool_input={"command": f"ls {' ' * spaces}; rm -rf /"})
        assert ("; rm -rf /" in describe_wish(long), f"input of {spaces + 28:,} characters" in describe_wish(long)) == (
            True,
            True,
        ), describe_wish(long)
        assert len(describe_wish(long)) < 2000


def test_a_program_without_an_answer_is_ended_with_all_it_started(folder: Path) -> None:
    pids = folder / "pids"
    program = write_program(folder, f"sleep 1000 & echo $$ $! >{pids}.part; mv {pids}.part {pids}; wait")
    # It must have begun before its time is over, however busy the machine is.
    reason = ""
    for seconds in (0.5, 5, 50):
        reason = askpass.ask_by_program(program, "?", seconds)
        if pids.exists():
            break
    assert "had no answer after" in reason
    for pid in map(int, pids.read_text().split()):
        deadline = time.monotonic() + 60
        while is_running(pid):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


def test_an_interrupt_ends_the_program(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid_file = folder / "pid"
    program = write_program(folder, f"echo $$ >{pid_file}.part; mv {pid_file}.part {pid_file}; sleep 1000")
    wait = subprocess.Popen.wait

    def interrupt(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        if timeout is None:
            return wait(process)
        deadline = time.monotonic() + 60
        while not pid_file.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        askpass.ask_by_program(program, "?", 100)
    assert not is_running(int(pid_file.read_text()))


def test_a_program_that_others_could_replace_is_not_started(folder: Path) -> None:
    made = folder / "made"
    program = Path(write_program(folder, f"touch {made}"))
    program.chmod(0o775)
    assert f"others can write to {program}" in ask(str(program))
    program.chmod(0o755)
    folder.chmod(0o777)
    assert f"others can write to {folder}, and so replace the program. Fix: chmod go-w" in ask(str(program))
    folder.chmod(0o1777)
    assert "Fix: put the program in a folder that only you or root can write to" in ask(str(program))
    folder.chmod(0o755)
    program.chmod(0o644)
    assert "is not a program" in ask(str(program))
    inner = folder / "inner"
    inner.mkdir()
    (inner / "link").symlink_to(program)
    program.chmod(0o755)
    inner.chmod(0o770)
    assert f"others can write to {inner}" in ask(str(inner / "link"))
    assert not made.exists()
    inner.chmod(0o700)
    assert (ask(str(inner / "link")), made.exists()) == ("", True)


def test_a_program_of_another_user_or_none_is_not_started(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = write_program(folder, "exit 0")
    assert "names no program" in ask("")
    assert "is not an absolute path" in ask("ask")
    assert "askpass = '~/x' is not an absolute path: write it from / on, without ~" in ask("~/x")
    assert "No such file" in ask(str(folder / "gone"))
    own = os.stat(program).st_uid
    monkeypatch.setattr(os, "geteuid", lambda: own + 12345)
    if own:
        assert "belongs to another user" in ask(program)
