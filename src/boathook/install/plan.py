"""Plan an installation or its removal: what changes in which file. A plan can be shown before it is applied."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from boathook.core.hook import PROJECT
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.hosts.setup import Setup
from boathook.install.codex import ENTRY_TRUST_TABLE
from boathook.install.formats import FORMATS, LOCATED_FORMATS, TRUST_TABLES, HostFile, OccupiedError
from boathook.install.host_files import InstallTarget, list_dependent_files, list_host_files
from boathook.install.json_edit import EditError
from boathook.install.registry import MAX_HOST_FILE_BYTES, Installation, InstalledFile, InstallRegistry, hash_bytes
from boathook.system.files import FileError, may_exist, read_regular

T = TypeVar("T")


class FileChange(Value):
    """One file: its bytes now, after the change, and without boathook. None means that there is no file."""

    file: HostFile
    path: str
    now: bytes | None
    after: bytes | None
    original: bytes | None

    @property
    def has_effect(self) -> bool:
        return self.now != self.after


class InstallPlan(Value):
    setup: Setup
    target: InstallTarget
    changes: tuple[FileChange, ...]

    @property
    def is_empty(self) -> bool:
        return not any(change.has_effect for change in self.changes)

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.setup.name, self.target.scope, self.target.project if self.target.scope == PROJECT else "")


def plan_install(setup: Setup, target: InstallTarget, registry: InstallRegistry) -> InstallPlan:
    """Return what has to change so that an agent calls us; ConfigError if that is impossible."""
    plan = InstallPlan(setup, target, ())
    old = registry.find(*plan.key)
    files = list_host_files(setup, target)
    _refuse_links_out(files, target)
    changes = [_plan_insertion(file, old, registry) for file in files]
    texts = {change.file.path: decode_text(change.after or b"", change.file.path) for change in changes}
    dependent = _call_editor(files[0], lambda: list_dependent_files(setup, target, texts.__getitem__))
    changes += [_plan_insertion(file, old, registry) for file in dependent]
    return plan.replace(changes=tuple(changes))


def _refuse_links_out(files: list[HostFile], target: InstallTarget) -> None:
    top = os.path.realpath(target.project)
    for file in files:
        real = os.path.realpath(file.path)
        is_inside = target.scope == PROJECT and file.path.startswith(f"{target.project}/")
        if is_inside and not real.startswith(f"{top}/"):
            raise ConfigError(f"{file.path} leads out of the project, to {real}. Nothing was written: remove the link")


def plan_removal(setup: Setup, target: InstallTarget, registry: InstallRegistry) -> InstallPlan:
    plan = InstallPlan(setup, target, ())
    old = registry.find(*plan.key)
    files = list_host_files(setup, target)
    _refuse_links_out(files, target)
    if old is None:
        files += _call_editor(files[0], lambda: list_dependent_files(setup, target, _read_current))
    else:
        known = {os.path.realpath(file.path) for file in files}
        others = [record for record in old.files if record.path not in known]
        files += [HostFile(one.path, one.format, setup, dict(one.values) or {"": ""}) for one in others]
        _refuse_links_out(files, target)
    return plan.replace(changes=tuple(_plan_restoration(file, old, registry) for file in files))


def _read_current(path: str) -> str:
    return decode_text(read_host_file(os.path.realpath(path)) or b"", path)


def _plan_insertion(file: HostFile, old: Installation | None, registry: InstallRegistry) -> FileChange:
    real = os.path.realpath(file.path)
    now, record = read_host_file(real), old.find_file(real) if old else None
    if file.format == TRUST_TABLES and record:
        # The trust of a folder is only removed with everything else.
        of_entries = [(name, value) for name, value in record.values if name[:2] == ENTRY_TRUST_TABLE]
        file = file.replace(outdated={name: value for name, value in of_entries if name not in file.wanted})
    text = decode_text(now or b"", real)
    after = _call_editor(file, lambda: FORMATS[file.format].insert_entries(text, file))
    return FileChange(file, real, now, after.encode(), _find_original(file, real, now, record, registry))


def _find_original(
    file: HostFile, real: str, now: bytes | None, record: InstalledFile | None, registry: InstallRegistry
) -> bytes | None:
    if now is None:
        return None
    before = registry.read_copy(record.before) if record and record.before else None
    if can_restore(now, record, registry):
        return before
    text = decode_text(now, real)
    has_entries = _call_editor(file, lambda: FORMATS[file.format].find_entries(text, file))
    if not has_entries or (file.format in LOCATED_FORMATS and not record):
        return now
    return _remove_entries(file, now, before, record)


def _plan_restoration(file: HostFile, old: Installation | None, registry: InstallRegistry) -> FileChange:
    """Return the change back: byte for byte if the file is unchanged since, else only our entries go."""
    real = os.path.realpath(file.path)
    now, record = read_host_file(real), old.find_file(real) if old else None
    if now is None:
        return FileChange(file, real, None, None, None)
    before = registry.read_copy(record.before) if record and record.before else None
    after = before if can_restore(now, record, registry) else _remove_entries(file, now, before, record)
    return FileChange(file, real, now, after, after)


def can_restore(now: bytes | None, record: InstalledFile | None, registry: InstallRegistry) -> bool:
    """Whether a file is as an installation left it, and its bytes from before are known."""
    if record is None or now is None or hash_bytes(now) != record.after:
        return False
    return record.before is None or registry.read_copy(record.before) is not None


def _remove_entries(file: HostFile, now: bytes, before: bytes | None, record: InstalledFile | None) -> bytes | None:
    text = decode_text(now, file.path)
    old_text = None if record and record.before is None else decode_text(before or b"", file.path)
    after = _call_editor(file, lambda: FORMATS[file.format].remove_entries(text, file, old_text))
    return None if after is None else after.encode()


def _call_editor(file: HostFile, edit: Callable[[], T]) -> T:
    """Edit the text of a file; ConfigError names file, line, and what to do."""
    try:
        return edit()
    except EditError as error:
        fix = "Nothing was written: fix the file, then try again"
        raise ConfigError(f"{file.path}, line {error.line}: {error.message}. {fix}") from None
    except OccupiedError as error:
        raise ConfigError(f"{file.path}: {error}. Nothing was written: move it away, then try again") from None


def read_host_file(path: str) -> bytes | None:
    if not may_exist(path):
        return None
    try:
        return read_regular(path, MAX_HOST_FILE_BYTES)
    except FileError as error:
        raise ConfigError(f"{path} {error}. Nothing was written") from None


def decode_text(data: bytes, path: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}, line {line}: it is not UTF-8. Nothing was written") from None
