"""Whatever happens to the resident, an event is answered once, by the same rules, or refused as by a broken engine."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from boathook.entry.warm_client import WarmEngineEnded
from boathook.process.reaper import MARK_VARIABLE
from boathook.warm.standby import fork_standby
from boathook.warm.warm_folder import (
    MAX_RESIDENTS,
    bind_socket,
    connect_socket,
    has_place,
    list_sockets,
    make_warm_folder,
)
from tests.warm.warm_harness import PATIENCE_SECONDS, Client, TestResident, is_running, wait_until

CALL = {"tool_name": "Shell", "tool_input": {"command": "make deploy"}}
EVENT = ("--event", "PreToolUse")
BLOCK = "echo no >&2; exit 2"
ENDED = WarmEngineEnded().sentence
# Notes each time that it runs.
COUNTING = 'echo run >> "$HOME/runs"; '
# Notes its own number, and stays.
STAYING = 'echo $$ > "$HOME/hook.new"; mv "$HOME/hook.new" "$HOME/hook"; exec sleep 600'


def read_hook_pid(project) -> int:
    path = project.home / "hook"
    wait_until(path.exists, "the start of the hook")
    return int(path.read_text())


def _has_process(words: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if words.encode() in path.read_bytes():
                return True
    return False


def has_accepted(resident: TestResident) -> bool:
    return resident.find_status().get("running", 0) > 0


@pytest.fixture
def own_client(project, resident, patient_client) -> Client:
    """A client of a resident that the test may harm."""
    assert resident.state == project.state
    return Client(project, patient_client)


def test_an_event_that_matches_nothing_takes_no_fork_and_a_block_is_on_record(project, own_client, resident):
    project.write_hook("guard", script=f"sleep 0.05; {BLOCK}", fields={"matcher": "{pattern: deploy}"})
    folder = os.stat(project.hooks_folder("user") / "guard")
    wait_until(lambda: time.time() - folder.st_ctime > 2.2)
    own_client.run({"tool_name": "Read"}, "--event", "Notification")
    assert own_client.run({"tool_name": "Shell", "tool_input": {"command": "ls"}}, *EVENT) == (0, b"", b"")
    assert own_client.run(CALL, *EVENT) == (2, b"", b"no\n")
    status = resident.find_status()
    assert (status["answered"], status["forked"]) == (1, 2)
    # An event with a hook takes at least as long as the hook.
    assert status["seconds"]["forked"] > 0.05
    assert '"decision": "block"' in project.run("log", "--json").stdout


def test_an_event_that_runs_does_not_count_until_it_is_over(project, own_client, resident):
    project.write_hook("guard", script=f'while [ ! -e "{project.path}/go" ]; do sleep 0.01; done; {BLOCK}')
    with own_client.start(*EVENT) as process:
        process.stdin.write(json.dumps(CALL).encode())
        process.stdin.close()
        wait_until(lambda: resident.find_status()["running"] == 1, "the event")
        assert resident.find_status()["forked"] == 0
        (project.path / "go").touch()
        assert process.wait(60) == 2
    assert (resident.find_status()["forked"], resident.find_status()["seconds"]["forked"] > 0) == (1, True)


def test_the_entry_asks_the_resident_only_if_its_command_has_the_word(project, resident, cold):
    project.write_hook("guard", script=BLOCK)
    assert cold.run(CALL, *EVENT) == (2, b"", b"no\n")
    assert cold.run(CALL, *EVENT, "--engine", "cold") == (2, b"", b"no\n")
    assert resident.find_status()["forked"] == 0


def test_a_resident_that_is_stopped_has_left_no_socket_when_it_answers(project, resident):
    assert list((project.state / "warm").glob("*.socket"))
    assert project.run("warm", "stop").returncode == 0
    assert not list((project.state / "warm").glob("*.socket"))


def test_a_hook_that_is_edited_counts_at_the_next_event(project, own_client):
    for number in range(4):
        project.write_hook("guard", script=f"echo {number} >&2; exit 2")
        assert own_client.run(CALL, *EVENT) == (2, b"", b"%d\n" % number)


def test_nothing_of_one_caller_reaches_another_or_a_hook(project, own_client):
    project.write_hook("look", script='{ env; tr "\\0" "\\n" < /proc/$PPID/environ; ls -l /proc/self/fd; } >&2; exit 2')
    first = own_client.run(CALL, *EVENT, env={**own_client.environment, "SECRET_OF_ONE": "hidden"})
    second = own_client.run(CALL, *EVENT)
    assert b"SECRET_OF_ONE=hidden" in first[2]
    assert first[2].count(b"SECRET_OF_ONE") == 1
    assert b"SECRET_OF_ONE" not in second[2]
    assert b"socket:" not in second[2]


def test_a_client_that_is_not_accepted_in_time_starts_the_cold_path_and_nothing_runs_twice(
    project, resident, hasty_client
):
    project.write_hook("guard", script=COUNTING + BLOCK)
    os.kill(resident.process.pid, signal.SIGSTOP)
    try:
        assert Client(project, hasty_client).run(CALL, *EVENT) == (2, b"", b"no\n")
    finally:
        os.kill(resident.process.pid, signal.SIGCONT)
    assert resident.find_status()["forked"] == 0
    assert (project.home / "runs").read_text() == "run\n"


def test_a_resident_that_is_killed_after_it_accepted_is_a_broken_engine(project, own_client, resident):
    project.write_hook("guard", script=COUNTING + BLOCK)
    with own_client.start(*EVENT, "--broken", "2", "--repair", "mend it") as process:
        wait_until(lambda: has_accepted(resident), "an accepted caller")
        resident.process.kill()
        out, err = process.communicate(json.dumps(CALL).encode(), PATIENCE_SECONDS)
    assert (process.returncode, out) == (2, b"")
    assert err == (
        b"boathook cannot answer (the warm engine ended before it answered), so no hook decided. Fix: mend it\n"
    )
    assert not (project.home / "runs").exists()


def test_a_broken_engine_is_reported_in_the_form_that_the_command_has(project, own_client, resident):
    form = '{"decision": "deny", "reason": "REASON"}'
    with own_client.start(*EVENT, "--broken", form, "--repair", 'say "please"\n') as process:
        wait_until(lambda: has_accepted(resident), "an accepted caller")
        resident.process.kill()
        out, err = process.communicate(b"", PATIENCE_SECONDS)
    assert (process.returncode, err) == (0, b"")
    assert json.loads(out)["reason"].endswith('Fix: say "please"\n')


def test_a_resident_that_is_killed_while_a_hook_runs_changes_nothing(project, own_client, resident):
    project.write_hook("guard", script='echo > "$HOME/hook"; while [ ! -e "$HOME/go" ]; do sleep 0.01; done; ' + BLOCK)
    with own_client.start(*EVENT) as process:
        process.stdin.write(json.dumps(CALL).encode())
        process.stdin.close()
        wait_until((project.home / "hook").exists, "the start of the hook")
        resident.process.kill()
        resident.process.wait()
        (project.home / "go").touch()
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"no\n")
        assert process.wait(PATIENCE_SECONDS) == 2


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
@pytest.mark.usefixtures("default_sigint")
def test_a_client_passes_signals_on_and_its_hook_ends(project, own_client, number, code):
    project.write_hook("stay", script=STAYING)
    with own_client.start(*EVENT) as process:
        process.stdin.write(json.dumps(CALL).encode())
        process.stdin.close()
        hook = read_hook_pid(project)
        process.send_signal(number)
        assert process.wait(PATIENCE_SECONDS) == code
    wait_until(lambda: not is_running(hook), "the end of the hook")


@pytest.mark.usefixtures("default_sigint")
def test_a_signal_while_the_input_is_read_ends_the_client_as_it_ends_the_cold_path(project, own_client, resident):
    for number, code in ((signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)):
        with own_client.start(*EVENT) as process:
            wait_until(lambda: has_accepted(resident), "an accepted caller")
            process.send_signal(number)
            assert process.wait(PATIENCE_SECONDS) == code
        wait_until(lambda: not has_accepted(resident), "the end of the event")


def test_a_client_that_is_killed_ends_its_hook(project, own_client, resident):
    project.write_hook("stay", script=STAYING)
    with own_client.start(*EVENT) as process:
        process.stdin.write(json.dumps(CALL).encode())
        process.stdin.close()
        hook = read_hook_pid(project)
        # The watcher, which ends the hooks of a killed engine, starts after a quarter of a second.
        wait_until(lambda: _has_process(f"kill -9 -{hook}\0"), "a watcher")
        process.kill()
    wait_until(lambda: not is_running(hook), "the end of the hook")
    wait_until(lambda: not has_accepted(resident), "the end of the event")


@pytest.mark.usefixtures("default_sigint")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_fork_that_is_ended_by_anything_but_its_client_is_a_broken_engine(project, own_client, resident, number):
    # To the hook it looks as if its engine were killed, and no signal was sent to the client.
    project.write_hook("kill", script=f"kill -{number} $PPID; exec sleep 5")
    broken = ("--broken", "2", "--repair", "start again")
    for client, args in ((own_client, ()), (Client(project), ("--engine", "warm"))):
        answer = _run_until_forked(client, resident, *EVENT, *args, *broken)
        assert answer == (2, b"", ENDED.encode() + b". Fix: start again\n")


def _run_until_forked(client: Client, resident: TestResident, *args: str) -> tuple[int, bytes, bytes]:
    """Run an event until a fork has answered it: the client in Python gives up after 50 ms, on a busy machine perhaps too soon."""
    answers = []

    def has_forked() -> bool:
        before = resident.find_status()["forked"]
        answers.append(client.run(CALL, *args))
        return bool(resident.find_status()["forked"] > before)

    wait_until(has_forked, "an event that a fork answers")
    return answers[-1]


@pytest.mark.parametrize("form", ["2", '{"decision": "deny", "reason": "REASON"}'])
def test_a_broken_engine_refuses_also_if_the_reader_of_its_answer_is_gone(project, own_client, form):
    project.write_hook("kill", script="kill -9 $PPID; exec sleep 5")
    reading, writing = os.pipe()
    os.close(reading)
    streams = {"stdout": writing, "stderr": writing, "restore_signals": True}
    with own_client.start(*EVENT, "--broken", form, **streams) as process:
        os.close(writing)
        process.stdin.write(json.dumps(CALL).encode())
        process.stdin.close()
        assert process.wait(PATIENCE_SECONDS) == 2


def test_a_killed_fork_is_refused_in_the_form_that_the_command_has(project, own_client):
    project.write_hook("kill", script="kill -9 $PPID; exec sleep 5")
    code, out, err = own_client.run(CALL, *EVENT, "--broken", '{"decision": "deny", "reason": "REASON"}')
    assert (code, err, json.loads(out)["decision"]) == (0, b"", "deny")


def test_a_caller_that_sends_nothing_does_not_hold_up_others(project, own_client, resident):
    project.write_hook("guard", script=BLOCK)
    with own_client.start(*EVENT) as silent:
        wait_until(lambda: has_accepted(resident), "an accepted caller")
        for _ in range(8):
            assert own_client.run(CALL, *EVENT) == (2, b"", b"no\n")
        out, err = silent.communicate(json.dumps(CALL).encode(), PATIENCE_SECONDS)
    assert (silent.returncode, out, err) == (2, b"", b"no\n")


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_caller_without_one_of_the_three_streams_takes_the_cold_path(project, own_client, cold, resident, closed):
    project.write_hook("guard", script=BLOCK)
    closing = ("sh", "-c", f'exec "$@" {closed}{"<" if closed == 0 else ">"}&-', "sh")
    answers = [client.run(CALL, *EVENT, before=closing) for client in (own_client, cold)]
    assert answers[0] == answers[1]
    assert resident.count_events() == 0


# An environment may be a quarter as large as the stack.
BIG_ENVIRONMENT = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_STACK, (1 << 26, resource.getrlimit(resource.RLIMIT_STACK)[1]))
for number in range(50):
    os.environ[f"BIG_{number}"] = "x" * 100_000
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_an_environment_of_five_megabytes_arrives(project, own_client, cold, resident):
    project.write_hook(
        "look", script=f"env | grep -v ^{MARK_VARIABLE}= | wc -c >&2; exit 2", fields={"env": "[BIG_49]"}
    )
    before = (sys.executable, "-c", BIG_ENVIRONMENT)
    answers = [client.run(CALL, *EVENT, before=before) for client in (own_client, cold)]
    assert answers[0] == answers[1]
    assert resident.count_events() == 1


def test_input_of_several_megabytes_is_read_by_a_fork(project, own_client, cold):
    project.write_hook("size", script="wc -c >&2; exit 2")
    call = {"tool_name": "Write", "tool_input": {"content": "x" * 3_000_000}}
    assert own_client.run(call, *EVENT) == cold.run(call, *EVENT)


# What is in the place of the socket or its folder.


def _replace_by_file(resident):
    path = resident.socket_path
    path.unlink()
    path.touch()


def _replace_by_link(resident):
    path = resident.socket_path
    path.rename(path.with_suffix(".other"))
    path.symlink_to("/dev/null")


def _open_to_others(resident):
    resident.socket_path.parent.chmod(0o755)


def _replace_folder_by_link(resident):
    folder = resident.socket_path.parent
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


def _remove_folder(resident):
    resident.socket_path.unlink()
    (resident.state / "warm").rmdir()


@pytest.mark.parametrize(
    "damage", [_replace_by_file, _replace_by_link, _open_to_others, _replace_folder_by_link, _remove_folder]
)
def test_with_anything_else_in_the_place_of_the_socket_the_cold_path_answers(project, own_client, resident, damage):
    project.write_hook("guard", script=BLOCK)
    damage(resident)
    assert own_client.run(CALL, *EVENT) == (2, b"", b"no\n")
    (record,) = [json.loads(line) for line in project.run("log", "--json").stdout.splitlines()]
    assert (record["decision"], record["path"]) == ("block", "cold")


def _listen_as(folder: Path, name: str, user: int) -> int:
    """Listen at a socket as a process of another user, which never answers; return its number."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    handle = os.open(folder, os.O_RDONLY)
    listener.bind(f"/proc/self/fd/{handle}/{name}")
    os.close(handle)
    ready, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setuid(user)
        listener.listen(8)
        os.write(write, b"1")
        signal.pause()
    os.read(ready, 1)
    os.close(ready)
    os.close(write)
    listener.close()
    return pid


@pytest.mark.parametrize("user", [65534, os.geteuid()])
def test_a_process_that_is_not_a_resident_gets_no_event(project, own_client, resident, user):
    project.write_hook("guard", script=BLOCK)
    folder, name = resident.socket_path.parent, resident.socket_path.name
    assert resident.end() == 0
    pid = _listen_as(folder, name, user if os.geteuid() == 0 else os.geteuid())
    try:
        assert own_client.run(CALL, *EVENT) == (2, b"", b"no\n")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


# Where a fork cannot stand in for the caller.

OUTSIDE = {
    "another nice value": ("nice", "-n", "1"),
    "no new privileges": ("setpriv", "--no-new-privs"),
    "other processors": ("taskset", "-c", str(min(os.sched_getaffinity(0)))),
    "a preloaded library": ("env", "LD_LIBRARY_PATH=/nowhere"),
    "another encoding": ("env", "LC_ALL=de_DE.ISO-8859-1"),
    "another network": ("unshare", "--user", "--net"),
    "a folder /proc of other processes": ("unshare", "--user", "--map-root-user", "--pid", "--fork"),
    "a personality": ("setarch", "-R"),
    "a limit of memory": ("prlimit", "--as=8000000000"),
    "continuous integration": ("env", "CI=true"),
    "locales of its own": ("env", "LOCPATH=/nowhere"),
}


def test_a_caller_in_other_surroundings_takes_the_cold_path(project, own_client, resident):
    project.write_hook("guard", script=BLOCK)
    for name, before in OUTSIDE.items():
        # Some machines have no such surroundings.
        if subprocess.run([*before, "true"], capture_output=True).returncode or (
            name == "other processors" and len(os.sched_getaffinity(0)) == 1
        ):
            continue
        assert own_client.run(CALL, *EVENT, before=before)[0] == 2, name
        assert resident.count_events() == 0, name


def test_a_caller_with_higher_limits_takes_the_cold_path(project, patient_client):
    project.write_hook("guard", script=BLOCK)
    resident = _start_lowered(project)
    try:
        assert Client(project, patient_client).run(CALL, *EVENT) == (2, b"", b"no\n")
        assert resident.count_events() == 0
        assert list(resident.find_status()["refused"]) == ["higher limits than the resident has"]
    finally:
        resident.end()


def _start_lowered(project) -> TestResident:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    resident = TestResident(project.state)
    lower = min(limit for limit in (soft, hard, 1 << 40) if limit >= 0) // 2
    resource.prlimit(resident.process.pid, resource.RLIMIT_MEMLOCK, (lower, lower))
    return resident


def _limit(resident: TestResident, which: int, soft: int) -> None:
    import resource

    resource.prlimit(resident.process.pid, which, (soft, resource.prlimit(resident.process.pid, which)[1]))


def test_without_descriptors_the_cold_path_answers_and_the_resident_stays(project, own_client, resident):
    import resource

    project.write_hook("guard", script=BLOCK)
    before = len(os.listdir(f"/proc/{resident.process.pid}/fd"))
    for soft in range(before, before + 8):
        _limit(resident, resource.RLIMIT_NOFILE, soft)
        code, out, err = own_client.run(CALL, *EVENT, "--broken", "2")
        # Where the last descriptor is missing after it accepted, the engine is broken; nothing is ever let through.
        assert (code, out) == (2, b"")
        assert err
    _limit(resident, resource.RLIMIT_NOFILE, 1024)
    assert own_client.run(CALL, *EVENT) == (2, b"", b"no\n")
    assert resident.process.poll() is None
    wait_until(
        lambda: _count_children(resident) == resident.find_status()["waiting_forks"], "no child but those that wait"
    )


def test_a_fork_without_a_handle_is_ended_and_leaves_no_zombie(monkeypatch):
    def fail(_: int) -> int:
        raise OSError(errno.EMFILE, "no descriptor is left")

    monkeypatch.setattr(os, "pidfd_open", fail)
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    before = children.read_text()
    with pytest.raises(OSError, match="no descriptor"):
        fork_standby(can_report=False)
    assert children.read_text() == before


@pytest.mark.ordinary_user
def test_a_fork_that_fails_means_the_cold_path(project, own_client, resident):
    import resource

    project.write_hook("guard", script=BLOCK)
    _limit(resident, resource.RLIMIT_NPROC, 1)
    children = Path(f"/proc/{resident.process.pid}/task/{resident.process.pid}/children")

    def has_no_fork() -> bool:
        # One that was made just before the limit counted is ended, too.
        for pid in children.read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        return bool(resident.find_status()["waiting_forks"] == 0)

    wait_until(has_no_fork, "the end of the forks")
    assert own_client.run(CALL, *EVENT) == (2, b"", b"no\n")
    assert resident.count_events() == 0


def test_a_standby_that_is_killed_is_replaced(project, own_client, resident):
    project.write_hook("guard", script=BLOCK)
    wait_until(lambda: resident.find_status()["waiting_forks"] == 2, "forks that wait")
    children = Path(f"/proc/{resident.process.pid}/task/{resident.process.pid}/children").read_text().split()
    for pid in children:
        os.kill(int(pid), signal.SIGKILL)
    assert children
    assert own_client.run(CALL, *EVENT, "--broken", "2")[0] == 2
    assert own_client.run(CALL, *EVENT) == (2, b"", b"no\n")


# How it ends.


def test_it_ends_on_a_signal_and_leaves_nothing_behind(project, resident):
    wait_until(lambda: resident.find_status()["waiting_forks"] > 0, "a fork that waits")
    children = Path(f"/proc/{resident.process.pid}/task/{resident.process.pid}/children").read_text().split()
    assert children
    assert resident.end() == 0
    assert list((project.state / "warm").iterdir()) == []
    wait_until(lambda: not any(is_running(int(pid)) for pid in children), "the end of the forks")


def test_it_ends_if_nothing_happens_for_a_while_and_not_before(project, patient_client):
    project.write_hook("stay", script=STAYING)
    resident = TestResident(project.state, "--idle", "3")
    with Client(project, patient_client).start(*EVENT) as process:
        process.stdin.write(json.dumps(CALL).encode())
        process.stdin.close()
        read_hook_pid(project)
        is_there = resident.find_status()
        process.terminate()
    assert is_there
    assert resident.process.wait(PATIENCE_SECONDS) == 0
    assert list((project.state / "warm").iterdir()) == []


def test_it_does_nothing_while_it_ends_but_waits_for_its_last_caller(project, own_client, resident):
    project.write_hook("guard", script=BLOCK)
    with own_client.start(*EVENT) as silent:
        wait_until(lambda: has_accepted(resident), "an accepted caller")
        resident.process.terminate()
        wait_until(lambda: not list((project.state / "warm").iterdir()), "the end of its socket")
        # One that asks again and again would never wait.
        wait_until(lambda: _is_asleep(resident), "a resident that waits")
        out, err = silent.communicate(json.dumps(CALL).encode(), PATIENCE_SECONDS)
    assert (silent.returncode, out, err) == (2, b"", b"no\n")
    assert resident.process.wait(PATIENCE_SECONDS) == 0


def _is_asleep(resident: TestResident) -> bool:
    """Whether a resident has waited in one go for a while: the number of its switches stays the same."""
    status = Path(f"/proc/{resident.process.pid}/status")

    def count_switches() -> list[str]:
        return [
            line for line in status.read_text().splitlines() if "ctxt_switches" in line or line.startswith("State:")
        ]

    before = count_switches()
    time.sleep(0.05)
    return "S (sleeping)" in before[0] and count_switches() == before


def test_a_resident_with_more_callers_than_it_can_accept_is_not_replaced(tmp_path):
    folder = make_warm_folder(str(tmp_path))
    listener = bind_socket(folder, "boot0000-1.socket", 0)
    waiting = []
    with contextlib.suppress(BlockingIOError):
        while True:
            waiting.append(connect_socket(folder, "boot0000-1.socket"))
    accepting = threading.Thread(target=_answer_after, args=(listener, waiting))
    accepting.start()
    assert not has_place(folder, "boot0000-1.socket")
    accepting.join()
    assert list_sockets(folder) == ["boot0000-1.socket"]
    for one in (*waiting, listener):
        one.close()
    os.close(folder)


def _answer_after(listener: socket.socket, waiting: list[socket.socket]) -> None:
    """Be busy for a moment, then leave those alone who wait and say nothing, and answer the next one."""
    time.sleep(0.3)
    listener.settimeout(PATIENCE_SECONDS)
    for _ in waiting:
        listener.accept()[0].close()
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(PATIENCE_SECONDS)
        assert connection.recv(256)
        connection.send(b"{}")


def test_it_ends_when_hooks_toml_changes_and_the_event_is_answered_by_the_new_rules(project, own_client, resident):
    project.write_hook("guard", script=BLOCK)
    assert own_client.run(CALL, *EVENT)[0] == 2
    project.write_hooks_toml("user", "[[hooks.disable]]\nname = 'guard'\n")
    assert own_client.run(CALL, *EVENT) == (0, b"", b"")
    assert resident.process.wait(PATIENCE_SECONDS) == 0
    assert list((project.state / "warm").iterdir()) == []


def test_a_second_resident_in_the_same_place_ends_at_once(project, resident):
    second = TestResident(project.state)
    assert second.process.wait(PATIENCE_SECONDS) == 1
    assert resident.find_status()["pid"] == resident.process.pid


def test_there_are_at_most_four_and_what_a_crash_left_behind_is_removed(tmp_path):
    folder = make_warm_folder(str(tmp_path))
    listeners = []
    for number in range(MAX_RESIDENTS):
        assert has_place(folder, f"boot0000-{number}.socket")
        listeners.append(bind_socket(folder, f"boot0000-{number}.socket", 8))
    assert not has_place(folder, "boot0000-5.socket")
    for listener in listeners[:2]:
        listener.close()
    assert has_place(folder, "boot0000-5.socket")
    assert list_sockets(folder) == [f"boot0000-{number}.socket" for number in (2, 3)]
    for listener in listeners[2:]:
        listener.close()
    os.close(folder)


def test_a_crowd_and_many_events_leave_no_process_descriptor_or_memory_behind(project, own_client, resident):
    project.write_hook("guard", script=BLOCK, fields={"matcher": "{pattern: deploy}"})
    _send_crowds(own_client, resident, crowds=2, size=12)


def _count_handles(resident: TestResident) -> int:
    """Return how many handles the resident has, without those of forks that wait: two each."""
    while True:
        forks = resident.find_status()["waiting_forks"]
        count = len(os.listdir(f"/proc/{resident.process.pid}/fd"))
        # A fork may have been made, or have ended, before the handles were counted.
        if resident.find_status()["waiting_forks"] == forks:
            return count - 2 * forks


def _count_children(resident: TestResident) -> int:
    return len(Path(f"/proc/{resident.process.pid}/task/{resident.process.pid}/children").read_text().split())


def _send_crowds(client: Client, resident: TestResident, *, crowds: int, size: int) -> None:
    """Send many events at once, some of which match; what is left must not grow."""
    calls = [CALL, {"tool_name": "Shell", "tool_input": {"command": "ls"}}]
    before, handles = 0, _count_handles(resident) + 1
    for _ in range(crowds):
        running = [(call, client.start(*EVENT)) for call in calls * (size // 2)]
        for call, process in running:
            process.stdin.write(json.dumps(call).encode())
            process.stdin.close()
        for call, process in running:
            with process:
                # So many at once may find the ledger locked, which is reported after the answer.
                assert process.stderr.read().startswith(b"no\n") == (call is CALL)
                assert process.wait(PATIENCE_SECONDS) == (2 if call is CALL else 0)
        wait_until(lambda: resident.find_status()["running"] == 0, "the end of all events")
        memory = int(Path(f"/proc/{resident.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
        before = before or memory
    # Forks that were dismissed are still ending.
    wait_until(lambda: _count_handles(resident) <= handles, "closing")
    wait_until(lambda: _count_children(resident) == resident.find_status()["waiting_forks"], "the end of forks")
    assert memory - before < 4 << 20


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_five_hundred_callers_at_once_and_ten_thousand_events_leave_nothing_behind(project, own_client, resident):
    project.write_hook("guard", script=BLOCK, fields={"matcher": "{pattern: deploy}"})
    _send_crowds(own_client, resident, crowds=20, size=500)
