"""The book of trust: what a person said about the hooks of projects, and private copies of what they saw.

Both lie in the user's state folder. A book that somebody else could have written, or that lies within a project, is not believed.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from typing import Any

from boathook.core.approval import DENY, TRUST, TrustRecord, resolve_copy_path
from boathook.errors import TrustError
from boathook.system.files import FileError, read_regular, write_private
from boathook.trust.snapshot import Snapshot, is_copy_of, remove_snapshot, write_snapshot

BOOK, LOCK, COPIES = "trust.json", "trust.lock", "copies"
FORMAT = 1
LIMIT = 16 << 20
LOCK_SECONDS = 10.0
DAY = 86_400.0
FIELDS: dict[str, type | tuple[type, ...]] = {
    "project": str, "identity": str, "name": str, "word": str, "digest": str, "roots": list, "files": list,
    "definition": str, "override": bool, "when": str,
}  # fmt: skip


class Trust:
    """The book and the copies below a state folder; `problem` says why the book is not believed, if so."""

    def __init__(self, state: str, *, believed: bool = True) -> None:
        """Take the state folder and read the book, if there is one and it is to be believed."""
        self.state = state
        self.path = f"{state}/{BOOK}"
        self.problem = ""
        self._records = self._read() if believed else {}
        if not believed:
            self.problem = f"the state folder {state} lies within the repository, so nothing there is believed"

    def find(self, project: str, identity: str) -> TrustRecord | None:
        """Return the record of one hook."""
        return self._records.get((project, identity))

    def of_project(self, project: str) -> tuple[TrustRecord, ...]:
        """Return all records of a project."""
        return tuple(record for record in self._records.values() if record.project == project)

    @property
    def records(self) -> tuple[TrustRecord, ...]:
        """Return all records."""
        return tuple(self._records.values())

    def copy(self, digest: str) -> str:
        """Return the folder of a private copy; nothing if it is not there."""
        path = self._copy_path(digest)
        return path if os.path.isdir(path) else ""

    def keep(self, digest: str, trees: dict[str, Snapshot]) -> str:
        """Make a private copy of trees, by their roots, unless it is there; return its folder."""
        path = self._copy_path(digest)
        if os.path.isdir(path):
            if all(
                is_copy_of(tree, resolve_copy_path(path, at, root)) for at, (root, tree) in enumerate(trees.items())
            ):
                return path
            remove_snapshot(path)  # somebody has been at it
        os.makedirs(f"{self.state}/{COPIES}", mode=0o700, exist_ok=True)
        new = f"{self.state}/{COPIES}/.new-{os.getpid()}-{time.monotonic_ns()}"
        os.mkdir(new, 0o700)
        try:
            for at, (root, tree) in enumerate(trees.items()):
                os.mkdir(f"{new}/{at}", 0o700)
                write_snapshot(tree, resolve_copy_path(new, at, root))
            os.rename(new, path)
        except OSError:
            remove_snapshot(new)
            if not os.path.isdir(path):  # else somebody else was quicker
                raise
        return path

    def _copy_path(self, digest: str) -> str:
        return f"{self.state}/{COPIES}/{digest}"

    def put(self, *records: TrustRecord) -> None:
        """Write records into the book, each in the place of what was said before."""
        self._change({(record.project, record.identity): record for record in records})

    def drop(self, *records: TrustRecord) -> None:
        """Take records out of the book."""
        self._change({(record.project, record.identity): None for record in records})

    def _change(self, changes: dict[tuple[str, str], TrustRecord | None]) -> None:
        """Change the records, alone, and write the book; copies that no record names go."""
        try:
            os.makedirs(self.state, mode=0o700, exist_ok=True)
            with self._alone():
                self._records = self._read()
                if self.problem:
                    raise TrustError(self.problem)
                found = {**self._records, **changes}
                self._records = {key: record for key, record in found.items() if record is not None}
                rows = [_to_json(record) for record in self._records.values()]
                text = json.dumps({"format": FORMAT, "records": rows}, indent=1, ensure_ascii=True)
                write_private(self.path, text.encode() + b"\n")
                self._prune()
        except OSError as error:
            raise TrustError(f"the book of trust {self.path} cannot be written: {error.strerror}") from None

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        import fcntl

        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        handle = os.open(f"{self.state}/{LOCK}", flags, 0o600)
        try:
            until = time.monotonic() + LOCK_SECONDS
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        raise TrustError("another boathook holds the book of trust; try again") from None
                    time.sleep(0.02)
            yield
        finally:
            os.close(handle)

    def _prune(self) -> None:
        """Remove copies that no record names, unless a hook may still run from them."""
        named = {record.digest for record in self._records.values()}
        folder = f"{self.state}/{COPIES}"
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                path = f"{folder}/{name}"
                if name not in named and os.lstat(path).st_mtime < time.time() - DAY:
                    remove_snapshot(path)

    def _read(self) -> dict[tuple[str, str], TrustRecord]:
        self.problem = ""
        try:
            self._check_owner()
            data = json.loads(read_regular(self.path, LIMIT))
            return {(r.project, r.identity): r for r in map(_from_json, _rows(data))}
        except FileNotFoundError:
            return {}
        except FileError as error:
            why = str(error)
        except OSError as error:
            why = f"cannot be read: {error.strerror}"
        except (ValueError, TypeError, RecursionError) as error:
            why = f"is damaged: {error}"
        self.problem = f"the book of trust {self.path} {why}; no hook of a project runs until it is mended or removed"
        return {}

    def _check_owner(self) -> None:
        for path in (self.state, self.path):
            found = os.lstat(path)
            if found.st_uid != os.getuid():
                raise FileError("belongs to another user")
            if found.st_mode & 0o022 and path == self.path:
                raise FileError("can be written by others")


def _rows(data: Any) -> list[Any]:
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("records"), list):
        raise ValueError("it is not a book of this format")
    rows: list[Any] = data["records"]
    return rows


def _to_json(record: TrustRecord) -> dict[str, Any]:
    return {name: record.__dict__[name] for name in TrustRecord.FIELDS}


def _from_json(row: Any) -> TrustRecord:
    if not isinstance(row, dict) or set(row) != set(FIELDS):
        raise ValueError("a record has other fields than it should")
    for name, kind in FIELDS.items():
        if not isinstance(row[name], kind):
            raise ValueError(f"'{name}' of a record is no {kind}")
    if row["word"] not in (TRUST, DENY):
        raise ValueError(f"a record says {row['word']!r}")
    if row["word"] == TRUST and not (len(row["digest"]) == 64 and all(c in "0123456789abcdef" for c in row["digest"])):
        raise ValueError("a record has no digest")
    files = tuple((str(path), str(word)) for path, word in row["files"])
    return TrustRecord(**{**row, "roots": tuple(map(str, row["roots"])), "files": files})
