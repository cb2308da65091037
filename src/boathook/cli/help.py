"""`boathook help` and `boathook version`, for people who expect them to be commands."""

from __future__ import annotations

import click

from boathook.cli.show import echo
from boathook.core.near_words import suggest
from boathook.version import __version__


@click.command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def show_help(ctx: click.Context, words: tuple[str, ...]) -> int:
    """Show the help of a command."""
    parent = ctx.find_root()
    for word in words:
        group = parent.command
        command = group.get_command(parent, word) if isinstance(group, click.Group) else None
        if command is None:
            known = group.list_commands(parent) if isinstance(group, click.Group) else []
            otherwise = (
                "boathook --help lists the commands" if known else f"boathook {parent.info_name} has no commands"
            )
            raise click.UsageError(f"there is no command '{word}': {suggest(word, known, otherwise)}")
        parent = click.Context(command, info_name=word, parent=parent)
    click.echo(parent.get_help())
    return 0


@click.command("version")
def show_version() -> int:
    """Show the version of boathook."""
    echo(f"boathook, version {__version__}")
    return 0
