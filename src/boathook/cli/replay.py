"""`boathook replay`: what hooks would say today to what happened before."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from typing import Any

import click

from boathook.assembly import look_up, probe, start_of, state_of
from boathook.cli.common_options import json_option, project_option, since_option, state_option
from boathook.cli.log import nothing, since_of, tell_odd
from boathook.cli.show import print_json, print_table, say
from boathook.core.catalog import Catalog
from boathook.core.event import Event
from boathook.core.hook import ARMED, BASIC, ISOLATED, PROJECT, RESTRICTED, Hook, Http, Prompt
from boathook.core.value import Value
from boathook.dialects.native import event_of
from boathook.errors import BoathookError, ConfigError
from boathook.ledger.reader import Reader
from boathook.ledger.record import DISPATCH
from boathook.process.sandbox import offers
from boathook.sources.hook_md.folder import manifest_of, read_hook
from boathook.system.programs import find_entry

SHORT = 60
REDACTED = "[redacted "
HALTS = ("block", "stop")
TURN_ON = 'set record = "whole" under [hooks] in your hooks.toml to keep events for this'


class Difference(Value):
    """An event that would have gone another way."""

    record: dict[str, Any]
    now: str
    reasons: tuple[str, ...]
    by: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as `replay --json` prints it."""
        kept = {name: self.record.get(name) for name in ("id", "time", "event", "tool", "input")}
        was = self.record["decision"]
        return {**kept, "was": was, "now": self.now, "reasons": list(self.reasons), "hooks": list(self.by)}


class Replay:
    """One replay on its way: what was seen, and what differs."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.events = self.replayed = self.partial = self.redacted = self.failed = 0
        self.decisions: dict[str, int] = {}
        self.differences: list[Difference] = []

    def to_json(self) -> dict[str, Any]:
        """Return everything that was found."""
        counts = {n: getattr(self, n) for n in ("events", "replayed", "partial", "redacted", "failed")}
        blocked = sum(self.decisions.get(word, 0) for word in HALTS)
        rows = [difference.to_json() for difference in self.differences]
        return {**counts, "would_block": blocked, "decisions": self.decisions, "differences": rows}


@click.command("replay")
@click.option(
    "--hook", "path", metavar="PATH", type=click.Path(), help="Only this hook: a folder, which may be new or changed."
)
@since_option
@click.option("--unconfined", is_flag=True, help="Run hooks without a sandbox if this machine has none.")
@json_option
@project_option
@state_option
def replay_events(
    path: str | None, since: str | None, unconfined: bool, as_json: bool, project: str | None, state: str | None
) -> int:
    """Run the hooks of today on recorded events.

    It reports the events that would end differently now. Events can be replayed only if your hooks.toml has
    `record = "whole"`; secrets in them are never recorded. Hooks run in a sandbox and a scratch folder: they cannot
    write to the project or open TCP connections.

    \b
    Exit codes: 0 no event ends differently, 1 some do.

    \b
    Examples:
      boathook replay --since 7d
      boathook replay --hook .agents/hooks/new-guard
    """
    catalog = _catalog(path, project, state)
    catalog = _confined(catalog, allowed=unconfined, foreign=path is not None)
    reader = Reader(state_of(state))
    found = _play(catalog, reader, since_of(since), alone=path is not None)
    tell_odd(reader)
    if as_json:
        print_json(found.to_json())
    else:
        _print(found, reader.folder, path)
    return int(bool(found.differences))


def _catalog(path: str | None, project: str | None, state: str | None) -> Catalog:
    """Return the hooks to ask: the one at a path, or all that are armed here."""
    if path is None:
        return look_up(project, state=state)[0].catalog
    start_of(project)
    folder = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    manifest = manifest_of(folder)
    if manifest is None:
        raise ConfigError(f"there is no HOOK.md in {folder}: --hook takes the folder of a hook")
    hook, _ = read_hook(manifest, folder, PROJECT)  # nobody has trusted it: it gets no secrets
    if hook.state != ARMED or find_entry(folder) is None:
        raise ConfigError(
            f"{manifest} is not a hook that can run: {hook.why or 'it has no entry point'} (boathook check)"
        )
    return Catalog((hook,))


def _confined(catalog: Catalog, *, allowed: bool, foreign: bool) -> Catalog:
    """Put every hook behind walls: a replay must not do anything again. Those that only ask elsewhere are left out.

    A foreign hook, which nobody has trusted, gets the highest walls of this machine.
    """
    hooks = tuple(h for h in catalog.hooks if h.state == ARMED and not isinstance(h.handler, Prompt | Http))
    if allowed:
        return catalog.replace(hooks=hooks, diagnostics=())
    there = {offer.level: offer for offer in offers()}
    if not there[RESTRICTED].there:
        why = there[RESTRICTED].how
        raise BoathookError(f"hooks cannot be confined here ({why}); --unconfined runs them without walls")
    level = ISOLATED if foreign and there[ISOLATED].there else RESTRICTED
    return catalog.replace(hooks=tuple(_walled(hook, level) for hook in hooks), diagnostics=())


def _walled(hook: Hook, level: str) -> Hook:
    raised = level if hook.sandbox == BASIC or level == ISOLATED else hook.sandbox
    return hook.replace(sandbox=raised, network=False)


def _play(catalog: Catalog, reader: Reader, since: str, *, alone: bool) -> Replay:
    found = Replay()
    waits = catalog.replace(hooks=tuple(hook.replace(background=False) for hook in catalog.hooks))
    scratch = tempfile.mkdtemp(prefix="boathook-replay-")
    try:
        with probe(waits, scratch, writable=True) as engine:
            for record in reader.read(since):
                if record["type"] == DISPATCH and record.get("host") != "doctor":
                    _one(found, engine, record, scratch, alone=alone)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return found


def _one(found: Replay, engine: Any, record: dict[str, Any], scratch: str, *, alone: bool) -> None:
    """Send one event again; with one hook alone, what counts is what that hook does to it."""
    found.events += 1
    event = _event(record, scratch)
    if event is None:
        found.partial += 1
        return
    found.replayed += 1
    found.redacted += REDACTED in str(record["whole"])
    verdict = engine.dispatch(event)
    now = verdict.decision.word
    found.decisions[now] = found.decisions.get(now, 0) + 1
    found.failed += any(run.status != "ok" for run in verdict.runs)
    rewrites = verdict.modified_input is not None
    was_rewritten = "tool_input" in (record.get("changed") or {})
    differs = now != "none" or rewrites if alone else now != record["decision"] or rewrites != was_rewritten
    if differs:
        by = tuple(run.hook.name for run in verdict.runs if run.outcome.decision == verdict.decision)
        word = f"{now}, rewritten" if rewrites else now
        found.differences.append(Difference(record, word, verdict.reasons, by))


def _event(record: dict[str, Any], scratch: str) -> Event | None:
    """Make the event again, in a scratch folder; None if it was not kept whole."""
    whole = record.get("whole")
    if not isinstance(whole, dict):
        return None
    with contextlib.suppress(BoathookError):
        return event_of({**whole, "work_dir": scratch})
    return None


def _print(found: Replay, folder: str, path: str | None) -> None:
    if not found.events:
        say(nothing(folder, asked=False))
        return
    who = "this hook" if path is not None else "the hooks here"
    blocked = sum(found.decisions.get(word, 0) for word in HALTS)
    say(f"{who} would have blocked {blocked:,} of {found.replayed:,} recorded events", "bold")
    told = {
        f"{found.partial:,} of {found.events:,} records do not hold the whole event; {TURN_ON}": found.partial,
        f"{found.redacted:,} events held secrets that are not kept: hooks saw a stand-in": found.redacted,
        f"hooks failed at {found.failed:,} events: what they need may be missing in the sandbox": found.failed,
    }
    for text, count in told.items():
        if count:
            say(text, "yellow")
    if not found.differences:
        say("nothing would have gone another way" if path is None else "it would have let everything pass", "green")
        return
    rows = [_row(difference) for difference in found.differences]
    print_table(("ID", "TIME", "EVENT", "TOOL", "WAS", "NOW", "INPUT", "WHY"), rows)


def _row(difference: Difference) -> list[str]:
    record = difference.record
    shown = record.get("input")
    text = str(shown.get("command") or shown) if isinstance(shown, dict) else str(shown or "")
    why = "; ".join(difference.reasons)
    cells = (record["id"], record["time"][:19], record["event"], record.get("tool") or "-", record["decision"])
    return [*map(str, cells), difference.now, _short(text), _short(why)]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHORT else f"{line[:SHORT]}…"
