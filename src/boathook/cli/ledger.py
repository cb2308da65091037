"""`boathook ledger verify`: whether the ledger is complete and unchanged."""

from __future__ import annotations

import click

from boathook.assembly import resolve_state
from boathook.cli.common_options import json_option, state_option
from boathook.cli.show import echo, format_count, print_json
from boathook.ledger.reader import LedgerReport, verify_chain
from boathook.ledger.writer import SPILL_NAME


@click.group("ledger")
def ledger_group() -> None:
    """Verify the ledger, the file of all records.

    `log`, `why`, `stats` and `replay` read it.
    """


@ledger_group.command("verify")
@json_option
@state_option
def verify_ledger(as_json: bool, state: str | None) -> int:
    """Check that no record was edited or removed, and no line added.

    \b
    Every record holds the hash of the one before it.
    Exit codes: 0 the chain is intact, 1 it is broken.
    """
    folder = resolve_state(state)
    report = verify_chain(folder)
    if as_json:
        print_json(report.to_json())
    else:
        for finding in report.findings:
            echo(f"{finding.place}: {finding.kind}: {finding.message}", "bold red")
        _print_report(folder, report)
    return 0 if report.is_good else 1


def _print_report(folder: str, report: LedgerReport) -> None:
    if not report.records and report.is_good:
        echo(f"The ledger in {folder} is empty.")
        return
    size = f"{format_count(report.records, 'record')} in {format_count(report.segments, 'segment')} of {folder}"
    findings = format_count(len(report.findings), "finding")
    echo(f"{size}: {'the chain is intact' if report.is_good else f'{findings}, the chain is broken'}")
    if report.records:
        echo(f"numbers {report.first} to {report.last}, last hash {report.hash}")
    if report.pruned:
        echo(f"{format_count(report.pruned, 'older segment')} removed to limit the size, as recorded")
    if report.spilled:
        records = format_count(report.spilled, "record")
        echo(f"{records} outside the chain, in {SPILL_NAME}, because the ledger could not be written: not verified")
    if report.torn:
        lines = format_count(len(report.torn), "unfinished line")
        echo(f"{lines}, from writers that were interrupted, unless somebody added them: {', '.join(report.torn)}")
