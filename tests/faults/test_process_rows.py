"""Faults 1 to 34: what a hook does as a process, and what its host does to it."""

from __future__ import annotations

import ast
import contextlib
import errno
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import boathook
from boathook.core.verdict import FAILED, Exit
from boathook.process import landlock
from boathook.process.child import Job
from boathook.process.runner import ProcessRunner
from boathook.process.sandbox import probe_sandbox_levels
from tests.faults.harness import (
    LONG,
    LONG_MS,
    MARK,
    SHORT,
    SHORT_MS,
    Ended,
    FaultProject,
    Result,
    assert_clean,
    processes_with,
    python,
    wait_until,
)

DENY = """echo '{"decision": "deny", "reason": "no"}'"""
BIG = {"tool_input": {"command": "x" * 300_000}}
TOO_SLOW = f"it did not end within {SHORT:g} s"


def assert_timeout(project: FaultProject, result: Result, name: str = "slow") -> None:
    """The hook was ended at its deadline, and nothing of it is left."""
    assert [(run[0], run[1], run[3]) for run in result.runs] == [(name, "timeout", "none")]
    assert (result.decision, result.why) == ("none", [TOO_SLOW])
    assert_clean(project, result, SHORT)


def assert_failure_blocks(result: Result, name: str, why: str) -> None:
    """The failure of a hook blocked; the reason names the hook and the fault."""
    [reason] = result.reasons
    assert (result.decision, reason.startswith(f"hook '{name}' "), reason.endswith(why)) == ("block", True, True)


def assert_block(project: FaultProject, result: Result, reason: str = "no") -> None:
    """The one hook blocked for a reason, and nothing of it is left."""
    assert (result.decision, result.reasons) == ("block", [reason])
    assert [run[1] for run in result.runs] == ["ok"]
    assert_clean(project, result, LONG)


# --- 1 to 6: hooks that do not end, or do not end alone


def test_row_01_a_hook_that_sleeps_is_ended_with_its_children(project: FaultProject, way: str) -> None:
    project.write_hook("slow", "#!/usr/bin/env bash\nsleep 60; true", timeout=SHORT_MS)
    assert_timeout(project, project.fire(way))


@pytest.mark.parametrize("detach", ["", "setsid "], ids=["row_02_in_its_group", "row_03_in_its_own_session"])
def test_a_child_that_keeps_the_pipes_costs_no_answer(project: FaultProject, way: str, detach: str) -> None:
    project.write_hook("held", f"{detach}sleep 60 &\n{DENY}\nexit 0", timeout=LONG_MS)
    assert_block(project, project.fire(way))


@pytest.mark.parametrize("stream", ["out", "err"])
def test_row_02_an_answer_that_passes_through_another_process_is_waited_for(
    project: FaultProject, way: str, stream: str
) -> None:
    say = {"out": f"exec > >(sleep 0.05; cat)\n{DENY}", "err": "exec 2> >(sleep 0.05; cat >&2)\necho no >&2\nexit 2"}
    patient = f"from boathook.process import child; child.LINGER = {LONG}"
    project.write_hook("through", f"#!/usr/bin/env bash\n{say[stream]}", timeout=LONG_MS)
    assert_block(project, project.fire(way, host=patient))


def test_row_04_what_forks_twice_into_a_new_session_does_not_survive(project: FaultProject, way: str) -> None:
    script = "#!/usr/bin/env bash\n(setsid bash -c 'sleep 60 & disown; sleep 61' & disown) &\nsleep 0.05\n" + DENY
    project.write_hook("daemon", script, timeout=LONG_MS)
    assert_block(project, project.fire(way))


def test_row_04_nor_does_what_detaches_and_lets_its_parent_sleep(project: FaultProject, way: str) -> None:
    project.write_hook("slow", "setsid sleep 60 &\nsleep 61", timeout=SHORT_MS)
    assert_timeout(project, project.fire(way))


def test_row_04_nor_does_what_also_throws_its_environment_away(project: FaultProject, way: str) -> None:
    project.write_hook(
        "daemon", f"setsid env -i sh -c 'sleep 60; true' {project.mark} &\nsleep 0.1\n{DENY}", timeout=LONG_MS
    )
    assert_block(project, project.fire(way))


def test_row_05_a_hook_that_ignores_signals_is_killed(project: FaultProject, way: str) -> None:
    project.write_hook("slow", "trap '' TERM INT HUP\nwhile :; do sleep 1; done", timeout=SHORT_MS)
    assert_timeout(project, project.fire(way))


def test_row_06_a_hook_that_stops_itself_is_killed(project: FaultProject, way: str) -> None:
    project.write_hook("slow", "kill -STOP $$", timeout=SHORT_MS)
    assert_timeout(project, project.fire(way))


# --- 7 to 13: standard input and output


def test_row_07_a_block_without_reading_stdin_is_kept(project: FaultProject, way: str) -> None:
    project.write_hook("quick", "echo no >&2; exit 2", timeout=LONG_MS)
    assert_block(project, project.fire(way, BIG))


def test_row_07_a_block_without_reading_stdin_is_kept_for_a_plain_host(project: FaultProject) -> None:
    project.write_hook("quick", "echo no >&2; exit 2", timeout=LONG_MS)
    assert project.run_plain(BIG) == Ended(2, b"", b"no\n")


def test_row_08_a_hook_that_never_reads_stdin_is_ended_in_time(project: FaultProject, way: str) -> None:
    project.write_hook("slow", "sleep 60", timeout=SHORT_MS)
    assert_timeout(project, project.fire(way, BIG))


def test_row_09_a_hook_may_close_stdin_and_go_on(project: FaultProject, way: str) -> None:
    project.write_hook("closes", f"exec 0<&-\n{DENY}", timeout=LONG_MS)
    assert_block(project, project.fire(way, BIG))


FLOODS = {"row_10_stdout": "exec cat /dev/zero", "row_11_stderr": "exec cat /dev/zero >&2"}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_an_endless_flood_neither_fills_memory_nor_moves_the_deadline(
    project: FaultProject, way: str, flood: str
) -> None:
    project.write_hook("slow", flood, timeout=SHORT_MS)
    assert_timeout(project, project.fire(way))


ENDING_FLOODS = {
    "row_10_stdout": "head -c 30000000 /dev/zero; echo no >&2; exit 2",
    "row_11_stderr": "echo no >&2; yes '' | head -c 3000000 >&2; exit 2",
}


@pytest.mark.parametrize("flood", ENDING_FLOODS.values(), ids=ENDING_FLOODS)
def test_a_flood_that_ends_in_a_block_is_a_block(project: FaultProject, way: str, flood: str) -> None:
    project.write_hook("flood", flood, timeout=LONG_MS)
    result = project.fire(way)
    assert (result.decision, result.runs) == ("block", [("flood", "ok", 2, "block")])
    assert result.reasons[0].startswith("no")
    assert_clean(project, result, LONG)


def test_row_10_an_answer_beyond_the_limit_is_unreadable(project: FaultProject, way: str) -> None:
    project.write_hook("flood", "head -c 1048577 /dev/zero | tr '\\0' x", timeout=LONG_MS)
    result = project.fire(way)
    assert (result.runs, result.why) == (
        [("flood", "unreadable", 0, "none")],
        ["the answer is longer than 1 MiB"],
    )
    assert_clean(project, result, LONG)


def test_row_12_binary_junk_is_unreadable_and_its_place_is_reported(project: FaultProject, way: str) -> None:
    project.write_hook("junk", "printf '\\377\\376\\001junk'", timeout=LONG_MS)
    result = project.fire(way)
    assert result.runs == [("junk", "unreadable", 0, "none")]
    assert result.why == ["the answer is not valid: not UTF-8 at byte 0"]
    assert_clean(project, result, LONG)


def test_row_12_binary_junk_does_not_hide_a_block(project: FaultProject, way: str) -> None:
    project.write_hook("junk", "printf '\\377\\376junk'; printf 'no\\377' >&2; exit 2", timeout=LONG_MS)
    assert_block(project, project.fire(way), "no\ufffd")


@pytest.mark.parametrize("on_failure", ["allow", "block"])
def test_row_13_nul_bytes_round_json_are_unreadable(project: FaultProject, way: str, on_failure: str) -> None:
    project.write_hook("nul", """printf '\\0{"decision": "allow"}\\0'""", timeout=LONG_MS, on_failure=on_failure)
    result = project.fire(way)
    why = "the answer is not valid: NUL at character 0"
    assert result.verdict["runs"][0]["status"] == "unreadable"
    if on_failure == "block":
        assert_failure_blocks(result, "nul", why)
    else:
        assert (result.decision, result.why) == ("none", [why])


# --- 14 to 17: hooks that do not start, or die

NOT_STARTING = {
    "row_14_interpreter_that_does_not_exist": (
        b"#!/no/such/interpreter\n",
        "its interpreter /no/such/interpreter does not exist here",
    ),
    "row_14_interpreter_with_a_carriage_return": (
        b"#!/bin/sh\r\nexit 2\r\n",
        "it has Windows line ends, so its interpreter reads as /bin/sh\\r (convert it to LF)",
    ),
    "row_14_empty_interpreter_line": (b"#!\nexit 2\n", "its interpreter line is empty"),
    "row_14_interpreter_that_is_a_folder": (b"#!/\n", "Permission denied"),
}


@pytest.mark.parametrize(("data", "why"), NOT_STARTING.values(), ids=NOT_STARTING)
def test_a_script_that_cannot_start_names_its(project: FaultProject, way: str, data: bytes, why: str) -> None:
    project.write_hook("bad", None, timeout=LONG_MS)
    place = project.write_raw_script("bad", data)
    result = project.fire(way)
    assert result.runs == [("bad", "failed", None, "none")]
    assert result.why == [f"{place} cannot be started: {why}"]
    assert_clean(project, result, LONG)


def test_row_14_an_interpreter_that_env_cannot_find_fails_like_any_other(project: FaultProject, way: str) -> None:
    project.write_hook("bad", "#!/usr/bin/env no-such-interpreter\n", timeout=LONG_MS)
    result = project.fire(way)
    assert result.runs == [("bad", "failed", 127, "none")]
    assert "no-such-interpreter" in (result.why[0] or "")


@pytest.mark.parametrize(("entry", "by"), [("run.sh", "bash"), ("run", "sh")])
def test_row_15_a_script_without_interpreter_line_is_run_by_a_shell_and_noted(
    project: FaultProject, way: str, entry: str, by: str
) -> None:
    project.write_hook("bare", None, timeout=LONG_MS)
    project.write_raw_script("bare", b"echo no >&2\nexit 2\n", script_name=entry)
    result = project.fire(way)
    assert_block(project, result)
    assert result.run_notes == [f"scripts/{entry} has no interpreter line (#!); it was run by {by}"]


def test_row_15_an_executable_of_no_known_format_does_not_start(project: FaultProject, way: str) -> None:
    project.write_hook("odd", None, timeout=LONG_MS)
    place = project.write_raw_script("odd", b"\x7fELF and nothing more", script_name="run")
    result = project.fire(way)
    assert (result.runs, result.why) == (
        [("odd", "failed", None, "none")],
        [f"{place} cannot be started: Exec format error"],
    )


def test_row_16_a_script_without_the_execute_bit_is_run_and_noted(project: FaultProject, way: str) -> None:
    project.write_hook("bits", "echo no >&2; exit 2", mode=0o644, timeout=LONG_MS)
    result = project.fire(way)
    assert_block(project, result)
    assert result.run_notes == ["scripts/run.sh is not executable (chmod +x); it was run by bash"]


@pytest.mark.parametrize("on_failure", ["allow", "block"])
def test_row_16_a_folder_is_not_a_script(project: FaultProject, way: str, on_failure: str) -> None:
    folder = project.write_hook("folder", None, timeout=LONG_MS, on_failure=on_failure)
    (folder / "scripts" / "run.sh").mkdir(parents=True)
    result = project.fire(way)
    why = "no entry point: none of scripts/run, scripts/run.sh, scripts/run.py is a file"
    if on_failure == "block":
        assert_failure_blocks(result, "folder", why)
    else:
        assert (result.decision, result.skipped) == ("none", {"folder": why})


@pytest.mark.parametrize("on_failure", ["allow", "block"])
def test_row_16_a_script_that_vanishes_between_scan_and_run_is_refused(
    project: FaultProject, way: str, on_failure: str
) -> None:
    project.write_hook("killer", 'rm -rf "$AGENT_PROJECT_DIR/.agents/hooks/victim"', priority=200)
    project.write_hook("victim", DENY, timeout=LONG_MS, on_failure=on_failure)
    result = project.fire(way)
    decision = {"allow": "none", "block": "block"}[on_failure]
    assert result.runs == [("killer", "ok", 0, "none"), ("victim", "refused", None, decision)]
    if on_failure == "block":
        assert_failure_blocks(result, "victim", "no entry point")
    else:
        assert (result.decision, result.why[1]) == ("none", "no entry point")


@pytest.mark.parametrize(("name", "number"), [("KILL", 9), ("SEGV", 11), ("TERM", 15)])
def test_row_17_a_hook_killed_by_a_signal_has_failed_and_names_it(
    project: FaultProject, way: str, name: str, number: int
) -> None:
    project.write_hook("dies", f"echo dying >&2; kill -{name} $$", timeout=LONG_MS)
    result = project.fire(way)
    assert (result.runs, result.why) == (
        [("dies", "failed", -number, "none")],
        [f"killed by signal {number}: dying"],
    )
    assert_clean(project, result, LONG)


# --- 18 to 22: signals between hook, engine and host

# Waits until the engine has started the process that ends the hook if the engine is killed.
WATCHED = "until pgrep -P $PPID -f 'read -r [_]' >/dev/null; do sleep 0.02; done\n"


def test_row_18_a_hook_that_kills_its_group_kills_only_itself(project: FaultProject, way: str) -> None:
    project.write_hook("suicide", "kill -9 0", timeout=LONG_MS)
    result = project.fire(way)
    assert result.runs == [("suicide", "failed", -9, "none")]
    assert_clean(project, result, LONG)


def test_row_19_a_hook_that_kills_its_engine_gets_no_consent_and_does_not_survive(project: FaultProject) -> None:
    """Only a sandbox can keep a process of the same user from signalling; what holds without one is this."""
    project.write_hook("parricide", f"{WATCHED}kill -9 $PPID; sleep 60", timeout=LONG_MS)
    ended = project.run_plain()
    assert (ended.code, ended.stdout) == (-signal.SIGKILL, b"")
    assert project.wait_until_gone() == []


CONFINED = {offer.level: offer for offer in probe_sandbox_levels() if offer.level != "basic"}


@pytest.mark.parametrize("level", CONFINED)
def test_row_19_a_confined_hook_cannot_kill_its_engine(project: FaultProject, way: str, level: str) -> None:
    if not CONFINED[level].is_available or landlock.find_version() < landlock.SCOPES_SINCE:
        pytest.skip(f"signals cannot be kept in here: {CONFINED[level].detail}")
    script = "kill -9 $PPID 2>/dev/null\nkill -9 $(ps -o pgid= $PPID) 2>/dev/null\necho no >&2; exit 2"
    project.write_hook("parricide", script, scope="user", timeout=LONG_MS, sandbox=level)
    assert_block(project, project.fire(way))


@contextlib.contextmanager
def terminal(argv: list[str], env: dict[str, str], data: bytes) -> Iterator[tuple[int, int]]:
    """Run a command with a terminal of its own and data on standard input; return its pid and the other end."""
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    pid, master = pty.fork()
    if pid == 0:
        os.dup2(reading, 0)
        os.execve(argv[0], argv, env)
    os.close(reading)
    try:
        yield pid, master
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.close(master)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def read_terminal(master: int, seconds: float = 60.0) -> str:
    """Read what is written to a terminal until its last user is gone."""
    found, end = b"", time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and select.select([master], [], [], left)[0]:
        try:
            found += os.read(master, 65536)
        except OSError:  # no process has it open any more
            break
    return found.decode()


def end_of(pid: int, seconds: float = 60.0) -> int | None:
    """Return the exit code of a child, None if it does not end."""
    ended: list[int] = []

    def look() -> bool:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            ended.append(os.waitstatus_to_exitcode(status))
        return bool(found)

    return ended[0] if wait_until(look, seconds) else None


def test_row_20_a_hook_has_no_terminal_to_read_from(project: FaultProject) -> None:
    script = "if (: </dev/tty) 2>/dev/null; then echo '\"terminal\"'; else echo no terminal >&2; exit 2; fi"
    project.write_hook("asks", script, timeout=LONG_MS)
    with terminal(project.make_run_argv("--json"), project.environment, project.make_stdin()) as (pid, master):
        verdict = json.loads(read_terminal(master))
        assert end_of(pid) == 0
    assert (verdict["decision"], verdict["reasons"]) == ("block", ["no terminal"])


def test_row_20_the_terminal_is_there_without_the_engine() -> None:
    """The counter-test: the same script under the same terminal can open it."""
    argv = ["/bin/sh", "-c", "if (: </dev/tty) 2>/dev/null; then echo terminal; else echo none; fi"]
    with terminal(argv, dict(os.environ), b"") as (pid, master):
        assert read_terminal(master).strip() == "terminal"
        assert end_of(pid) == 0


@contextlib.contextmanager
def running(project: FaultProject, *args: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run `boathook run` on an event; it is killed by its pid in the end."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(project.make_run_argv(*args), env=project.environment, cwd=project.path, **pipes) as process:
        assert process.stdin is not None
        process.stdin.write(project.make_stdin())
        process.stdin.close()
        try:
            yield process
        finally:
            process.kill()


def has_started(project: FaultProject, name: str = "started") -> bool:
    """Wait until a hook has touched a file."""
    return wait_until((project.scratch / name).exists)


STARTED = ': > "$SCRATCH/started"\n'


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_row_21_ending_the_engine_ends_its_hook(project: FaultProject, number: signal.Signals) -> None:
    project.write_hook("slow", f"{STARTED}setsid sleep 61 &\nsleep 60; true", timeout=LONG_MS)
    with running(project) as process:
        assert has_started(project)
        process.send_signal(number)
        assert process.wait(LONG) == 128 + number
        assert project.list_survivors() == []


@pytest.mark.usefixtures("ignored_sigint")
def test_row_21_an_ignored_interrupt_stays_ignored_and_the_engine_can_be_ended(project: FaultProject) -> None:
    project.write_hook("slow", f"{STARTED}sleep 60; true", timeout=LONG_MS)
    with running(project) as process:
        assert has_started(project)
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONG) == 128 + signal.SIGTERM
        assert project.list_survivors() == []


def test_row_21_ending_the_engine_twice_ends_its_hook_too(project: FaultProject) -> None:
    project.write_hook("slow", f"trap '' TERM\n{STARTED}while :; do sleep 1; done", timeout=LONG_MS)
    with running(project) as process:
        assert has_started(project)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.002)
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONG) == 128 + signal.SIGTERM
        assert project.list_survivors() == []


def test_row_21_ending_the_engine_at_any_moment_leaves_no_hook(project: FaultProject) -> None:
    """A signal that comes while the hook is being started must not lose it."""
    project.write_hook("slow", "sleep 60; true", timeout=LONG_MS)
    project.fire_by_command({"event_type": "pre-session"})
    left = []
    for step in range(24):
        with running(project) as process:
            assert wait_until(lambda p=process: _signals_caught(p.pid))
            time.sleep(step * 0.0005)
            assert wait_until(lambda p=process: _asked_to_end(p))
            assert process.returncode == 128 + signal.SIGTERM
        left += project.wait_until_gone()
    assert left == []


def _asked_to_end(process: subprocess.Popen[bytes]) -> bool:
    """Ask a process to end, as often as it takes: the interpreter drops a signal's exception in some moments of an import."""
    process.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
    return process.poll() is not None


def _signals_caught(pid: int) -> bool:
    """Whether a process has a handler for SIGTERM."""
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"SigCgt:\s+(\w+)", text)
    return bool(found and int(found[1], 16) & 1 << (signal.SIGTERM - 1))


def test_row_21_killing_the_engine_ends_the_group_of_its_hook(project: FaultProject) -> None:
    project.write_hook("slow", f"{WATCHED}{STARTED}sleep 60; true", timeout=LONG_MS)
    with running(project) as process:
        assert has_started(project)
        process.kill()
        process.wait(LONG)
        assert project.wait_until_gone() == []


def test_row_21_killing_a_host_ends_the_group_of_its_hook(project: FaultProject) -> None:
    project.write_hook("slow", f"{WATCHED}{STARTED}sleep 60; true", timeout=LONG_MS)
    argv, env = project.make_probe_command("load().dispatch(EVENT)")
    with subprocess.Popen(argv, env=env, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(project.make_stdin())
        process.stdin.close()
        assert has_started(project)
        process.kill()
        process.wait(LONG)
        assert project.wait_until_gone() == []


@pytest.mark.usefixtures("default_sigint")
def test_row_22_ctrl_c_at_the_terminal_ends_the_hook(project: FaultProject) -> None:
    project.write_hook("slow", f"trap '' INT\n{STARTED}sleep 60; true", timeout=LONG_MS)
    with terminal(project.make_run_argv(), project.environment, project.make_stdin()) as (pid, master):
        assert has_started(project)
        os.write(master, b"\x03")
        assert end_of(pid) == 128 + signal.SIGINT
    assert project.wait_until_gone() == []


def test_row_22_a_keyboard_interrupt_in_a_host_ends_the_hook_and_is_passed_on(project: FaultProject) -> None:
    project.write_hook("slow", "sleep 60; true", timeout=LONG_MS)
    code = """
import signal
fds, engine = descriptors(), load()
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.4)
try:
    engine.dispatch(EVENT)
except KeyboardInterrupt:
    report({"interrupted": True, "children": children(), "fds": [fds, descriptors()]})
"""
    found = project.probe(code)
    assert (found["interrupted"], found["children"]) == (True, [])
    assert found["fds"][0] == found["fds"][1]
    assert project.list_survivors() == []


# --- 23 to 25: many at once, and no process waiting


@pytest.mark.parametrize("how", ["threads", "tasks"])
def test_row_23_five_hundred_dispatches_at_once_lose_no_block(project: FaultProject, how: str) -> None:
    project.write_hook("guard", "exit 2", timeout=60_000)
    code = f"""
import asyncio, resource
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
engine, event = load(), EVENT
engine.dispatch(event)
fds = descriptors()

def threads():
    with ThreadPoolExecutor(500) as pool:
        return list(pool.map(engine.dispatch, [event] * 500))

async def tasks():
    return await asyncio.gather(*(engine.adispatch(event) for _ in range(500)), return_exceptions=True)

verdicts = threads() if {how!r} == "threads" else asyncio.run(tasks())
decisions = Counter(v.decision.word if hasattr(v, "decision") else repr(v) for v in verdicts)
report({{"decisions": decisions, "children": children(), "fds": [fds, descriptors()]}})
"""
    found = project.probe(code, limit=60)
    assert found["decisions"] == {"block": 500}
    assert found["children"] == []
    assert found["fds"][0] == found["fds"][1]
    assert project.list_survivors() == []


def test_row_24_async_hooks_of_a_long_lived_host_leave_no_zombies(project: FaultProject) -> None:
    project.write_hook("later", "echo done", background=True, timeout=LONG_MS)
    code = """
engine, event = load(), EVENT
fds = descriptors()
started = sum(len(engine.dispatch(event).background) for _ in range(100))
left = engine.drain(50)
report({"started": started, "left": left, "children": children(), "fds": [fds, descriptors()]})
"""
    found = project.probe(code)
    assert (found["started"], found["left"], found["children"]) == (100, 0, [])
    assert found["fds"][0] == found["fds"][1]
    assert project.log.read_text().count("Completed hook 'later'") == 100
    assert project.list_survivors() == []


def test_row_24_async_hooks_of_one_shot_runs_leave_no_process(project: FaultProject) -> None:
    project.write_hook("later", "echo done", background=True, timeout=LONG_MS)
    assert [ended.code for ended in (project.run_plain() for _ in range(5))] == [0] * 5
    assert wait_until(lambda: project.log.exists() and project.log.read_text().count("  stdout: done\n") == 5)
    assert project.wait_until_gone() == []


def read_to_end(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Read both pipes of a process to their ends, as a host does."""
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdout.read(), process.stderr.read()


def test_row_25_the_pipes_of_the_caller_end_while_an_async_hook_still_runs(project: FaultProject) -> None:
    project.write_hook(
        "later", f'{STARTED}while [ ! -e "$SCRATCH/end" ]; do sleep 0.02; done; echo ended', background=True
    )
    with running(project) as process:
        assert read_to_end(process) == (b"", b"")
        assert process.wait(LONG) == 0
    assert has_started(project)
    assert project.list_survivors() != []
    (project.scratch / "end").touch()
    assert wait_until(lambda: project.log.exists() and "  stdout: ended\n" in project.log.read_text())
    assert project.wait_until_gone() == []


def test_row_25_the_timeout_of_an_async_hook_holds_after_the_engine_has_ended(project: FaultProject) -> None:
    project.write_hook("later", "echo before; setsid sleep 60 &\nsleep 61", background=True, timeout=300)
    assert project.run_plain().code == 0
    assert wait_until(project.log.exists)
    assert project.wait_until_gone() == []
    lines = project.log.read_text().splitlines()
    assert [re.sub(r"^\d\S+ |\d+ms", "", line) for line in lines] == [
        "[ASYNC] Completed hook 'later' for event 'pre-tool-call' in : timeout: it did not end within 0.3 s",
        "  stdout: before",
    ]


def test_row_25_an_async_hook_outlives_the_death_of_its_caller(project: FaultProject) -> None:
    project.write_hook("later", "sleep 0.2; echo ended", background=True, timeout=LONG_MS)
    project.write_hook("slow", "sleep 0.1")
    with running(project) as process:
        read_to_end(process)
        process.kill()
    assert wait_until(lambda: project.log.exists() and "  stdout: ended\n" in project.log.read_text())
    assert project.wait_until_gone() == []


# --- 26 to 34: what reaches a hook, and what a host may be

LIST_FDS = python("""import os, stat
found = []
for handle in range(256):
    try: found.append((handle, stat.S_IFMT(os.fstat(handle).st_mode)))
    except OSError: pass
names = {stat.S_IFREG: "file", stat.S_IFIFO: "pipe"}
os.write(2, ' '.join(f'{handle}:{names.get(kind, kind)}' for handle, kind in found).encode())
os._exit(2)""")
ONLY_THE_FIRST_THREE = "0:file 1:pipe 2:pipe"


def test_row_26_what_a_host_left_open_does_not_reach_a_hook(project: FaultProject) -> None:
    project.write_hook("lists", LIST_FDS, script_name="run.py", timeout=LONG_MS)
    host = "pipe = os.pipe()\nfor end in pipe: os.set_inheritable(end, True)"
    assert project.fire_in_process(host=host).reasons == [ONLY_THE_FIRST_THREE]


def test_row_26_nor_when_the_hook_runs_in_another_folder(project: FaultProject) -> None:
    project.write_hook("lists", LIST_FDS, script_name="run.py", timeout=LONG_MS)
    host = "pipe = os.pipe()\nfor end in pipe: os.set_inheritable(end, True)"
    assert project.fire_in_process({"work_dir": str(project.scratch)}, host=host).reasons == [ONLY_THE_FIRST_THREE]


def test_row_26_what_the_caller_left_open_does_not_reach_a_hook(project: FaultProject) -> None:
    project.write_hook("lists", LIST_FDS, script_name="run.py", timeout=LONG_MS)
    with open(os.devnull) as left_open:
        ended = project.run_event(None, pass_fds=(left_open.fileno(),))
    assert (ended.code, ended.stderr.decode().strip()) == (2, ONLY_THE_FIRST_THREE)


def test_row_27_no_code_runs_between_fork_and_exec() -> None:
    folder = Path(boathook.__file__).parent
    named = {
        keyword.arg
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        for keyword in node.keywords
    }
    assert "start_new_session" in named
    assert "preexec_fn" not in named


def test_row_28_an_event_of_any_size_arrives_whole_and_only_on_stdin(project: FaultProject, way: str) -> None:
    project.write_hook("weighs", "printf '%s %s' $(wc -c) $(env | wc -c) >&2; exit 2", timeout=LONG_MS)
    large = {"tool_input": {"command": "x" * 2_000_000}, "session_id": "s" * 500_000, "timestamp": "now"}
    [reported] = project.fire(way, large).reasons
    event, environment = map(int, reported.split())
    fields = project.make_event(large)
    order = ["event_type", "timestamp", "session_id", "work_dir", "context", "tool_name", "tool_input"]
    expected = json.dumps({key: fields.get(key, {}) for key in order}) + "\n"
    assert event == len(expected)
    assert environment < 65536


STRANGE = {
    "nul_in_session": {"session_id": "a\0b"},
    "surrogate_in_session": {"session_id": "a\ud800b"},
    "nul_in_tool": {"tool_name": "Sh\0ell"},
    "surrogate_in_input": {"tool_input": {"command": "\udfff"}},
}


@pytest.mark.parametrize("event", STRANGE.values(), ids=STRANGE)
def test_row_29_strange_characters_in_an_event_do_not_disarm_a_guard(
    project: FaultProject, way: str, event: dict
) -> None:
    project.write_hook("guard", "echo no >&2; exit 2", timeout=LONG_MS)
    assert_block(project, project.fire(way, event))


@pytest.mark.parametrize("odd", ["{root}\0", "{root}\ud800", "\0", "relative"])
def test_row_29_nor_do_strange_characters_in_the_work_dir(project: FaultProject, way: str, odd: str) -> None:
    project.write_hook("first", "", priority=200)
    project.write_hook("guard", "echo no >&2; exit 2", timeout=LONG_MS)
    result = project.fire(way, {"work_dir": odd.format(root=project.path)})
    assert (result.decision, result.reasons) == ("block", ["no"])
    assert [run[1] for run in result.runs] == ["ok", "ok"]


def test_row_29_a_session_is_named_to_hooks_without_what_no_environment_takes(project: FaultProject, way: str) -> None:
    project.write_hook("says", 'printf %s "$AGENT_SESSION_ID" >&2; exit 2', timeout=LONG_MS)
    assert project.fire(way, {"session_id": "a\0b"}).reasons == ["ab"]


def test_row_30_a_work_dir_that_is_gone_is_replaced_by_the_project_and_noted(project: FaultProject, way: str) -> None:
    project.write_hook("says", "pwd -P >&2; exit 2", timeout=LONG_MS)
    gone = str(project.path / "gone")
    result = project.fire(way, {"work_dir": gone})
    assert result.reasons == [os.path.realpath(project.path)]
    assert result.run_notes == [f"the work dir '{gone}' does not exist; it was run in {project.path}"]


@pytest.mark.ordinary_user
def test_row_30_a_work_dir_that_cannot_be_entered_is_replaced_too(project: FaultProject, way: str) -> None:
    project.write_hook("says", "pwd -P >&2; exit 2", timeout=LONG_MS)
    closed = project.path / "closed"
    closed.mkdir(mode=0)
    assert project.fire(way, {"work_dir": str(closed)}).reasons == [os.path.realpath(project.path)]


def test_row_30_a_host_whose_own_folder_is_gone_still_runs_hooks(project: FaultProject) -> None:
    project.write_hook("guard", "echo no >&2; exit 2", timeout=LONG_MS)
    host = "os.makedirs('away'); os.chdir('away'); os.rmdir('../away')"
    assert_block(project, project.fire_in_process(host=host))


@pytest.mark.parametrize("on_failure", ["allow", "block"])
def test_row_31_out_of_descriptors_is_a_failure_that_names_the_cause(project: FaultProject, on_failure: str) -> None:
    project.write_hook("guard", "exit 2", timeout=LONG_MS, on_failure=on_failure)
    code = """
import resource
engine = load()
engine.dispatch(EVENT)
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
most = max(int(name.split()[0]) for name in descriptors()) + 2
resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
verdict = engine.dispatch(EVENT)
resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
report({"verdict": verdict.to_json(), "children": children(), "after": engine.dispatch(EVENT).to_json()})
"""
    found = project.probe(code)
    why = "the system is out of resources: Too many open files"
    [run] = found["verdict"]["runs"]
    assert (run["status"], found["children"], found["after"]["decision"]) == ("failed", [], "block")
    assert (found["verdict"]["decision"], run["reason"].endswith(why)) == (
        {"allow": "none", "block": "block"}[on_failure],
        True,
    )


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM])
def test_row_31_a_fork_that_fails_once_is_tried_again(number: int) -> None:
    tried: list[int] = []

    def spawn(*args: object) -> int:
        tried.append(1)
        if len(tried) == 1:
            raise OSError(number, os.strerror(number))
        return os.posix_spawn("/bin/sh", ["sh", "-c", "exit 2"], {}, setsid=True)

    job = Job(("/bin/sh",), b"", "/", {}, 5.0)
    [end] = ProcessRunner(spawn).run_all([job])
    assert (end.code, end.error, len(tried)) == (2, "", 2)


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM])
def test_row_31_a_fork_that_keeps_failing_is_a_failure_that_names_the_cause(number: int) -> None:
    def spawn(*args: object) -> int:
        raise OSError(number, os.strerror(number))

    job = Job(("/bin/sh",), b"", "/", {}, 5.0)
    [end] = ProcessRunner(spawn).run_all([job])
    assert end == Exit(error=FAILED, detail=f"the system is out of resources: {os.strerror(number)}")


HOSTS = {
    "that_ignores_the_ends_of_children": "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "that_handles_the_ends_of_children": "import signal; signal.signal(signal.SIGCHLD, lambda *_: None)",
    "whose_loop_runs_in_another_thread": (
        "import asyncio, threading\nloop = asyncio.new_event_loop()\n"
        "threading.Thread(target=loop.run_forever, daemon=True).start()"
    ),
    "with_signals_blocked": "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))",
}


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_row_32_a_block_reaches_a_host(project: FaultProject, host: str) -> None:
    project.write_hook("guard", "echo no >&2; exit 2", timeout=LONG_MS)
    assert_block(project, project.fire_in_process(host=host))


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_row_32_a_timeout_holds_in_a_host(project: FaultProject, host: str) -> None:
    project.write_hook("slow", "setsid sleep 61 &\nsleep 60; true", timeout=SHORT_MS)
    assert_timeout(project, project.fire_in_process(host=host))


def test_row_32_a_block_reaches_a_caller_that_ignores_the_ends_of_children(project: FaultProject) -> None:
    project.write_hook("guard", "echo no >&2; exit 2", timeout=LONG_MS)
    code = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    argv = [sys.executable, "-c", code, *project.make_run_argv()]
    ended = subprocess.run(argv, env=project.environment, input=project.make_stdin(), capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (2, b"no\n")


def test_row_33_a_clock_that_jumps_moves_no_deadline(project: FaultProject) -> None:
    project.write_hook("slow", "sleep 60", timeout=SHORT_MS)
    host = "import itertools; jumps = itertools.cycle([0.0, 4e9]); time.time = lambda: next(jumps)"
    assert_timeout(project, project.fire_in_process(host=host))


AGAIN = f"""#!{sys.executable}
import os, subprocess, sys
event = sys.stdin.buffer.read()
with open(os.environ["SCRATCH"] + "/depths", "a") as file:
    file.write(os.environ["BOATHOOK_DEPTH"] + " ")
project = os.environ["AGENT_PROJECT_DIR"]
argv = [sys.executable, "-m", "boathook", "run", "--trust-all", "--project", project]
ended = subprocess.run(argv, input=event, capture_output=True)
sys.stderr.buffer.write(ended.stderr)
sys.exit(ended.returncode)
"""


@pytest.mark.parametrize(("on_failure", "code"), [("allow", 0), ("block", 2)])
def test_row_34_a_hook_that_starts_the_engine_again_is_stopped_at_a_depth(
    project: FaultProject, on_failure: str, code: int
) -> None:
    project.write_hook("again", AGAIN, script_name="run.py", timeout=LONG_MS, on_failure=on_failure)
    ended = project.run_plain()
    assert (project.scratch / "depths").read_text().split() == ["1", "2", "3"]
    assert (ended.code, b"nested 3 deep" in ended.stderr) == (code, on_failure == "block")
    assert project.list_survivors() == []


def test_row_34_what_an_inner_engine_started_does_not_survive_the_outer_hook(project: FaultProject, way: str) -> None:
    # The outer hook never ends by itself, whatever becomes of the inner one: once, on a busy machine, the inner hook failed.
    hooks = project.scratch / "inner/.agents/hooks"
    hooks.mkdir(parents=True)
    project.write_hook("inner", STARTED + "setsid sleep 60 &\nsleep 61", timeout=2 * LONG_MS).rename(hooks / "inner")
    engine = '"$PYTHON" -m boathook run --trust-all --project "$SCRATCH/inner"'
    outer = f'exec 2> "$SCRATCH/ended"\n{engine}\necho "ended: $?" >&2\nsleep 61'
    # A busy machine needs longer to start an engine.
    for attempt, seconds in enumerate((1.5, 5.0, LONG)):
        folder = project.write_hook("slow", outer, timeout=int(seconds * 1000))
        result = project.fire(way)
        assert [run[1] for run in result.runs] == ["timeout"], result.verdict
        assert_clean(project, result, seconds)
        ended = (project.scratch / "ended").read_text()
        if (project.scratch / "started").exists() and not ended:
            return
        (project.scratch / "started").unlink(missing_ok=True)
        folder.rename(project.scratch / str(attempt))
    pytest.fail(f"the inner engine did not start its hook, or did not wait for it: {ended}")


def test_the_search_for_survivors_finds_one(project: FaultProject) -> None:
    """The counter-test of every 'nothing is left'."""
    with subprocess.Popen(["sleep", "60"], env={**os.environ, MARK: project.mark}) as process:
        assert [reported.split()[0] for reported in processes_with(project.mark.encode())] == [str(process.pid)]
        process.kill()


def test_a_script_in_python_is_a_hook_like_any_other(project: FaultProject, way: str) -> None:
    project.write_hook(
        "py", python("import sys; sys.stderr.write('no'); sys.exit(2)"), script_name="run.py", timeout=LONG_MS
    )
    assert_block(project, project.fire(way))
