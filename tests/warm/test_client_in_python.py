"""The client in Python leaves everything as it was if the resident does not answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.warm.warm_harness import Client

# It asks a listener of its own process, once with each number of free descriptors, and prints which descriptors stayed open.
ASK = r"""
import json, os, resource, signal, socket, sys
from boathook.entry import surroundings, warm_client
from boathook.entry.surroundings import *
state, kind = sys.argv[1:]
entry = surroundings.__file__.replace("surroundings", "hook_entry")
key = os.memfd_create(KEY_PREFIX + "0" * KEY_CHARS)
os.dup2(key, KEY_HANDLE, inheritable=False)
os.close(key)
process = open_own_process()
name = name_socket(sys.executable, entry, read_surroundings(process))
os.close(process)
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if kind != "no listener":
    os.chdir(f"{state}/warm")
    listener.bind(name)
    listener.listen(128)

def answer():
    while True:
        connection, _ = listener.accept()
        if kind == "it offers, and goes":
            connection.shutdown(socket.SHUT_RD)
            connection.send(OFFER)
        elif kind == "it answers something else":
            connection.send(b"?")
        connection.close()

pid = 0 if kind in ("no listener", "a timeout") else os.fork()
if pid == 0 and kind not in ("no listener", "a timeout"):
    answer()
if kind == "other surroundings":
    answers = iter([b"own", b"other"] * 100)
    warm_client.read_surroundings = lambda process: next(answers)
if kind == "another owner":
    # This look asks for the user, too.
    warm_client.open_private_folder = lambda path: os.open(path, os.O_PATH)
    user = os.geteuid() + 1
    warm_client.system.geteuid = lambda: user
taken = signal.getsignal(signal.SIGTERM)
before = sorted(os.listdir("/proc/self/fd"))
left, hard = {}, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
for free in (*range(14), 64):
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, before)) + free, hard))
    warm_client.ask_resident([entry, "--state", state])
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    now = sorted(os.listdir("/proc/self/fd"))
    if now != before:
        left[free] = sorted({*now} - {*before})
print(json.dumps([left, signal.getsignal(signal.SIGTERM) == taken]))
if pid:
    os.kill(pid, signal.SIGKILL)
"""
KINDS = (
    *("no listener", "a timeout", "it ends the connection", "it answers something else", "it offers, and goes"),
    *("other surroundings", "another owner"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_that_is_not_accepted_leaves_no_descriptor_open_at_any_failure(tmp_path, kind):
    (tmp_path / "warm").mkdir(mode=0o700)
    command = [sys.executable, "-c", ASK, str(tmp_path), kind]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    assert json.loads(done.stdout) == [{}, True]


def test_a_closed_input_is_not_taken_for_an_open_one(project, warm, cold):
    def close_input() -> None:
        os.close(0)

    args = ("--event", "PreToolUse")
    assert cold.run(b"", *args, "--engine", "warm", preexec_fn=close_input) == cold.run(
        b"", *args, preexec_fn=close_input
    )


CALL = {"tool_name": "Shell", "tool_input": {"command": "ls"}}


def test_with_few_descriptors_a_refused_event_is_answered_as_without_asking(project, warm: Client, cold: Client):
    project.write_hook("guard", script="echo no >&2; exit 2")
    refused = {**cold.environment, "CI": "true"}
    args = ("--event", "PreToolUse", "--trust-all")
    for count in (9, 11, 12, 14):
        before = ("sh", "-c", f'ulimit -n {count}; exec "$@"', "sh")
        asked = cold.run(CALL, *args, "--engine", "warm", before=before, env=refused)
        assert asked == cold.run(CALL, *args, before=before, env=refused), count
