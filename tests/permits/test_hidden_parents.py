"""Processes of an agent that hide what is above them without leaving it: they may not answer."""

from __future__ import annotations

import shlex
import sys

import pytest

from tests.permits.waiting_calls import WaitingCall, read_records, set_up, wait_until

# Answers the only question with yes, at a terminal of its own.
ANSWER = """
import os, pty, sys, time
from boathook.core.waiting_question import BY_TERMINAL, PersonAnswer
from boathook.permits.waiting_questions import list_waiting, send_answer
state, mark = sys.argv[1:3]
child, leader = pty.fork()
if child:
    os.waitpid(child, 0)
    os._exit(0)
while not (found := list_waiting(state)):
    time.sleep(0.05)
result = send_answer(state, found[0], PersonAnswer(found[0].id, found[0].digest, True, BY_TERMINAL, 'digest'))
with open(f"{mark}.new", "w") as file:
    file.write(f"{result.is_taken} {result.reason}")
os.rename(f"{mark}.new", mark)
"""
# The first thread of a process ends, another one starts the program: the process counts as a zombie, but is none.
HALF_ENDED = """
import ctypes, os, subprocess, sys, threading, time
def work():
    while " Z " not in open(f"/proc/{os.getpid()}/stat").read():
        time.sleep(0.01)
    subprocess.run(sys.argv[1:])
    os._exit(0)
threading.Thread(target=work).start()
ctypes.CDLL(None).pthread_exit(None)
"""
# As many processes above the program as it is told.
DEEP = """
import os, sys
for _ in range(int(sys.argv[1])):
    if child := os.fork():
        os.waitpid(child, 0)
        os._exit(0)
os.execv(sys.argv[2], sys.argv[2:])
"""
HIDERS = {"none": [], "half ended": [sys.executable, "-I", "-c", HALF_ENDED],
          "deep": [sys.executable, "-I", "-c", DEEP, "80"]}  # fmt: skip


@pytest.mark.parametrize("hider", HIDERS)
def test_a_process_of_the_agent_does_not_answer_however_it_hides_what_is_above_it(project, hider):
    set_up(project, 'ask = "wait"', "ask_timeout = 8000")
    mark = project.base / "answered"
    words = [*HIDERS[hider], sys.executable, "-c", ANSWER, str(project.state), str(mark)]
    run = f"{shlex.join(words)} </dev/null >/dev/null & exec {shlex.join(project.make_argv('run', '--json'))}"
    call = WaitingCall(project, argv=["/bin/sh", "-c", run])
    wait_until(mark.exists)
    assert mark.read_text().startswith("False this process may not answer: "), mark.read_text()
    assert call.finish()["decision"] == "block"
    assert [record["result"] for record in read_records(project, "answered")] == ["unanswered"]
