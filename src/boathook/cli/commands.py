"""The command `boathook`: a table of subcommands. Each is declared in the file that its row names, and imported when used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click

from boathook.errors import BoathookError
from boathook.version import __version__

# To a host 2 means "blocked", so a mistake in a configured command line must exit with 1.
click.UsageError.exit_code = 1


class CommandRow(NamedTuple):
    """A subcommand: where it is declared (`module:function` below `boathook.cli`), and its line in the help.

    `changes_guards` says whether it changes what guards the user, so that self-protection asks before an agent runs it: always,
    never, or with one of some words. With a word of `reads_with` it only reads, and so does one that `needs_operand` without it.
    Every row needs the field: a command without it counts as one that changes guards, and a test fails.
    """

    target: str
    summary: str
    changes_guards: bool | tuple[str, ...] | None = None
    reads_with: tuple[str, ...] = ()
    needs_operand: bool = False


SECTIONS: dict[str, dict[str, CommandRow]] = {
    "Start here": {
        "demo": CommandRow("demo:play_demo", "Watch hooks at work in a short scripted session", changes_guards=False),
        "new": CommandRow("new:create_hook", "Create a hook that works as it is", changes_guards=("--user",)),
        "check": CommandRow("check:check_hooks", "Find mistakes in hooks and how to fix them", changes_guards=False),
        "list": CommandRow("list:list_hooks", "List all hooks and their state", changes_guards=False),
        "explain": CommandRow(
            "explain:explain_event", "Show which hooks would run on an event, and why", changes_guards=False
        ),
        "doctor": CommandRow(
            "doctor:examine_hooks", "Run every hook once to see whether it works", changes_guards=("--fix",)
        ),
    },
    "Agents": {
        "install": CommandRow(
            "install:install_host", "Make an agent call boathook", changes_guards=True, reads_with=("--dry-run",)
        ),
        "uninstall": CommandRow(
            "install:uninstall_host",
            "Remove boathook from an agent's configuration",
            changes_guards=True,
            reads_with=("--dry-run",),
        ),
        "status": CommandRow("install:show_status", "Show which agents call boathook", changes_guards=False),
        "hosts": CommandRow("hosts:show_hosts", "List the agents and what hooks can do in each", changes_guards=False),
        "events": CommandRow(
            "events:show_events", "List the events, their spellings and what a block means", changes_guards=False
        ),
        "convert": CommandRow(
            "convert:convert_hooks",
            "Convert settings.json hooks to HOOK.md folders, or back",
            changes_guards=("--move", "--user"),
            reads_with=("--dry-run",),
        ),
        "run": CommandRow(
            "run:run_event", "Run the hooks of one event; this is what agents call", changes_guards=False
        ),
        "agent": CommandRow("agent:run_agent", "Run a small coding agent under your hooks", changes_guards=False),
    },
    "Trust": {
        "trust": CommandRow(
            "trust:trust_hooks",
            "Review the hooks of this project and allow them to run",
            changes_guards=True,
            reads_with=("--list",),
        ),
        "untrust": CommandRow(
            "trust:untrust_hooks", "Forget whether hooks of this project are trusted or denied", changes_guards=True
        ),
        "deny": CommandRow(
            "trust:deny_hooks", "Never run hooks of this project, and do not ask again", changes_guards=True
        ),
        "allow": CommandRow("allow:allow_call", "Allow one call that hooks objected to, once", changes_guards=True),
        "unlock": CommandRow(
            "allow:unlock_guards",
            "Pause self-protection for a while",
            changes_guards=True,
            reads_with=("--end",),
            needs_operand=True,
        ),
    },
    "Ledger": {
        "log": CommandRow("log:show_log", "Show what hooks did, one line per event", changes_guards=False),
        "why": CommandRow("why:show_why", "Show everything that is recorded about one event", changes_guards=False),
        "stats": CommandRow(
            "stats:show_stats", "Show how often each hook ran, blocked and failed, and how fast", changes_guards=False
        ),
        "replay": CommandRow("replay:replay_events", "Run your current hooks on recorded events", changes_guards=False),
        "ledger": CommandRow(
            "ledger:ledger_group", "Verify the ledger, the file of all records", changes_guards=("prune",)
        ),
    },
    "Shell": {
        "completion": CommandRow(
            "completion:print_completion", "Print a completion script for your shell", changes_guards=False
        )
    },
}
COMMANDS = {name: row for rows in SECTIONS.values() for name, row in rows.items()}


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
    """A group whose help needs no command imported, and which turns our own errors into one line and exit code 1."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the summaries by section, without importing the commands."""
        for title, rows in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, row.summary) for name, row in rows.items()], col_max=14)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        items = [CompletionItem(n, help=row.summary) for n, row in COMMANDS.items() if n.startswith(incomplete)]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what it returns is the exit code."""
        try:
            code = super().invoke(ctx)
        except ImportError as error:
            click.echo(f"boathook: this installation is incomplete ({error}). Install boathook again", err=True)
            code = 1
        except (BoathookError, OSError) as error:
            click.echo(f"boathook: {error}", err=True)
            code = 1
        ctx.exit(code or 0)


@click.group(
    cls=CommandTable,
    commands=_LazyCommands(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="boathook")
def cli() -> None:
    """Run your hooks in every AI coding agent.

    A hook is a folder with a HOOK.md file and a script. Your own hooks are in ~/.config/agents/hooks, those of a
    project in its .agents/hooks. Hooks in settings.json files run too.

    \b
    First steps:
      boathook demo                                        watch hooks at work
      boathook new no-force-push --event pre-tool-call \\
          --tool Shell --pattern 'push.*--force'           create a hook in this project
      boathook check                                       find mistakes
      boathook trust no-force-push                         allow it to run
      boathook explain pre-tool-call --tool Shell \\
          --input '{"command": "git push --force"}'        would it run?
      boathook install AGENT                               make an agent call your hooks (see boathook hosts)
    """
