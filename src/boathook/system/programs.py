"""Which file of a hook folder is run, which program runs it, and who can change them."""

from __future__ import annotations

import os
import stat
import sys

from boathook.core.value import Value
from boathook.system.locations import account_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Stamp = tuple[int, int, int] | None

ENTRY_NAMES = ("run", "run.sh", "run.py")
SYSTEM_BIN_FOLDERS = ("/bin", "/usr/bin", "/usr/local/bin")
# Variables that make a program run or load more code than its own, by what their values are: `process.environment` filters them.
CODE_VARIABLES = {
    **dict.fromkeys(b"BASH_ENV ENV ZDOTDIR PYTHONSTARTUP PYTHONHOME PYTHONUSERBASE".split(), "files"),
    **dict.fromkeys(b"GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM".split(), "files"),
    **dict.fromkeys(b"PYTHONPATH NODE_PATH PERL5LIB PERLLIB RUBYLIB LD_LIBRARY_PATH".split(), "folders"),
    **dict.fromkeys(b"LD_PRELOAD LD_AUDIT".split(), "libraries"),
    **dict.fromkeys(b"NODE_OPTIONS PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS".split(), "options"),
    **dict.fromkeys(b"_JAVA_OPTIONS PYTHONBREAKPOINT".split(), "options"),
    **dict.fromkeys(b"PROMPT_COMMAND PS4 PERL5DB".split(), "code"),
    **dict.fromkeys(b"SHELLOPTS BASHOPTS PYTHONINSPECT".split(), "switches"),
}
CODE_VARIABLE_PREFIXES = {b"BASH_FUNC_": "code", b"DYLD_": "folders", b"GIT_CONFIG_": "options"}
BINARIES = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xfe\xed\xfa\xcf")


class EntryPoint(Value):
    path: str
    argv: tuple[str, ...]
    warning: str = ""


def find_entry_point(folder: str) -> str | None:
    for name in ENTRY_NAMES:
        path = f"{folder}/scripts/{name}"
        try:
            if stat.S_ISREG(os.stat(path).st_mode):
                return path
        except (OSError, ValueError):
            continue
    return None


def choose_command(path: str, avoid: Iterable[str] = ()) -> EntryPoint:
    """Choose the command for an entry point: itself, or an interpreter by its name, which no project in `avoid` provides."""
    name = path.rpartition("/")[2]
    is_executable = os.access(path, os.X_OK)
    if is_executable and read_first_bytes(path).startswith((b"#!", *BINARIES)):
        return EntryPoint(path, (path,))
    bash = find_program("bash", avoid=avoid) if name == "run.sh" else None
    interpreter = sys.executable if name == "run.py" else bash or "/bin/sh"
    problem = "has no interpreter line (#!)" if is_executable else "is not executable (chmod +x)"
    program = interpreter.rpartition("/")[2]
    return EntryPoint(path, (interpreter, path), f"scripts/{name} {problem}; it was run by {program}")


def read_first_bytes(path: str, count: int = 256) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(handle, count)
    except OSError:
        return b""
    finally:
        os.close(handle)


def find_interpreter_error(start: bytes) -> str | None:
    if not start.startswith(b"#!"):
        return None
    line = start[2:].partition(b"\n")[0]
    words = [word.decode("utf-8", "replace") for word in line.split()]
    if not words:
        return "its interpreter line is empty"
    interpreter = words[0]
    if line.endswith(b"\r"):
        return f"it has Windows line ends, so its interpreter reads as {interpreter + chr(92)}r (convert it to LF)"
    if not os.path.exists(interpreter):
        return f"its interpreter {interpreter} does not exist here"
    if interpreter.endswith("/env"):
        program = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
        if program and find_program(program) is None:
            return f"its interpreter {program} is not on the PATH"
    return None


def find_program(name: str, path: str | None = None, avoid: Iterable[str] | None = None) -> str | None:
    if "\0" in name:
        return None
    if "/" in name:
        return name if os.access(name, os.X_OK) else None
    for folder in (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep):
        program = f"{folder or '.'}/{name}"
        if not os.access(program, os.X_OK) or os.path.isdir(program):
            continue
        if avoid is None or folder in SYSTEM_BIN_FOLDERS or not points_into(program, find_project_tops(avoid)):
            return program
    return None


def find_project_tops(folders: Iterable[str]) -> tuple[str, ...]:
    """Return the projects that some folders are or are in, by their given path and their real one."""
    # A project that contains the home folder of the account is the user's own, and is left out.
    plain = [folder for folder in folders if _is_possible_path(folder)]
    tops = {top for folder in plain for top in (folder.rstrip("/"), _find_repository(folder))} - {""}
    paths = sorted({path for top in tops for path in (top, resolve_links(top))} - {"/"})
    home = os.path.realpath(account_home()) + "/" if paths else ""
    return tuple(path for path in paths if not home.startswith(path + "/"))


def resolve_links(path: str) -> str:
    """Return the real path, as far as it can be found out: a link such as /proc/1/cwd may not even be read."""
    try:
        return os.path.realpath(path)
    except OSError:
        return os.path.abspath(path)


def _is_possible_path(text: str) -> bool:
    try:
        return text.startswith("/") and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _find_repository(folder: str) -> str:
    at = folder.rstrip("/")
    while at and not os.path.lexists(at + "/.git"):
        at = at.rpartition("/")[0]
    return at


def points_into(path: str, tops: Iterable[str]) -> bool:
    """Whether a path is, or may be, in a project: a relative path depends on where a hook runs, /proc on who asks."""
    if not path.startswith("/"):
        return True
    starts = ("/proc/", "/dev/fd/", "/dev/std", *(top + "/" for top in tops))
    return any(f"{one}/".startswith(starts) for one in (os.path.normpath(path), resolve_links(path)))


def find_foreign_owner(path: str) -> str | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not hasattr(os, "getuid"):
        return None
    if status.st_uid not in (os.getuid(), 0):
        return f"belongs to another user (uid {status.st_uid})"
    if status.st_mode & stat.S_IWOTH:
        return "can be written by anybody (chmod o-w)"
    return None


def find_exposure(path: str) -> str | None:
    """Return why a file or folder of the user is not safe to run from: others can write to it, the user's own group excepted."""
    if reason := find_foreign_owner(path):
        return reason
    try:
        status = os.stat(path)
    except OSError:
        return None
    if status.st_mode & stat.S_IWGRP and status.st_gid != status.st_uid:
        return "can be written by its group (chmod g-w)"
    return None


def find_exposed_parent(path: str) -> str | None:
    """Return which folder above a path others can write to: they could replace what is below it."""
    at = os.path.dirname(os.path.realpath(path))
    while at != "/":
        reason = find_exposure(at)
        if reason and not _is_sticky(at):
            return f"is in {at}, which {reason}"
        at = os.path.dirname(at)
    return None


def _is_sticky(path: str) -> bool:
    """Whether only the owner of a file in a folder can move it, as in /tmp."""
    status = os.stat(path)
    return bool(status.st_mode & stat.S_ISVTX) and status.st_uid in (0, os.getuid())


def make_stamp(path: str) -> Stamp:
    """Return what changes when a file or folder changes; of a path with a slash at its end, when the folder's mode changes."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    if path.endswith("/"):
        return (status.st_mode, status.st_uid, status.st_ino)
    return (status.st_ctime_ns, status.st_size, status.st_ino)
