"""Find trusted hooks that are not there: gone from their project, or in one that a nearer project hides."""

# The records of every folder that the start is in are looked at, and not only those of the project that was found: if somebody
# removes `.agents`, no project is found. See docs/adr/0017-trust.md.

from __future__ import annotations

import json
import os
from typing import Any

from boathook.core.approval import DENY, TrustPlace, TrustRecord
from boathook.core.catalog import KEY_DIGITS, Settings, mark_untrusted
from boathook.core.hashing import hexdigest
from boathook.core.hook import ARMED, GONE, HANDLERS, HIDDEN, USER, Hook, HookHandler
from boathook.core.notices import describe_absence
from boathook.core.value import Value
from boathook.sources.hook_md.folder import MANIFEST_NAMES
from boathook.sources.source import find_source
from boathook.sources.source_hooks import ReadHook, SourceHooks
from boathook.system.locations import Locations, SourceFolders
from boathook.trust.judge import TrustJudge, get_identity, get_trusted_matcher
from boathook.trust.store import TrustStore
from boathook.trust.trusted_form import build_trusted_hook, restore_folder_hook
from boathook.trust.work_trees import list_work_trees


class AbsentHook(Value):
    """A trusted hook that is not there, as it was trusted, with its state: `record` is the decision about it in `folder`."""

    # `nearer` is the project that hides it, if one does, and `is_accepted` is whether a person has agreed to that.
    hook: Hook
    folder: str
    record: TrustRecord
    nearer: str = ""
    is_accepted: bool = False

    @property
    def way(self) -> str:
        """How a decision of the nearer project names it, in every work tree alike."""
        return make_way(os.path.realpath(self.nearer), self.folder, self.record.identity)


def make_way(project: str, folder: str, identity: str) -> str:
    return f"{os.path.relpath(folder, project)}/{identity}"


def make_trust_key(folder: str, identity: str) -> str:
    return hexdigest(f"{folder}\n{identity}".encode("utf-8", "backslashreplace"))[:KEY_DIGITS]


class AbsentHooks:
    """Collects the absent hooks of all sources. `trusted_keys` identify those that are there, `watch` is what this depends on."""

    def __init__(self, store: TrustStore, judge: TrustJudge, settings: Settings, locations: Locations) -> None:
        self._store, self._judge, self._settings, self._locations = store, judge, settings, locations
        self.watch: list[str] = []
        self.trusted_keys: set[str] = set()
        self.hooks: list[AbsentHook] = []
        self.folders = self._list_folders()
        self._around = locations.list_around(self.folders)

    def _list_folders(self) -> tuple[str, ...]:
        """Return all folders in which a decision counts, in this work tree also those of others of its repository."""
        records = self._store.records
        folders = {record.project for record in records}
        if self._store.has_repositories:
            start = os.path.realpath(self._locations.start) if self._locations.start else "/"
            work_trees, watch = list_work_trees(start)
            self.watch += watch
            folders |= {
                os.path.normpath(os.path.join(top, record.folder))
                for top, repository in work_trees
                for record in records
                if record.repository == repository
            }
        return tuple(sorted(folders))

    def find_hooks(
        self, read: SourceHooks, folders: SourceFolders, judged: tuple[ReadHook, ...]
    ) -> tuple[ReadHook, ...]:
        """Return the trusted hooks of a source that are not there, as they were trusted; `judged` are those that are."""
        if not folders.has_projects:
            return ()
        project = os.path.realpath(read.project) if read.project else ""
        found: list[ReadHook] = []
        running = {hook.approval.digest for hook, _ in judged if hook.approval is not None and hook.state == ARMED}
        # A project that is found is around the start, unless the search began elsewhere.
        for folder in dict.fromkeys((*self._around, *filter(None, (project,)))):
            records = self._find_trusted_records(folder, folders.name)
            if not records:
                continue
            nearer = read.project if _is_inside(project, folder) else ""
            real = os.path.realpath(folder)
            is_above = _is_inside(project, real)
            present = self._list_present(read if real == project else None, real, folders, is_above=is_above)
            for identity, record in records.items():
                is_there = identity in present or record.key in self._judge.replaced_keys
                is_copied = bool(nearer) and record.digest in running
                # What counts in every folder belongs to none.
                if not is_copied and (nearer if is_there else not record.anywhere):
                    found += self._make_absent(record, folder, nearer, is_there=is_there)
                if is_there:
                    self.trusted_keys.add(make_trust_key(folder, identity))
        return tuple(found)

    def _find_trusted_records(self, folder: str, source: str) -> dict[str, TrustRecord]:
        """Return what is trusted in a folder, by identity: the decision of this work tree, else the newest one."""
        place = self._judge.find_place(folder)
        if place.project != folder:
            # The project was moved, and a link is where it was: decisions are on record for the old path.
            self.watch.append(folder)
            place = TrustPlace(folder)
        identities = dict.fromkeys(
            one.identity for one in self._store.find_place_records(place) if one.source == source
        )
        trusted: dict[str, TrustRecord] = {}
        for identity in identities:
            records = self._store.find_records(place, identity)
            # An earlier review is one of other work trees.
            current = [record for record in records if not record.earlier]
            if (
                current
                and not any(record.decision == DENY for record in records)
                and not _is_of_disabled_hook(current[0])
            ):
                trusted[identity] = current[0]
        return trusted

    def _list_present(
        self, read: SourceHooks | None, folder: str, folders: SourceFolders, *, is_above: bool
    ) -> set[str]:
        """Return the identities of the hooks that are in a folder; one below the project that was found has none."""
        if read is None and is_above:
            above = SourceFolders(folders.name, folders.user, folder, folders.markers, folders.own_folders)
            read = find_source(folders.name).read_hooks(above)
            self.watch += read.watch
        if read is None or not read.project or os.path.realpath(read.project) != folder:
            return set()
        return {get_identity(hook, read.project) for hook, _ in read.hooks if hook.scope != USER}

    def _make_absent(self, record: TrustRecord, folder: str, nearer: str, *, is_there: bool) -> list[ReadHook]:
        hook, written = self._restore_hook(record, folder)
        state, why = HIDDEN, f"you trusted it in {folder}, and {nearer} has hooks of its own, which count here instead"
        why += f". Accept that with: boathook trust --project {nearer}"
        if not is_there:
            state = GONE
            why = describe_absence(GONE, hook.name, "" if record.project == folder else record.project)
        hook = mark_untrusted(hook, state, why, self._settings.untrusted)
        hook = hook.replace(trust_key=make_trust_key(folder, record.identity))
        is_accepted = bool(nearer) and self._is_accepted(nearer, folder, record)
        self.hooks.append(AbsentHook(hook, folder, record, nearer, is_accepted))
        return [] if is_accepted else [(hook, written)]

    def _is_accepted(self, nearer: str, folder: str, record: TrustRecord) -> bool:
        """Whether a person has accepted that a hook is hidden, by the nearer project or by one between them."""
        for project in dict.fromkeys((os.path.realpath(nearer), *self._around)):
            if _is_inside(project, folder):
                place = self._judge.find_place(project)
                if (make_way(project, folder, record.identity), record.digest) in self._store.find_hidden(place):
                    return True
        return False

    def _restore_hook(self, record: TrustRecord, folder: str) -> ReadHook:
        """Return a hook as it was trusted. If its event or its matcher is not known, all tool calls count as matching."""
        definition = _read_definition(record)
        if definition is None:
            own_folder = os.path.join(folder, record.identity)
            return restore_folder_hook(self._store, record, f"{own_folder}/{MANIFEST_NAMES[0]}", own_folder)
        handler, is_async = definition
        path = os.path.join(folder, record.identity.removesuffix(f":{record.name}"))
        hook = build_trusted_hook(record, path, handler)
        return hook.replace(matcher=get_trusted_matcher((record,)), background=is_async), frozenset()


def _is_inside(inner: str, outer: str) -> bool:
    return bool(inner) and inner != outer and f"{inner}/".startswith(outer.rstrip("/") + "/")


def _read_definition(record: TrustRecord) -> tuple[HookHandler, bool] | None:
    """Return the handler of a trusted entry of settings.json, and whether it is async; None for a hook with a folder."""
    try:
        fields = json.loads(record.definition)[0]
        handler = HANDLERS[fields["type"]]
        values = [_freeze(fields[name]) for name in handler.FIELDS]
        return handler(*values), bool(fields["async"])
    except (ValueError, TypeError, KeyError, IndexError):
        return None


def _freeze(value: Any) -> Any:
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def _is_of_disabled_hook(record: TrustRecord) -> bool:
    """Whether a person trusted a hook that the files of its project disable: it guarded nothing."""
    try:
        definition = json.loads(record.definition or "[]")
        is_entry = bool(definition) and "type" in definition[0]
        tuning = definition[-1] if is_entry else definition
        return (is_entry and bool(definition[0]["disabled"])) or (bool(tuning) and "disabled" in tuning[-1])
    except (ValueError, TypeError, KeyError, IndexError):
        return False
