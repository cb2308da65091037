"""The command `boathook`. Each subcommand is declared in the file that its row in `command_rows` names, and imported when used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import click

from boathook.command_rows import COMMANDS, SECTIONS
from boathook.errors import BoathookError
from boathook.version import __version__

# To a host 2 means "blocked", so a mistake in a configured command line must exit with 1.
click.UsageError.exit_code = 1


class _LazyCommands(Mapping[str, click.Command]):
    def __getitem__(self, name: str) -> click.Command:
        module, _, function = COMMANDS[name].target.partition(":")
        command: click.Command = getattr(import_module(f"boathook.cli.{module}"), function)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class CommandTable(click.Group):
    """A group whose help needs no command imported, and which turns our own errors into a line or two and exit code 1."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the summaries by section, without importing the commands."""
        for title, rows in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, row.summary) for name, row in rows.items()], col_max=14)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        items = [CompletionItem(n, help=row.summary) for n, row in COMMANDS.items() if n.startswith(incomplete)]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Read the command line; `--help` prints here."""
        try:
            return super().make_context(*args, **options)
        except BrokenPipeError:
            from boathook.cli.show import end_broken_pipe

            end_broken_pipe()

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what it returns is the exit code."""
        try:
            code = super().invoke(ctx)
        except click.NoSuchOption as error:
            raise _add_argument_hint(error) from None
        except ImportError as error:
            click.echo(f"boathook: this installation is incomplete ({error}). Install boathook again", err=True)
            code = 1
        except BrokenPipeError:
            from boathook.cli.show import end_broken_pipe

            end_broken_pipe()
        except (BoathookError, OSError) as error:
            click.echo(f"boathook: {error}", err=True)
            fix = getattr(error, "fix", "")
            if fix and fix not in str(error):
                click.echo(f"    fix: {fix}", err=True)
            code = 1
        ctx.exit(code or 0)


def _add_argument_hint(error: click.NoSuchOption) -> click.NoSuchOption:
    """Say that a word needs no option, if the command takes it as an argument: `doctor --hook guard`."""
    word = error.option_name.lstrip("-").upper()
    params = error.ctx.command.params if error.ctx is not None else []
    if any(isinstance(one, click.Argument) and word in (one.metavar or "") for one in params):
        message = f"{error.message} Write the {word} without it."
        return click.NoSuchOption(error.option_name, message, error.possibilities, error.ctx)
    return error


@click.group(
    cls=CommandTable,
    commands=_LazyCommands(),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-v", "-V", "--version", prog_name="boathook")
@click.pass_context
def cli(ctx: click.Context) -> int:
    """Run your hooks in every AI coding agent.

    A hook is a folder with a HOOK.md file and a script. Your own hooks are in ~/.config/agents/hooks, those of a
    project in its .agents/hooks. Hooks in settings.json files run too, and those of Codex, Gemini, Qwen, Cursor, Copilot
    and Kimi if you enable them: `boathook list` shows how.

    \b
    First steps:
      boathook demo                                        watch hooks at work
      boathook setup                                       guard the agents on this machine
      boathook                                             see the state, and what to do next
    Then, a hook of your own in this project:
      boathook new no-force-push --event pre-tool-call \\
          --tool Shell --pattern 'push.*--force'           create it
      boathook check                                       find mistakes
      boathook trust no-force-push                         allow it to run
      boathook explain pre-tool-call --tool Shell \\
          --input '{"command": "git push --force"}'        would it run?
    """
    if ctx.invoked_subcommand is None:
        from boathook.cli.overview import show_overview

        return show_overview()
    return 0
