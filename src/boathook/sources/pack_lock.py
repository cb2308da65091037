"""packs.lock: where each pack was copied from, and the hashes of its files, so that an edit differs from an update."""

from __future__ import annotations

import os
import tomllib
from typing import Any

from boathook.core.json_text import dumps
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.system.files import FileError, read_text

LOCK_NAME = "packs.lock"
_LOCK_VERSION = 1
_MAX_LOCK_BYTES = 1 << 20
_HEAD = "# Written by boathook: where the packs are from, and what their files were. Do not edit it.\n"


class LockedPack(Value):
    """What is known of a pack that was added: its origin, its version, and the hash of each of its files."""

    origin: str
    version: str
    files: tuple[tuple[str, str], ...]


def read_lock(path: str) -> dict[str, LockedPack]:
    """Return the packs of a packs.lock by their names; none if there is no such file."""
    if not os.path.lexists(path):
        return {}
    try:
        data = tomllib.loads(read_text(path, _MAX_LOCK_BYTES))
        if data.get("version") != _LOCK_VERSION:
            raise ValueError(f"its version is {data.get('version')!r}, and this boathook knows {_LOCK_VERSION}")
        return {name: _read_pack(table) for name, table in data.get("packs", {}).items()}
    except FileError as error:
        raise ConfigError(f"{path} {error}. {_describe_fix(path)}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read: {error}. {_describe_fix(path)}") from None


def _describe_fix(path: str) -> str:
    return f"Hooks still run; to use `boathook pack` again, restore the file, or move it away: mv {path} {path}.old"


def _read_pack(table: dict[str, Any]) -> LockedPack:
    files = tuple((str(name), str(value)) for name, value in table["files"].items())
    return LockedPack(str(table["origin"]), str(table["version"]), files)


def write_lock(path: str, packs: dict[str, LockedPack]) -> None:
    """Write a packs.lock, sorted, so that a change of it can be read."""
    lines = [_HEAD, f"version = {_LOCK_VERSION}\n"]
    for name, pack in sorted(packs.items()):
        lines += [
            f"\n[packs.{dumps(name)}]\n",
            f"origin = {dumps(pack.origin)}\n",
            f"version = {dumps(pack.version)}\n",
        ]
        lines.append(f"\n[packs.{dumps(name)}.files]\n")
        lines += [f"{dumps(file)} = {dumps(value)}\n" for file, value in sorted(pack.files)]
    temporary = f"{path}.{os.getpid()}.new"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write("".join(lines))
    os.replace(temporary, path)
