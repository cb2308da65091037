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
from boathook.trust.bound_files import Binding
from boathook.trust.judge import Judged, Proposal, identity_of, propose
from boathook.trust.snapshot import FILE, LINK, SnapshotError, SnapshotItem, read_snapshot
from boathook.trust.store import Trust

FIRST_LINES = 20
DIFF_LINES = 60
WIDTH = 1000
DECEIVING = ("Cf", "Co", "Cn", "Cs", "Zl", "Zp")


class Candidate(Value):
    """A hook to be trusted or not: as it lies there, what was said of it, and what is wrong with trusting it."""

    hook: Hook
    state: str
    record: TrustRecord | None
    proposal: Proposal | None
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
    loaded, book = load_with_trust(locate(project, state=state))
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
            _show(one, book)
        say(
            "Nothing was trusted: there is nobody to ask here. Add --yes if you have read the above.",
            "yellow",
            err=True,
        )
        return 1
    left = [one for one in chosen if not _settle(one, book, yes=yes, override=override)]
    return int(bool(left))


def _settle(one: Candidate, book: Trust, *, yes: bool, override: bool) -> bool:
    """Show a hook and take the answer; say whether it is trusted now."""
    name = one.hook.name
    if one.state == ARMED:
        say(f"{name} is trusted already", "green")
        return True
    if _is_denied(one):
        say(f"{name}: you denied it; 'boathook untrust {name}' takes that back", "yellow", err=True)
        return False
    _show(one, book)
    if one.proposal is None:
        say(f"  {name} cannot be trusted: {one.error}", "bold red", err=True)
        return False
    if one.replaces and yes and not override:
        say(f"  {name} would replace your own hook: add --override if you want that", "yellow", err=True)
        return False
    question = f"Trust {name}, and let it replace your own hook?" if one.replaces else f"Trust {name}?"
    if not yes and not click.confirm(question, default=False):
        return False
    _remember(one, one.proposal, book)
    say(f"  {name} is trusted: exactly these bytes, for {one.proposal.project}", "green")
    return True


def _remember(one: Candidate, proposal: Proposal, book: Trust) -> None:
    """Keep the very bytes that were shown, then the word about them."""
    try:
        book.keep(proposal.digest, proposal.trees)
    except OSError as error:
        raise TrustError(f"no private copy could be made in {book.state}: {error.strerror}") from None
    record = TrustRecord(
        proposal.project,
        proposal.identity,
        one.hook.name,
        TRUST,
        proposal.digest,
        tuple(proposal.trees),
        proposal.listing,
        proposal.definition.decode(),
        one.replaces,
        _now(),
    )
    book.put(record)


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
    loaded, book = load_with_trust(locate(project, state=state))
    if not names and not everything:
        raise click.UsageError("name the hooks to deny, or say --all")
    for one in _chosen(_candidates(loaded), names):
        judged = next(j for j in loaded.judged if j.hook is one.hook)
        real = os.path.realpath(judged.project)
        record = TrustRecord(real, identity_of(one.hook, judged.project), one.hook.name, DENY, when=_now())
        book.put(record)
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
    loaded, book = load_with_trust(locate(project, state=state))
    if not names and not everything:
        raise click.UsageError("name the hooks to forget, or say --all")
    projects = {os.path.realpath(path) for _, path in loaded.catalog.projects if path}
    here = [record for record in book.records if record.project in projects]
    chosen = here if everything else [r for r in here if r.name in names or r.identity in names]
    unknown = set(names) - {r.name for r in chosen} - {r.identity for r in chosen}
    if unknown:
        raise TrustError(f"nothing was said of {', '.join(sorted(unknown))} here (see boathook trust --list)")
    book.drop(*chosen)
    for record in chosen:
        say(
            f"{record.name} is not trusted any more"
            if record.word == TRUST
            else f"{record.name} is not denied any more"
        )
    return 0


def list_trust(project: str | None, state: str | None, *, as_json: bool) -> int:
    """Print every hook of this project with what was said of it, and what was said in other projects."""
    loaded, book = load_with_trust(locate(project, state=state))
    if book.problem:
        raise TrustError(book.problem)
    rows = _rows(loaded, book)
    if as_json:
        print_json({"hooks": rows})
    elif not rows:
        say("No hook was trusted or denied, and this project has none.")
    else:
        cells = [[r["name"], r["state"], r["when"] or "-", r["project"], r["identity"]] for r in rows]
        print_table(("NAME", "STATE", "SINCE", "PROJECT", "HOOK"), cells, [STATE_STYLES[r["state"]] for r in rows])
    return 0


def _rows(loaded: Loaded, book: Trust) -> list[dict[str, Any]]:
    rows, seen = [], set()
    for one in _candidates(loaded):
        judged = next(j for j in loaded.judged if j.hook is one.hook)
        key = (os.path.realpath(judged.project), identity_of(one.hook, judged.project))
        seen.add(key)
        rows.append(_row(*key, one.hook.name, one.shown_state, one.record))
    projects = {os.path.realpath(path) for _, path in loaded.catalog.projects if path}
    for record in book.records:
        if (record.project, record.identity) not in seen:
            there = "denied" if record.word == DENY else "trusted"
            state = "gone" if record.project in projects else there
            rows.append(_row(record.project, record.identity, record.name, state, record))
    return rows


def _row(project: str, identity: str, name: str, state: str, record: TrustRecord | None) -> dict[str, Any]:
    said = {"digest": record.digest, "override": record.override, "when": record.when} if record else {}
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
    return [_candidate(judged, states, users) for judged in loaded.judged]


def _candidate(judged: Judged, states: dict[Any, tuple[str, str]], users: set[str]) -> Candidate:
    hook = judged.hook
    state, _ = states.get((hook.source, hook.path, hook.place or hook.path), (hook.state, ""))
    replaces = hook.source == HOOK_MD and hook.name in users
    try:
        proposal, error = propose(hook, judged.project, judged.config), ""
    except SnapshotError as wrong:
        proposal, error = None, str(wrong)
    return Candidate(hook, state, judged.record, proposal, error, replaces)


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
    return one.record is not None and one.record.word == DENY


def _say_nothing_left(candidates: list[Candidate], loaded: Loaded) -> None:
    if not candidates:
        where = loaded.catalog.project or "this folder"
        say(f"There are no hooks of a project in {where}. Your own hooks need no trust.")
        return
    trusted = sum(one.state == ARMED for one in candidates)
    say(f"Nothing to ask: {trusted} of {len(candidates)} hooks are trusted, the others are denied.", "green")


# What is shown


def _show(one: Candidate, book: Trust) -> None:
    """Show a hook as the bytes that would be kept say it."""
    hook = one.proposal.hook if one.proposal is not None else one.hook
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
    if one.proposal is not None:
        _show_files(one, one.proposal, book)


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


def _show_files(one: Candidate, proposal: Proposal, book: Trust) -> None:
    if not proposal.trees:
        say("  files     none of this project that could be found: only the definition above is bound", "dim")
    for root, tree in proposal.trees.items():
        say(f"  files     {_visible(root)}")
        for part in tree.parts:
            if part.kind in (FILE, LINK):
                say(f"    {_visible(part.path or os.path.basename(root))}  {_about(part)}")
    _show_loose(proposal.binding)
    old = book.copy(one.record.digest) if one.record is not None and one.record.digest else ""
    if old and one.record is not None and one.record.digest != proposal.digest:
        _show_changes(proposal, old, one.record)
    else:
        for path, text in _first_texts(proposal):
            _show_text(path, text)


def _show_loose(binding: Binding) -> None:
    """Show what a command names and a yes does not cover."""
    for path in binding.absent:
        say(f"  named     {_visible(path)}, which is not there: if it comes, you are asked again", "dim")
    for path in binding.loose:
        say(
            f"  not bound {_visible(path)}: named, but not plainly run; it may change without being asked",
            "bold yellow",
        )
    if binding.unclear:
        say(f"  not bound what this runs could not be found out: {_visible(binding.unclear, None)}", "bold yellow")


def _about(part: SnapshotItem) -> str:
    if part.kind == LINK:
        return f"-> {_visible(part.data.decode('utf-8', 'backslashreplace'))}"
    runs = ", executable" if part.mode & 0o111 else ""
    return f"{len(part.data):,} bytes{runs}"


def _first_texts(proposal: Proposal) -> list[tuple[str, str]]:
    """Return the files that run first, with their text."""
    handler = proposal.hook.handler
    if isinstance(handler, Script):
        entry = find_entry(handler.folder)
        paths = [os.path.relpath(entry, handler.folder)] if entry else []
        tree = next(iter(proposal.trees.values()))
        return [(p.path, _text(p)) for p in tree.parts if p.path in paths]
    found = []
    for root, tree in proposal.trees.items():
        for part in tree.parts:
            path = f"{root}/{part.path}" if part.path else root
            if any(file.path == path for file in proposal.binding.files):
                found.append((path, _text(part)))
    return found


def _show_text(path: str, text: str) -> None:
    lines = text.splitlines()
    say(f"  {_visible(path)}:")
    for line in lines[:FIRST_LINES]:
        say(f"    | {_visible(line)}")
    if len(lines) > FIRST_LINES:
        say(f"    … {len(lines) - FIRST_LINES} more lines", "dim")


def _show_changes(proposal: Proposal, old: str, record: TrustRecord) -> None:
    """Show what is not as it was trusted: definition, then files."""
    say("  changed since it was trusted:", "yellow")
    if record.definition != proposal.definition.decode():
        _show_diff("the definition", _spread(record.definition), _spread(proposal.definition.decode()))
    shown: set[str] = set()
    for root in dict.fromkeys((*record.roots, *proposal.trees)):
        before = _texts_of(resolve_copy_path(old, record.roots.index(root), root)) if root in record.roots else {}
        tree = proposal.trees.get(root)
        after = {part.path: part for part in tree.parts} if tree else {}
        for path in sorted({*before, *after}):
            one, other = before.get(path), after.get(path)
            if _looks(one) != _looks(other):
                shown.add(f"{root}/{path}" if path else root)
                _show_part(path or os.path.basename(root), one, other)
    now = dict(proposal.listing)
    for path, word in record.files:
        if now.get(path, word) != word and path not in shown:
            say(f"    mode changed: {_visible(path)}", "yellow")


def _spread(definition: str) -> str:
    return definition.replace(", ", ",\n")


def _texts_of(root: str) -> dict[str, SnapshotItem]:
    try:
        return {part.path: part for part in read_snapshot(root).parts}
    except SnapshotError:
        return {}


def _looks(part: SnapshotItem | None) -> tuple[str, bytes] | None:
    return (part.kind, part.data) if part else None


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


def _text(part: SnapshotItem) -> str:
    return "(binary)" if b"\0" in part.data else part.data.decode("utf-8", "backslashreplace")


def _visible(text: str, limit: int | None = WIDTH) -> str:
    """Show what could deceive the eye: invisible characters, those that turn the direction, and very long lines."""
    shown = "".join(f"\\u{ord(c):04x}" if unicodedata.category(c) in DECEIVING else c for c in text)
    shown = "".join(c if c == "\t" or c.isprintable() else f"\\x{ord(c):02x}" for c in shown)
    return shown if limit is None or len(shown) <= limit else f"{shown[:limit]}… ({len(shown):,} characters)"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
