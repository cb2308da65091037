"""`boathook events`: the table of events."""

from __future__ import annotations

from boathook.cli.show import print_json, print_table
from boathook.core.event import KINDS


def print_events(*, as_json: bool) -> None:
    """Print the events."""
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
