"""However a wait ends, no question stays, and no answer counts for a later call."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from boathook.core.waiting_question import BY_TERMINAL, CHECKED_DIGEST, PersonAnswer
from boathook.permits.waiting_questions import list_waiting, read_waiting, send_answer
from boathook.system.process_facts import read_process_facts
from e2e.terminal import start_at_terminal
from tests.permits.waiting_calls import (
    WaitingCall,
    answer,
    list_ask_files,
    make_person_environment,
    read_records,
    set_up,
    wait_until,
)

WAIT = 'ask = "wait"'


def is_nothing_left(project) -> bool:
    """Whether a look at the questions finds none, and leaves no file behind."""
    return json.loads(project.run("asks", "--json").stdout)["questions"] == [] and list_ask_files(project) == []


# By what sends them. The calls of a group wait at the same time, because each takes a process of its own.
SIGNAL_GROUPS = {
    "an end that is asked for": ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"),
    "other programs": ("SIGUSR1", "SIGUSR2", "SIGIO", "SIGPWR", "SIGSTKFLT"),
    "clocks and limits": ("SIGALRM", "SIGVTALRM", "SIGPROF", "SIGXCPU"),
    "real time": ("SIGRTMIN", "SIGRTMAX"),
    "a stop that is asked for": ("SIGTSTP", "SIGTTIN", "SIGTTOU"),
}
# Prints the signals that end a wait, those that are ignored, and those whose handlers are not as before after it.
CATCHES = """
import os, signal
from boathook.permits.person_asker import _FirstSignal
caught, changed = [], []
ignored = sorted(int(number) for number in signal.valid_signals() if signal.getsignal(number) == signal.SIG_IGN)
before = {number: signal.getsignal(number) for number in signal.valid_signals()}
for number in range(1, 65):
    signals = _FirstSignal()
    signals.catch()
    if signal.getsignal(number) == signals._take:
        try:
            os.kill(os.getpid(), number)
        except KeyboardInterrupt:
            caught.append(number)
    signals.restore()
    changed += [int(other) for other in before if signal.getsignal(other) != before[other]]
print(caught, ignored, changed, sep="\\n")
"""
FAULT_SIGNALS = {
    signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS,
}  # fmt: skip
HARMLESS_SIGNALS = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}


@pytest.fixture
def default_signals(default_sigint: None) -> Iterator[None]:
    """Let every signal of the groups reach what the test starts: a shell in the background ignores some of them."""
    numbers = [getattr(signal, name) for names in SIGNAL_GROUPS.values() for name in names if name != "SIGINT"]
    before = {number: signal.signal(number, signal.SIG_DFL) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def start_codex_call(project, session: str) -> WaitingCall:
    event = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "rm -rf build"},
             "session_id": session, "cwd": str(project.path)}  # fmt: skip
    return WaitingCall(project, event=event, argv=project.make_argv("run", "--host", "codex", "--event", "PreToolUse"))


@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize("group", SIGNAL_GROUPS)
def test_a_signal_ends_the_wait_with_a_denial_that_an_agent_reads(project, group):
    set_up(project, WAIT)
    calls = {name: start_codex_call(project, name) for name in SIGNAL_GROUPS[group]}
    for name, call in calls.items():
        call.find_question()
        call.kill("run", getattr(signal, name))
    for name, call in calls.items():
        end = call.finish()["end"]
        assert "deny" in end["stdout"] or end["code"] == 2, (name, end)
        assert "This is not consent." in end["stdout"] + end["stderr"], (name, end)
    assert list_ask_files(project) == []
    assert [record["result"] for record in read_records(project, "answered")] == ["killed"] * len(calls)


@pytest.mark.usefixtures("default_sigint")
def test_a_signal_ends_the_wait_with_a_verdict_and_the_exit_code_of_an_answer(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    call.find_question()
    call.kill("run", signal.SIGTERM)
    found = call.finish()
    assert (found["decision"], found["end"]["code"]) == ("block", 0), found
    assert "This is not consent." in found["end"]["stdout"]


@pytest.mark.usefixtures("default_signals")
def test_every_signal_that_ends_or_stops_a_process_is_caught_and_its_handler_restored():
    done = subprocess.run([sys.executable, "-c", CATCHES], capture_output=True, text=True, check=True)
    caught, ignored, changed = map(json.loads, done.stdout.splitlines())
    others = {signal.SIGKILL, signal.SIGSTOP, *FAULT_SIGNALS, *HARMLESS_SIGNALS, *ignored}
    assert set(caught) == signal.valid_signals() - others
    assert changed == []
    # Python ignores them, so that a write fails instead.
    assert {signal.SIGPIPE, signal.SIGXFSZ} <= set(ignored)


@pytest.mark.parametrize("host", ["", "codex"])
def test_several_signals_at_once_end_the_wait_with_a_denial(project, host):
    set_up(project, WAIT)
    call = start_codex_call(project, "s") if host else WaitingCall(project)
    call.find_question()
    # All of them are there when it goes on.
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCONT):
        call.kill("run", number)
    end = call.finish()["end"]
    assert "This is not consent." in end["stdout"] + end["stderr"], end
    assert list_ask_files(project) == []
    assert [record["result"] for record in read_records(project, "answered")] == ["killed"]


def test_the_next_look_records_that_a_process_was_killed(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    call.find_question()
    call.kill("run")
    call.finish()
    assert read_records(project, "answered") == []
    for _ in range(2):
        assert is_nothing_left(project)
    assert [record["result"] for record in read_records(project, "answered")] == ["killed"]
    shown = " ".join(project.run("log", "--all").stdout.split())
    assert "the process that waited for an answer was ended or killed" in shown


def test_an_agent_that_is_killed_ends_the_wait(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    call.find_question()
    call.kill("agent")
    wait_until(lambda: list_ask_files(project) == [])
    wait_until(lambda: read_records(project, "answered"))
    assert read_records(project, "answered")[0]["result"] == "withdrawn"


def test_a_person_whose_command_is_killed_can_answer_again(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    ask_id = call.find_question()
    env = make_person_environment(project) | {"TERM": "dumb", "PAGER": "cat"}
    person, leader = start_at_terminal(project.make_argv("asks", ask_id), cwd=project.path, env=env)
    with person:
        shown = b""
        while b"or no to deny it: " not in shown:
            shown += os.read(leader, 4096)
        person.kill()
    os.close(leader)
    assert answer(project, ask_id)[0] == 0
    assert call.finish()["decision"] == "allow"


def test_an_answer_after_the_deadline_is_void(project):
    set_up(project, WAIT, "ask_timeout = 3000")
    call = WaitingCall(project)
    waiting = read_waiting(str(project.state), call.find_question())
    assert waiting is not None
    assert call.finish()["decision"] == "block"
    reply = PersonAnswer(waiting.id, waiting.digest, True, BY_TERMINAL, CHECKED_DIGEST)
    result = send_answer(str(project.state), waiting, reply)
    assert (result.is_taken, result.reason) == (False, "the call does not wait for an answer any more")
    assert [record["result"] for record in read_records(project, "answered")] == ["unanswered"]


def test_answers_that_are_wrong_slow_or_from_no_terminal_change_nothing(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    state, ask_id = str(project.state), call.find_question()
    (waiting,) = list_waiting(state)
    other = PersonAnswer(ask_id, "0" * 64, True, BY_TERMINAL, CHECKED_DIGEST)
    for wrong in (other, other.replace(id="0" * 32)):
        assert not send_answer(state, waiting, wrong).is_taken
    right = f"PersonAnswer({ask_id!r}, {waiting.digest!r}, True, 'terminal', 'digest')"
    code = (
        "import sys; from boathook.core.waiting_question import PersonAnswer\n"
        "from boathook.permits.waiting_questions import read_waiting, send_answer\n"
        f"print(send_answer({state!r}, read_waiting({state!r}, {ask_id!r}), {right}).reason)"
    )
    # A process without a terminal.
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=make_person_environment(project),
        start_new_session=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("this process may not answer: it "), done
    open_connections = [connect(project, ask_id, data) for data in (b"", b"{", b"x" * 8000, b"\n", b"null\n") * 3]
    assert answer(project, ask_id)[0] == 0
    assert call.finish()["decision"] == "allow"
    for connection in open_connections:
        connection.close()


def connect(project, ask_id: str, data: bytes) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    folder = os.open(project.state / "asks", os.O_RDONLY)
    try:
        connection.connect(f"/proc/self/fd/{folder}/{ask_id}.sock")
        connection.sendall(data)
    except OSError:
        # It has as many peers as it takes.
        pass
    finally:
        os.close(folder)
    return connection


# An agent that puts a question, and answers it itself at a terminal of its own.
ANSWERS_ITSELF = """
import json, subprocess, sys, time
from pathlib import Path
root, state, project, prompt = sys.argv[1:5]
sys.path.insert(0, root)
from e2e.terminal import run_at_terminal
import os
run = subprocess.Popen(sys.argv[5:], stdin=0, stdout=subprocess.PIPE)
while not [*Path(state, "asks").glob("*.sock")]:
    time.sleep(0.05)
ended = run_at_terminal([*sys.argv[5:8], "asks"], ["{digits}"], cwd=project, env=os.environ, prompt=prompt)
is_waiting = run.poll() is None
run.kill()
print(json.dumps({"ended": ended, "is_waiting": is_waiting}))
"""


def test_an_agent_that_answers_its_own_question_is_refused(project):
    from tests.permits.waiting_calls import ASKS_PROMPT

    set_up(project, WAIT)
    root = str(Path(__file__).parents[2])
    argv = [sys.executable, "-c", ANSWERS_ITSELF, root, str(project.state), str(project.path), ASKS_PROMPT]
    found = WaitingCall(project, argv=[*argv, *project.make_argv("run", "--json")]).finish()
    (code, text), is_waiting = found["ended"], found["is_waiting"]
    assert (code, is_waiting) == (1, True), found
    assert "this process may not answer: it was started by the agent that asks" in " ".join(text.split())
    assert [record for record in read_records(project, "answered") if record["result"] == "allowed"] == []


def test_a_person_below_the_marks_of_an_agent_is_refused(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    code, text = answer(project, call.find_question(), CLAUDECODE="1")
    assert (code, "it was started by an agent (CLAUDECODE)" in text) == (1, True), text
    call.kill("run")


def test_questions_that_others_could_have_written_are_not_shown(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    ask_id = call.find_question()
    path = project.state / "asks" / f"{ask_id}.json"
    path.chmod(0o666)
    assert list_waiting(str(project.state)) == []
    path.chmod(0o600)
    path.write_text(path.read_text().replace("rm -rf build", "ls"))
    # The digest is that of what is shown, so the process that waits refuses it.
    code, text = answer(project, ask_id)
    assert (code, "the answer is for another call" in text) == (1, True), text
    call.kill("run")


@pytest.mark.parametrize(("shown", "other"), [("sure?", "harmless"), ('"session":"s"', '"session":"mine"')])
def test_an_answer_to_a_question_that_was_rewritten_is_void(project, shown, other):
    set_up(project, WAIT)
    call = WaitingCall(project)
    ask_id = call.find_question()
    path = project.state / "asks" / f"{ask_id}.json"
    text = path.read_text().replace('": ', '":')
    assert shown in text
    path.write_text(text.replace(shown, other))
    code, text = answer(project, ask_id)
    assert (code, "the answer is for another call" in text) == (1, True), text
    call.kill("run")


def test_questions_that_no_process_of_ours_writes_are_not_shown(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    state, ask_id = str(project.state), call.find_question()
    path = project.state / "asks" / f"{ask_id}.json"
    fields = json.loads(path.read_text())
    wrong = [{"deadline": value} for value in (1e308, fields["question"]["time"] - 1, fields["deadline"] + 3600)]
    for change in [*wrong, {"pid": 1, "start": read_process_facts(1).start}]:
        path.write_text(json.dumps(fields | change))
        assert read_waiting(state, ask_id) is None, change
    for number in ("NaN", "Infinity", "1e999"):
        path.write_text(json.dumps(fields | {"deadline": 1.5}).replace("1.5", number))
        path.chmod(0o600)
        assert read_waiting(state, ask_id) is None, number
    # One that is over is removed, and so is one that cannot be read and is from the future.
    old = fields["question"] | {"time": fields["question"]["time"] - 500}
    path.write_text(json.dumps(fields | {"question": old, "deadline": old["time"] + 300}))
    path.chmod(0o600)
    assert read_waiting(state, ask_id) is None
    assert not path.exists()
    # It would stay for ever, and no clock shows some of these times.
    for begin in (fields["question"]["time"] + 1e6, 1e18, 1e300):
        far = {"question": fields["question"] | {"time": begin}, "deadline": begin}
        path.write_text(json.dumps(fields | far))
        path.chmod(0o600)
        assert read_waiting(state, ask_id) is None, begin
        assert not path.exists()
    path.write_text("{")
    os.utime(path, (2**33, 2**33))
    assert list_waiting(state) == []
    assert not path.exists()
    call.kill("run")


# A listener that stays until it is killed. In a container it has a number that no process outside has.
LISTENS = """
import sys, time
from boathook.permits import ask_listeners
from boathook.system.process_facts import ProcessFacts, read_process_facts
if sys.argv[2]:
    ask_listeners.read_process_facts = lambda pid: ProcessFacts(int(sys.argv[2]), 1, 1, 1, 1)
with ask_listeners.register_listener(sys.argv[1]):
    print("listens", flush=True)
    time.sleep(600)
"""


@contextmanager
def start_listener(project, pid=""):
    """Start a listener at a terminal, and kill it in the end."""
    argv = [sys.executable, "-c", LISTENS, str(project.state), pid]
    listener, leader = start_at_terminal(argv, cwd=project.path, env=os.environ)
    try:
        shown = b""
        while not shown.endswith(b"\r\n"):
            shown += os.read(leader, 64)
        assert shown == b"listens\r\n"
        yield
    finally:
        listener.kill()
        listener.wait()
        os.close(leader)


def test_a_listener_that_was_killed_does_not_count(project):
    from boathook.permits.ask_listeners import has_ask_listener

    state = str(project.state)
    assert not has_ask_listener(state)
    with start_listener(project):
        assert has_ask_listener(state)
    assert list_ask_files(project, ".listener")
    (project.state / "asks" / "\u00b2-\u0663-x.listener").touch()
    assert not has_ask_listener(state)
    assert list_ask_files(project) == []


def test_a_listener_in_another_container_does_not_count_and_keeps_its_file_while_it_runs(project):
    from boathook.permits.ask_listeners import has_ask_listener

    state, unused = str(project.state), str(2**22 + 1)
    for pid, counts in (("", True), (unused, False)):
        with start_listener(project, pid):
            for _ in range(2):
                assert has_ask_listener(state) == counts
                assert len(list_ask_files(project, ".listener")) == 1
        assert not has_ask_listener(state)
        assert list_ask_files(project) == []
