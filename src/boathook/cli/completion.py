"""`boathook completion`: completion scripts for shells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import get_completion_class

from boathook.cli.commands import cli


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def print_completion(shell: str) -> None:
    """Print a completion script for your shell.

    \b
    Examples:
      boathook completion bash >> ~/.bashrc
      boathook completion fish > ~/.config/fish/completions/boathook.fish
    """
    completion_class: Callable[..., Any] | None = get_completion_class(shell)
    if completion_class is not None:
        click.echo(completion_class(cli, {}, "boathook", "_BOATHOOK_COMPLETE").source())
