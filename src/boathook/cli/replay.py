"""`boathook replay`: what your current hooks would decide about recorded events."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import Any

import click

from boathook.assembly import load_catalog, resolve_start, resolve_state
from boathook.cli.common_options import json_option, project_option, since_option, state_option
from boathook.cli.hook_causes import find_state_cause
from boathook.cli.log import parse_time, warn_unreadable_lines
from boathook.cli.record_text import describe_empty_log, describe_input
from boathook.cli.show import cut_text, echo, pick_fields, print_json, print_table
from boathook.cli.trial_run import confine_hooks, open_trial_engine
from boathook.core.catalog import Catalog
from boathook.core.event import Event
from boathook.core.hook import ARMED, PROJECT, WARNING, Diagnostic, Hook, Http, Prompt
from boathook.core.value import Value
from boathook.core.verdict import OK
from boathook.dialects.native import make_event
from boathook.engine import Engine
from boathook.errors import BoathookError, ConfigError
from boathook.ledger.reader import LedgerReader
from boathook.ledger.record import DISPATCH_TYPE
from boathook.ledger.schema import LedgerRecord
from boathook.sources.hook_md.folder import find_manifest, read_hook
from boathook.sources.hook_names import match_hook_names
from boathook.system.programs import find_entry_point

_MAX_CELL_CHARS = 60
_REDACTED = "[redacted "
_BLOCKING = ("block", "stop")
_COLUMNS = ("ID", "TIME", "EVENT", "TOOL", "WAS", "NOW", "INPUT", "WHY")
_RECORD_WHOLE = 'To record whole events, set record = "whole" under [hooks] in your hooks.toml'


class Difference(Value):
    record: dict[str, Any]
    now: str
    reasons: tuple[str, ...]
    by: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        recorded = {name: self.record.get(name) for name in ("id", "time", "event", "tool", "input")}
        was = self.record["decision"]
        return {**recorded, "was": was, "now": self.now, "reasons": list(self.reasons), "hooks": list(self.by)}


class ReplayReport:
    def __init__(self) -> None:
        self.events = self.replayed = self.partial = self.redacted = self.failed = 0
        self.decisions: dict[str, int] = {}
        # The hooks that could not take part, by their names: why, and what to do.
        self.absent: dict[str, Diagnostic] = {}
        self.differences: list[Difference] = []

    @property
    def block_count(self) -> int:
        return sum(self.decisions.get(word, 0) for word in _BLOCKING)

    def to_json(self) -> dict[str, Any]:
        counts = pick_fields(self, "events", "replayed", "partial", "redacted", "failed")
        rows = [difference.to_json() for difference in self.differences]
        absent = [{"hook": name, "why": cause.message, "fix": cause.fix} for name, cause in self.absent.items()]
        counts |= {"would_block": self.block_count, "decisions": self.decisions}
        return {**counts, "differences": rows, "absent": absent}


@click.command("replay")
@click.option(
    "--hook", "path", metavar="PATH", type=click.Path(), help="Only this hook: a folder, which may be new or changed."
)
@since_option
@click.option("--unconfined", is_flag=True, help="Run hooks without a sandbox if this machine has none.")
@json_option
@project_option
@state_option
def replay_events(path: str | None, since: str | None, unconfined: bool, as_json: bool, **where: Any) -> int:
    """Run your current hooks on recorded events.

    It reports the events that would end differently now. Events can be replayed only if your hooks.toml has
    `record = "whole"`; secrets in them are never recorded. Hooks run in a sandbox and a scratch folder: they cannot
    write to the project or reach a network.

    \b
    Exit codes: 0 no event ends differently, 1 some do.

    \b
    Examples:
      boathook replay --since 7d
      boathook replay --hook .agents/hooks/new-guard
    """
    catalog = load_catalog(**where) if path is None else load_edited_hook(path, where["project"])
    reader = LedgerReader(resolve_state(where["state"]))
    records = reader.read(parse_time(since))
    report = replay_records(catalog, records, is_single=path is not None, is_allowed_without=unconfined)
    warn_unreadable_lines(reader)
    if as_json:
        print_json(report.to_json())
    else:
        _print_report(report, reader.folder, path)
    return int(bool(report.differences))


def load_edited_hook(path: str, project: str | None) -> Catalog:
    # Raises an error if it is not a folder.
    resolve_start(project)
    if not os.path.exists(path):
        raise ConfigError(f"{path} does not exist: pass the folder of a hook to --hook{_suggest_folder(path, project)}")
    folder = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    manifest = find_manifest(folder)
    if manifest is None:
        raise ConfigError(f"there is no HOOK.md in {folder}: pass the folder of a hook to --hook")
    # As a project hook it gets no secrets, because it is not trusted.
    hook, _ = read_hook(manifest, folder, PROJECT)
    if hook.state != ARMED or find_entry_point(folder) is None:
        error = hook.state_reason or "it has no entry point"
        raise ConfigError(f"{manifest} cannot run: {error}. See how to fix it: boathook check {folder}")
    return Catalog((hook,))


def _suggest_folder(name: str, project: str | None) -> str:
    """Return the folder of a hook of that name, as a hint."""
    hooks = load_catalog(project, trust_all=True).hooks
    folder = next((hook.edited_folder for hook in match_hook_names(hooks, name) if hook.edited_folder), "")
    return f". Did you mean {folder}?" if folder else ""


def replay_records(
    catalog: Catalog, records: Iterable[LedgerRecord], *, is_single: bool, is_allowed_without: bool = False
) -> ReplayReport:
    """Ask the hooks about recorded events, in a sandbox; without one only if that is allowed."""
    report = ReplayReport()
    confined = confine_hooks(catalog, is_allowed_without=is_allowed_without, is_strictest=is_single)
    with open_trial_engine(confined, "boathook-replay-") as (engine, scratch):
        for record in records:
            if record["type"] == DISPATCH_TYPE:
                _replay_record(report, engine, record, scratch, catalog, is_single=is_single)
    return report


def _find_absent_hooks(catalog: Catalog, event: Event) -> dict[str, Diagnostic]:
    """Return why hooks for the kind of an event cannot take part.

    One that changed may have had another matcher, so this one does not count.
    """
    hooks = [hook for hook in catalog.find_hooks(event.kind) if not hook.is_installed_call and not hook.is_off_in_pack]
    absent = {hook.name: _explain_absence(hook) for hook in hooks if hook.state != ARMED}
    asking = (hook for hook in hooks if hook.state == ARMED and isinstance(hook.handler, Prompt | Http))
    text = "it would ask a model or a server, which a replay does not do"
    return absent | {hook.name: Diagnostic(hook.path, None, "", WARNING, text) for hook in asking}


def _explain_absence(hook: Hook) -> Diagnostic:
    fix = cause.fix if (cause := find_state_cause(hook)) is not None else ""
    reason = hook.state_reason or hook.state
    # The second sentence of a reason is the fix.
    return Diagnostic(hook.path, None, "", WARNING, reason.partition(". ")[0] if fix else reason, fix)


def _replay_record(
    report: ReplayReport, engine: Engine, record: dict[str, Any], scratch: str, catalog: Catalog, *, is_single: bool
) -> None:
    """Dispatch one event again. For a single hook, everything that it does is a difference."""
    report.events += 1
    event = _restore_event(record, scratch)
    if event is None:
        report.partial += 1
        return
    report.replayed += 1
    report.redacted += _REDACTED in str(record["whole"])
    report.absent |= _find_absent_hooks(catalog, event)
    verdict = engine.dispatch(event)
    now = verdict.decision.word
    report.decisions[now] = report.decisions.get(now, 0) + 1
    report.failed += any(run.status != OK for run in verdict.runs)
    rewrites = verdict.modified_input is not None
    was_rewritten = "tool_input" in (record.get("changed") or {})
    # For a single hook, the recorded decision is that of other hooks.
    expected = ("none", False) if is_single else (record["decision"], was_rewritten)
    if (now, rewrites) != expected:
        by = tuple(run.hook.name for run in verdict.runs if run.outcome.decision == verdict.decision)
        word = f"{now}, rewritten" if rewrites else now
        reasons = verdict.reasons or tuple(_explain_change(record, catalog, report.absent))
        report.differences.append(Difference(record, word, reasons, by))


def _explain_change(record: dict[str, Any], catalog: Catalog, absent: dict[str, Diagnostic]) -> Iterator[str]:
    """Yield why the hooks that decided then do not decide the same now."""
    deciders = (run["hook"] for run in record["hooks"] if run["decision"] == record["decision"] != "none")
    names = {hook.name for hook in catalog.hooks}
    for name in dict.fromkeys(deciders):
        if name in absent:
            yield f"{name} did not run: {absent[name].message}"
        else:
            yield f"{name} does not object any more" if name in names else f"there is no hook {name} here any more"


def _restore_event(record: dict[str, Any], scratch: str) -> Event | None:
    """Return the recorded event, moved to a scratch folder; None if it was not recorded whole."""
    with contextlib.suppress(BoathookError):
        if isinstance(whole := record.get("whole"), dict):
            return make_event({**whole, "work_dir": scratch})
    return None


def _print_report(report: ReplayReport, folder: str, path: str | None) -> None:
    if not report.events:
        echo(describe_empty_log(folder, is_filtered=False))
        return
    subject = "this hook" if path is not None else "the hooks here"
    echo(f"{subject} would have blocked {report.block_count:,} of {report.replayed:,} recorded events", "bold")
    partial = f"{report.partial:,} of {report.events:,} records do not hold the whole event."
    warnings = {
        f"{partial} {_RECORD_WHOLE}": report.partial,
        f"{report.redacted:,} events had secrets, which are not recorded: hooks got a placeholder": report.redacted,
        f"hooks failed on {report.failed:,} events; the sandbox may lack something they need": report.failed,
    }
    for text, count in warnings.items():
        if count:
            echo(text, "yellow")
    for name, cause in report.absent.items():
        echo(f"{name} did not run: {cause.message}{f'. What to do: {cause.fix}' if cause.fix else ''}", "yellow")
    if report.differences:
        print_table(_COLUMNS, [_make_cells(difference) for difference in report.differences])
    else:
        echo("no event would end differently" if path is None else "it would have blocked and changed nothing", "green")


def _make_cells(difference: Difference) -> list[str]:
    record = difference.record
    cells = (record["id"], record["time"][:19], record["event"], record.get("tool") or "-", record["decision"])
    texts = (describe_input(record), " ".join("; ".join(difference.reasons).split()))
    return [*map(str, cells), difference.now, *(cut_text(text, _MAX_CELL_CHARS) for text in texts)]
