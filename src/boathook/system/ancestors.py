"""The processes above this one: which programs they run."""

from __future__ import annotations

import contextlib
import os
import subprocess

from boathook.core.interpreters import SHELLS, is_interpreter
from boathook.core.value import Value

# More than any person's terminal has.
MAX_ANCESTORS = 64
_MAX_COMMAND_BYTES = 1 << 14
_SCRIPT_ENDINGS = (".js", ".mjs", ".cjs", ".ts", ".py", ".sh", ".exe")
_MODULE_FLAG, _ISOLATED_FLAGS = "-m", ["-I", "-S"]
_PS = "/bin/ps"


class Ancestor(Value):
    """A process above this one: the names of its program, and the script that an interpreter runs, if it is one."""

    pid: int
    names: tuple[str, ...]
    script: str = ""


def list_ancestors(pid: int | None = None) -> tuple[Ancestor, ...]:
    """Return the processes above a process (default: this one), the nearest first."""
    at, ancestors, seen = os.getpid() if pid is None else pid, list[Ancestor](), set[int]()
    processes = None if os.path.exists("/proc/self/stat") else _list_by_ps()
    while len(ancestors) < MAX_ANCESTORS and at not in seen:
        seen.add(at)
        at = _find_parent(at) if processes is None else processes.get(at, (0, "", []))[0]
        if at <= 0:
            break
        if processes is None:
            ancestors.append(make_ancestor(at, _read_programs(at), _read_words(at)))
        else:
            _, program, words = processes.get(at, (0, "", []))
            ancestors.append(make_ancestor(at, [program], words))
    return tuple(ancestors)


def make_ancestor(pid: int, programs: list[str], words: list[str]) -> Ancestor:
    """Return a process by the paths or names of its program, and its command line."""
    script = _find_script(words)
    names = [_get_name(path) for path in (*programs, *words[:1], script) if path]
    return Ancestor(pid, tuple(dict.fromkeys(filter(None, names))), script)


def _get_name(path: str) -> str:
    # A login shell has a dash before its name.
    name = path.rpartition("/")[2].lstrip("-")
    return next((name.removesuffix(ending) for ending in _SCRIPT_ENDINGS if name.endswith(ending)), name)


def _find_script(words: list[str]) -> str:
    # The first argument of an interpreter that is not an option is the program that counts.
    name = _get_name(words[0]) if words else ""
    rest = words[1:]
    # Our own processes are started like this, by an interpreter that may have any name.
    if not is_interpreter(name) and name not in SHELLS and rest[:2] != _ISOLATED_FLAGS:
        return ""
    # python -m NAME
    if _MODULE_FLAG in rest and all(word.startswith("-") for word in rest[: rest.index(_MODULE_FLAG)]):
        return "".join(rest[rest.index(_MODULE_FLAG) + 1 :][:1]).partition(".")[0]
    return next((word for word in rest if word and not word.startswith("-")), "")


def _find_parent(pid: int) -> int:
    text = read_proc_file(pid, "stat").decode("utf-8", "replace")
    # The name of a program, in brackets, may itself have brackets and spaces.
    fields = text.rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 and fields[1].isdigit() else 0


def _read_programs(pid: int) -> list[str]:
    programs = [read_proc_file(pid, "comm").decode("utf-8", "replace").rstrip("\n")]
    with contextlib.suppress(OSError):
        programs.append(os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)"))
    return programs


def _read_words(pid: int) -> list[str]:
    data = read_proc_file(pid, "cmdline")
    return data.rstrip(b"\0").decode("utf-8", "replace").split("\0") if data else []


def read_proc_file(pid: int, name: str) -> bytes:
    try:
        handle = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(handle, _MAX_COMMAND_BYTES)
    except OSError:
        return b""
    finally:
        os.close(handle)


def _list_by_ps() -> dict[int, tuple[int, str, list[str]]]:
    """Return parent, program and words of every process, where there is no /proc."""
    columns = ([_PS, "-A", "-o", f"pid=,ppid=,{column}="] for column in ("comm", "command"))
    programs, commands = (_parse_ps(_run_ps(words)) for words in columns)
    return {pid: (parent, text, commands.get(pid, (0, ""))[1].split()) for pid, (parent, text) in programs.items()}


def _run_ps(words: list[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def _parse_ps(text: str) -> dict[int, tuple[int, str]]:
    rows = (line.split(None, 2) for line in text.splitlines())
    return {
        int(row[0]): (int(row[1]), row[2]) for row in rows if len(row) == 3 and row[0].isdigit() and row[1].isdigit()
    }
