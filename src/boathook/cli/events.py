"""`boathook events`: the table of events."""

from __future__ import annotations

from typing import Any

import click

from boathook.cli.common_options import json_option
from boathook.cli.show import print_json, print_table
from boathook.core.event import KINDS, EventKind


@click.command("events")
@json_option
def show_events(as_json: bool) -> None:
    """List the events, their spellings and what a block means."""
    if as_json:
        print_json({"events": [_event_to_json(kind) for kind in KINDS]})
    else:
        rows = [[kind.name, ", ".join(kind.spellings), kind.block] for kind in KINDS]
        print_table(("EVENT", "OTHER SPELLINGS", "A BLOCK MEANS"), rows)


def _event_to_json(kind: EventKind) -> dict[str, Any]:
    return {
        "name": kind.name,
        "spellings": list(kind.spellings),
        "fields": list(kind.fields),
        "block": kind.block,
        "extension": kind.extension,
    }
