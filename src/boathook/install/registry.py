"""What is installed where: a small file beside the ledger, and a copy of every file as it was before."""

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
from boathook.system.files import FileError, may_exist, read_regular, write_private

MAX_HOST_FILE_BYTES = 16 << 20
_VERSION = 1


class InstalledFile(Value):
    """A file that was written: hashes of its bytes before (None: no file) and after; `values` are ours by their location alone."""

    path: str
    format: str
    before: str | None
    after: str
    values: tuple[tuple[tuple[str, ...], Any], ...] = ()


class Installation(Value):
    host: str
    scope: str
    project: str
    version: str
    time: str
    command: str
    files: tuple[InstalledFile, ...]
    folders: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.host, self.scope, self.project)

    def find_file(self, path: str) -> InstalledFile | None:
        return next((file for file in self.files if file.path == path), None)

    @classmethod
    def parse(cls, fields: dict[str, Any]) -> Installation:
        files = []
        for file in fields["files"]:
            values = tuple((tuple(location), value) for location, value in file["values"])
            files.append(InstalledFile(**{**file, "values": values}))
        return cls(**{**fields, "folders": tuple(fields["folders"]), "files": tuple(files)})

    def to_json(self) -> dict[str, Any]:
        return {**self.to_dict(), "files": [file.to_dict() for file in self.files]}


class InstallRegistry:
    def __init__(self, state: str) -> None:
        self.state = state
        self.path = f"{state}/installed.json"

    def read(self) -> list[Installation]:
        if not may_exist(self.path):
            return []
        try:
            content = json.loads(read_regular(self.path, MAX_HOST_FILE_BYTES))
            return [Installation.parse(fields) for fields in content["installations"]]
        except (FileError, ValueError, KeyError, TypeError) as error:
            fix = "move it away: what is installed stays"
            raise ConfigError(f"{self.path} cannot be read: {error}", fix) from None

    def find(self, host: str, scope: str, project: str) -> Installation | None:
        return next((installation for installation in self.read() if installation.key == (host, scope, project)), None)

    def write(self, key: tuple[str, str, str], new: Installation | None) -> None:
        installations = [installation for installation in self.read() if installation.key != key]
        if new is not None:
            installations.append(new)
        content = {"version": _VERSION, "installations": [installation.to_json() for installation in installations]}
        text = json.dumps(content, ensure_ascii=False, indent=2)
        write_private(self.path, f"{text}\n".encode())

    def store_copy(self, data: bytes) -> str:
        """Store a copy of a file; return its hash, by which `read_copy` finds it."""
        name = hash_bytes(data)
        if not may_exist(self._copy_path(name)):
            write_private(self._copy_path(name), data)
        return name

    def read_copy(self, name: str) -> bytes | None:
        try:
            data = read_regular(self._copy_path(name), MAX_HOST_FILE_BYTES)
        except FileError:
            return None
        return data if hash_bytes(data) == name else None

    def remove_copies(self, names: Sequence[str]) -> None:
        needed = {file.before for installation in self.read() for file in installation.files}
        for name in set(names) - needed:
            with contextlib.suppress(OSError):
                os.unlink(self._copy_path(name))
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(self._copy_path("")))

    def _copy_path(self, name: str) -> str:
        return f"{self.state}/backups/{name}"

    @contextlib.contextmanager
    def lock(self) -> Generator[None, None, None]:
        os.makedirs(self.state, mode=0o700, exist_ok=True)
        handle = os.open(f"{self.state}/installed.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
