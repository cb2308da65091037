"""The compiled catalogue: one private file per project that says which hooks there are, and how to notice that this changed.

Written by `sources.cache`, read by the door and by `run`. It is never trusted further than it can be checked: it carries a
checksum, the interpreter's version, and the state of every file and folder it was made from. A file that was changed less
than two seconds before it was read may be changed again without its time showing it, so such a catalogue is not kept.
"""

from __future__ import annotations

import marshal
import sys
from _imp import source_hash  # what .pyc files are checked with: fast, and built in

from boathook.system.locations import system
from boathook.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from boathook.system.stamps import Stamp

FORMAT = 5
MAGIC = b"boathook compiled catalogue\n"
VERSION = (FORMAT, __version__, sys.hexversion, sys.implementation.cache_tag)
NAME_LIMIT = 240
O_FLAGS = (
    system.O_RDONLY | system.O_CLOEXEC | system.O_NOFOLLOW | system.O_NONBLOCK if hasattr(system, "O_CLOEXEC") else 0
)


class Compiled:
    """A compiled catalogue that was found fresh; sections are read when asked for."""

    def __init__(self, head: dict[str, Any], body: memoryview) -> None:
        """Take the head and the sections behind it."""
        self.head = head
        self._body = body

    def section(self, name: str) -> Any:
        """Return one section: the rows or the hooks of a kind."""
        start, end = self.head["sections"][name]
        return marshal.loads(self._body[start:end])


def path_of(cache: str, project: str, claude: str = "", claude_project: str = "", trust: str = "") -> str | None:
    """Return the file that keeps the catalogue of a project; None if it must not or cannot be kept.

    `trust` is the folder of the book of trust, empty if every hook is trusted. A cache inside a project would be the
    project's word about itself, so it is not used.
    """
    name = (project or "/").replace("%", "%25").replace("/", "%2F")
    rest = f"{claude}\0{claude_project}\0{trust}".encode("utf-8", "surrogateescape")
    name += f"+{source_hash(FORMAT, rest).hex()}.catalogue"
    inside = any(
        (cache + "/").startswith(top.rstrip("/") + "/") for top in (project, claude_project) if top not in ("", "/")
    )
    if inside or len(name.encode("utf-8", "surrogateescape")) > NAME_LIMIT:
        return None
    return f"{cache}/{name}"


def pack(head: dict[str, Any], sections: dict[str, Any]) -> bytes:
    """Return the bytes of a compiled catalogue."""
    body, places = b"", {}
    for name, value in sections.items():
        data = marshal.dumps(value)
        places[name] = (len(body), len(body) + len(data))
        body += data
    top = marshal.dumps({**head, "version": VERSION, "sections": places})
    rest = len(top).to_bytes(4, "little") + top + body
    return MAGIC + source_hash(FORMAT, rest) + rest


def load(
    path: str, agents: str, project: str, claude: str = "", claude_project: str = "", trust: str = ""
) -> Compiled | None:
    """Read a compiled catalogue; None if it is missing, damaged, of another make, or stale."""
    data = _read(path)
    if data is None or not data.startswith(MAGIC):
        return None
    start = len(MAGIC) + 8
    view = memoryview(data)
    if source_hash(FORMAT, view[start:]) != data[start - 8 : start]:
        return None
    size = int.from_bytes(data[start : start + 4], "little")
    head = marshal.loads(view[start + 4 : start + 4 + size])
    if head["version"] != VERSION or head["where"] != (agents, project, claude, claude_project, trust):
        return None
    return Compiled(head, view[start + 4 + size :]) if _fresh(head["watch"]) else None


def _fresh(watch: Iterable[tuple[str, Stamp]]) -> bool:
    stat = system.stat
    for path, before in watch:
        try:
            now = stat(path)
        except (OSError, ValueError):
            if before is not None:
                return False
            continue
        if path[-1] == "/":
            if (now.st_mode, now.st_uid, now.st_ino) != before:
                return False
        elif before is None or (now.st_ctime_ns, now.st_size, now.st_ino) != before:
            return False
    return True


def _read(path: str) -> bytes | None:
    """Read a file of ours: regular, owned by us, writable by nobody else."""
    try:
        handle = system.open(path, O_FLAGS)
    except (OSError, ValueError):
        return None
    try:
        found = system.fstat(handle)
        if found.st_mode & 0o170000 != 0o100000 or found.st_mode & 0o022 or found.st_uid != system.getuid():
            return None
        return system.read(handle, found.st_size)
    except OSError:
        return None
    finally:
        system.close(handle)


def may_match(rows: Iterable[tuple[Any, Any]], tool: str, text: str, gram: int) -> bool:
    """Whether any hook can match: its tool words fit the tool's name and its pattern words stand in the text.

    No false "no": the words are what every match needs (see core.words).
    """
    grams: set[str] | None = None
    for (equal, inside), words in rows:
        if equal is not None and tool not in equal and not any(word in tool for word in inside):
            continue
        if words is None:
            return True
        index, short = words
        if grams is None:
            grams = {text[at : at + gram] for at in range(len(text) - gram + 1)}
        found = [word for key in grams & index.keys() for word in index[key]]
        if any(word in text for word in (*found, *short)):
            return True
    return False
