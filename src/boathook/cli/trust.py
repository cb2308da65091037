"""`boathook trust`, `untrust` and `deny`: review the hooks of a project and decide whether they may run."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import click

from boathook.assembly import load_with_trust, locate
from boathook.cli.common_options import json_option, names_argument, project_option, state_option
from boathook.cli.show import STATE_STYLES, echo, print_json, print_table
from boathook.cli.trust_review import TrustCandidate, print_review
from boathook.core.approval import DENY, TRUST, TrustRecord
from boathook.core.catalog import Catalog
from boathook.core.hook import ARMED, USER
from boathook.errors import TrustError
from boathook.loader import Loaded
from boathook.trust.judge import HookContent, get_identity, read_hook_content
from boathook.trust.snapshot import SnapshotError
from boathook.trust.store import TrustStore

_everything_option = click.option("--all", "everything", is_flag=True, help="All hooks of this project.")


@click.command("trust")
@names_argument
@click.option("--all", "everything", is_flag=True, help="All hooks of this project; the same as no NAME.")
@click.option("--yes", is_flag=True, help="Trust without asking. Read the output first.")
@click.option("--override", is_flag=True, help="With --yes: also hooks that replace one of your own.")
@click.option("--list", "is_list", is_flag=True, help="List trust decisions.")
@json_option
@project_option
@state_option
def trust_hooks(
    names: tuple[str, ...], everything: bool, yes: bool, override: bool, is_list: bool, as_json: bool, **where: Any
) -> int:
    """Review the hooks of this project and allow them to run.

    Hooks of a project are code that other people wrote: they are skipped, with a warning, until you trust them. You trust
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
    if as_json and not is_list:
        raise click.UsageError("--json needs --list")
    if is_list:
        return _list_decisions(*load_with_trust(locate(**where)), as_json=as_json)
    if names and everything:
        raise click.UsageError("NAME and --all exclude each other")
    return _review_hooks(names, *load_with_trust(locate(**where)), yes=yes, override=override)


def _review_hooks(names: tuple[str, ...], loaded: Loaded, store: TrustStore, *, yes: bool, override: bool) -> int:
    candidates = _list_candidates(loaded)
    chosen = _choose(candidates, names)
    if not names:
        chosen = [one for one in chosen if one.state != ARMED and not one.is_denied]
    if not candidates:
        folder = min(_list_projects(loaded.catalog), default="this folder")
        echo(f"There are no project hooks in {folder}. Your own hooks need no trust.")
    elif not chosen:
        trusted = sum(candidate.state == ARMED for candidate in candidates)
        echo(f"Nothing to review: {trusted} trusted, {len(candidates) - trusted} denied.", "green")
    if not chosen:
        return 0
    if not yes and not sys.stdin.isatty():
        for candidate in chosen:
            print_review(candidate, store)
        problem = "Nothing was trusted: there is no terminal to ask at"
        echo(f"{problem}. If you have read the above, add --yes.", "yellow", err=True)
        return 1
    answers = [_decide(candidate, store, yes=yes, override=override) for candidate in chosen]
    return int(not all(answers))


def _decide(candidate: TrustCandidate, store: TrustStore, *, yes: bool, override: bool) -> bool:
    name, content = candidate.hook.name, candidate.content
    if candidate.state == ARMED:
        echo(f"{name} is trusted already", "green")
        return True
    if candidate.is_denied:
        echo(f"{name} is denied. To undo this: boathook untrust {name}", "yellow", err=True)
        return False
    print_review(candidate, store)
    if content is None:
        echo(f"  {name} cannot be trusted: {candidate.error}", "bold red", err=True)
        return False
    if candidate.is_override and yes and not override:
        echo(f"  {name} would replace your own hook. If you want that, add --override", "yellow", err=True)
        return False
    question = f"Trust {name}, and let it replace your own hook?" if candidate.is_override else f"Trust {name}?"
    if not yes and not click.confirm(question, default=False):
        return False
    _store_approval(candidate, content, store)
    echo(f"  {name} is trusted: exactly these bytes, for {content.project}", "green")
    return True


def _store_approval(candidate: TrustCandidate, content: HookContent, store: TrustStore) -> None:
    """Copy exactly the bytes that were shown, then write the record."""
    try:
        store.make_copy(content.digest, content.snapshots)
    except OSError as error:
        raise TrustError(f"cannot make a private copy in {store.state}: {error.strerror}") from None
    record = TrustRecord(
        content.project,
        content.identity,
        candidate.hook.name,
        TRUST,
        content.digest,
        tuple(content.snapshots),
        content.files,
        content.definition.decode(),
        candidate.is_override,
        _format_now(),
    )
    store.save_records(record)


@click.command("deny")
@names_argument
@_everything_option
@project_option
@state_option
def deny_hooks(names: tuple[str, ...], everything: bool, **where: Any) -> int:
    """Never run hooks of this project, and do not ask again.

    This holds even if they change. `untrust` undoes it.
    """
    loaded, store = load_with_trust(locate(**where))
    if not names and not everything:
        raise click.UsageError("name the hooks to deny, or pass --all")
    for candidate in _choose(_list_candidates(loaded), names):
        name = candidate.hook.name
        store.save_records(TrustRecord(*candidate.key, name, DENY, time=_format_now()))
        echo(f"{name} is denied: it never runs here, even if it changes", "yellow")
    return 0


@click.command("untrust")
@names_argument
@_everything_option
@project_option
@state_option
def untrust_hooks(names: tuple[str, ...], everything: bool, **where: Any) -> int:
    """Forget whether hooks of this project are trusted or denied.

    They are untrusted again. This works for hooks that no longer exist, too.
    """
    loaded, store = load_with_trust(locate(**where))
    if not names and not everything:
        raise click.UsageError("name the hooks to forget, or pass --all")
    projects = _list_projects(loaded.catalog)
    here = [record for record in store.records if record.project in projects]
    chosen = here if everything else [r for r in here if r.name in names or r.identity in names]
    unknown = set(names) - {r.name for r in chosen} - {r.identity for r in chosen}
    if unknown:
        hooks = ", ".join(sorted(unknown))
        raise TrustError(f"no decision about {hooks} is stored for this project. List them: boathook trust --list")
    store.remove_records(*chosen)
    for record in chosen:
        echo(f"{record.name} is no longer {'trusted' if record.decision == TRUST else 'denied'}")
    return 0


def _list_projects(catalog: Catalog) -> set[str]:
    return {os.path.realpath(path) for _, path in catalog.projects if path}


def _list_decisions(loaded: Loaded, store: TrustStore, *, as_json: bool) -> int:
    """Print every hook of this project with its trust state, and all decisions about other projects."""
    if store.error:
        raise TrustError(store.error)
    rows = _make_rows(loaded, store)
    if as_json:
        print_json({"hooks": rows})
    elif not rows:
        echo("No hook is trusted or denied, and this project has no hooks.")
    else:
        cells = [[row["name"], row["state"], row["when"] or "-", row["project"], row["identity"]] for row in rows]
        print_table(("NAME", "STATE", "SINCE", "PROJECT", "HOOK"), cells, [STATE_STYLES[row["state"]] for row in rows])
    return 0


def _make_rows(loaded: Loaded, store: TrustStore) -> list[dict[str, Any]]:
    rows, shown = [], set()
    for candidate in _list_candidates(loaded):
        shown.add(candidate.key)
        rows.append(_make_row(*candidate.key, candidate.hook.name, candidate.shown_state, candidate.record))
    projects = _list_projects(loaded.catalog)
    for record in store.records:
        if (record.project, record.identity) not in shown:
            decision = "denied" if record.decision == DENY else "trusted"
            state = "gone" if record.project in projects else decision
            rows.append(_make_row(record.project, record.identity, record.name, state, record))
    return rows


def _make_row(project: str, identity: str, name: str, state: str, record: TrustRecord | None) -> dict[str, Any]:
    decision: dict[str, Any] = {"digest": None, "override": False, "when": None}
    if record:
        decision = {"digest": record.digest or None, "override": record.override, "when": record.time or None}
    return {"name": name, "state": state, "project": project, "identity": identity, **decision}


def _list_candidates(loaded: Loaded) -> list[TrustCandidate]:
    hooks = loaded.catalog.hooks
    states = {(hook.source, hook.path, hook.place or hook.path): hook.state for hook in hooks if hook.scope != USER}
    own_names = {(hook.source, hook.name) for hook in hooks if hook.scope == USER and not hook.runs_together}
    candidates = []
    for hook, project, record, config in (
        (one.hook, one.project, one.record, one.config) for one in loaded.project_hooks
    ):
        key = (os.path.realpath(project), get_identity(hook, project))
        state = states.get((hook.source, hook.path, hook.place or hook.path), hook.state)
        is_override = (hook.source, hook.name) in own_names
        content, message = None, ""
        try:
            content = read_hook_content(hook, project, config)
        except SnapshotError as error:
            message = str(error)
        candidates.append(TrustCandidate(hook, key, state, record, content, message, is_override))
    return candidates


def _choose(candidates: list[TrustCandidate], names: tuple[str, ...]) -> list[TrustCandidate]:
    if not names:
        return candidates
    chosen = []
    for name in names:
        matching = [one for one in candidates if name == one.hook.name or one.hook.name.startswith(f"{name}#")]
        if not matching:
            known = ", ".join(one.hook.name for one in candidates) or "none"
            raise TrustError(f"this project has no hook '{name}' that needs trust (it has: {known})")
        chosen += matching
    return chosen


def _format_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
