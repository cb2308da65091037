"""The terminal that the page was started in: codes are shown there, where the browser and other programs do not see them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import click

from boathook.cli.person import NO_TERMINAL
from boathook.cli.terminal import open_terminal
from boathook.errors import ConfigError
from boathook.hosts.setup import list_setups
from boathook.permits.agent_evidence import find_agent
from boathook.system.ancestors import list_ancestors

_CLOSED, _START_AGAIN = "the terminal of the page is closed", "Start it again in a terminal"


class PageTerminal:
    """`obstacle` is why nothing can be decided on the page: it has no terminal of a person."""

    def __init__(self, obstacle: str, is_there: Callable[[], bool] = lambda: True) -> None:
        """`is_there` looks whether the terminal can be opened: it may be closed while the page runs."""
        self._obstacle, self._is_there = obstacle, is_there

    @property
    def obstacle(self) -> str:
        return self._obstacle or ("" if self._is_there() else f"{_CLOSED}. {_START_AGAIN}")

    def show(self, lines: Iterable[str]) -> None:
        """Show lines to the person; ConfigError if the terminal is gone."""
        try:
            with open_terminal() as terminal:
                if terminal is None:
                    raise ConfigError(f"the page cannot show a code: {NO_TERMINAL}. {_START_AGAIN}")
                for line in lines:
                    terminal.write(f"{line}\n")
        except click.Abort:
            raise ConfigError(f"{_CLOSED}. {_START_AGAIN}") from None


def open_page_terminal() -> PageTerminal:
    """Look at where the page was started: an agent above it counts also if that ends later."""
    evidence = find_agent(os.environ, list_ancestors(), list_setups())
    if evidence is not None:
        return PageTerminal(f"the page was started by an agent ({evidence.text})")
    return PageTerminal("" if _has_terminal() else "the page was not started in a terminal", _has_terminal)


def _has_terminal() -> bool:
    with open_terminal() as terminal:
        return terminal is not None
