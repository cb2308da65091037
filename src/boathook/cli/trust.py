"""`boathook trust`, `untrust`, `deny`: a person looks at what a project's hooks would run, and says yes or no."""

from __future__ import annotations

import difflib
import os
import sys
import time
import unicodedata
from typing import Any

import click

from boathook.assembly import load_with_trust, locate
from boathook.cli.common_options import json_option, names_argument, project_option, state_option
from boathook.cli.list import describe_matcher
from boathook.cli.show import STATE_STYLES, print_json, print_table, say
from boathook.core.approval import DENY, TRUST, TrustRecord, resolve_copy_path
from boathook.core.hook import ARMED, BASIC, HOOK_MD, USER, Command, Hook, Http, Prompt, Script
from boathook.core.value import Value
from boathook.errors import TrustError
from boathook.loader import Loaded
from boathook.system.programs import find_entry
from boathook.trust.bound_files import BoundFiles
from boathook.trust.judge import HookContent, ProjectHook, get_identity, read_hook_content
from boathook.trust.snapshot import FILE, LINK, SnapshotError, SnapshotItem, read_snapshot
from boathook.trust.store import TrustStore

FIRST_LINES = 20
DIFF_LINES = 60
WIDTH = 1000
DECEIVING = ("Cf", "Co", "Cn", "Cs", "Zl", "Zp")


class Candidate(Value):
    """A hook to be trusted or not: as it lies there, what was said of it, and what is wrong with trusting it."""

    hook: Hook
    state: str
    record: TrustRecord | None
    content: HookContent | None
    error: str = ""
    replaces: bool = False

    @property
    def shown_state(self) -> str:
        """Report trusted instead of armed."""
        return "trusted" if self.state == ARMED else self.state


@click.command("trust")
@names_argument
@click.option("--all", "everything", is_flag=True, help="All hooks of this project; the same as no NAME.")
@click.option("--yes", is_flag=True, help="Trust without asking. Read the output first.")
@click.option("--override", is_flag=True, help="With --yes: also hooks that replace one of your own.")
@click.option("--list", "listed", is_flag=True, help="List trust decisions.")
@json_option
@project_option
@state_option
def trust_hooks(
    names: tuple[str, ...],
    everything: bool,
    yes: bool,
    override: bool,
    listed: bool,
    as_json: bool,
    project: str | None,
    state: str | None,
) -> int:
    """Review the hooks of this project and allow them to run.

    Hooks of a project are somebody else's code: they are skipped, with a warning, until you trust them. You trust
    exactly the bytes you see (definition, folder, scripts), in this place. If they change, you are asked again and
    see a diff. A private copy of what you saw is what runs. Your own hooks need no trust.

    \b
    Exit codes: 0 all of them are trusted, 1 some are not.

    \b
    Examples:
      boathook trust
      boathook trust no-force-push --yes
      boathook trust --list
    """
    if as_json and not listed:
        raise click.UsageError("--json needs --list")
    if listed:
        return list_trust(project, state, as_json=as_json)
    if names and everything:
        raise click.UsageError("NAME and --all exclude each other")
    return _trust(names, project, state, yes=yes, override=override)


def _trust(names: tuple[str, ...], project: str | None, state: str | None, *, yes: bool, override: bool) -> int:
    loaded, store = load_with_trust(locate(project, state=state))
    candidates = _candidates(loaded)
    chosen = _chosen(candidates, names)
    if not names:
        chosen = [one for one in chosen if one.state != ARMED and not _is_denied(one)]
    if not chosen:
        _say_nothing_left(candidates, loaded)
        return 0
    can_ask = sys.stdin.isatty()
    if not yes and not can_ask:
        for one in chosen:
            _show(one, store)
        say(
            "Nothing was trusted: there is nobody to ask here. Add --yes if you have read the above.",
            "yellow",
            err=True,
        )
        return 1
    left = [one for one in chosen if not _settle(one, store, yes=yes, override=override)]
    return int(bool(left))


def _settle(one: Candidate, store: TrustStore, *, yes: bool, override: bool) -> bool:
    """Show a hook and take the answer; say whether it is trusted now."""
    name = one.hook.name
    if one.state == ARMED:
        say(f"{name} is trusted already", "green")
        return True
    if _is_denied(one):
        say(f"{name}: you denied it; 'boathook untrust {name}' takes that back", "yellow", err=True)
        return False
    _show(one, store)
    if one.content is None:
        say(f"  {name} cannot be trusted: {one.error}", "bold red", err=True)
        return False
    if one.replaces and yes and not override:
        say(f"  {name} would replace your own hook: add --override if you want that", "yellow", err=True)
        return False
    question = f"Trust {name}, and let it replace your own hook?" if one.replaces else f"Trust {name}?"
    if not yes and not click.confirm(question, default=False):
        return False
    _remember(one, one.content, store)
    say(f"  {name} is trusted: exactly these bytes, for {one.content.project}", "green")
    return True


def _remember(one: Candidate, content: HookContent, store: TrustStore) -> None:
    """Keep the very bytes that were shown, then the word about them."""
    try:
        store.make_copy(content.digest, content.snapshots)
    except OSError as error:
        raise TrustError(f"no private copy could be made in {store.state}: {error.strerror}") from None
    record = TrustRecord(
        content.project,
        content.identity,
        one.hook.name,
        TRUST,
        content.digest,
        tuple(content.snapshots),
        content.files,
        content.definition.decode(),
        one.replaces,
        _now(),
    )
    store.save_records(record)


_everything_option = click.option("--all", "everything", is_flag=True, help="All hooks of this project.")


@click.command("deny")
@names_argument
@_everything_option
@project_option
@state_option
def deny_hooks(names: tuple[str, ...], everything: bool, project: str | None, state: str | None) -> int:
    """Never run hooks of this project, and do not ask again.

    This holds even if they change. `untrust` takes it back.
    """
    loaded, store = load_with_trust(locate(project, state=state))
    if not names and not everything:
        raise click.UsageError("name the hooks to deny, or say --all")
    for one in _chosen(_candidates(loaded), names):
        project_hook = next(j for j in loaded.project_hooks if j.hook is one.hook)
        real = os.path.realpath(project_hook.project)
        record = TrustRecord(real, get_identity(one.hook, project_hook.project), one.hook.name, DENY, time=_now())
        store.save_records(record)
        say(f"{one.hook.name} is denied: it never runs here, however it changes", "yellow")
    return 0


@click.command("untrust")
@names_argument
@_everything_option
@project_option
@state_option
def untrust_hooks(names: tuple[str, ...], everything: bool, project: str | None, state: str | None) -> int:
    """Forget whether hooks of this project are trusted or denied.

    They are untrusted again. This works for hooks that no longer exist, too.
    """
    loaded, store = load_with_trust(locate(project, state=state))
    if not names and not everything:
        raise click.UsageError("name the hooks to forget, or say --all")
    projects = {os.path.realpath(path) for _, path in loaded.catalog.projects if path}
    here = [record for record in store.records if record.project in projects]
    chosen = here if everything else [r for r in here if r.name in names or r.identity in names]
    unknown = set(names) - {r.name for r in chosen} - {r.identity for r in chosen}
    if unknown:
        raise TrustError(f"nothing was said of {', '.join(sorted(unknown))} here (see boathook trust --list)")
    store.remove_records(*chosen)
    for record in chosen:
        say(
            f"{record.name} is not trusted any more"
            if record.decision == TRUST
            else f"{record.name} is not denied any more"
        )
    return 0


def list_trust(project: str | None, state: str | None, *, as_json: bool) -> int:
    """Print every hook of this project with what was said of it, and what was said in other projects."""
    loaded, store = load_with_trust(locate(project, state=state))
    if store.error:
        raise TrustError(store.error)
    rows = _rows(loaded, store)
    if as_json:
        print_json({"hooks": rows})
    elif not rows:
        say("No hook was trusted or denied, and this project has none.")
    else:
        cells = [[r["name"], r["state"], r["when"] or "-", r["project"], r["identity"]] for r in rows]
        print_table(("NAME", "STATE", "SINCE", "PROJECT", "HOOK"), cells, [STATE_STYLES[r["state"]] for r in rows])
    return 0


def _rows(loaded: Loaded, store: TrustStore) -> list[dict[str, Any]]:
    rows, seen = [], set()
    for one in _candidates(loaded):
        project_hook = next(j for j in loaded.project_hooks if j.hook is one.hook)
        key = (os.path.realpath(project_hook.project), get_identity(one.hook, project_hook.project))
        seen.add(key)
        rows.append(_row(*key, one.hook.name, one.shown_state, one.record))
    projects = {os.path.realpath(path) for _, path in loaded.catalog.projects if path}
    for record in store.records:
        if (record.project, record.identity) not in seen:
            there = "denied" if record.decision == DENY else "trusted"
            state = "gone" if record.project in projects else there
            rows.append(_row(record.project, record.identity, record.name, state, record))
    return rows


def _row(project: str, identity: str, name: str, state: str, record: TrustRecord | None) -> dict[str, Any]:
    said = {"digest": record.digest, "override": record.override, "when": record.time} if record else {}
    return {
        "name": name,
        "state": state,
        "project": project,
        "identity": identity,
        "digest": said.get("digest") or None,
        "override": said.get("override", False),
        "when": said.get("when") or None,
    }


def _candidates(loaded: Loaded) -> list[Candidate]:
    """Return the project's hooks that could run if they were trusted."""
    states = {(h.source, h.path, h.place or h.path): (h.state, h.why) for h in loaded.catalog.hooks if h.scope != USER}
    users = {h.name for h in loaded.catalog.hooks if h.scope == USER and h.source == HOOK_MD}
    return [_candidate(project_hook, states, users) for project_hook in loaded.project_hooks]


def _candidate(project_hook: ProjectHook, states: dict[Any, tuple[str, str]], users: set[str]) -> Candidate:
    hook = project_hook.hook
    state, _ = states.get((hook.source, hook.path, hook.place or hook.path), (hook.state, ""))
    replaces = hook.source == HOOK_MD and hook.name in users
    try:
        content, error = read_hook_content(hook, project_hook.project, project_hook.config), ""
    except SnapshotError as wrong:
        content, error = None, str(wrong)
    return Candidate(hook, state, project_hook.record, content, error, replaces)


def _chosen(candidates: list[Candidate], names: tuple[str, ...]) -> list[Candidate]:
    if not names:
        return candidates
    found = []
    for name in names:
        named = [one for one in candidates if name == one.hook.name or one.hook.name.startswith(f"{name}#")]
        if not named:
            known = ", ".join(one.hook.name for one in candidates) or "none"
            raise TrustError(f"this project has no hook '{name}' to be trusted (it has: {known})")
        found += named
    return found


def _is_denied(one: Candidate) -> bool:
    return one.record is not None and one.record.decision == DENY


def _say_nothing_left(candidates: list[Candidate], loaded: Loaded) -> None:
    if not candidates:
        where = loaded.catalog.project or "this folder"
        say(f"There are no hooks of a project in {where}. Your own hooks need no trust.")
        return
    trusted = sum(one.state == ARMED for one in candidates)
    say(f"Nothing to ask: {trusted} of {len(candidates)} hooks are trusted, the others are denied.", "green")


# What is shown


def _show(one: Candidate, store: TrustStore) -> None:
    """Show a hook as the bytes that would be kept say it."""
    hook = one.content.hook if one.content is not None else one.hook
    say("")
    say(f"{_visible(one.hook.name)}  {one.shown_state}", STATE_STYLES[one.shown_state])
    say(f"  file      {_visible(hook.path)}" + (f" ({_visible(hook.place)})" if hook.place else ""))
    if hook.description:
        say(f"  says      {_visible(' '.join(hook.description.split()))}")
    say(f"  runs at   {hook.trigger}, {_visible(describe_matcher(hook))}; {hook.mode}, at most {hook.timeout:g} s")
    if hook.on_failure == "block":
        say("  if it fails, the action is blocked")
    _show_reach(hook)
    if one.replaces:
        say(f"  replaces  your own hook '{hook.name}'", "bold yellow")
    _show_handler(hook)
    if one.content is not None:
        _show_files(one, one.content, store)


def _show_reach(hook: Hook) -> None:
    """Show what a hook is given, and what walls it has."""
    variables = dict.fromkeys((*hook.env, *hook.needs.env))
    if variables:
        say(f"  is given  the variables {_visible(', '.join(variables))}, even if they look secret", "yellow")
    if hook.sandbox != BASIC or hook.network:
        say(f"  sandbox   {hook.sandbox}, {'with' if hook.network else 'without'} the network")


def _show_handler(hook: Hook) -> None:
    handler = hook.handler
    if isinstance(handler, Command):
        say(f"  command   {_visible(handler.line, None)}")
    elif isinstance(handler, Prompt):
        say(f"  asks      {_visible(handler.text, None)}")
    elif isinstance(handler, Http):
        headers = ", ".join(name for name, _ in handler.headers)
        say(f"  posts to  {_visible(handler.url, None)}" + (f" with {_visible(headers)}" if headers else ""))
        if handler.allowed:
            say(f"  is given  the variables {_visible(', '.join(handler.allowed))}", "yellow")


def _show_files(one: Candidate, content: HookContent, store: TrustStore) -> None:
    if not content.snapshots:
        say("  files     none of this project that could be found: only the definition above is bound", "dim")
    for root, snapshot in content.snapshots.items():
        say(f"  files     {_visible(root)}")
        for item in snapshot.items:
            if item.kind in (FILE, LINK):
                say(f"    {_visible(item.path or os.path.basename(root))}  {_about(item)}")
    _show_loose(content.bound_files)
    old = store.find_copy(one.record.digest) if one.record is not None and one.record.digest else ""
    if old and one.record is not None and one.record.digest != content.digest:
        _show_changes(content, old, one.record)
    else:
        for path, text in _first_texts(content):
            _show_text(path, text)


def _show_loose(bound_files: BoundFiles) -> None:
    """Show what a command names and a yes does not cover."""
    for path in bound_files.missing:
        say(f"  named     {_visible(path)}, which is not there: if it comes, you are asked again", "dim")
    for path in bound_files.unbound:
        say(
            f"  not bound {_visible(path)}: named, but not plainly run; it may change without being asked",
            "bold yellow",
        )
    if bound_files.unclear:
        say(f"  not bound what this runs could not be found out: {_visible(bound_files.unclear, None)}", "bold yellow")


def _about(item: SnapshotItem) -> str:
    if item.kind == LINK:
        return f"-> {_visible(item.data.decode('utf-8', 'backslashreplace'))}"
    runs = ", executable" if item.mode & 0o111 else ""
    return f"{len(item.data):,} bytes{runs}"


def _first_texts(content: HookContent) -> list[tuple[str, str]]:
    """Return the files that run first, with their text."""
    handler = content.hook.handler
    if isinstance(handler, Script):
        entry = find_entry(handler.folder)
        paths = [os.path.relpath(entry, handler.folder)] if entry else []
        snapshot = next(iter(content.snapshots.values()))
        return [(p.path, _text(p)) for p in snapshot.items if p.path in paths]
    found = []
    for root, snapshot in content.snapshots.items():
        for item in snapshot.items:
            path = f"{root}/{item.path}" if item.path else root
            if any(file.path == path for file in content.bound_files.files):
                found.append((path, _text(item)))
    return found


def _show_text(path: str, text: str) -> None:
    lines = text.splitlines()
    say(f"  {_visible(path)}:")
    for line in lines[:FIRST_LINES]:
        say(f"    | {_visible(line)}")
    if len(lines) > FIRST_LINES:
        say(f"    … {len(lines) - FIRST_LINES} more lines", "dim")


def _show_changes(content: HookContent, old: str, record: TrustRecord) -> None:
    """Show what is not as it was trusted: definition, then files."""
    say("  changed since it was trusted:", "yellow")
    if record.definition != content.definition.decode():
        _show_diff("the definition", _spread(record.definition), _spread(content.definition.decode()))
    shown: set[str] = set()
    for root in dict.fromkeys((*record.roots, *content.snapshots)):
        before = _texts_of(resolve_copy_path(old, record.roots.index(root), root)) if root in record.roots else {}
        snapshot = content.snapshots.get(root)
        after = {item.path: item for item in snapshot.items} if snapshot else {}
        for path in sorted({*before, *after}):
            one, other = before.get(path), after.get(path)
            if _looks(one) != _looks(other):
                shown.add(f"{root}/{path}" if path else root)
                _show_part(path or os.path.basename(root), one, other)
    now = dict(content.files)
    for path, word in record.files:
        if now.get(path, word) != word and path not in shown:
            say(f"    mode changed: {_visible(path)}", "yellow")


def _spread(definition: str) -> str:
    return definition.replace(", ", ",\n")


def _texts_of(root: str) -> dict[str, SnapshotItem]:
    try:
        return {item.path: item for item in read_snapshot(root).items}
    except SnapshotError:
        return {}


def _looks(item: SnapshotItem | None) -> tuple[str, bytes] | None:
    return (item.kind, item.data) if item else None


def _show_part(path: str, old: SnapshotItem | None, new: SnapshotItem | None) -> None:
    word = "added" if old is None else "removed" if new is None else "changed"
    say(f"    {word}: {_visible(path)}", "yellow")
    _show_diff(path, _text(old) if old else "", _text(new) if new else "")


def _show_diff(name: str, old: str, new: str) -> None:
    lines = list(
        difflib.unified_diff(old.splitlines(), new.splitlines(), f"{name} (trusted)", f"{name} (now)", lineterm="")
    )
    for line in lines[:DIFF_LINES]:
        say(f"    {_visible(line)}", {"+": "green", "-": "red"}.get(line[:1], ""))
    if len(lines) > DIFF_LINES:
        say(f"    … {len(lines) - DIFF_LINES} more lines", "dim")


def _text(item: SnapshotItem) -> str:
    return "(binary)" if b"\0" in item.data else item.data.decode("utf-8", "backslashreplace")


def _visible(text: str, limit: int | None = WIDTH) -> str:
    """Show what could deceive the eye: invisible characters, those that turn the direction, and very long lines."""
    shown = "".join(f"\\u{ord(c):04x}" if unicodedata.category(c) in DECEIVING else c for c in text)
    shown = "".join(c if c == "\t" or c.isprintable() else f"\\x{ord(c):02x}" for c in shown)
    return shown if limit is None or len(shown) <= limit else f"{shown[:limit]}… ({len(shown):,} characters)"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
