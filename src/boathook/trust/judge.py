"""Decide which hooks of a project may run: those that a person trusts, exactly as they are."""

# A trusted hook runs from its private copy. One that changed since then keeps its old matcher, so that it is missing exactly
# where it used to run.

from __future__ import annotations

import json
import os
from typing import Any

from boathook.core.approval import (
    DENY,
    Approval,
    TrustPlace,
    TrustRecord,
    compute_hook_digest,
    resolve_copy_path,
)
from boathook.core.catalog import Settings, mark_untrusted
from boathook.core.hook import ARMED, DENIED, DISABLED, MODIFIED, PROJECT, SCOPES, UNTRUSTED, USER, Hook, Script
from boathook.core.matcher import ALL, Matcher, PatternAllowance, compile_pattern
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.sources.hook_md.manifest import parse_manifest
from boathook.sources.hooks_toml import KEYS_WITHOUT_DEFAULTS, HooksConfig, tune_hook
from boathook.sources.pack_folders import list_pack_roots, name_pack_hook
from boathook.sources.pack_md import PACK_MANIFEST, PackManifest, parse_pack_manifest
from boathook.sources.pack_settings import get_project_choice
from boathook.sources.source_hooks import ReadHook
from boathook.system.locations import SourceFolders
from boathook.trust.bound_files import BoundFiles, choose_roots, find_bound_files, replace_with_copies
from boathook.trust.snapshot import FILE, MAX_SNAPSHOT_BYTES, Snapshot, SnapshotError, describe_root, read_snapshot
from boathook.trust.store import TrustStore
from boathook.trust.trusted_form import restore_folder_hook
from boathook.trust.verify import CHANGED, describe_change
from boathook.trust.work_trees import LocatedPlace, find_trust_place

_PROJECT_SCOPES = SCOPES[1:]
# A reviewer sees what the project says, without what the user's hooks.toml makes of it.
_NO_USER_CONFIG = HooksConfig("", USER)
# How much is read of hooks that only a decision for any folder could make trusted: a repository can have many of them.
_MAX_ANYWHERE_BYTES, _MIN_ITEM_BYTES = 32 << 20, 16 << 10
_NO_COPY = "its private copy could not be made in the state folder. Find the cause with: boathook doctor"


class HookContent(Value):
    hook: Hook
    project: str
    identity: str
    definition: bytes
    snapshots: dict[str, Snapshot]
    bound_files: BoundFiles = BoundFiles()

    @property
    def digest(self) -> str:
        roots = (describe_root(root, snapshot) for root, snapshot in self.snapshots.items())
        return compute_hook_digest(self.definition, roots)

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        return tuple(
            (f"{root}/{path}" if path else root, summary)
            for root, snapshot in self.snapshots.items()
            for path, summary in snapshot.summarize_items().items()
        )

    @property
    def relative_roots(self) -> tuple[str, ...]:
        return tuple(make_relative(root, self.project) for root in self.snapshots)

    @property
    def relative_files(self) -> tuple[tuple[str, str], ...]:
        return tuple((make_relative(path, self.project), summary) for path, summary in self.files)


class ProjectHook(Value):
    # `source` is the name of the row that it comes from.
    hook: Hook
    project: str
    config: HooksConfig
    record: TrustRecord | None = None
    source: str = ""


def make_relative(path: str, project: str) -> str:
    """Return a path as all work trees have it: relative to the project, or as it is if it is not in there."""
    top = project.rstrip("/") + "/"
    return path[len(top) :] if path.startswith(top) else path


def resolve_roots(record: TrustRecord, project: str) -> tuple[str, ...]:
    return tuple(os.path.join(os.path.realpath(project), root) for root in record.roots)


class TrustJudge:
    """`watched_paths` may make a changed hook the trusted one again; without `is_lasting` the result must not be cached."""

    def __init__(self, store: TrustStore, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._places: dict[str, TrustPlace] = {}
        self.watched_paths: list[str] = []
        self.is_lasting = True
        self._anywhere_folders: set[str] = set()
        self._anywhere_bytes = 0
        self.project_hooks: list[ProjectHook] = []
        # Trusted entries that changed so that they have another name.
        self.replaced_keys: set[tuple[str, str, str]] = set()

    def judge_hooks(
        self, read_hooks: tuple[ReadHook, ...], project: str, config: HooksConfig, folders: SourceFolders
    ) -> tuple[ReadHook, ...]:
        first = len(self.project_hooks)
        judged = self._judge_all(read_hooks, project, config, folders.user)
        self.project_hooks[first:] = [one.replace(source=folders.name) for one in self.project_hooks[first:]]
        return judged

    def _judge_all(
        self, read_hooks: tuple[ReadHook, ...], project: str, config: HooksConfig, user_folder: str
    ) -> tuple[ReadHook, ...]:
        others = tuple(hook for hook, _ in read_hooks)
        judged: list[ReadHook] = []
        for hook, written in read_hooks:
            if hook.scope not in _PROJECT_SCOPES:
                judged.append((hook, written))
            elif isinstance(hook.handler, Script):
                judged.append(self._judge_folder((hook, written), project, config))
            else:
                judged.append((self._judge_entry(hook, project, config, others, user_folder), written))
        return tuple(judged)

    def _judge_folder(self, read: ReadHook, project: str, config: HooksConfig) -> ReadHook:
        hook, written = read
        if hook.state != ARMED:
            return self._judge_unreadable(read, project, config)
        records = self._find_records(hook, project)
        folder = os.path.realpath(hook.folder)
        anywhere = self._store.find_anywhere(os.path.basename(folder), self.find_place(project))
        if _find_denied(records) or not (records or anywhere):
            return self._mark_undecided(hook, project, config, _find_denied(records)), written
        project_hook = ProjectHook(hook, project, config, next(iter(records), None))
        if not records and (why := self._find_reason_to_leave(hook, folder)):
            self.project_hooks.append(project_hook)
            return self._mark(hook, UNTRUSTED, why), written
        try:
            content = read_hook_content(hook, project, config)
        except SnapshotError as error:
            self._anywhere_bytes += 0 if records else MAX_SNAPSHOT_BYTES
            return self._mark_unread_folder(read, error, project_hook)
        self._anywhere_bytes += 0 if records else _count_bytes(content)
        by_digest = {**anywhere, **{record.digest: record for record in reversed(records)}}
        record = by_digest.get(content.digest)
        if record is None and not records and content.replace(definition=b"").digest in anywhere:
            return self._mark_tuned(read, content, project_hook)
        if record is None:
            return self._mark_other_bytes(read, content, project_hook)
        self.project_hooks.append(ProjectHook(hook, project, config, record))
        copy = self._make_copy(content)
        if not copy:
            return self._mark(hook, UNTRUSTED, _NO_COPY), written
        hook, written = self._restore_trusted_hook(hook, record)
        approval = _make_approval(record, content, copy)
        return hook.replace(handler=Script(resolve_copy_path(copy, 0, approval.roots[0])), approval=approval), written

    def _find_reason_to_leave(self, hook: Hook, folder: str) -> str:
        """Return why a hook is not read to see if it is trusted anywhere, "" if it is read; this notes its folder."""
        advice = f"Review it with: boathook trust {hook.name}"
        if folder in self._anywhere_folders:
            return f"it is not trusted yet: another hook leads to the same folder, {folder}. {advice}"
        self._anywhere_folders.add(folder)
        if self._anywhere_bytes < _MAX_ANYWHERE_BYTES:
            return ""
        size = f"more than {_MAX_ANYWHERE_BYTES >> 20} MiB"
        return f"it is not trusted yet: hooks of this project that may be trusted anywhere have {size}. {advice}"

    def _mark_tuned(self, read: ReadHook, content: HookContent, project_hook: ProjectHook) -> ReadHook:
        """Mark a hook that is trusted anywhere, but not with what the hooks.toml of this project says about it."""
        self.project_hooks.append(project_hook)
        self.watched_paths += [path for path, _ in content.files]
        why = "hooks.toml of this project changes it, and it was trusted without that"
        why += f". Review it with: boathook trust {read[0].name}"
        return self._mark(read[0], MODIFIED, why), read[1]

    def _mark_unread_folder(self, read: ReadHook, error: SnapshotError, project_hook: ProjectHook) -> ReadHook:
        hook, record = project_hook.hook, project_hook.record
        if record is None:
            self._watch_error(error)
            return self._mark_undecided(hook, project_hook.project, project_hook.config), read[1]
        self.project_hooks.append(project_hook)
        trusted, written = self._restore_trusted_hook(hook, record)
        return self._mark_unreadable(trusted, error), written

    def _mark_other_bytes(self, read: ReadHook, content: HookContent, project_hook: ProjectHook) -> ReadHook:
        hook, record = project_hook.hook, project_hook.record
        if record is None:
            # Bytes that are trusted anywhere may come back.
            self.watched_paths += [path for path, _ in content.files]
            return self._mark_undecided(hook, project_hook.project, project_hook.config), read[1]
        self.project_hooks.append(project_hook)
        trusted, written = self._restore_trusted_hook(hook, record)
        return self._mark_modified(trusted, content), written

    def _judge_unreadable(self, read: ReadHook, project: str, config: HooksConfig) -> ReadHook:
        hook, _ = read
        records = self._find_records(hook, project)
        if not records or _find_denied(records):
            return read
        self.project_hooks.append(ProjectHook(hook, project, config, records[0]))
        trusted, written = self._restore_trusted_hook(hook, records[0])
        return self._mark(trusted, MODIFIED, f"{CHANGED}, and cannot be read: {hook.state_reason}"), written

    def _judge_entry(
        self, hook: Hook, project: str, config: HooksConfig, others: tuple[Hook, ...], user_folder: str
    ) -> Hook:
        if hook.state not in (ARMED, DISABLED):
            return hook
        if hook.state == DISABLED and not self._is_disabled_by_project(hook, project, user_folder):
            return hook
        records = self._find_records(hook, project)
        denied = _find_denied(records)
        if not records and (replaced := self._find_replaced(hook, project, others)):
            self.project_hooks.append(ProjectHook(hook, project, config))
            hook = hook.replace(matcher=get_trusted_matcher(replaced))
            self.replaced_keys |= {record.key for record in replaced}
            return self._mark(hook, MODIFIED, describe_change(CHANGED, hook.name))
        if not records or denied:
            return self._mark_undecided(hook, project, config, denied)
        record, content = self._find_same_bytes(hook, project, config, records)
        self.project_hooks.append(ProjectHook(hook, project, config, record))
        if isinstance(content, SnapshotError):
            return self._mark_unreadable(hook, content)
        if content.digest != record.digest:
            return self._mark_modified(hook, content)
        copy = self._make_copy(content)
        if not copy:
            return self._mark(hook, UNTRUSTED, _NO_COPY)
        approval = _make_approval(record, content, copy)
        if hook.state == DISABLED:
            return hook.replace(approval=approval)
        copies = {root: resolve_copy_path(copy, index, root) for index, root in enumerate(approval.roots)}
        self.watched_paths += approval.missing_files
        return replace_with_copies(hook, content.bound_files.files, copies).replace(approval=approval)

    def _find_same_bytes(
        self, hook: Hook, project: str, config: HooksConfig, records: tuple[TrustRecord, ...]
    ) -> tuple[TrustRecord, HookContent | SnapshotError]:
        """Return the decision about the bytes that are there, else the first one, and what was read for it."""
        results: list[tuple[TrustRecord, HookContent | SnapshotError]] = []
        for record in records:
            try:
                content = read_hook_content(hook, project, config, resolve_roots(record, project))
            except SnapshotError as error:
                results.append((record, error))
                continue
            if content.digest == record.digest:
                return record, content
            results.append((record, content))
            self.watched_paths += [path for path, _ in content.files]
        for _, result in results:
            if isinstance(result, SnapshotError):
                self._watch_error(result)
        return results[0]

    def find_place(self, project: str) -> TrustPlace:
        """Return what identifies a project; its repository is looked for only if a decision could count because of it."""
        if project not in self._places:
            is_needed = self._store.has_repositories
            found = find_trust_place(project) if is_needed else LocatedPlace(TrustPlace(os.path.realpath(project)))
            self._places[project] = found.place
            self.watched_paths += found.watch
        return self._places[project]

    def _find_records(self, hook: Hook, project: str) -> tuple[TrustRecord, ...]:
        return self._store.find_records(self.find_place(project), get_identity(hook, project))

    def _mark_undecided(self, hook: Hook, project: str, config: HooksConfig, denied: TrustRecord | None = None) -> Hook:
        self.project_hooks.append(ProjectHook(hook, project, config, denied))
        if denied is not None:
            why = f"you denied it. Allow it to be reviewed with: boathook untrust {hook.name}"
            return hook.replace(state=DENIED, state_reason=why)
        return self._mark(hook, UNTRUSTED, f"it is not trusted yet. Review it with: boathook trust {hook.name}")

    def _mark(self, hook: Hook, state: str, why: str) -> Hook:
        return mark_untrusted(hook, state, why, self._settings.untrusted)

    def _mark_unreadable(self, hook: Hook, error: SnapshotError) -> Hook:
        self._watch_error(error)
        return self._mark(hook, MODIFIED, f"{CHANGED}, and cannot be trusted as it is: {error}")

    def _mark_modified(self, hook: Hook, content: HookContent) -> Hook:
        self.watched_paths += [path for path, _ in content.files]
        return self._mark(hook, MODIFIED, describe_change(CHANGED, hook.name))

    def _watch_error(self, error: SnapshotError) -> None:
        self.watched_paths += error.watch
        self.is_lasting = self.is_lasting and bool(error.watch)

    def _make_copy(self, content: HookContent) -> str:
        try:
            return self._store.make_copy(content.digest, content.snapshots)
        except OSError:
            return ""

    def _restore_trusted_hook(self, hook: Hook, record: TrustRecord) -> ReadHook:
        return restore_folder_hook(self._store, record, hook.path, hook.folder)

    def _is_disabled_by_project(self, hook: Hook, project: str, user_folder: str) -> bool:
        by_user = bool(user_folder) and hook.state_reason.startswith(f"disabled by {user_folder}/")
        return not by_user and bool(self._find_records(hook, project))

    def _find_replaced(self, hook: Hook, project: str, others: tuple[Hook, ...]) -> tuple[TrustRecord, ...]:
        """Return the records of trusted hooks that a new one replaces: they are gone, and had its event, script and file."""
        label = _remove_digest(get_identity(hook, project))
        present = {get_identity(other, project) for other in others if other.scope in _PROJECT_SCOPES}
        records = self._store.find_place_records(self.find_place(project))
        gone = (record for record in records if record.identity not in present)
        return tuple(record for record in gone if _remove_digest(record.identity) == label)


def _count_bytes(content: HookContent) -> int:
    items = [item for snapshot in content.snapshots.values() for item in snapshot.items]
    return sum(max(len(item.data), _MIN_ITEM_BYTES) for item in items)


def _find_denied(records: tuple[TrustRecord, ...]) -> TrustRecord | None:
    return next((record for record in records if record.decision == DENY), None)


def _make_approval(record: TrustRecord, content: HookContent, copy: str) -> Approval:
    missing = content.bound_files.missing
    roots = tuple(content.snapshots)
    return Approval(record.digest, content.definition, roots, copy, record.override, missing, record.extent)


def _remove_digest(identity: str) -> str:
    return identity.rpartition("#")[0] or identity


def get_trusted_matcher(records: tuple[TrustRecord, ...]) -> Matcher:
    """Return the matcher of a trusted entry of settings.json; one that matches everything if it is not certain."""
    if len(records) != 1:
        return ALL
    try:
        definition = json.loads(records[0].definition)[0]
        tool, pattern = (compile_pattern(definition[key] or "") for key in ("tool", "pattern"))
        compiled = ((name, compile_pattern(source)) for name, source in definition["fields"].items())
        return Matcher(tool, pattern, fields=tuple((name, found) for name, found in compiled if found))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, ConfigError):
        return ALL


def read_hook_content(
    hook: Hook, project: str, config: HooksConfig, roots: tuple[str, ...] | None = None
) -> HookContent:
    if isinstance(hook.handler, Script):
        return _read_folder_content(hook, project, config)
    bound_files = find_bound_files(hook, project)
    if roots is None:
        roots = choose_roots(bound_files.files, project)
    snapshots = {root: read_snapshot(root) for root in roots}
    real = os.path.realpath(project)
    names = (sorted(file.path for file in bound_files.files), bound_files.missing)
    paths = [[make_relative(path, real) for path in each] for each in names]
    definition = _to_canonical_json([_describe_hook(hook), *paths, _get_project_tuning(hook, config)])
    shown = tune_hook(hook, KEYS_WITHOUT_DEFAULTS, config, _NO_USER_CONFIG)
    return HookContent(shown, real, get_identity(hook, project), definition, snapshots, bound_files)


def _read_folder_content(hook: Hook, project: str, config: HooksConfig) -> HookContent:
    folder = os.path.realpath(hook.folder)
    if not folder.startswith(os.path.realpath(project).rstrip("/") + "/"):
        raise SnapshotError(f"{hook.folder} is a link that leaves the project", (hook.folder,))
    snapshot = read_snapshot(folder)
    name = os.path.basename(hook.path)
    data = next((item.data for item in snapshot.items if item.path == name and item.kind == FILE), b"")
    text = data.decode("utf-8-sig", "replace")
    # Nobody may have trusted these bytes.
    allowance = PatternAllowance()
    read, written = parse_manifest(text, path=hook.path, folder=hook.folder, scope=hook.scope, allowance=allowance)
    shared, missing = _read_pack_parts(hook, project) if hook.pack else ({}, ())
    if hook.pack:
        read = name_pack_hook(read, hook.pack, _parse_pack_snapshot(shared, hook))
    tuning = _get_project_tuning(read, config)
    shown = tune_hook(read, written, config, _NO_USER_CONFIG)
    definition = _to_canonical_json(tuning) if tuning else b""
    names = (os.path.realpath(project), get_identity(hook, project), definition)
    return HookContent(shown, *names, {folder: snapshot, **shared}, BoundFiles(missing=missing))


def _read_pack_parts(hook: Hook, project: str) -> tuple[dict[str, Snapshot], tuple[str, ...]]:
    """Return what a hook of a pack consists of besides its own folder, and the paths at which there is nothing."""
    roots = list_pack_roots(hook.folder)
    for root in roots:
        if not root.startswith(os.path.realpath(project).rstrip("/") + "/"):
            raise SnapshotError(f"{root} is outside the project: a link leads there", (hook.folder,))
    present = [root for root in roots if os.path.lexists(root)]
    return {root: read_snapshot(root) for root in present}, tuple(root for root in roots if root not in present)


def _parse_pack_snapshot(snapshots: dict[str, Snapshot], hook: Hook) -> PackManifest:
    for root, snapshot in snapshots.items():
        if os.path.basename(root) == PACK_MANIFEST:
            return parse_pack_manifest(snapshot.items[0].data.decode("utf-8-sig", "replace"), root, hook.scope)
    return PackManifest(hook.pack.rpartition("/")[2], is_readable=False)


def get_identity(hook: Hook, project: str) -> str:
    if isinstance(hook.handler, Script):
        return os.path.relpath(hook.folder, project)
    return f"{os.path.relpath(hook.path, project)}:{hook.name}"


def _describe_hook(hook: Hook) -> dict[str, Any]:
    handler, matcher = hook.handler, hook.matcher
    return {
        "event": hook.trigger,
        "type": type(handler).__name__.lower(),
        **({} if isinstance(handler, Script) else handler.to_dict()),
        "tool": matcher.tool.source if matcher.tool else None,
        "pattern": matcher.pattern.source if matcher.pattern else None,
        "fields": {name: pattern.source for name, pattern in matcher.fields},
        "timeout": hook.timeout,
        "async": hook.background,
        "disabled": hook.state == DISABLED,
    }


def _get_project_tuning(hook: Hook, config: HooksConfig) -> list[Any]:
    """Return what the project's hooks.toml says about a hook; it could disarm a guard, so it is trusted with it."""
    if config.scope != PROJECT:
        return []
    general = [config.defaults] + ([{"sandbox": config.sandbox}] if config.sandbox else [])
    own: list[Any] = [tuning for name, tuning in config.override if name == hook.name]
    own += get_project_choice(hook, config)
    if "disabled" not in own and (hook.name in config.disable or not config.enabled):
        own.append("disabled")
    return [*general, own] if own or config.defaults or config.sandbox else []


def _to_canonical_json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, ensure_ascii=True).encode()
