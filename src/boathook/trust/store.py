"""The trust store, in the user's state folder: a person's decisions about hooks of projects, and copies of what was reviewed."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from boathook.core.approval import DECISIONS, HIDE, TRUST, TrustPlace, TrustRecord, resolve_copy_path
from boathook.errors import TrustError
from boathook.system.files import FileError, read_regular, write_private
from boathook.trust.snapshot import Snapshot, has_copies, remove_snapshot, write_snapshot

_STORE_NAME, _LOCK_NAME, _COPIES_NAME = "trust.json", "trust.lock", "copies"
_STORE_FORMAT = 4
_MAX_STORE_BYTES = 16 << 20
# How many replaced reviews of one hook in one project are kept for other work trees.
_MAX_EARLIER_RECORDS = 8
_LOCK_SECONDS = 10.0
_DAY_SECONDS = 86_400.0
_RecordKey = tuple[str, str, str]
_FIELD_TYPES: dict[str, type | tuple[type, ...]] = {
    "project": str, "identity": str, "name": str, "decision": str, "digest": str, "roots": list, "files": list,
    "definition": str, "override": bool, "time": str, "repository": str, "folder": str, "anywhere": bool, "earlier": bool,
    "source": str, "event": str,
}  # fmt: skip


class TrustStore:
    """The records and copies in a state folder; `error` says why the records are ignored, if they are."""

    def __init__(self, state: str, *, is_folder_trusted: bool = True) -> None:
        self.state = state
        self.path = f"{state}/{_STORE_NAME}"
        self.error = ""
        self._records = self._read() if is_folder_trusted else {}
        if not is_folder_trusted:
            self.error = f"the trust store is ignored because the state folder {state} is inside the repository"
            self.error += ". Check HOME and XDG_STATE_HOME"

    @property
    def records(self) -> tuple[TrustRecord, ...]:
        return tuple(self._records.values())

    @property
    def has_repositories(self) -> bool:
        return any(record.repository for record in self._records.values())

    def find_records(self, place: TrustPlace, identity: str) -> tuple[TrustRecord, ...]:
        """Return the decisions that count for a hook in a project: the one of this work tree first, then the newest."""
        records = [record for record in self.find_place_records(place) if record.identity == identity]
        newest_first = sorted(records, key=lambda record: record.time, reverse=True)
        return tuple(sorted(newest_first, key=lambda record: record.project != place.project))

    def find_place_records(self, place: TrustPlace) -> tuple[TrustRecord, ...]:
        """Return the decisions that count for hooks of a project: to trust or to deny them."""
        return tuple(one for one in self._records.values() if one.decision != HIDE and one.counts_in(place))

    def find_hidden(self, place: TrustPlace) -> set[tuple[str, str]]:
        """Return the trusted hooks that a project may hide: the way to each from there, and its digest."""
        records = (one for one in self._records.values() if one.decision == HIDE and one.covers(place))
        return {(record.identity, record.digest) for record in records}

    def find_anywhere(self, folder_name: str, place: TrustPlace) -> dict[str, TrustRecord]:
        """Return the records that count in any folder, by their digests; only a hook folder of this name can have one."""
        # Where a later decision replaced one, it does not count again until that decision is withdrawn.
        decided = {record.identity for record in self._records.values() if not record.earlier and record.covers(place)}
        all_records = [record for record in self._records.values() if record.anywhere]
        records = [
            record
            for record in all_records
            if not (record.earlier and record.covers(place) and record.identity in decided)
        ]
        return {record.digest: record for record in records if os.path.basename(record.roots[0]) == folder_name}

    def find_copy(self, digest: str) -> str:
        path = self._get_copy_path(digest)
        return path if os.path.isdir(path) else ""

    def make_copy(self, digest: str, snapshots: dict[str, Snapshot]) -> str:
        path = self._get_copy_path(digest)
        if os.path.isdir(path):
            if has_copies(path, snapshots):
                return path
            # It was changed.
            remove_snapshot(path)
        os.makedirs(f"{self.state}/{_COPIES_NAME}", mode=0o700, exist_ok=True)
        new = f"{self.state}/{_COPIES_NAME}/.new-{os.getpid()}-{time.monotonic_ns()}"
        os.mkdir(new, 0o700)
        try:
            for index, (root, snapshot) in enumerate(snapshots.items()):
                os.mkdir(f"{new}/{index}", 0o700)
                write_snapshot(snapshot, resolve_copy_path(new, index, root))
            os.rename(new, path)
        except OSError:
            remove_snapshot(new)
            # Another process may have made it in the meantime.
            if not os.path.isdir(path):
                raise
        return path

    def _get_copy_path(self, digest: str) -> str:
        return f"{self.state}/{_COPIES_NAME}/{digest}"

    def save_records(self, *records: TrustRecord) -> None:
        self._change(lambda stored: _add_records(stored, records))

    def remove_records(self, *records: TrustRecord) -> None:
        removed = {record.key for record in records}
        self._change(lambda stored: {key: record for key, record in stored.items() if key not in removed})

    def _change(self, change: Callable[[dict[_RecordKey, TrustRecord]], dict[_RecordKey, TrustRecord]]) -> None:
        try:
            os.makedirs(self.state, mode=0o700, exist_ok=True)
            with self._lock():
                self._records = self._read()
                if self.error:
                    raise TrustError(self.error)
                self._records = change(self._records)
                rows = [record.to_dict() for record in self._records.values()]
                text = json.dumps({"format": _STORE_FORMAT, "records": rows}, indent=1, ensure_ascii=True)
                write_private(self.path, text.encode() + b"\n")
                self._remove_unused_copies()
        except OSError as error:
            fix = "Make its folder writable, or use --state"
            raise TrustError(f"cannot write the trust store {self.path}: {error.strerror}. {fix}") from None

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        import fcntl

        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        handle = os.open(f"{self.state}/{_LOCK_NAME}", flags, 0o600)
        try:
            until = time.monotonic() + _LOCK_SECONDS
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > until:
                        message = f"another boathook process has locked the trust store {self.path}. Try again"
                        raise TrustError(message) from None
                    time.sleep(0.02)
            yield
        finally:
            os.close(handle)

    def _remove_unused_copies(self) -> None:
        """Remove copies that no record names, unless a hook may still run from them."""
        used = {record.digest for record in self._records.values()}
        folder = f"{self.state}/{_COPIES_NAME}"
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                path = f"{folder}/{name}"
                if name not in used and os.lstat(path).st_mtime < time.time() - _DAY_SECONDS:
                    remove_snapshot(path)

    def _read(self) -> dict[_RecordKey, TrustRecord]:
        self.error = ""
        try:
            self._check_owner()
            data = json.loads(read_regular(self.path, _MAX_STORE_BYTES))
            is_store = isinstance(data, dict) and data.get("format") == _STORE_FORMAT
            if not is_store or not isinstance(data.get("records"), list):
                raise ValueError("it does not have the format of a trust store")
            return {record.key: record for record in map(_from_json, data["records"])}
        except FileNotFoundError:
            return {}
        except FileError as error:
            reason = str(error)
        except OSError as error:
            reason = f"cannot be read: {error.strerror}"
        except (ValueError, TypeError, RecursionError) as error:
            reason = f"is damaged: {error}"
        self.error = f"the trust store {self.path} {reason}. No hook of a project runs until you fix or remove it"
        return {}

    def _check_owner(self) -> None:
        for path in (self.state, self.path):
            status = os.lstat(path)
            if status.st_uid != os.getuid():
                raise FileError("belongs to another user")
            if status.st_mode & 0o022 and path == self.path:
                raise FileError("can be written by others")


def _add_records(
    stored: dict[_RecordKey, TrustRecord], records: Iterable[TrustRecord]
) -> dict[_RecordKey, TrustRecord]:
    """Return the records with some more. What one of them replaces stays for other folders, if it counts there."""
    stored = dict(stored)
    for record in records:
        replaced = stored.get(record.key)
        if replaced is not None and replaced.decision == TRUST and replaced.digest != record.digest:
            is_shared = replaced.anywhere or (bool(replaced.repository) and record.decision == TRUST)
            earlier = replaced.replace(earlier=True)
            stored |= {earlier.key: earlier} if is_shared else {}
        same = stored.get(record.replace(earlier=True).key)
        if same is not None and (record.anywhere or not same.anywhere):
            del stored[same.key]
        stored[record.key] = record
        kept = [each for each in stored.values() if each.earlier and each.key[:2] == record.key[:2]]
        for each in sorted(kept, key=lambda one: one.time)[:-_MAX_EARLIER_RECORDS]:
            del stored[each.key]
    return stored


def _from_json(row: Any) -> TrustRecord:
    if not isinstance(row, dict) or set(row) != set(_FIELD_TYPES):
        raise ValueError("a record does not have the right fields")
    for name, expected in _FIELD_TYPES.items():
        if not isinstance(row[name], expected):
            raise ValueError(f"'{name}' of a record has the wrong type")
    if row["decision"] not in DECISIONS:
        raise ValueError(f"a record has the decision {row['decision']!r}")
    digest = row["digest"]
    if row["decision"] in (TRUST, HIDE) and not (
        len(digest) == 64 and all(char in "0123456789abcdef" for char in digest)
    ):
        raise ValueError("a record has no digest")
    if row["anywhere"] and not row["roots"]:
        raise ValueError("a record for any folder has no roots")
    files = tuple((str(path), str(summary)) for path, summary in row["files"])
    return TrustRecord(**{**row, "roots": tuple(map(str, row["roots"])), "files": files})
