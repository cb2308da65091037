"""What the resident must not take from one caller to another, and callers that could harm it or others."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from boathook.catalog_cache.format import Compiled
from boathook.entry import warm_client
from boathook.entry.surroundings import (
    ASK_STATUS,
    find_session_keyring,
    open_own_process,
    open_process,
    read_process_file,
    read_surroundings,
)
from boathook.system.locations import PathAvoidedError, RealPaths
from boathook.warm.caller_facts import CallerEnvironment
from boathook.warm.mount_watch import MayHangError, MountWatch, read_mounts
from boathook.warm.resident import Resident
from tests.warm.warm_harness import (
    COLD,
    PACKAGE,
    PATIENCE_SECONDS,
    Client,
    TestResident,
    compile_client,
    wait_until,
)

EVENT = ("--event", "PreToolUse")
CALL = {"tool_name": "Shell", "tool_input": {"command": "make deploy"}}
BLOCK = "echo no >&2; exit 2"


@pytest.fixture
def own_client(project, resident, patient_client) -> Client:
    """A client of a resident that the test may harm."""
    assert resident.state == project.state
    return Client(project, patient_client)


# Whose surroundings they are.

# Joins a new session keyring, and becomes the program it is given; without one, shows whether there are keyrings.
JOIN = """
import ctypes, os, platform, sys
numbers = {"x86_64": 250, "aarch64": 219, "riscv64": 219}
joined = ctypes.CDLL(None).syscall(numbers.get(platform.machine(), -1), 1, None)
if len(sys.argv) < 2: sys.exit(joined < 0)
os.execv(sys.argv[1], sys.argv[1:])
"""

# Installs a filter that allows everything, and becomes the program it is given.
FILTER = """
import ctypes, os, struct, sys
call = ctypes.CDLL(None).prctl
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(allow)))
if call(38, 1, 0, 0, 0) or call(22, 2, program): sys.exit(1)
if len(sys.argv) > 1: os.execv(sys.argv[1], sys.argv[1:])
"""


def _is_possible(words: tuple[str, ...]) -> bool:
    return subprocess.run(words, capture_output=True).returncode == 0


def test_a_caller_with_another_session_keyring_takes_the_cold_path(project, own_client, resident):
    joining = (sys.executable, "-c", JOIN)
    if not _is_possible(joining):
        assert find_session_keyring() == -1
        return
    project.write_hook("guard", script=BLOCK)
    assert own_client.run(CALL, *EVENT, before=joining) == (2, b"", b"no\n")
    assert resident.count_events() == 0
    assert own_client.run(CALL, *EVENT) == (2, b"", b"no\n")
    assert resident.count_events() == 1


def test_a_caller_with_a_seccomp_filter_takes_the_cold_path_and_such_a_resident_does_not_start(
    project, patient_client, tmp_path
):
    filtering = (sys.executable, "-c", FILTER)
    if not _is_possible(filtering):
        return
    project.write_hook("guard", script=BLOCK)
    resident = TestResident(project.state)
    try:
        assert Client(project, patient_client).run(CALL, *EVENT, before=filtering) == (2, b"", b"no\n")
        assert resident.count_events() == 0
    finally:
        resident.end()
    entry = COLD[-1].replace("entry/hook_entry.py", "warm/resident_entry.py")
    words = [*filtering, sys.executable, "-I", "-S", entry, "--state", str(tmp_path)]
    assert subprocess.run(words, capture_output=True).returncode == 1
    assert not list(tmp_path.glob("warm/*.socket"))


def test_the_mount_of_the_root_folder_is_compared(project, own_client, resident, tmp_path):
    """The same folder, mounted a second time, is another root."""
    root = tmp_path / "root"
    root.mkdir()
    if os.geteuid() or subprocess.run(["mount", "--rbind", "/", str(root)], capture_output=True).returncode:
        process = open_own_process()
        assert b"mnt_id:" in read_surroundings(process)
        os.close(process)
        return
    try:
        project.write_hook("guard", script=BLOCK)
        inside = ("chroot", str(root), "sh", "-c", 'cd "$0" && exec "$@"', str(project.path))
        assert own_client.run(CALL, *EVENT, before=inside) == (2, b"", b"no\n")
        assert resident.count_events() == 0
    finally:
        subprocess.run(["umount", "--recursive", "--lazy", str(root)], check=True)


def test_a_caller_that_keeps_signals_of_the_c_library_takes_the_cold_path(project, own_client, resident):
    project.write_hook("guard", script=BLOCK)
    # Blocks signal 33 by the call itself, because the C library does not.
    code = (
        "import ctypes, os, platform, sys; mask = ctypes.c_uint64(1 << 32);"
        "number = {'x86_64': 14}.get(platform.machine(), 135);"
        "assert not ctypes.CDLL(None).syscall(number, 0, ctypes.byref(mask), None, 8);"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    assert own_client.run(CALL, *EVENT, before=(sys.executable, "-c", code)) == (2, b"", b"no\n")
    assert resident.count_events() == 0
    assert [reason for reason in resident.find_status()["refused"] if "C library" in reason]


def test_a_caller_that_was_started_by_posix_spawn_is_answered(project, own_client, resident):
    project.write_hook("guard", script=BLOCK)
    # That ignores signal 32, as posix_spawn does in a program with threads.
    code = (
        "import ctypes, os, platform, sys; ignore = (ctypes.c_uint64 * 4)(1, 0, 0, 0);"
        "number = {'x86_64': 13}.get(platform.machine(), 134);"
        "assert not ctypes.CDLL(None).syscall(number, 32, ctypes.byref(ignore), None, 8);"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    assert own_client.run(CALL, *EVENT, before=(sys.executable, "-c", code)) == (2, b"", b"no\n")
    assert resident.count_events() == 1


def test_with_a_mask_that_allows_nothing_the_answer_is_the_same_and_a_resident_can_be_reached(
    project, own_client, cold, resident
):
    project.write_hook("look", script="umask >&2; exit 2")
    masked = ("sh", "-c", 'umask 0777; exec "$@"', "sh")
    assert own_client.run(CALL, *EVENT, before=masked) == cold.run(CALL, *EVENT, before=masked)
    assert resident.count_events() == 1
    assert resident.end() == 0
    project.state.joinpath("warm").rmdir()
    before = os.umask(0o777)
    try:
        second = TestResident(project.state)
    finally:
        os.umask(before)
    try:
        folder = second.socket_path.parent
        assert (folder.stat().st_mode & 0o777, second.socket_path.stat().st_mode & 0o700) == (0o700, 0o700)
        assert own_client.run(CALL, *EVENT)[0] == 2
        assert second.count_events() == 1
    finally:
        second.end()


# What a caller does to the resident.


# Lets the client leave its connection to a child, and end, after it has looked at itself and at the resident.
LEAVING = """
#define _GNU_SOURCE
#include <sys/socket.h>
#include <unistd.h>
static ssize_t send_and_leave(int connection, const void *data, size_t size, int flags) {
    ssize_t count = send(connection, data, size, flags);
    if (fork()) _exit(0);
    return count;
}
#define send send_and_leave
"""


def test_a_process_that_has_ended_is_not_taken_for_the_caller(project, resident, tmp_path):
    project.write_hook("guard", script=BLOCK)
    header = tmp_path / "leaving.h"
    header.write_text(LEAVING)
    client = Client(project, compile_client(tmp_path, "-DACCEPT_MS=60000", "-include", str(header), small=False))
    os.kill(resident.process.pid, signal.SIGSTOP)
    try:
        with client.start(*EVENT) as process:
            # It is waited for here, so its number is free when the resident looks at it.
            assert process.wait(PATIENCE_SECONDS) == 0
            os.kill(resident.process.pid, signal.SIGCONT)
            process.stdin.write(json.dumps(CALL).encode())
            process.stdin.close()
            assert process.stderr.read() == b"no\n"
    finally:
        os.kill(resident.process.pid, signal.SIGCONT)
    assert resident.count_events() == 0
    (reason,) = resident.find_status()["refused"]
    assert reason in (
        "the caller has ended",
        "/proc cannot be read: No such file or directory",
        "/proc cannot be read: No such process",
    )


# Lets the client send more after go, and then close its side.
SENDING_MORE = """
#define _GNU_SOURCE
#include <sys/socket.h>
static ssize_t send_more(int connection, const struct msghdr *message, int flags) {
    ssize_t count = sendmsg(connection, message, flags);
    send(connection, "more", 4, 0);
    shutdown(connection, SHUT_WR);
    return count;
}
#define sendmsg send_more
"""


def test_a_caller_that_sends_more_after_go_is_dropped_and_does_not_keep_the_resident_busy(project, resident, tmp_path):
    header = tmp_path / "more.h"
    header.write_text(SENDING_MORE)
    client = Client(project, compile_client(tmp_path, "-DACCEPT_MS=60000", "-include", str(header), small=False))
    with client.start(*EVENT, "--broken", "2") as process:
        # Its input stays open: only what it said is a reason to drop it.
        assert b"so no hook decided" in process.stderr.read()
        assert process.wait(PATIENCE_SECONDS) == 2
    wait_until(lambda: resident.find_status()["running"] == 0, "the end of the event")
    assert resident.process.poll() is None


# What stays in memory.


def _list_writable_parts(pid: int) -> list[tuple[int, int]]:
    lines = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
    ends = [words[0].split("-") for words in lines if words[1].startswith("rw")]
    return [(int(start, 16), int(end, 16)) for start, end in ends]


def _has_in_memory(pid: int, text: bytes) -> bool:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for start, end in _list_writable_parts(pid):
            with contextlib.suppress(OSError):
                if text in os.pread(memory.fileno(), end - start, start):
                    return True
    return False


def test_nothing_of_the_environment_of_a_caller_stays_in_the_memory_of_the_resident(project, own_client, resident):
    # Only half of it is in this file, so that no message about the test has the whole.
    secret = "-".join(("marker", str(os.getpid()), "of", "a", "secret"))
    project.write_hook("guard", script='printf "%s" "$A_SECRET" >&2; exit 2', fields={"matcher": "{pattern: deploy}"})
    env = {**own_client.environment, "A_SECRET": secret, "BIG": "x" * 100_000, "LAST_SECRET": secret}
    for command in ("make deploy", "ls", "ls"):
        call = {**CALL, "tool_input": {"command": command}}
        answer = own_client.run(call, *EVENT, env=env)
        assert answer[2].decode().strip() == (secret if "deploy" in command else "")
    assert resident.count_events() == 3
    assert _has_in_memory(os.getpid(), secret.encode())
    wait_until(lambda: resident.find_status()["running"] == 0, "the end of all events")
    assert not _has_in_memory(resident.process.pid, secret.encode())


def test_variables_are_read_as_an_interpreter_reads_them_and_can_be_wiped(tmp_path):
    for size in (0, 10, (1 << 14) - 30, 1 << 14, 1 << 17):
        path = tmp_path / "environ"
        path.write_bytes(b"A=1\0B=two=2\0AB=3\0A=4\0C=" + b"x" * size + b"\0LAST=5")
        handle = os.open(path, os.O_RDONLY)
        env = CallerEnvironment(handle)
        os.close(handle)
        names = (b"A", b"B", b"AB", b"LAST", b"X", b"two")
        assert [env.get(name) for name in names] == [b"1", b"two=2", b"3", b"5", b"", b""]
        assert len(env.get(b"C")) == size
        assert (env.has_prefix(b"LA"), env.has_prefix(b"A"), env.has_prefix(b"1")) == (True, True, False)
        env.wipe()
        assert env.get(b"A") == b""


# File systems that hang, locks that are held, residents that hang.

MOUNTS = rb"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw
31 27 0:40 / /mnt/a\040b rw - nfs4 server:/x rw
32 27 0:41 / /run/user/1/doc rw - fuse.portal portal rw
33 27 0:42 / /home rw - 9p share rw
"""


def test_a_file_system_of_a_network_or_a_program_may_hang():
    assert read_mounts(MOUNTS) == {
        22: (b"/proc", True),
        27: (b"/", True),
        31: (b"/mnt/a b", False),
        32: (b"/run/user/1/doc", False),
        33: (b"/home", False),
    }


@pytest.fixture
def nothing_avoided() -> Iterator[None]:
    yield
    RealPaths.avoided = ()


@pytest.mark.usefixtures("nothing_avoided")
def test_an_event_about_a_file_system_that_may_hang_is_not_looked_at_by_the_resident(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "pread", lambda _, __, offset: MOUNTS[offset:])
    watch = MountWatch(sys.executable, "/home/me/state")
    os.close(watch.handle)
    assert watch.is_named(b'{"command": "cat /mnt/a b/file"}')
    assert watch.is_named(rb'{"command": "cat \/run\/user\/1\/doc\/x"}')
    assert watch.is_named(rb'{"command": "cat /mnt/a\u0020b/file"}')
    # The resident itself lives in /home.
    assert not watch.is_named(b'{"command": "ls /home /mnt"}')
    # Nothing of the event names these.
    (tmp_path / "link").symlink_to("/mnt/a b/folder")
    for path in ("/mnt/a b", "/mnt/a b/x/y", "/run/user/1/doc", f"{tmp_path}/link/x"):
        with pytest.raises(PathAvoidedError):
            RealPaths().find(path)
    assert RealPaths().find("/mnt/a bc/x") == "/mnt/a bc/x"
    compiled = Compiled({"watch": [("/usr", None), (f"{tmp_path}/link/hooks/", None)]}, memoryview(b""))
    with pytest.raises(PathAvoidedError):
        compiled.check_places()


@pytest.mark.usefixtures("nothing_avoided")
def test_a_process_with_a_folder_or_a_stream_where_it_may_hang_is_refused(monkeypatch, tmp_path):
    watch = MountWatch(sys.executable)
    os.close(watch.handle)
    with open(tmp_path / "stream", "w") as stream:
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": stream}
        with subprocess.Popen(["cat"], cwd="/proc", **streams) as child, open_proc(child.pid) as process:
            watch.check_process(process)
            number = find_mount_number(process)
            monkeypatch.setattr(watch, "_doubtful", {number})
            with pytest.raises(MayHangError, match="stream"):
                watch.check_process(process)
            monkeypatch.setattr(watch, "_known", {number})
            # As after `umount --lazy`.
            with pytest.raises(MayHangError, match="folder"):
                watch.check_process(process)
            child.stdin.close()
    with subprocess.Popen(["cat"], cwd=tmp_path, stdin=subprocess.PIPE) as child, open_proc(child.pid) as process:
        with pytest.raises(MayHangError, match="folder"):
            watch.check_process(process)
        child.stdin.close()


@contextlib.contextmanager
def open_proc(pid: int) -> Iterator[int]:
    handle = open_process(pid)
    yield handle
    os.close(handle)


def find_mount_number(process: int) -> int:
    """Return the number of the mount that the error stream of a process is on."""
    lines = read_process_file(process, "fdinfo/2").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(b"mnt_id:"))


class ChangeOnce:
    """Reports something once, as the kernel reports a change of the mounts."""

    def __init__(self, handle: int) -> None:
        self.reports = [[], [(handle, select.POLLPRI)]]

    def register(self, *_: int) -> None:
        return

    def poll(self, _: float) -> list[tuple[int, int]]:
        return self.reports.pop(0) if self.reports else []


def test_a_change_that_is_reported_while_forks_are_made_is_not_lost(monkeypatch):
    resident = Resident.__new__(Resident)
    changes: list[str] = []
    resident._poll, resident._handlers = ChangeOnce(7), {7: lambda: changes.append("mounts")}
    monkeypatch.setattr(resident, "_lacks_standbys", lambda: True)
    resident._pool = SimpleNamespace(retry_seconds=0.0, improve=lambda: None)
    resident._fill_standbys()
    assert changes == ["mounts"]


class HangingFolder:
    """A file system that never answers, by the device of FUSE: whoever looks into it waits until it is gone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other"
        words = ["mount", "-i", "-t", "fuse", "-o", options, "hanging", str(path)]
        done = subprocess.run(words, capture_output=True, pass_fds=[self.device])
        self.is_there = done.returncode == 0

    def close(self) -> None:
        # The end of the device ends all who wait.
        os.close(self.device)
        subprocess.run(["umount", "--lazy", str(self.path)], capture_output=True)


def test_a_folder_that_hangs_stops_no_other_caller(project, own_client, resident, tmp_path):
    if os.geteuid() or not os.path.exists("/dev/fuse"):
        return
    folder = HangingFolder(tmp_path / "hanging")
    try:
        if not folder.is_there:
            return
        project.write_hook("guard", script=BLOCK, fields={"matcher": "{pattern: deploy}"})
        call = {**CALL, "cwd": str(folder.path), "tool_input": {"command": f"cat {folder.path}/x"}}
        hanging = own_client.start(*EVENT)
        hanging.stdin.write(json.dumps(call).encode())
        hanging.stdin.close()
        wait_until(lambda: resident.find_status().get("running") == 1, "an event that hangs")
        assert own_client.run(CALL, *EVENT) == (2, b"", b"no\n")
        assert resident.find_status()["running"] == 1
    finally:
        folder.close()
    with hanging:
        hanging.wait(PATIENCE_SECONDS)


@pytest.mark.parametrize(
    "command", ["cp a {name}/x", "cp a link/x", "cat {path}/x"], ids=["relative", "by a link", "absolute"]
)
def test_a_path_that_hangs_stops_no_other_caller(project, own_client, resident, command):
    if os.geteuid() or not os.path.exists("/dev/fuse"):
        return
    project.write_hook("guard", script=BLOCK, fields={"matcher": "{pattern: deploy}"})
    own_client.run(CALL, *EVENT)
    folder = HangingFolder(project.path / "hanging")
    (project.path / "link").symlink_to("hanging")
    try:
        if not folder.is_there:
            return
        text = command.format(name=folder.path.name, path=folder.path)
        hanging = own_client.start(*EVENT)
        hanging.stdin.write(json.dumps({**CALL, "tool_input": {"command": text}}).encode())
        hanging.stdin.close()
        wait_until(lambda: resident.find_status().get("running") == 1, "an event that hangs")
        assert own_client.run(CALL, *EVENT) == (2, b"", b"no\n")
    finally:
        folder.close()
    with hanging:
        hanging.wait(PATIENCE_SECONDS)


def test_a_call_is_refused_if_the_resident_hangs_after_it_accepted_it(project, resident, tmp_path):
    project.write_hook("guard", script=BLOCK)
    client = Client(project, compile_client(tmp_path, "-DACCEPT_MS=60000", "-DLIFE_MS=300"))
    with client.start(*EVENT, "--broken", "2", "--repair", "start again") as slow:
        wait_until(lambda: resident.find_status().get("running") == 1, "an accepted event")
        # The input is slow, and the resident lives.
        time.sleep(1)
        assert slow.poll() is None
        os.kill(resident.process.pid, signal.SIGSTOP)
        try:
            assert slow.wait(PATIENCE_SECONDS) == 2
        finally:
            os.kill(resident.process.pid, signal.SIGCONT)
        assert b"the warm engine hangs" in slow.stderr.read()


def test_the_client_in_python_knows_a_resident_that_hangs(monkeypatch, tmp_path):
    monkeypatch.setattr(warm_client, "LIFE_SECONDS", 0.2)
    path = str(tmp_path / "s")
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        listener.bind(path)
        listener.listen()
        connection = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        connection.connect(path)
        assert warm_client._is_silent(connection)
        accepted = [stack.enter_context(listener.accept()[0]) for _ in range(2)]
        assert accepted[1].recv(64) == ASK_STATUS

        def answer() -> None:
            other = stack.enter_context(listener.accept()[0])
            other.send(b"{}")

        thread = threading.Thread(target=answer)
        thread.start()
        monkeypatch.setattr(warm_client, "LIFE_SECONDS", PATIENCE_SECONDS)
        assert not warm_client._is_silent(connection)
        thread.join()
        os.unlink(path)
        # It takes no callers any more, but those that it has accepted get their answers.
        assert not warm_client._is_silent(connection)


def test_an_offer_that_no_client_takes_keeps_no_resident_alive(project, resident, tmp_path):
    project.write_hook("guard", script=BLOCK)
    text = (PACKAGE / "warm/client.c").read_text()
    stopped = text.replace("int signals = take_signals(", "raise(SIGSTOP); int signals = take_signals(", 1)
    assert stopped != text
    (tmp_path / "client.c").write_text(stopped)
    path = compile_client(tmp_path, "-DACCEPT_MS=60000", source=tmp_path / "client.c", small=False)
    with Client(project, path).start(*EVENT) as client:
        wait_until(lambda: Path(f"/proc/{client.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", "a stop")
        resident.process.terminate()
        assert resident.process.wait(PATIENCE_SECONDS) == 0
        os.kill(client.pid, signal.SIGCONT)
        # By the cold path: nothing of the input was read.
        assert client.communicate(json.dumps(CALL).encode(), PATIENCE_SECONDS) == (b"", b"no\n")
        assert client.returncode == 2


def test_a_resident_that_hangs_is_replaced_by_the_next_one_and_ends_when_it_notices(project, resident, patient_client):
    project.write_hook("guard", script=BLOCK)
    os.kill(resident.process.pid, signal.SIGSTOP)
    second = TestResident.__new__(TestResident)
    try:
        # Not by the constructor, which would ask the one that hangs.
        entry = COLD[-1].replace("entry/hook_entry.py", "warm/resident_entry.py")
        words = [*COLD[:-1], entry, "--state", str(project.state)]
        before = resident.socket_path.stat().st_ino
        second.state = project.state
        second.process = subprocess.Popen(words, env={}, start_new_session=True, cwd="/", stdin=subprocess.DEVNULL)
        wait_until(lambda: _find_inode(project.state) not in (0, before), "another socket")
        assert Client(project, patient_client).run(CALL, *EVENT) == (2, b"", b"no\n")
        assert second.count_events() == 1
    finally:
        os.kill(resident.process.pid, signal.SIGCONT)
        # It leaves the socket of the other one alone.
        assert resident.process.wait(PATIENCE_SECONDS) == 0
        is_there = _find_inode(project.state) != 0
        second.end()
    assert is_there


def _find_inode(state: Path) -> int:
    with contextlib.suppress(OSError):
        return next((path.stat().st_ino for path in (state / "warm").glob("*.socket")), 0)
    return 0


def test_a_lock_that_is_held_delays_no_resident(project):
    folder = project.state / "warm"
    folder.mkdir(parents=True, mode=0o700)
    handle = os.open(folder, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        # Each of those that start at once ends before it has imported anything.
        started = [TestResident(project.state) for _ in range(3)]
        assert [one.process.wait(PATIENCE_SECONDS) for one in started] == [3, 3, 3]
    finally:
        os.close(handle)
    resident = TestResident(project.state)
    assert resident.find_status()
    assert resident.end() == 0
