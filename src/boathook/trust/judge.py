"""Which hooks of a project a person has trusted as they are, and what becomes of the others.

A trusted hook is taken from its private copy, definition and files: what was shown is what runs. One that changed since is
known by its old definition, so that it is missed exactly where it used to guard.
"""

from __future__ import annotations

import json
import os
from typing import Any, Protocol

from boathook.core.approval import DENY, Approval, TrustRecord, compute_digest, resolve_copy_path
from boathook.core.catalog import Settings, mark_untrusted
from boathook.core.hook import (
    ARMED,
    DENIED,
    DISABLED,
    MODIFIED,
    PROJECT,
    SCOPES,
    UNTRUSTED,
    USER,
    Command,
    Hook,
    Http,
    Prompt,
    Script,
)
from boathook.core.matcher import ALL, Matcher, compile_pattern
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.sources.hook_md.manifest import parse_manifest
from boathook.sources.hooks_toml import SAID, Config, tune
from boathook.system.files import FileError, read_text
from boathook.trust.bound_files import Binding, bind, rebound, roots_of
from boathook.trust.snapshot import FILE, Snapshot, SnapshotError, describe_root, read_snapshot
from boathook.trust.verify import CHANGED

Read = tuple[Hook, frozenset[str]]
OF_PROJECT = SCOPES[1:]
NOBODY = Config("", USER)  # what a project says is shown without what the user makes of it


class Book(Protocol):
    """What a person said about the hooks of all projects, and the private copies."""

    def find(self, project: str, identity: str) -> TrustRecord | None:
        """Return the record of one hook."""
        ...

    def of_project(self, project: str) -> tuple[TrustRecord, ...]:
        """Return all records of a project."""
        ...

    def copy(self, digest: str) -> str:
        """Return the folder of a private copy; nothing if it is not there."""
        ...

    def keep(self, digest: str, trees: dict[str, Snapshot]) -> str:
        """Make a private copy of trees, by their roots, unless it is there; return its folder."""
        ...


class Proposal(Value):
    """A hook as a person would trust it: everything that would run, read once."""

    hook: Hook
    project: str
    identity: str
    definition: bytes
    trees: dict[str, Snapshot]
    binding: Binding = Binding()

    @property
    def digest(self) -> str:
        """Return the digest of definition and trees."""
        return compute_digest(self.definition, (describe_root(root, tree) for root, tree in self.trees.items()))

    @property
    def listing(self) -> tuple[tuple[str, str], ...]:
        """Return the files with a word about each that changes with it."""
        return tuple((f"{root}/{path}" if path else root, word) for root, tree in self.trees.items()
                     for path, word in tree.listing().items())  # fmt: skip


class Judged(Value):
    """A hook of a project as it lies there, with what was said of it and the config beside it."""

    hook: Hook
    project: str
    config: Config
    record: TrustRecord | None = None


class Judge:
    """Says which hooks of a project may run."""

    def __init__(self, book: Book, settings: Settings) -> None:
        """Take what people said, and what the user wants of hooks that nobody trusted."""
        self._book = book
        self._settings = settings
        self.watch: list[str] = []  # what may make a changed hook the trusted one again
        self.lasting = True
        self.judged: list[Judged] = []

    def judge_hooks(self, reads: tuple[Read, ...], project: str, config: Config, user_folder: str) -> tuple[Read, ...]:
        """Judge the hooks of a source: those of the user, from `user_folder`, need no trust."""
        hooks = tuple(hook for hook, _ in reads)
        judged = []
        for hook, written in reads:
            if hook.scope not in OF_PROJECT:
                judged.append((hook, written))
            elif isinstance(hook.handler, Script):
                judged.append(self.folder((hook, written), project, config))
            else:
                judged.append((self.entry(hook, project, config, hooks, user_folder), written))
        return tuple(judged)

    def folder(self, read: Read, project: str, config: Config) -> Read:
        """Judge the hook of a HOOK.md folder."""
        hook, written = read
        if hook.state != ARMED:
            return self._unreadable(read, project, config)
        found = self._find(hook, project, config)
        if found is None or found.word == DENY:
            return self._unsaid(hook, found), written
        old = self._from_copy(hook, found) or read
        try:
            proposal = propose(hook, project, config, found.roots)
        except SnapshotError as error:
            return self._refuse(old[0], error), old[1]
        if proposal.digest != found.digest:
            return self._modified(old[0], proposal), old[1]
        copy = self._keep(proposal)
        if not copy:
            return self._doubt(hook, UNTRUSTED, NO_COPY), written
        hook, written = self._from_copy(hook, found) or read
        roots = tuple(proposal.trees)
        approval = Approval(found.digest, proposal.definition, roots, copy, found.override)
        return hook.replace(handler=Script(resolve_copy_path(copy, 0, roots[0])), approval=approval), written

    def _unreadable(self, read: Read, project: str, config: Config) -> Read:
        """Miss a trusted hook that cannot be read any more where it used to guard; leave others to be told as what they are."""
        hook, _ = read
        found = self._book.find(_real(project), identity_of(hook, project))
        old = self._from_copy(hook, found) if found is not None and found.word != DENY else None
        if old is None:
            return read
        self.judged.append(Judged(hook, project, config, found))
        return self._doubt(old[0], MODIFIED, f"{CHANGED}, and cannot be read: {hook.why}"), old[1]

    def entry(self, hook: Hook, project: str, config: Config, others: tuple[Hook, ...], user_folder: str) -> Hook:
        """Judge an entry of a file; `others` are all entries of its source."""
        if hook.state not in (ARMED, DISABLED):
            return hook
        if hook.state == DISABLED and not self._is_bereft(hook, project, user_folder):
            return hook
        found = self._find(hook, project, config)
        if found is None and (old := self._another(hook, project, others)):
            return self._doubt(hook.replace(matcher=_old_matcher(old)), MODIFIED, changed(hook.name))
        if found is None or found.word == DENY:
            return self._unsaid(hook, found)
        try:
            proposal = propose(hook, project, config, found.roots)
        except SnapshotError as error:
            return self._refuse(hook, error)
        if proposal.digest != found.digest:
            return self._modified(hook, proposal)
        copy = self._keep(proposal)
        if not copy:
            return self._doubt(hook, UNTRUSTED, NO_COPY)
        if hook.state == DISABLED:
            return hook
        places = {root: resolve_copy_path(copy, at, root) for at, root in enumerate(found.roots)}
        absent = proposal.binding.absent
        self.watch += absent
        approval = Approval(found.digest, proposal.definition, found.roots, copy, found.override, absent)
        return rebound(hook, proposal.binding.files, places).replace(approval=approval)

    def _find(self, hook: Hook, project: str, config: Config) -> TrustRecord | None:
        found = self._book.find(_real(project), identity_of(hook, project))
        self.judged.append(Judged(hook, project, config, found))
        return found

    def _unsaid(self, hook: Hook, found: TrustRecord | None) -> Hook:
        if found is not None:
            return hook.replace(state=DENIED, why="you denied it (boathook untrust takes that back)")
        return self._doubt(hook, UNTRUSTED, f"it is not trusted yet (review it: boathook trust {hook.name})")

    def _doubt(self, hook: Hook, state: str, why: str) -> Hook:
        return mark_untrusted(hook, state, why, self._settings.untrusted)

    def _refuse(self, hook: Hook, error: SnapshotError) -> Hook:
        self.lasting = False
        return self._doubt(hook, MODIFIED, f"{CHANGED}, and cannot be trusted as it is: {error}")

    def _modified(self, hook: Hook, proposal: Proposal) -> Hook:
        self.watch += [path for path, _ in proposal.listing]
        return self._doubt(hook, MODIFIED, changed(hook.name))

    def _keep(self, proposal: Proposal) -> str:
        try:
            return self._book.keep(proposal.digest, proposal.trees)
        except OSError:
            return ""

    def _from_copy(self, hook: Hook, found: TrustRecord) -> Read | None:
        """Read the definition again, from the private copy; None if that is gone."""
        copy = self._book.copy(found.digest)
        folder = resolve_copy_path(copy, 0, found.roots[0]) if copy and found.roots else ""
        try:
            text = read_text(f"{folder}/{os.path.basename(hook.path)}")
        except FileError:
            return None
        again, written = parse_manifest(text, path=hook.path, folder=hook.folder, scope=hook.scope)
        return (again, written) if again.state == ARMED else None

    def _is_bereft(self, hook: Hook, project: str, user_folder: str) -> bool:
        """Whether somebody other than the user has disabled an entry of which something was said."""
        by_user = bool(user_folder) and hook.why.startswith(f"disabled by {user_folder}/")
        return not by_user and self._book.find(_real(project), identity_of(hook, project)) is not None

    def _another(self, hook: Hook, project: str, others: tuple[Hook, ...]) -> tuple[TrustRecord, ...]:
        """Return the records of entries that were trusted, are gone, and whose place one takes: the same event, script and file."""
        own = _without_digest(identity_of(hook, project))
        present = {identity_of(other, project) for other in others if other.scope in OF_PROJECT}
        records = self._book.of_project(_real(project))
        return tuple(r for r in records if _without_digest(r.identity) == own and r.identity not in present)

    def gone(self, project: str) -> tuple[TrustRecord, ...]:
        """Return the records of a project's trusted hooks that are not there any more."""
        seen = [j for j in self.judged if _real(j.project) == _real(project)]
        present = {_without_digest(identity_of(one.hook, one.project)) for one in seen}
        records = self._book.of_project(_real(project)) if project else ()
        return tuple(r for r in records if r.word != DENY and _without_digest(r.identity) not in present)


NO_COPY = "no private copy of it could be made in the state folder (boathook doctor says why)"


def changed(name: str) -> str:
    """Return that a trusted hook is not what it was."""
    return f"{CHANGED} (see what: boathook trust {name})"


def _without_digest(identity: str) -> str:
    """Return the identity of a settings hook without the letters that stand for its definition."""
    return identity.rpartition("#")[0] or identity


def _old_matcher(records: tuple[TrustRecord, ...]) -> Matcher:
    """Return the matcher of a hook as it was trusted, so that it is missed where it used to guard."""
    if len(records) != 1:
        return ALL
    try:
        old = json.loads(records[0].definition)[0]
        return Matcher(compile_pattern(old["tool"] or ""), compile_pattern(old["pattern"] or ""), old["subject"])
    except (ValueError, TypeError, KeyError, IndexError, ConfigError):
        return ALL


def propose(hook: Hook, project: str, config: Config, roots: tuple[str, ...] | None = None) -> Proposal:
    """Read everything that a hook of a project consists of; a tree fault if it must not be trusted."""
    if isinstance(hook.handler, Script):
        return _propose_folder(hook, project, config)
    binding = bind(hook, project)
    chosen = roots_of(binding.files, project) if roots is None else roots
    trees = {root: read_snapshot(root) for root in chosen}
    named = [sorted(file.path for file in binding.files), binding.absent]
    definition = _canonical([describe(hook), *named, _tuning(hook, config)])
    shown = tune(hook, SAID, config, NOBODY)
    return Proposal(shown, _real(project), identity_of(hook, project), definition, trees, binding)


def _propose_folder(hook: Hook, project: str, config: Config) -> Proposal:
    """Read a hook's folder; what is proposed is the hook as these very bytes say it."""
    folder = os.path.realpath(hook.folder)
    _inside(folder, hook.folder, project)
    tree = read_snapshot(folder)
    name = os.path.basename(hook.path)
    text = next((part.data for part in tree.parts if part.path == name and part.kind == FILE), b"")
    read, written = parse_manifest(
        text.decode("utf-8-sig", "replace"), path=hook.path, folder=hook.folder, scope=hook.scope
    )
    tuning = _tuning(read, config)
    shown = tune(read, written, config, NOBODY)
    definition = _canonical(tuning) if tuning else b""
    return Proposal(shown, _real(project), identity_of(hook, project), definition, {folder: tree})


def _inside(real: str, shown: str, project: str) -> None:
    if not real.startswith(_real(project).rstrip("/") + "/"):
        raise SnapshotError(f"{shown} is a link that leaves the project")


def identity_of(hook: Hook, project: str) -> str:
    """Return what a hook is known by in its project: its folder, or its file and name."""
    if isinstance(hook.handler, Script):
        return os.path.relpath(hook.folder, project)
    return f"{os.path.relpath(hook.path, project)}:{hook.name}"


def describe(hook: Hook) -> dict[str, Any]:
    """Return the definition of a settings hook as plain values."""
    handler = hook.handler
    what: dict[str, Any] = {}
    if isinstance(handler, Command | Prompt | Http):
        what = {name: handler.__dict__[name] for name in handler.FIELDS}
    matcher = hook.matcher
    return {
        "event": hook.trigger,
        "type": type(handler).__name__.lower(),
        **what,
        "tool": matcher.tool.source if matcher.tool else None,
        "pattern": matcher.pattern.source if matcher.pattern else None,
        "subject": matcher.subject,
        "timeout": hook.timeout,
        "async": hook.background,
        "disabled": hook.state == DISABLED,
    }


def _tuning(hook: Hook, config: Config) -> list[Any]:
    """Return what the project's hooks.toml says about a hook: it could make a guard toothless, so it is trusted with it."""
    if config.scope != PROJECT:
        return []
    said = [config.defaults] + ([{"sandbox": config.sandbox}] if config.sandbox else [])
    own: list[Any] = [tuning for name, tuning in config.override if name == hook.name]
    if hook.name in config.disable or not config.enabled:
        own.append("disabled")
    return [*said, own] if own or config.defaults or config.sandbox else []


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, ensure_ascii=True).encode()


def _real(project: str) -> str:
    return os.path.realpath(project)
