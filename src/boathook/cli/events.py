"""`boathook events`: the table of events."""

from __future__ import annotations

import click

from boathook.cli.common_options import json_option
from boathook.cli.show import print_json, print_table
from boathook.core.event import KINDS


@click.command("events")
@json_option
def show_events(as_json: bool) -> None:
    """List the events, their spellings and what a block means."""
    if as_json:
        print_json(
            [
                {
                    "name": kind.name,
                    "spellings": list(kind.spellings),
                    "fields": list(kind.fields),
                    "block": kind.block,
                    "extension": kind.extension,
                }
                for kind in KINDS
            ]
        )
        return
    print_table(("EVENT", "ALSO SPELLED", "A BLOCK MEANS"), [[k.name, ", ".join(k.spellings), k.block] for k in KINDS])
