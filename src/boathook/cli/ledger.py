"""`boathook ledger verify`: whether the ledger is as it was written."""

from __future__ import annotations

import click

from boathook.assembly import state_of
from boathook.cli.common_options import json_option, state_option
from boathook.cli.show import print_json, say
from boathook.ledger.reader import Report, verify


@click.group("ledger")
def ledger_group() -> None:
    """Verify the ledger, the file of all records.

    `log`, `why`, `stats` and `replay` read it.
    """


@ledger_group.command("verify")
@json_option
@state_option
def verify_ledger(as_json: bool, state: str | None) -> int:
    """Check that no record was edited or removed.

    \b
    Every record holds the hash of the one before it.
    Exit codes: 0 the chain is intact, 1 it is broken.
    """
    folder = state_of(state)
    report = verify(folder)
    if as_json:
        print_json(report.to_json())
    else:
        for finding in report.findings:
            say(f"{finding.place}: {finding.kind}: {finding.message}", "bold red")
        _print(folder, report)
    return 0 if report.is_good else 1


def _print(folder: str, report: Report) -> None:
    if not report.records and report.is_good:
        say(f"Nothing is recorded yet in {folder}.")
        return
    what = f"{_count(report.records, 'record')} in {_count(report.segments, 'segment')} of {folder}"
    wrong = _count(len(report.findings), "finding")
    say(f"{what}: {'the chain holds' if report.is_good else f'{wrong}, the chain does not hold'}")
    if report.records:
        say(f"numbers {report.first} to {report.last}, last hash {report.hash}")
    if report.pruned:
        say(f"{_count(report.pruned, 'older segment')} removed for the size of all, as recorded")
    if report.spilled:
        say(f"{_count(report.spilled, 'record')} put aside, not in the chain: the ledger could not be written then")
    if report.torn:
        say(f"{_count(len(report.torn), 'unfinished line')}, of writers that were ended: {', '.join(report.torn)}")


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
