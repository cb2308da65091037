"""Which file of a hook folder is run, and by what."""

from __future__ import annotations

import os
import stat
import sys

from boathook.core.value import Value
from boathook.system.locations import account_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

CANDIDATES = ("run", "run.sh", "run.py")
SYSTEM_BINS = ("/bin", "/usr/bin", "/usr/local/bin")
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
    """An entry point: its path, the command that runs it, and what is odd about it."""

    path: str
    argv: tuple[str, ...]
    warning: str = ""


def find_entry(folder: str) -> str | None:
    """Return the first regular file among the entry points of a hook folder."""
    for name in CANDIDATES:
        path = f"{folder}/scripts/{name}"
        try:
            if stat.S_ISREG(os.stat(path).st_mode):
                return path
        except (OSError, ValueError):
            continue
    return None


def choose_command(path: str, avoid: Iterable[str] = ()) -> EntryPoint:
    """Work out the command for an entry point: itself, or an interpreter by its name, none from the projects to avoid."""
    name = path.rpartition("/")[2]
    head = first_bytes(path)
    runnable = os.access(path, os.X_OK)
    if runnable and head.startswith((b"#!", *BINARIES)):
        return EntryPoint(path, (path,))
    shell = which("bash", avoid=avoid) if name == "run.sh" else None
    interpreter = sys.executable if name == "run.py" else shell or "/bin/sh"
    odd = "has no interpreter line (#!)" if runnable else "is not executable (chmod +x)"
    by = interpreter.rpartition("/")[2]
    return EntryPoint(path, (interpreter, path), f"scripts/{name} {odd}; it was run by {by}")


def first_bytes(path: str, count: int = 256) -> bytes:
    """Read the start of a file; nothing if it cannot be read."""
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


def find_interpreter_error(head: bytes) -> str | None:
    """Return what is wrong with the interpreter line at the start of a script, if anything."""
    if not head.startswith(b"#!"):
        return None
    line = head[2:].partition(b"\n")[0]
    words = line.split()
    if not words:
        return "its interpreter line is empty"
    name = words[0].decode("utf-8", "replace")
    if line.endswith(b"\r"):
        return f"it has Windows line ends, so its interpreter reads as {name + chr(92)}r (convert it to LF)"
    if not os.path.exists(name):
        return f"its interpreter {name} does not exist here"
    if name.endswith("/env") and len(words) > 1:
        wanted = next((w.decode("utf-8", "replace") for w in words[1:] if not w.startswith(b"-") and b"=" not in w), "")
        if wanted and which(wanted) is None:
            return f"its interpreter {wanted} is not on the PATH"
    return None


def which(name: str, path: str | None = None, avoid: Iterable[str] | None = None) -> str | None:
    """Find a program on the PATH; if there are projects to avoid, in none of their folders and in no relative one."""
    if "\0" in name:
        return None
    if "/" in name:
        return name if os.access(name, os.X_OK) else None
    for folder in (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep):
        found = f"{folder or '.'}/{name}"
        if not os.access(found, os.X_OK) or os.path.isdir(found):
            continue
        if avoid is None or folder in SYSTEM_BINS or not points_into(found, find_project_tops(avoid)):
            return found
    return None


def find_project_tops(places: Iterable[str]) -> tuple[str, ...]:
    """Return the projects that some folders are or lie in, as given and as they really are.

    One that holds the home folder of the account is the user's own, and leads nowhere.
    """
    tops = {top for place in places if _can_be(place) for top in (place.rstrip("/"), _repository(place))}
    found = sorted({way for top in tops - {""} for way in (top, os.path.realpath(top))} - {"/"})
    home = os.path.realpath(account_home()) + "/" if found else ""
    return tuple(top for top in found if not home.startswith(top + "/"))


def _can_be(place: str) -> bool:
    """Whether a text can be the path of a folder: an event may hold anything."""
    try:
        return place.startswith("/") and b"\0" not in os.fsencode(place)
    except UnicodeEncodeError:
        return False


def _repository(place: str) -> str:
    """Return the folder from a place upwards that is a repository; nothing if there is none."""
    at = place.rstrip("/")
    while at and not os.path.lexists(at + "/.git"):
        at = at.rpartition("/")[0]
    return at


def points_into(path: str, tops: Iterable[str]) -> bool:
    """Whether a path leads into a project, or may do so: relative ones depend on where a hook runs, some on who asks."""
    if not path.startswith("/"):
        return True
    ways = (os.path.normpath(path), os.path.realpath(path))
    starts = ("/proc/", "/dev/fd/", "/dev/std", *(top + "/" for top in tops))
    return any(f"{way}/".startswith(starts) for way in ways)
