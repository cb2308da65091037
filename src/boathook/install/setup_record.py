"""What `boathook setup` did, so that `setup --undo` takes back exactly that: a small file beside the ledger."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.install.registry import MAX_HOST_FILE_BYTES
from boathook.system.files import FileError, may_exist, read_regular, write_private

_VERSION = 1


class SourceChange(Value):
    """A hooks.toml that names more sources: its text before (None: no file) and after; `had_list`: it named some before."""

    path: str
    before: str | None
    after: str
    added: tuple[str, ...]
    had_list: bool


class WarmChange(Value):
    """A hooks.toml in which the warm engine was turned on: its text before (None: no file) and after."""

    path: str
    before: str | None
    after: str


class SetupRecord(Value):
    """What setup did: agents it installed, the pack it added ("" if none), the folders it made, and what it wrote in hooks.toml."""

    hosts: tuple[str, ...] = ()
    pack: str = ""
    # Whether there was no packs.lock before.
    made_lock: bool = False
    folders: tuple[str, ...] = ()
    sources: SourceChange | None = None
    warm: WarmChange | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.hosts or self.pack or self.sources or self.warm)

    def to_json(self) -> dict[str, Any]:
        sources = self.sources.to_dict() if self.sources else None
        warm = self.warm.to_dict() if self.warm else None
        return {"version": _VERSION, **self.to_dict(), "sources": sources, "warm": warm}


def _parse_sources(fields: dict[str, Any]) -> SourceChange:
    return SourceChange(**{**fields, "added": tuple(fields["added"])})


class SetupStore:
    def __init__(self, state: str) -> None:
        self.path = f"{state}/setup.json"

    def read(self) -> SetupRecord:
        if not may_exist(self.path):
            return SetupRecord()
        try:
            fields = json.loads(read_regular(self.path, MAX_HOST_FILE_BYTES))
            sources = _parse_sources(fields["sources"]) if fields["sources"] else None
            return SetupRecord(
                hosts=tuple(fields["hosts"]),
                pack=fields["pack"],
                made_lock=fields["made_lock"],
                folders=tuple(fields["folders"]),
                sources=sources,
                warm=WarmChange(**fields["warm"]) if fields["warm"] else None,
            )
        except (FileError, ValueError, KeyError, TypeError) as error:
            fix = "Move it away; then `boathook uninstall --all` and `boathook pack remove` take things back one by one"
            raise ConfigError(f"{self.path} cannot be read: {error}. {fix}") from None

    def write(self, record: SetupRecord) -> None:
        """Replace the record; an empty one is deleted."""
        if record.is_empty:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)
            return
        text = json.dumps(record.to_json(), ensure_ascii=False, indent=2)
        write_private(self.path, f"{text}\n".encode())
