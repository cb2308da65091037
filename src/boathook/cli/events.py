"""`boathook events`: the table of events."""

from __future__ import annotations

import click

from boathook.cli.common_options import json_option
from boathook.cli.show import pick_fields, print_json, print_table
from boathook.core.event import KINDS


@click.command("events")
@json_option
def show_events(as_json: bool) -> None:
    """List the events, their spellings and what a block means."""
    if as_json:
        names = ("name", "spellings", "fields", "matched_fields", "block", "extension")
        print_json({"events": [pick_fields(kind, *names) for kind in KINDS]})
    else:
        rows = [[kind.name, ", ".join(kind.spellings), kind.block] for kind in KINDS]
        print_table(("EVENT", "OTHER SPELLINGS", "A BLOCK MEANS"), rows)
