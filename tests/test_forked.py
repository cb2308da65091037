"""A forked command is like a started one: in all that a program can see of itself, and in how it ends (see tests/forked.py)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from tests import forked
from tests.scratch_project import HOOK_ENTRY

pytestmark = pytest.mark.skipif(not forked.CAN_FORK, reason="without pidfds every command is a process of its own")

SELF = """
import gc, json, locale, os, posix, resource, signal, stat, subprocess, sys, threading
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
umask = os.umask(0)
print(json.dumps({
    "argv": sys.argv, "path": sys.path, "flags": str(sys.flags), "name": __name__, "executable": sys.executable,
    "input": sys.stdin.read(), "cwd": os.getcwd(), "umask": umask,
    "environment": dict(os.environ), "underneath": {os.fsdecode(k): os.fsdecode(v) for k, v in posix.environ.items()},
    "of its children": sorted(map(repr, subprocess.run(["env"], stdout=subprocess.PIPE).stdout.splitlines())),
    "open": sorted(os.listdir("/proc/self/fd"))[:-1],
    "pipes": [stat.S_ISFIFO(os.fstat(n).st_mode) for n in (0, 1, 2)],
    "streams": [(s.fileno(), s.encoding, s.errors, s.line_buffering, s.seekable()) for s in (sys.stdin, sys.stdout, sys.stderr)],
    "signals": [status[name] for name in ("SigBlk", "SigIgn", "SigCgt")], "python": str(signal.getsignal(signal.SIGINT)),
    "leads": os.getsid(0) == os.getpid(), "session": os.getsid(0) if os.getsid(0) != os.getpid() else 0,
    "threads": threading.active_count(), "limits": resource.getrlimit(resource.RLIMIT_NOFILE),
    "collects": gc.isenabled(), "locale": locale.getlocale(), "recursion": sys.getrecursionlimit(),
}))
"""
ENDS = {
    "nothing": "pass",
    "a number": "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)",
    "a large number": "import sys; sys.exit(1000)",
    "words": "import sys; sys.exit('why')",
    "at once": "import os; print('lost', end=''); os._exit(3)",
    "at the exit": "import atexit; atexit.register(print, 'bye'); print('out', end=' ')",
    "a thread": "import threading, time; threading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start()",
    "killed": "import os; os.kill(os.getpid(), 9)",
    "interrupted": "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(5)",
    "no reader": "import os, sys; os.close(1); os.dup2(os.pipe()[1], 1); print('x'); sys.exit(0)",
}


def both(argv, **how):
    """Return how a command ends in each way."""
    return [forked.run([sys.executable, *argv], apart=apart, **how) for apart in (True, False)]


@pytest.mark.parametrize("session", [False, True])
def test_a_forked_program_sees_what_a_started_one_sees(project, session):
    env = {**project.environment, "ODD": "\udcff ü", "LC_ALL": "C.UTF-8"}
    started, child = both(
        ["-c", SELF, "a", ""],
        input="héllo\n" * 50_000,
        text=True,
        cwd=project.path,
        env=env,
        start_new_session=session,
    )
    assert (started.returncode, started.stderr, child.returncode, child.stderr) == (0, "", 0, "")
    assert json.loads(child.stdout) == json.loads(started.stdout)
    assert json.loads(child.stdout)["environment"]["ODD"] == "\udcff ü"


@pytest.mark.parametrize("code", ENDS.values(), ids=ENDS)
def test_a_forked_program_ends_as_a_started_one(code):
    started, child = both(["-c", code], input=b"")
    assert child.returncode == started.returncode
    assert child.stdout == started.stdout
    assert child.stderr.splitlines()[-1:] == started.stderr.splitlines()[-1:]  # a traceback has more lines above


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["run", "pre-tool-call"],
        ["run", "--json"],
        ["list"],
        ["list", "--jsn"],
        ["check", "."],
        ["--version"],
        [],
    ],
    ids=" ".join,
)
def test_the_command_line_prints_the_same(project, arguments):
    project.write_hook("guard", script="cat >&2; exit 2")
    event = json.dumps({"event_type": "pre-tool-call", "tool_name": "Shell", "timestamp": "2026-01-31T12:00:00Z"})
    how = {"input": event if arguments[-1:] != ["run"] else "", "text": True, "env": project.environment}
    started, child = both(["-m", "boathook", *arguments], cwd=project.path, **how)
    if "--json" in arguments:
        assert json.loads(child.stdout).keys() == json.loads(started.stdout).keys()
        assert json.loads(child.stdout)["reasons"] == json.loads(started.stdout)["reasons"] != []
    else:
        assert child.stdout == started.stdout
    assert (child.returncode, child.stderr) == (started.returncode, started.stderr)


ENTRY_CASES = {
    "a block": (
        ["--trust-all", "--host", "claude", "--event", "PreToolUse"],
        '{"tool_name": "Bash", "session_id": "s"}',
    ),
    "no event": (["--host", "claude", "--event", "PreToolUse"], ""),
    "an unknown flag": (["--no-such-flag"], "{}"),
    "nothing to do": (["--host", "claude", "--event", "Stop"], '{"session_id": "s"}'),
}


@pytest.mark.parametrize(("flags", "event"), ENTRY_CASES.values(), ids=ENTRY_CASES)
def test_the_program_of_agents_prints_the_same(project, flags, event):
    project.write_hook("guard", script="echo no >&2; exit 2")
    how = {"input": event, "text": True, "env": project.environment, "cwd": project.path}
    started, child = both(["-I", "-S", HOOK_ENTRY, *flags], **how)
    assert (child.returncode, child.stdout, child.stderr) == (started.returncode, started.stdout, started.stderr)


def test_one_that_takes_too_long_is_killed(tmp_path):
    code = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    with pytest.raises(subprocess.TimeoutExpired):
        forked.run([sys.executable, "-c", code], timeout=1, apart=False)
    pid, end = (tmp_path / "pid").read_text(), time.monotonic() + 60
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < end:
        time.sleep(0.01)
    assert not os.path.exists(f"/proc/{pid}")


def test_variables_for_the_interpreter_are_applied():
    code = "import sys; print(sys.flags.dev_mode, sys.flags.optimize)"
    env = {"PYTHONDEVMODE": "1", "PYTHONOPTIMIZE": "2"}
    assert forked.run([sys.executable, "-c", code], env=env, apart=False, text=True).stdout == "True 2\n"


def test_some_tests_go_the_long_way_and_most_do_not():
    apart = sum(forked.goes_apart(f"test {n}") for n in range(1000))
    assert apart == 1000 if forked.ALL_APART else 0 < apart < 30


def test_a_warm_process_that_dies_before_it_is_ready_is_not_missed(monkeypatch):
    server = forked.Server((), "import time; time.sleep(0.2); os.kill(os.getpid(), 9)", {})
    monkeypatch.setattr(forked, "server_for", lambda *_, **__: server)
    done = forked.run([*forked.COMMAND, "--version"], text=True, apart=False)
    assert (done.returncode, done.stdout[:8]) == (0, "boathook")


def test_a_warm_process_that_died_is_not_missed(monkeypatch):
    server = forked.Server((), "", {})
    server.process.kill()
    server.process.wait()
    monkeypatch.setattr(forked, "server_for", lambda *_, **__: server)
    done = forked.run([*forked.COMMAND, "--version"], text=True, apart=False)
    assert (done.returncode, done.stdout[:8]) == (0, "boathook")
