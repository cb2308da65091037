"""The terminal that the page was started in: codes are shown there, where the browser and other programs do not see them."""

from __future__ import annotations

import os
from collections.abc import Iterable

import click

from boathook.cli.person import NO_TERMINAL
from boathook.cli.terminal import open_terminal
from boathook.errors import ConfigError
from boathook.hosts.setup import list_setups
from boathook.permits.agent_evidence import find_agent
from boathook.system.ancestors import list_ancestors


class PageTerminal:
    """`obstacle` is why nothing can be decided on the page: it has no terminal of a person."""

    def __init__(self, obstacle: str) -> None:
        self.obstacle = obstacle

    def show(self, lines: Iterable[str]) -> None:
        """Show lines to the person; ConfigError if the terminal is gone."""
        try:
            with open_terminal() as terminal:
                if terminal is None:
                    raise ConfigError(f"the page cannot show a code: {NO_TERMINAL}. Start it again in a terminal")
                for line in lines:
                    terminal.write(f"{line}\n")
        except click.Abort:
            raise ConfigError("the terminal of the page is closed. Start it again in a terminal") from None


def open_page_terminal() -> PageTerminal:
    """Look at where the page was started: an agent above it counts also if that ends later."""
    evidence = find_agent(os.environ, list_ancestors(), list_setups())
    if evidence is not None:
        about = evidence.program or " and ".join(evidence.variables)
        return PageTerminal(f"the page was started below an agent ({about})")
    with open_terminal() as terminal:
        return PageTerminal("" if terminal is not None else "the page was not started in a terminal")
