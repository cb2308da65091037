"""Beyond the list of faults: other ways to break the promises, by hooks and by hosts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from boathook.core.verdict import TIMEOUT
from boathook.process import child, reaper
from boathook.process.child import Job
from boathook.process.runner import ProcessRunner
from tests.faults.harness import (
    GRACE,
    HERE,
    LONG,
    LONG_MS,
    SHORT,
    SHORT_MS,
    FaultProject,
    Result,
    assert_clean,
    processes_with,
    python,
    wait_until,
)
from tests.faults.stopwatch import Stopwatch

NO = "echo no >&2; exit 2"


def assert_block(project: FaultProject, result: Result, timeout: float = LONG) -> None:
    """A hook blocked, and nothing of it is left."""
    assert (result.decision, result.reasons) == ("block", ["no"])
    assert_clean(project, result, timeout)


def assert_timeout(project: FaultProject, result: Result) -> None:
    """The hook was ended at its deadline, and nothing of it is left."""
    assert (result.decision, [run[1] for run in result.runs]) == ("none", ["timeout"])
    assert_clean(project, result, SHORT)


BLOCKING = {
    "fifty_processes_in_sessions_of_their_own": f"for n in $(seq 50); do setsid sleep 60 & done\n{NO}",
    "fifty_processes_that_fork_twice": f"for n in $(seq 50); do (setsid sleep 60 &) & done\n{NO}",
    "closed_output_reopened": "exec 3>&2 1>&- 2>&-; echo no >&3; exit 2",
    "devices_of_its_own_pipes": "for n in 1 2 3; do : >/dev/stdout; done; echo no >/dev/stderr; exit 2",
    "a_million_lines_and_then_the_reason_first": "echo no >&2; exit 2",
    "stopped_children_that_hold_the_pipes": f"sleep 60 & kill -STOP $!; setsid sleep 61 & kill -STOP $!\n{NO}",
    "a_child_in_another_group": f"#!/bin/bash\nset -m\nsleep 60 &\nset +m\n{NO}",
    "its_own_manifest_rewritten": f'echo broken > "$AGENT_HOOK_DIR/HOOK.md"\n{NO}',
    "its_own_folder_removed": f'rm -rf "$AGENT_HOOK_DIR"\n{NO}',
    "its_project_removed": f'rm -rf "$AGENT_PROJECT_DIR"\n{NO}',
    "writing_into_its_own_input": f"echo x >&0\n{NO}",
    "limits_of_its_own": f"ulimit -n 12; ulimit -f 0; ulimit -c 0\n{NO}",
}


@pytest.mark.parametrize("script", BLOCKING.values(), ids=BLOCKING)
def test_a_block_is_kept_with(project: FaultProject, way: str, script: str) -> None:
    project.write_hook("guard", script, timeout=LONG_MS)
    assert_block(project, project.fire(way))


COMET = """import os, time
if os.fork() == 0:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)
        os.setsid()
        os._exit(0) if os.getppid() == 1 else None
os.write(2, b'no')
os._exit(2)"""
CLOSED_DAEMON = """import os, time
for _ in range(2):
    if os.fork():
        os.write(2, b'no') if _ == 0 else None
        os._exit(2)
    os.setsid()
for fd in range(256):
    try: os.close(fd)
    except OSError: pass
time.sleep(60)"""
LEADER_THREAD_GONE = """import ctypes, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).pthread_exit(None)"""
TRACED = """import ctypes, os, time
libc, leader, ready = ctypes.CDLL(None), os.getpid(), os.pipe()
if os.fork() == 0:
    os.setsid()
    libc.ptrace(0x4206, leader, None, None)
    os.write(ready[1], b'x')
    time.sleep(60)
os.read(ready[0], 1)
os.write(2, b'no')
os._exit(2)"""
BOMB = """import os, time
for _ in range(6):
    os.fork()
    if os.getpid() % 3: os.setsid() if os.getpgrp() != os.getpid() else None
time.sleep(60)"""


@pytest.mark.parametrize("code", [COMET, CLOSED_DAEMON, TRACED], ids=["a_comet", "a_closed_daemon", "a_tracer"])
def test_a_block_of_a_program_is_kept_with(project: FaultProject, way: str, code: str) -> None:
    project.write_hook("guard", python(code), script_name="run.py", timeout=LONG_MS)
    assert_block(project, project.fire(way))


# A host that does not get the processor for a moment after it started a hook.
SLOW_TO_MARK = """
from boathook.process import reaper
set_limit, delays = reaper.ProcessMark.set_limit, [0.05]
def set_limit_late(mark, pid):
    time.sleep(delays.pop() if delays else 0)
    set_limit(mark, pid)
reaper.ProcessMark.set_limit = set_limit_late
"""


def test_a_comet_that_flies_before_it_could_be_marked_leaves_no_zombie(project: FaultProject) -> None:
    project.write_hook("guard", python(COMET), script_name="run.py", timeout=LONG_MS)
    assert_block(project, project.fire_in_process(host=SLOW_TO_MARK))


def test_an_orphan_that_was_never_marked_leaves_no_zombie(project: FaultProject) -> None:
    project.write_hook("guard", f"(env -i setsid true &)\nsleep 0.05\n{NO}", timeout=LONG_MS)
    host = "from boathook.process import reaper\nreaper.ProcessMark.set_limit = lambda *_: None"
    assert_block(project, project.fire_in_process(host=host))


def test_a_child_of_the_host_that_is_started_with_a_hook_is_left_to_the_host(project: FaultProject) -> None:
    project.write_hook("guard", f"sleep 0.1; {NO}", timeout=LONG_MS)
    code = """
import subprocess
from boathook.process import reaper
own, start = [], reaper.ProcessMark.start_marked
def start_two(mark, spawn):
    def both():
        own.append(subprocess.Popen(["sh", "-c", "exit 3"]))
        own.append(subprocess.Popen(["sleep", "60"], start_new_session=True))
        return spawn()
    return start(mark, both)
reaper.ProcessMark.start_marked = start_two
verdict = load().dispatch(EVENT)
alive = own[1].poll() is None
own[1].kill()
report({"decision": verdict.decision.word, "ends": [own[0].wait(), own[1].wait()], "alive": alive})
"""
    assert project.probe(code) == {"decision": "block", "ends": [3, -9], "alive": True}


def test_a_process_that_dies_too_late_is_not_a_zombie_after_the_next_event(project: FaultProject) -> None:
    project.write_hook("guard", NO, timeout=LONG_MS)
    code = """
from boathook.process import reaper
late = os.posix_spawn("/bin/sleep", ["sleep", "60"], {})
reaper.reap_later(late)
os.kill(late, 9)
os.waitid(os.P_PID, late, os.WEXITED | os.WNOWAIT)
load().dispatch(EVENT)
report({"children": children()})
"""
    assert project.probe(code) == {"children": []}


def test_a_tree_without_an_end_is_looked_at_for_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaper, "_find_children", lambda pid: [pid + 1])
    assert len(list(reaper.iter_tree(1))) == reaper.MAX_TREE_SIZE


# On a busy machine a hook does not get the processor within the grace that it has after SIGTERM.
LONG_GRACE = f"from boathook.process import child; child._TERM_SECONDS = {LONG}"


def test_a_block_as_the_last_word_at_the_deadline_counts(project: FaultProject, way: str) -> None:
    project.write_hook("guard", "trap 'echo no >&2; exit 2' TERM\nsleep 60 & wait", timeout=SHORT_MS)
    assert_block(project, project.fire(way, host=LONG_GRACE))


ENDLESS = {
    "sixty_four_processes": python(BOMB),
    "a_leader_whose_first_thread_is_gone": python(LEADER_THREAD_GONE),
    "a_million_lines": "#!/bin/sh\nexec yes >&2",
    "everything_stopped": "#!/bin/sh\nsleep 60 & kill -STOP $!; setsid sleep 61 & kill -STOP $!; kill -STOP 0",
    "signals_ignored_and_closed_pipes": "#!/bin/sh\ntrap '' TERM\nexec 1>&- 2>&-\nwhile :; do sleep 1; done",
    "a_killed_watcher": "#!/bin/sh\nsleep 0.4; pkill -9 -P $PPID -f 'read -r _'; setsid sleep 60 & sleep 61",
}


@pytest.mark.parametrize("script", ENDLESS.values(), ids=ENDLESS)
def test_the_deadline_holds_with(project: FaultProject, way: str, script: str) -> None:
    project.write_hook("slow", script, script_name="run", timeout=SHORT_MS)
    assert_timeout(project, project.fire(way))


def test_a_pipe_that_ends_ends_as_a_program_expects(project: FaultProject, way: str) -> None:
    """Python ignores SIGPIPE; what it starts must not."""
    project.write_hook("guard", "yes | head -n 1 >/dev/null; kill -PIPE $$; exit 0", timeout=LONG_MS)
    assert project.fire(way).runs == [("guard", "failed", -signal.SIGPIPE, "none")]


def test_a_hook_that_rewrites_its_manifest_is_read_anew_at_the_next_start(project: FaultProject) -> None:
    project.write_hook(
        "guard", f'sed -i "s/^trigger: .*/trigger: nonsense/" "$AGENT_HOOK_DIR/HOOK.md"\n{NO}', timeout=LONG_MS
    )
    first, second = project.run_plain(), project.run_plain()
    assert (first.code, second.code) == (2, 0)
    assert b"unknown event 'nonsense'" in second.stderr


# --- hosts

THIEF = """
import threading
def steal():
    while True:
        try: os.waitpid(-1, 0)
        except ChildProcessError: time.sleep(0.0002)
threading.Thread(target=steal, daemon=True).start()
"""


def knows_ends_of_reaped_processes() -> bool:
    """Whether the kernel reports how a process ended that another process has waited for."""
    pid = os.posix_spawn("/bin/true", ["true"], {})
    handle = os.pidfd_open(pid)
    os.waitpid(pid, 0)
    try:
        return child._read_recorded_exit(handle) == 0
    finally:
        os.close(handle)


def test_a_host_that_waits_for_all_processes_gets_the_block_or_a_report_of_its_loss(project: FaultProject) -> None:
    project.write_hook("guard", f"sleep 0.05; {NO}", timeout=LONG_MS, on_failure="block")
    result = project.fire_in_process(host=THIEF)
    reason = "no" if knows_ends_of_reaped_processes() else "hook 'guard' failed: its exit code was lost"
    assert result.decision == "block"
    assert result.reasons[0].startswith(reason)
    assert project.list_survivors() == []


def test_a_host_that_waits_for_all_processes_does_not_move_the_deadline(project: FaultProject) -> None:
    project.write_hook("slow", "setsid sleep 61 &\nsleep 60", timeout=SHORT_MS)
    result = project.fire_in_process(host=THIEF)
    assert ([run[1] for run in result.runs], project.wait_until_gone()) == (["timeout"], [])
    assert result.seconds <= SHORT + GRACE


def test_signals_that_a_host_blocks_reach_its_hooks(project: FaultProject) -> None:
    project.write_hook("guard", "grep SigBlk /proc/self/status >&2; exit 2", timeout=LONG_MS)
    host = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())"
    assert project.fire_in_process(host=host).reasons == ["SigBlk:\t0000000000000000"]


def test_a_host_without_pidfd_keeps_every_promise(project: FaultProject) -> None:
    project.write_hook("guard", f"setsid sleep 60 &\n{NO}", timeout=LONG_MS)
    assert_block(project, project.fire_in_process(host="del os.pidfd_open"))


def test_a_host_without_memory_files_keeps_every_promise(project: FaultProject) -> None:
    project.write_hook("guard", 'grep -q \'"command": "ls"\' && { echo no >&2; exit 2; }', timeout=LONG_MS)
    host = "def refuse(*_): raise PermissionError(13, 'memfd')\nos.memfd_create = refuse"
    assert_block(project, project.fire_in_process(host=host))


def test_what_a_host_started_itself_is_left_alone(project: FaultProject) -> None:
    project.write_hook("guard", f"(setsid sleep 60 &) &\nsleep 0.05\n{NO}", timeout=LONG_MS)
    code = """
import subprocess
own = [subprocess.Popen(["sleep", "60"], start_new_session=new) for new in (True, False)]
orphan = subprocess.run(["sh", "-c", "setsid sleep 60 >/dev/null 2>&1 & echo $!"], capture_output=True, text=True)
verdict = load().dispatch(EVENT)
alive = [p.poll() is None for p in own] + [Path(f"/proc/{int(orphan.stdout)}").exists()]
for p in own: p.kill(), p.wait()
os.kill(int(orphan.stdout), 9)
report({"decision": verdict.decision.word, "alive": alive})
"""
    assert project.probe(code) == {"decision": "block", "alive": [True, True, True]}
    assert project.wait_until_gone() == []


def test_what_the_caller_had_started_before_is_left_alone(project: FaultProject) -> None:
    """A shell may run the engine in its own place: then the engine has children that belong to no hook."""
    project.write_hook("guard", f"(setsid sleep 60 &) &\nsleep 0.05\n{NO}", timeout=LONG_MS)
    script = 'sleep 61 & echo $! > "$SCRATCH/pid"; exec "$@"'
    argv = ["/bin/sh", "-c", script, "sh", *project.make_run_argv()]
    ended = subprocess.run(
        argv, env=project.environment, input=project.make_stdin(), stdout=subprocess.DEVNULL, timeout=120
    )
    pid = (project.scratch / "pid").read_text().strip()
    assert (ended.returncode, [reported.split()[0] for reported in project.list_survivors()]) == (2, [pid])


def test_output_of_the_engine_may_go_through_a_process_substitution(project: FaultProject) -> None:
    project.write_hook("says", """echo '{"additional_context": "hello"}'""", timeout=LONG_MS)
    script = '"$0" "$@" > >(sleep 0.1; cat > "$SCRATCH/out")'
    argv = ["/bin/bash", "-c", script, *project.make_run_argv()]
    subprocess.run(argv, env=project.environment, input=project.make_stdin(), timeout=20, check=True)
    assert wait_until(lambda: (project.scratch / "out").exists() and (project.scratch / "out").stat().st_size > 0)
    assert b"hello" in (project.scratch / "out").read_bytes()


def test_a_caller_that_closed_its_output_still_gets_the_exit_code(project: FaultProject) -> None:
    project.write_hook("guard", NO, timeout=LONG_MS)
    argv = ["/bin/sh", "-c", 'exec "$@" >&- 2>&-', "sh", *project.make_run_argv()]
    ended = subprocess.run(argv, env=project.environment, input=project.make_stdin(), timeout=20)
    assert ended.returncode == 2


@pytest.mark.parametrize(("script", "code"), [(NO, 2), ("exit 0", 0)], ids=["blocked", "allowed"])
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", ">/dev/full"])
def test_an_agent_that_reads_json_gets_the_exit_code_if_it_closed_its_output(
    project: FaultProject, script: str, code: int, closed: str
) -> None:
    project.write_hook("guard", script, timeout=LONG_MS)
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": str(project.path), "tool_name": "Bash"}
    argv = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *project.make_run_argv("--host", "claude")]
    data = json.dumps({**event, "tool_input": {"command": "ls"}}).encode()
    ended = subprocess.run(argv, env=project.environment, input=data, timeout=20)
    assert ended.returncode == code


def test_a_host_may_fork_after_loading(project: FaultProject) -> None:
    project.write_hook("guard", f"(setsid sleep 60 &) &\nsleep 0.05\n{NO}", timeout=LONG_MS)
    code = """
engine = load()
pid = os.fork()
if pid == 0:
    verdict = engine.dispatch(EVENT)
    report({"decision": verdict.decision.word, "children": children()})
    os._exit(0)
os.waitpid(pid, 0)
"""
    assert project.probe(code) == {"decision": "block", "children": []}
    assert project.list_survivors() == []


def test_a_host_may_fork_while_hooks_run(project: FaultProject) -> None:
    project.write_hook("guard", f"(setsid sleep 60 &) &\nsleep 0.3\n{NO}", timeout=LONG_MS)
    code = """
import threading
engine = load()
thread = threading.Thread(target=engine.dispatch, args=(EVENT,))
thread.start()
time.sleep(0.1)
pid = os.fork()
if pid == 0:
    verdict = engine.dispatch(EVENT)
    report({"decision": verdict.decision.word, "children": children()})
    os._exit(0)
thread.join()
os.waitpid(pid, 0)
"""
    assert project.probe(code) == {"decision": "block", "children": []}
    assert project.list_survivors() == []


def test_two_engines_in_two_threads_do_not_take_the_role_from_each_other(project: FaultProject) -> None:
    """One ends while the hook of the other still runs; what that one leaves must be found all the same."""
    quick = "case $AGENT_SESSION_ID in quick) exit 0;; esac\n"
    project.write_hook("guard", f"{quick}sleep 0.2\n(setsid sleep 60 &) &\nsleep 0.05\n{NO}", timeout=LONG_MS)
    code = """
import threading
first, second = load(), load()
verdicts = []
thread = threading.Thread(target=lambda: verdicts.append(second.dispatch(EVENT)))
first_thread = threading.Thread(target=lambda: verdicts.append(first.dispatch({**EVENT, "session_id": "quick"})))
first_thread.start(); thread.start()
first_thread.join(); thread.join()
again = second.dispatch(EVENT)
report({"decisions": [v.decision.word for v in (*verdicts, again)], "children": children()})
"""
    assert project.probe(code) == {"decisions": ["none", "block", "block"], "children": []}
    assert project.list_survivors() == []


@pytest.mark.parametrize("other", ["engine", "load()"], ids=["of_the_same_engine", "of_another_engine"])
def test_the_end_of_one_hook_does_not_touch_another_that_runs(project: FaultProject, other: str) -> None:
    """A hook that works with a detached process of its own keeps it while hooks of other threads come and go."""
    script = """case $AGENT_SESSION_ID in quick) exit 0;; esac
setsid sh -c 'sleep 0.4; : > "$SCRATCH/worked"' &
sleep 0.6
[ -e "$SCRATCH/worked" ] && { echo no >&2; exit 2; }"""
    project.write_hook("guard", script, timeout=LONG_MS)
    code = f"""
import threading
engine, verdicts = load(), []
other = {other}
thread = threading.Thread(target=lambda: verdicts.append(engine.dispatch(EVENT)))
thread.start()
while thread.is_alive():
    other.dispatch({{**EVENT, "session_id": "quick"}})
report({{"decision": verdicts[0].decision.word, "children": children()}})
"""
    assert project.probe(code) == {"decision": "block", "children": []}
    assert project.list_survivors() == []


NESTED = f"""#!{sys.executable}
import os, sys
if os.environ["BOATHOOK_DEPTH"] == "1":
    sys.path.insert(0, {str(HERE)!r})
    from probe import EVENT, load
    load().dispatch(EVENT)
else:
    open(os.environ["SCRATCH"] + "/inside", "w").close()
    os.system("setsid env -i sh -c 'sleep 60; true' " + os.environ["FAULT_MARK"] + " & setsid sleep 61 & sleep 0.2")
"""


def test_an_engine_inside_a_hook_of_an_engine_leaves_nothing_either(project: FaultProject) -> None:
    project.write_hook("nested", NESTED, script_name="run.py", timeout=LONG_MS)
    result = project.fire_in_process()
    assert (result.runs, (project.scratch / "inside").exists()) == ([("nested", "ok", 0, "none")], True)
    assert_clean(project, result, 10.0)


CANCELLED = """
import asyncio
engine, fds = load(), descriptors()

async def main():
    task = asyncio.create_task(engine.adispatch(EVENT))
    while not Path(os.environ["SCRATCH"], "started").exists():
        await asyncio.sleep(0.01)
    watch = Stopwatch()
    for _ in range(TIMES):
        task.cancel()
        await asyncio.sleep(0)
    try:
        await task
    except asyncio.CancelledError:
        return watch.seconds

seconds = asyncio.run(main())
report({"seconds": seconds, "children": children(), "same": descriptors() == fds})
"""


@pytest.mark.parametrize("times", [1, 2])
def test_cancelling_a_dispatch_ends_its_hook(project: FaultProject, times: int) -> None:
    project.write_hook("slow", "trap '' TERM\nsetsid sleep 60 &\n: > $SCRATCH/started\nsleep 61; true", timeout=20_000)
    found = project.probe(CANCELLED.replace("TIMES", str(times)))
    assert found["seconds"] < GRACE
    assert (found["children"], found["same"]) == ([], True)
    assert project.wait_until_gone() == []


def test_a_keyboard_interrupt_at_any_moment_leaves_no_process(project: FaultProject) -> None:
    project.write_hook("slow", "setsid sleep 61 &\nsleep 60; true", timeout=20_000)
    project.write_hook("quick", "exit 0", trigger="post-tool-call")
    code = """
import signal
engine, caught = load(), 0
engine.dispatch({**EVENT, "event_type": "post-tool-call"})  # imports, in which the interpreter may lose an interrupt
signal.signal(signal.SIGALRM, signal.default_int_handler)
for step in range(80):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0002 + step % 40 * 0.0001)
        engine.dispatch(EVENT)
    except KeyboardInterrupt:
        caught += 1
report({"caught": caught, "children": children(), "fds": len(descriptors())})
"""
    found = project.probe(code)
    assert (found["caught"], found["children"]) == (80, [])
    assert found["fds"] < 16  # one that was made in the very moment may be lost
    assert project.list_survivors() == []


def test_a_killed_supervisor_takes_its_async_hooks_with_it(project: FaultProject) -> None:
    script = 'sleep 0.4; cd "$SCRATCH"; echo $PPID > new; mv new pid; sleep 60; true'
    project.write_hook("later", script, background=True)
    assert project.run_plain().code == 0
    assert wait_until((project.scratch / "pid").exists)
    os.kill(int((project.scratch / "pid").read_text()), signal.SIGKILL)
    assert project.wait_until_gone() == []


def test_async_hooks_start_even_if_the_requirements_of_one_of_them_are_broken(project: FaultProject) -> None:
    project.write_hook("odd", "", background=True, requires='{bins: ["a\\0b"], env: ["c\\0d"]}')
    project.write_hook("later", "echo done", background=True)
    ended = project.run_plain()
    assert ended.code == 0
    assert wait_until(lambda: project.log.exists() and "  stdout: done\n" in project.log.read_text())
    assert "'odd'" in ended.stderr.decode() + project.log.read_text()


def test_the_file_of_a_session_may_be_anything_a_hook_makes_of_it(project: FaultProject, way: str) -> None:
    script = '[ -p "$CLAUDE_ENV_FILE" ] || { rm "$CLAUDE_ENV_FILE"; mkfifo "$CLAUDE_ENV_FILE"; }\n' + NO
    project.write_hook("guard", script, trigger="pre-session", timeout=LONG_MS)
    event = {"event_type": "pre-session", "session_id": "again"}
    project.fire(way, event, limit=10)
    assert_block(project, project.fire(way, event, limit=10))


def test_a_script_that_somebody_is_writing_is_tried_again(project: FaultProject) -> None:
    """The system refuses to start a file that is open for writing; that passes."""
    project.write_hook("guard", NO, timeout=LONG_MS)
    code = """
import threading
handle = os.open(Path(os.environ["PROBE_PROJECT_DIR"], ".agents/hooks/guard/scripts/run.sh"), os.O_WRONLY)
engine = load()
threading.Timer(0.02, os.close, (handle,)).start()
report(engine.dispatch(EVENT).to_json())
"""
    assert project.probe(code)["reasons"] == ["no"]


# --- the runner itself


def job(script: str, timeout: float = 5.0) -> Job:
    return Job(("/bin/sh", "-c", script), b"", "/", {b"PATH": os.environb[b"PATH"]}, timeout)


def test_many_jobs_of_all_kinds_end_each_in_its_own_way() -> None:
    scripts = [f"exit {n}" for n in range(20)] + ["sleep 60"] * 10 + ["setsid sleep 60 & exit 2"] * 10
    before = len(os.listdir("/proc/self/fd"))
    ends = ProcessRunner().run_all([job(script, 0.5) for script in scripts])
    assert [end.code for end in ends[:20]] == list(range(20))
    assert [end.error for end in ends[20:30]] == [TIMEOUT] * 10
    assert [end.code for end in ends[30:]] == [2] * 10
    assert len(os.listdir("/proc/self/fd")) == before
    assert processes_with(b"BOATHOOK_RUN=%d-" % os.getpid()) == []


def test_a_cancelled_stage_ends_at_once_and_starts_nothing_more() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"!")
    try:
        watch = Stopwatch()
        ends = ProcessRunner().run_all([job("sleep 60")] * 40, reading)
        assert watch.seconds < GRACE
        assert {(end.error, end.detail) for end in ends} == {("failed", "cancelled")}
    finally:
        os.close(reading)
        os.close(writing)


def test_this_interpreter_is_the_one_of_the_tests() -> None:
    """Hooks in Python are started with it, isolated and without site packages."""
    assert python("x").startswith(f"#!{sys.executable} -IS\n")
