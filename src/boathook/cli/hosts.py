"""`boathook hosts`: the agents that can call boathook, and what hooks can do in each."""

from __future__ import annotations

import click

from boathook.cli.common_options import json_option
from boathook.cli.show import echo, print_json, print_table
from boathook.hosts.capability_table import CASE_LEGEND, LEGEND, host_to_json, make_capability_table
from boathook.hosts.host import list_host_names, load_host


@click.command("hosts")
@click.option("--capabilities", "with_capabilities", is_flag=True, help="Show what hooks can do at each event.")
@json_option
def show_hosts(with_capabilities: bool, as_json: bool) -> None:
    """List the agents and what hooks can do in each.

    These are the names that `run --host`, `install` and `check --agent` take.
    """
    if as_json:
        print_json({"hosts": [host_to_json(load_host(name)) for name in list_host_names()]})
    elif with_capabilities:
        print_table(("EVENT", *list_host_names()), make_capability_table())
        echo("")
        echo(", ".join(f"{letter} {meaning}" for letter, meaning in LEGEND))
        echo(CASE_LEGEND)
    else:
        rows = [[name, load_host(name).title, load_host(name).evidence] for name in list_host_names()]
        print_table(("HOST", "AGENT", "EVIDENCE"), rows)
