"""However a wait ends, no question stays, and no answer counts for a later call: processes are killed at every stage."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from boathook.core.waiting_question import BY_TERMINAL, PersonAnswer
from boathook.permits.waiting_questions import list_waiting, read_waiting, send_answer
from boathook.system.process_facts import read_process_facts
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
# Runs the command line, but stops for ever where a function of a module is called.
PAUSING = """
import importlib, signal, sys
module, name, mark = sys.argv[1:4]
del sys.argv[1:4]
def pause(*args, **options):
    open(mark, "w").close()
    while True:
        signal.pause()
owner = importlib.import_module(module)
*outer, last = name.split(".")
for one in outer:
    owner = getattr(owner, one)
setattr(owner, last, pause)
from boathook.cli.main import main
main()
"""
# Its standard input becomes the controlling terminal of its session.
TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
STAGES = {
    "before the file": ("boathook.permits.person_asker", "write_waiting"),
    "between the file and the socket": ("boathook.permits.person_asker", "AnswerSocket"),
    "while it waits": ("boathook.permits.answer_socket", "AnswerSocket.wait"),
    "after the answer was taken": ("boathook.entry.run_once", "_EventRun._write_answer"),
}


def is_nothing_left(project) -> bool:
    """Whether a look at the questions finds none, and leaves no file behind."""
    return json.loads(project.run("asks", "--json").stdout)["questions"] == [] and list_ask_files(project) == []


@pytest.mark.parametrize("stage", STAGES)
def test_a_hook_process_that_is_killed_leaves_no_question_and_no_approval(project, stage):
    set_up(project, WAIT)
    mark = project.base / "paused"
    argv = [sys.executable, "-c", PAUSING, *STAGES[stage], str(mark), *project.make_argv("run", "--json")[3:]]
    call = WaitingCall(project, argv=argv)
    if stage == "after the answer was taken":
        assert answer(project, call.find_question())[0] == 0
    wait_until(mark.exists)
    call.kill("run")
    assert call.finish()["end"] == {"code": -9, "stdout": "", "stderr": ""}
    assert is_nothing_left(project)
    # The same call asks anew.
    again = WaitingCall(project)
    assert answer(project, again.find_question(), typed="no")[0] == 0
    assert again.finish()["decision"] == "block"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_wait_with_a_denial_and_removes_the_question(project, number):
    set_up(project, WAIT)
    call = WaitingCall(project)
    call.find_question()
    call.kill("run", number)
    found = call.finish()
    assert (found["decision"], found["end"]["code"]) == ("block", 0), found
    assert "This is not consent." in found["end"]["stdout"]
    assert list_ask_files(project) == []
    assert [record["result"] for record in read_records(project, "answered")] == ["killed"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_an_agent_reads_the_denial_of_a_wait_that_a_signal_ends(project, number):
    set_up(project, WAIT)
    event = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "rm -rf build"},
             "session_id": "s", "cwd": str(project.path)}  # fmt: skip
    words = project.make_argv("run", "--host", "codex", "--event", "PreToolUse")
    call = WaitingCall(project, event=event, argv=words)
    call.find_question()
    call.kill("run", number)
    end = call.finish()["end"]
    assert "deny" in end["stdout"] or end["code"] == 2, end
    assert "This is not consent." in end["stdout"] + end["stderr"]


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
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", TAKE_TERMINAL, *project.make_argv("asks", ask_id)],
        stdin=follower, stdout=follower, stderr=follower, cwd=project.path, start_new_session=True,
        env=make_person_environment(project) | {"TERM": "dumb", "PAGER": "cat"},
    ) as person:  # fmt: skip
        os.close(follower)
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
    reply = PersonAnswer(waiting.id, waiting.digest, True, BY_TERMINAL)
    result = send_answer(str(project.state), waiting, reply)
    assert (result.is_taken, result.reason) == (False, "the call does not wait for an answer any more")
    assert [record["result"] for record in read_records(project, "answered")] == ["unanswered"]


def test_answers_that_are_wrong_slow_or_from_no_terminal_change_nothing(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    state, ask_id = str(project.state), call.find_question()
    (waiting,) = list_waiting(state)
    other = PersonAnswer(ask_id, "0" * 64, True, BY_TERMINAL)
    assert send_answer(state, waiting, other).reason == "it is for another call"
    assert send_answer(state, waiting, other.replace(id="0" * 32)).reason == "it is for another call"
    right = f"PersonAnswer({ask_id!r}, {waiting.digest!r}, True, 'terminal')"
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
    assert (code, "it runs below an agent (CLAUDECODE)" in text) == (1, True), text
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
    assert (code, "it is for another call" in text) == (1, True), text
    call.kill("run")


def test_an_answer_to_a_question_with_a_rewritten_reason_is_void(project):
    set_up(project, WAIT)
    call = WaitingCall(project)
    ask_id = call.find_question()
    path = project.state / "asks" / f"{ask_id}.json"
    path.write_text(path.read_text().replace("sure?", "harmless"))
    code, text = answer(project, ask_id)
    assert (code, "it is for another call" in text) == (1, True), text
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
    path.write_text("{")
    os.utime(path, (2**33, 2**33))
    assert list_waiting(state) == []
    assert not path.exists()
    call.kill("run")


def test_a_listener_that_was_killed_does_not_count(project):
    from boathook.permits.ask_listeners import has_ask_listener, register_listener

    state = str(project.state)
    assert not has_ask_listener(state)
    with register_listener(state):
        assert has_ask_listener(state)
    assert not has_ask_listener(state)
    start = f"listener = register_listener({state!r}); listener.__enter__()"
    code = f"import os; from boathook.permits.ask_listeners import register_listener; {start}; os._exit(0)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert list_ask_files(project, ".listener")
    (project.state / "asks" / "\u00b2-\u0663-x.listener").touch()
    assert not has_ask_listener(state)
    assert list_ask_files(project) == []
