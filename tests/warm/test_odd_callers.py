"""Callers with odd streams, locales and rights: the warm engine answers as the cold path does, or leaves them to it."""

from __future__ import annotations

import json
import os
import re
import resource
import socket
import sys
from pathlib import Path

import pytest

from boathook.warm import caller_facts
from boathook.warm.caller_facts import CALLER_LIMITS, CallerRefused, _check_limits
from tests.warm.warm_harness import Client, TestResident

EVENT = ("--event", "PreToolUse")
CALL = {"tool_name": "Shell", "tool_input": {"command": "deploy"}}
BLOCK = "echo no >&2; exit 2"


@pytest.fixture
def own_client(project, resident, patient_client) -> Client:
    assert resident.state == project.state
    return Client(project, patient_client)


def _open_write_only(project) -> int:
    return os.open(project.home / "event", os.O_WRONLY | os.O_CREAT)


def _open_folder(project) -> int:
    return os.open(project.home, os.O_RDONLY)


def _open_file(project) -> int:
    (project.home / "event").write_text(json.dumps(CALL))
    return os.open(project.home / "event", os.O_RDONLY)


def _open_socket(_) -> int:
    ours, theirs = socket.socketpair()
    ours.send(json.dumps(CALL).encode())
    ours.close()
    return theirs.detach()


def _open_null(_) -> int:
    return os.open(os.devnull, os.O_RDONLY)


def test_every_kind_of_input_is_read_as_by_the_cold_path(project, own_client, cold, resident):
    project.write_hook("guard", script=BLOCK)
    for count, open_input in enumerate((_open_write_only, _open_file, _open_socket, _open_null), 1):
        check_input(project, (own_client, cold), open_input)
        assert resident.count_events() == count
    # With a folder as its input Python does not even start, so that one is left to it.
    check_input(project, (own_client, cold), _open_folder)
    assert resident.count_events() == count
    assert resident.process.poll() is None


def check_input(project, clients: tuple[Client, Client], open_input) -> None:
    own_client, cold = clients
    answers = []
    for client, flags in ((own_client, ()), (cold, ())):
        handle = open_input(project)
        with client.start(*EVENT, *flags, stdin=handle) as process:
            os.close(handle)
            # Python names a thread by an address.
            error = re.sub(rb"0x[0-9a-f]+", b"", process.stderr.read())
            answers.append((process.stdout.read(), error, process.wait()))
    assert answers[0] == answers[1], open_input


LOCALES = (
    {},
    {"LANG": "C"},
    {"LANG": "POSIX", "LC_CTYPE": ""},
    {"LANG": "xx_XX.UTF-8"},
    {"LC_CTYPE": "C.UTF-8"},
    {"LC_ALL": "C"},
    {"LC_ALL": "", "LANG": "C.UTF-8"},
    {"LC_ALL": "xx_XX.UTF-8"},
)


def test_a_hook_sees_the_same_locale_even_if_the_caller_has_none(project, own_client, cold, resident):
    project.write_hook("look", script="env | grep -v 'BOATHOOK_[RC]' | sort >&2; exit 2")
    plain = {k: v for k, v in project.environment.items() if k not in ("CI", "LANG") and not k.startswith("LC_")}
    for variables in LOCALES:
        ways = ((own_client, ()), (cold, ()))
        warm_answer, cold_answer = (
            client.run(CALL, *EVENT, *flags, env={**plain, **variables}) for client, flags in ways
        )
        assert warm_answer == cold_answer, variables
    assert resident.count_events() == len(LOCALES)


# Begins a domain of Landlock in which nothing may be made in folders, and becomes the program it is given.
LANDLOCK = """
import ctypes, os, sys
call, rights = ctypes.CDLL(None).syscall, ctypes.c_uint64(1 << 12)
handle = call(444, ctypes.byref(rights), 8, 0)
if len(sys.argv) < 2: sys.exit(handle < 0)
if os.geteuid(): ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
assert handle >= 0 and call(446, handle, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_a_caller_that_landlock_confines_takes_the_cold_path(project, own_client, resident: TestResident):
    project.write_hook("guard", script=BLOCK)
    confined = (sys.executable, "-c", LANDLOCK)
    # Without Landlock in this kernel, another way to be confined.
    is_known = os.spawnv(os.P_WAIT, sys.executable, confined) == 0
    before = confined if is_known else ("setpriv", "--no-new-privs")
    assert own_client.run(CALL, *EVENT, before=before) == (2, b"", b"no\n")
    assert resident.count_events() == 0


def test_limits_are_read_as_the_system_names_them():
    table = Path("/proc/self/limits").read_bytes()
    assert dict(_check_limits(table)) == {which: resource.getrlimit(which) for which in CALLER_LIMITS}
    names = {name for name in dir(resource) if name.startswith("RLIMIT_")}
    assert {*CALLER_LIMITS} == {getattr(resource, name) for name in names}
    with pytest.raises(LookupError):
        _check_limits(table.replace(b"Max open files", b"Max open doors"))


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("Max address space", "unlimited", "1000000"),
        ("Max processes", "1", "2"),
        ("Max nice priority", "0", "unlimited"),
    ],
)
def test_limits_that_a_fork_cannot_have_are_refused(monkeypatch, name, before, after):
    def make_table(value: str) -> bytes:
        lines = Path("/proc/self/limits").read_text().splitlines()
        changed = [f"{name:26}{value:21}{value:21}" if line.startswith(name) else line for line in lines]
        return "\n".join(changed).encode()

    monkeypatch.setattr(caller_facts, "_read_own_limits", lambda: make_table(before))
    assert _check_limits(make_table(before))
    with pytest.raises(CallerRefused):
        _check_limits(make_table(after))
