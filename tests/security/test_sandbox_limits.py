"""What a `restricted` hook may not do: reach a network by any way, type into a terminal, or use the rights of root."""

from __future__ import annotations

import itertools
import os
import pty
import socket
import sys

import pytest

from boathook.core.event import Event
from boathook.core.hook import Script
from boathook.core.verdict import Call
from boathook.process import landlock, sandbox
from boathook.process.hook_runner import HookRunner, JobContext, SourceProject
from boathook.process.runner import ProcessRunner
from tests.core.builders import a_hook

LEVELS = {offer.level: offer for offer in sandbox.probe_sandbox_levels()}
VERSION = landlock.find_version()
LIMITATION = landlock.find_limitation(VERSION, network=False)
needs_landlock = pytest.mark.skipif(bool(LIMITATION), reason=LIMITATION)
needs_device_rights = pytest.mark.skipif(VERSION < 5, reason="Landlock before 5 does not know requests to devices")
needs_bwrap = pytest.mark.skipif(not LEVELS["isolated"].is_available, reason=LEVELS["isolated"].detail)
IS_ROOT = os.geteuid() == 0
_DAC_OVERRIDE = 1 << 1

pytestmark = [needs_landlock, pytest.mark.any_user]


@pytest.fixture
def run(project, tmp_path, monkeypatch):
    """Run Python code as a restricted hook; return what it printed, of an exception its name only."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))

    def _run(code: str, *words: object, **fields) -> str:
        lines = "\n".join(f"    {line}" for line in code.strip().splitlines())
        script = f"#!{sys.executable} -IS\nimport os, socket, sys\nwords = {list(map(str, words))!r}\n"
        script += f"try:\n{lines}\nexcept OSError as error:\n    print(type(error).__name__)\n"
        folder = project.write_hook("guard", script=script)
        event = Event.of("pre-tool-call", session_id="s", work_dir=str(project.path), timestamp="t")
        call = Call(a_hook(sandbox="restricted", **fields).replace(handler=Script(str(folder))), event)
        context = JobContext((SourceProject("HOOK.md", "native", str(project.path)),))
        environment = {name.encode(): value.encode() for name, value in project.environment.items()}
        [end] = HookRunner(ProcessRunner(), context, None, environment).run((call,))
        assert (end.error, end.detail, end.stderr) == ("", "", b"")
        return end.stdout.decode().strip()

    return _run


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        yield listening


def read_first_bytes(server: socket.socket) -> bytes:
    """Return what the first client sent; nothing if there is no client."""
    try:
        connection, _ = server.accept()
    except TimeoutError:
        return b""
    with connection:
        connection.settimeout(10)
        return connection.recv(100)


# Networks

STREAM = "socket.socket(socket.AF_INET, socket.SOCK_STREAM)"
WAYS_TO_SEND = {
    "connect": "s = {stream}\ns.connect(address)\ns.send(b'sent')",
    "TCP Fast Open": "s = {stream}\ns.sendto(b'sent', socket.MSG_FASTOPEN, address)",
    "TCP Fast Open by sendmsg": "s = {stream}\ns.sendmsg([b'sent'], [], socket.MSG_FASTOPEN, address)",
    "TCP Fast Open by connect": "s = {stream}\ns.setsockopt(6, 30, 1)\ns.connect(address)\ns.send(b'sent')",
    "MPTCP": "s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)\ns.connect(address)\ns.send(b'sent')",
    "SMC": "s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 256)\ns.connect(address)\ns.send(b'sent')",
}


@pytest.mark.parametrize("way", WAYS_TO_SEND)
def test_no_way_to_send_over_tcp_is_open_without_a_network(run, server, way):
    port = server.getsockname()[1]
    code = "address = ('127.0.0.1', int(words[0]))\n" + WAYS_TO_SEND[way].format(stream=STREAM) + "\nprint('sent')"
    assert (run(code, port), read_first_bytes(server)) == ("PermissionError", b"")


@pytest.mark.parametrize("way", ["connect", "TCP Fast Open"])
def test_a_hook_with_a_network_sends(run, server, way):
    port = server.getsockname()[1]
    code = "address = ('127.0.0.1', int(words[0]))\n" + WAYS_TO_SEND[way].format(stream=STREAM) + "\nprint('sent')"
    assert (run(code, port, network=True), read_first_bytes(server)) == ("sent", b"sent")


def test_a_hook_without_a_network_cannot_listen_on_a_port_that_the_system_chooses(run):
    """Landlock asks at `bind`, and `listen` without `bind` takes a port all the same."""
    code = f"s = {STREAM}\ns.listen()\nprint('listens')"
    assert (run(code), run(code, network=True)) == ("PermissionError", "listens")


def test_a_hook_without_a_network_cannot_send_datagrams(run):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        port = receiver.getsockname()[1]
        code = "socket.socket(type=socket.SOCK_DGRAM).sendto(b'sent', ('127.0.0.1', int(words[0])))\nprint('sent')"
        assert (run(code, port), run(code, port, network=True)) == ("PermissionError", "sent")
        assert receiver.recv(100) == b"sent"


FAMILIES = {"INET6": 10, "PACKET": 17, "RDS": 21, "TIPC": 30, "ALG": 38, "VSOCK": 40, "SMC": 43, "XDP": 44}


def test_other_families_of_sockets_are_closed_and_those_of_this_machine_are_open(run):
    code = """
for family in map(int, words):
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind).close()
        except PermissionError:
            continue
        print("open:", family, kind)
socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
with socket.socket(socket.AF_UNIX) as server:
    server.bind("socket")
    server.listen()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("socket")
one, other = socket.socketpair()
print("own machine")
"""
    assert run(code, *FAMILIES.values()) == "own machine"


IO_URING = """
import ctypes
library = ctypes.CDLL(None, use_errno=True)
parameters = ctypes.create_string_buffer(120)
print("made" if library.syscall(425, 2, parameters) >= 0 else ctypes.get_errno())
"""


def test_a_ring_of_system_calls_that_no_filter_sees_cannot_be_made(run):
    # ENOSYS: programs take it for a kernel that has none
    assert run(IO_URING) == "38"


# mov eax, NUMBER; mov ebx, FAMILY; mov ecx, 1; xor edx, edx; int 0x80; ret — with rbx kept
OTHER_CALLS = """
import ctypes, mmap
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
number, first, second = (int(word).to_bytes(4, "little") for word in words[:3])
code = b"\\x53\\xb8" + number + b"\\xbb" + first + b"\\xb9" + second + b"\\x31\\xd2\\xcd\\x80\\x5b\\xc3"
memory.write(code)
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
print(function())
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the code of another processor")
@pytest.mark.parametrize(("number", "first", "second"), [(359, 2, 1), (102, 1, 0), (425, 1, 0)])
def test_the_system_calls_of_32_bit_programs_make_no_sockets(run, number, first, second):
    assert run(OTHER_CALLS, number, first, second) in ("-13", "-38")


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="only this processor has a third set of numbers")
def test_the_third_set_of_system_calls_makes_no_sockets(run):
    code = "import ctypes\nprint(ctypes.CDLL(None).syscall(0x40000000 | 41, 2, 1, 0))"
    assert run(code) == "-1"


def test_a_processor_whose_system_calls_are_not_known_gets_bubblewrap_or_no_sandbox(monkeypatch):
    monkeypatch.setattr(landlock, "find_version", lambda: 7)
    monkeypatch.setattr(landlock, "_find_machine", lambda: "pdp11")
    found = {}
    for network, bwrap in itertools.product((True, False), ("/usr/bin/bwrap", "")):
        monkeypatch.setattr(sandbox, "find_bwrap", lambda *_, path=bwrap: path)
        spec, reason = sandbox.plan_sandbox(a_hook(sandbox="restricted", network=network), "/p", "/p", ("/bin/x",))
        found[network, bwrap] = (spec.bwrap if spec else None, reason.partition("not have: ")[2])
    why = "the system calls of pdp11, which make sockets, are not known, and bubblewrap (bwrap) is not installed"
    assert found == {
        (True, "/usr/bin/bwrap"): ("", ""),
        (True, ""): ("", ""),
        (False, "/usr/bin/bwrap"): ("/usr/bin/bwrap", ""),
        (False, ""): (None, why),
    }


# Terminals and devices


def test_a_restricted_hook_cannot_write_to_a_terminal(run):
    controller, terminal = pty.openpty()
    try:
        code = "os.write(os.open(words[0], os.O_WRONLY | os.O_NOCTTY), b'x')\nprint('written')"
        assert run(code, os.ttyname(terminal)) == "PermissionError"
        assert [run(code, f"/dev/{name}") for name in ("tty", "ptmx")] == ["PermissionError"] * 2
        assert (
            run("for name in words:\n    os.open(name, os.O_RDWR)\nprint('open')", "/dev/null", "/dev/zero") == "open"
        )
    finally:
        os.close(controller)
        os.close(terminal)


@needs_device_rights
@pytest.mark.parametrize("asked", [0x5412, 0x541C], ids=["TIOCSTI", "TIOCLINUX"])
def test_a_restricted_hook_cannot_type_into_a_terminal(run, asked):
    controller, terminal = pty.openpty()
    try:
        code = "import fcntl\nfcntl.ioctl(os.open(words[0], os.O_RDONLY | os.O_NOCTTY), int(words[1]), b'i')\nprint('typed')"
        assert run(code, os.ttyname(terminal), asked) == "PermissionError"
    finally:
        os.close(controller)
        os.close(terminal)


@pytest.mark.parametrize("kind", ["S_IFCHR", "S_IFBLK"])
def test_a_restricted_hook_makes_no_devices(run, project, kind):
    code = f"import stat\nos.mknod('made', 0o600 | stat.{kind}, os.makedev(1, 3))\nprint('made')"
    assert (run(code), (project.path / "made").exists()) == ("PermissionError", False)


# The rights of root

CAPABILITIES = """
for line in open("/proc/self/status"):
    name, _, value = line.partition(":")
    if name.startswith("Cap"):
        print(name, int(value, 16))
"""


def test_no_restricted_hook_has_capabilities_but_that_root_opens_files_of_others(run):
    shown = dict(line.split() for line in run(CAPABILITIES).splitlines())
    kept = str(_DAC_OVERRIDE if IS_ROOT else 0)
    assert shown["CapEff"] == shown["CapPrm"] == kept
    assert shown["CapInh"] == shown["CapAmb"] == "0"
    assert shown["CapBnd"] == kept or not IS_ROOT


def test_the_environment_of_the_engine_cannot_be_read(run):
    code = "print(len(open(f'/proc/{words[0]}/environ', 'rb').read()))"
    assert run(code, os.getpid()) == "PermissionError"


WAYS_OF_ROOT = {
    "chattr +a": """
import fcntl
handle = os.open(words[0], os.O_RDONLY)
flags = int.from_bytes(fcntl.ioctl(handle, 0x80086601, bytes(8)), sys.byteorder)
fcntl.ioctl(handle, 0x40086602, (flags | 0x20).to_bytes(8, sys.byteorder))
""",
    "chown": "os.chown(words[0], 1, 1)",
    "chroot": "os.chroot('/')",
    "hostname": "socket.sethostname(socket.gethostname())",
    "another user": "os.setuid(words and 1)",
    "higher limits": "import resource\nresource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))",
}


@pytest.mark.parametrize("way", WAYS_OF_ROOT)
def test_what_only_root_may_do_is_closed_to_root(run, tmp_path, way):
    file = tmp_path / "file"
    file.write_text("")
    code = f"try:\n{''.join(f'    {line}{chr(10)}' for line in WAYS_OF_ROOT[way].strip().splitlines())}"
    code += "except (ValueError, PermissionError):\n    print('no')\nelse:\n    print('done')"
    if way == "higher limits":
        code = (
            "import resource, time\nwhile resource.getrlimit(resource.RLIMIT_CORE)[1]:\n    time.sleep(0.02)\n" + code
        )
    # OSError: this file system has no such flags
    assert run(code, file) in ("no", "OSError" if way == "chattr +a" else "no")


@pytest.mark.skipif(not IS_ROOT, reason="only root can give a file to another user")
@pytest.mark.parametrize("by", ["Landlock", pytest.param("bubblewrap", marks=needs_bwrap)])
def test_root_reads_and_writes_the_files_of_others_in_the_project(run, project, monkeypatch, by):
    if by == "bubblewrap":
        monkeypatch.setattr(landlock, "find_version", lambda: 0)
    theirs = project.path / "theirs"
    theirs.mkdir()
    (theirs / "file").write_text("read")
    os.chown(theirs / "file", 12345, 12345)
    os.chown(theirs, 12345, 12345)
    (theirs / "file").chmod(0o600)
    theirs.chmod(0o700)
    code = (
        "print(open('theirs/file').read())\nopen('theirs/file', 'w').write('written')\nopen('theirs/new', 'w').close()"
    )
    assert (run(code), (theirs / "file").read_text(), (theirs / "new").exists()) == ("read", "written", True)
