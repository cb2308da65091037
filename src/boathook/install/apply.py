"""Apply a plan, all of it or nothing, and record it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Generator

from boathook.errors import ConfigError
from boathook.install.command_line import make_command_line
from boathook.install.file_transaction import FileTransaction, find_missing_folders, find_mode, remove_empty_folder
from boathook.install.formats import LOCATED_FORMATS
from boathook.install.host_files import make_call_context
from boathook.install.plan import FileChange, InstallPlan, can_restore, read_host_file
from boathook.install.registry import Installation, InstalledFile, InstallRegistry, hash_bytes
from boathook.system.files import may_exist
from boathook.version import __version__
from boathook.warm.resident_control import stop_residents


def apply_plan(plan: InstallPlan, registry: InstallRegistry, *, is_install: bool) -> None:
    """Apply a plan, all of it or nothing, and record it; ConfigError if a file has changed since the plan was made."""
    changes = [change for change in plan.changes if change.has_effect]
    with registry.lock():
        old = registry.find(*plan.key)
        records = {change.path: old.find_file(change.path) if old else None for change in changes}
        restorable = [change for change in changes if can_restore(change.now, records[change.path], registry)]
        for change in changes:
            if read_host_file(change.path) != change.now:
                raise ConfigError(f"{change.path} was changed meanwhile. Nothing was written: try again")
            _check_writable(change.path)
        parents = [os.path.dirname(change.path) for change in changes if change.after is not None]
        missing = [folder for parent in parents for folder in find_missing_folders(parent)]
        folders = tuple(dict.fromkeys((*(old.folders if old else ()), *missing)))
        with _report_write_error(registry.path):
            for change in changes:
                if change.now is not None and change not in restorable:
                    registry.store_copy(change.now)
            new = _make_record(plan, registry, old, folders) if is_install else None
        _write_all(changes, registry.path, lambda: registry.write(plan.key, new) if new or old else None)
        if not is_install:
            for folder in reversed(folders):
                remove_empty_folder(folder)
            copies = [record.before for change in restorable if (record := records[change.path])]
            registry.remove_copies([name for name in copies if name])
    if not is_install and not registry.read():
        # No agent asks it any more.
        stop_residents(registry.state)


@contextlib.contextmanager
def _report_write_error(path: str) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}. Nothing was changed") from None


def adopt_installation(plan: InstallPlan, registry: InstallRegistry) -> None:
    with registry.lock():
        if registry.find(*plan.key) is None:
            registry.write(plan.key, _make_record(plan, registry, None, ()))


def forget_installation(plan: InstallPlan, registry: InstallRegistry) -> bool:
    is_recorded = registry.find(*plan.key) is not None
    if is_recorded:
        apply_plan(plan, registry, is_install=False)
    return is_recorded


def _make_record(
    plan: InstallPlan, registry: InstallRegistry, old: Installation | None, folders: tuple[str, ...]
) -> Installation:
    files = []
    for change in plan.changes:
        before = None if change.original is None else registry.store_copy(change.original)
        hash_after, values = hash_bytes(change.after or b""), _list_values(change, old)
        files.append(InstalledFile(change.path, change.file.format, before, hash_after, values))
    paths = {file.path for file in files}
    old_files = old.files if old else ()
    files += [file for file in old_files if file.format in LOCATED_FORMATS and file.path not in paths]
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    command = make_command_line(plan.setup, plan.setup.events[0], make_call_context(plan.setup, plan.target))
    return Installation(*plan.key, __version__, now, command, tuple(files), folders)


def _list_values(change: FileChange, old: Installation | None) -> tuple[tuple[tuple[str, ...], object], ...]:
    """Return what is ours because of its location, including what an earlier installation wrote."""
    file, record = change.file, old.find_file(change.path) if old else None
    if file.format not in LOCATED_FORMATS:
        return ()
    earlier = {name: value for name, value in record.values if name not in file.outdated} if record else {}
    return tuple({**earlier, **file.wanted}.items())


def _check_writable(path: str) -> None:
    parent = os.path.dirname(path)
    while not may_exist(parent):
        parent = os.path.dirname(parent)
    if not os.path.isdir(parent):
        raise ConfigError(f"{parent} is not a folder: {path} cannot be written. Nothing was written")
    blocked = path if os.path.exists(path) and not os.access(path, os.W_OK) else parent
    if not os.access(blocked, os.W_OK):
        raise ConfigError(f"{blocked} is read-only: {path} cannot be written. Nothing was written")


def _write_all(changes: list[FileChange], record_path: str, write_record: Callable[[], None]) -> None:
    transaction = FileTransaction()
    try:
        with transaction:
            for change in changes:
                transaction.write(change.path, change.after, find_mode(change.path, change.file.mode))
            transaction.path = record_path
            write_record()
    except OSError as error:
        unrestored = ", ".join(transaction.unrestored)
        state = f"; {unrestored} could not be restored" if unrestored else ". Nothing was changed"
        raise ConfigError(f"{transaction.path} cannot be written: {error.strerror}{state}") from None
