"""What was installed where: a small file beside the ledger, and a copy of every file as it was before."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Generator, Sequence
from typing import Any

from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.system.files import FileError, may_be_there, read_regular, write_private

VERSION = 1
LIMIT = 16 << 20


class Written(Value):
    """One file that was written: as it was before (nothing: it was not there) and as it was left, by their hashes.

    `values` are those that are ours by their place alone, with their places.
    """

    path: str
    shape: str
    before: str | None
    after: str
    values: tuple[tuple[tuple[str, ...], Any], ...] = ()


class Installation(Value):
    """One host that calls us, everywhere or in one project."""

    host: str
    scope: str
    project: str
    version: str
    time: str
    command: str
    files: tuple[Written, ...]
    folders: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """Return what there is only one of."""
        return (self.host, self.scope, self.project)

    def to_json(self) -> dict[str, Any]:
        """Return it as it is kept."""
        fields = {name: self.__dict__[name] for name in self.FIELDS}
        return {**fields, "files": [{name: one.__dict__[name] for name in one.FIELDS} for one in self.files]}


class Book:
    """The record of installations in a state folder."""

    def __init__(self, state: str) -> None:
        """Look there."""
        self.state = state
        self.path = f"{state}/installed.json"

    def read(self) -> list[Installation]:
        """Return all installations; ConfigError if they cannot be read."""
        if not may_be_there(self.path):
            return []
        try:
            found = json.loads(read_regular(self.path, LIMIT))
            return [_installation(one) for one in found["installations"]]
        except (FileError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{self.path} cannot be read: {error}", "move it away: what is installed stays") from None

    def find(self, host: str, scope: str, project: str) -> Installation | None:
        """Return one installation."""
        return next((one for one in self.read() if one.key == (host, scope, project)), None)

    def write(self, key: tuple[str, str, str], made: Installation | None) -> None:
        """Remember an installation in place of the one of the same key; None forgets it."""
        rest = [one for one in self.read() if one.key != key]
        all_of_them = [one.to_json() for one in (*rest, *((made,) if made else ()))]
        text = json.dumps({"version": VERSION, "installations": all_of_them}, ensure_ascii=False, indent=2)
        write_private(self.path, f"{text}\n".encode())

    def keep(self, data: bytes) -> str:
        """Keep a copy; return its hash, by which `copy` finds it."""
        name = digest(data)
        if not may_be_there(self.place_of(name)):
            write_private(self.place_of(name), data)
        return name

    def copy(self, name: str) -> bytes | None:
        """Return what was kept, None if it is not there or not as it was."""
        try:
            data = read_regular(self.place_of(name), LIMIT)
        except FileError:
            return None
        return data if digest(data) == name else None

    def drop(self, names: Sequence[str]) -> None:
        """Remove copies that no installation needs any more."""
        needed = {file.before for one in self.read() for file in one.files}
        for name in set(names) - needed:
            with contextlib.suppress(OSError):
                os.unlink(self.place_of(name))
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(self.place_of("")))

    def place_of(self, name: str) -> str:
        """Return where a copy is kept."""
        return f"{self.state}/backups/{name}"

    @contextlib.contextmanager
    def alone(self) -> Generator[None, None, None]:
        """Let only one process change things at a time."""
        os.makedirs(self.state, mode=0o700, exist_ok=True)
        handle = os.open(f"{self.state}/installed.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def digest(data: bytes) -> str:
    """Return the hash of some bytes."""
    return hashlib.sha256(data).hexdigest()


def _installation(fields: dict[str, Any]) -> Installation:
    made: dict[str, Any] = {**fields, "folders": tuple(fields["folders"])}
    made["files"] = tuple(_written(one) for one in fields["files"])
    return Installation(**made)


def _written(fields: dict[str, Any]) -> Written:
    values: list[tuple[list[str], Any]] = fields["values"]
    made: dict[str, Any] = {**fields, "values": tuple((tuple(place), value) for place, value in values)}
    return Written(**made)
