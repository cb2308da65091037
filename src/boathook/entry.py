"""Which file of a hook folder is run, and by what."""

from __future__ import annotations

import os
import stat
import sys

from boathook.core.value import Value

CANDIDATES = ("run", "run.sh", "run.py")
BINARIES = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xfe\xed\xfa\xcf")


class Entry(Value):
    """An entry point: its path, the command that runs it, and what is odd about it."""

    path: str
    argv: tuple[str, ...]
    warning: str = ""


def find_entry(folder: str) -> str | None:
    """Give the first regular file among the entry points of a hook folder."""
    for name in CANDIDATES:
        path = f"{folder}/scripts/{name}"
        try:
            if stat.S_ISREG(os.stat(path).st_mode):
                return path
        except (OSError, ValueError):
            continue
    return None


def how_to_run(path: str) -> Entry:
    """Work out the command for an entry point: itself, or an interpreter by its name."""
    name = path.rpartition("/")[2]
    head = first_bytes(path)
    runnable = os.access(path, os.X_OK)
    if runnable and head.startswith((b"#!", *BINARIES)):
        return Entry(path, (path,))
    interpreter = sys.executable if name == "run.py" else (which("bash") if name == "run.sh" else None) or "/bin/sh"
    odd = "has no interpreter line (#!)" if runnable else "is not executable (chmod +x)"
    by = interpreter.rpartition("/")[2]
    return Entry(path, (interpreter, path), f"scripts/{name} {odd}; it was run by {by}")


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


def interpreter_fault(head: bytes) -> str | None:
    """Say what is wrong with the interpreter line at the start of a script, if anything."""
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


def which(name: str, path: str | None = None) -> str | None:
    """Find a program on the PATH."""
    if "\0" in name:
        return None
    if "/" in name:
        return name if os.access(name, os.X_OK) else None
    for folder in (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep):
        found = f"{folder or '.'}/{name}"
        if os.access(found, os.X_OK) and not os.path.isdir(found):
            return found
    return None
