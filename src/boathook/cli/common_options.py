"""Options, arguments and parameter types that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from boathook.cli.name_completion import PROJECT_HOOK_NAME
from boathook.core.event import KINDS, SPELLINGS, find_kind
from boathook.core.near_words import suggest
from boathook.dialects.dialect import NATIVE
from boathook.entry.options import SOURCE, SWITCH, list_flags
from boathook.errors import BoathookError
from boathook.hosts.host import list_host_names
from boathook.ledger.record import PYTHON_AGENT
from boathook.sources.source import SOURCES
from boathook.system.locations import list_without_names

if TYPE_CHECKING:
    from boathook.entry.options import Flag


class EventParameter(click.ParamType[str]):
    name = "event"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            find_kind(value)
        except BoathookError as error:
            self.fail(f"{error}. List the events with: boathook events", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG002
        from click.shell_completion import CompletionItem

        names = [kind.name for kind in KINDS if kind.name.startswith(incomplete)]
        return [CompletionItem(name) for name in names or SPELLINGS if name.startswith(incomplete)]


_SEE_HOSTS = "boathook hosts shows what they are"


class HostParameter(click.Choice[str]):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            known = ", ".join(self.choices)
            self.fail(
                f"unknown host '{value}' (known: {known}): {suggest(value, self.choices, _SEE_HOSTS)}", param, ctx
            )
        return super().convert(value, param, ctx)


EVENT = EventParameter()
HOST_TYPE = HostParameter(list_host_names())
# Whom records name: also agents that send our own events, and programs in Python.
RECORDED_HOST = HostParameter([*list_host_names(), NATIVE, PYTHON_AGENT])


def _make_option(flag: Flag) -> Callable[..., Any]:
    name, kind, _, metavar, help_text = flag
    if kind == SWITCH:
        return click.option(name, is_flag=True, help=help_text)
    value_type = {"EVENT": EVENT, "DIR": click.Path()}.get(metavar)
    help_text = help_text.format(sources=", ".join(list_without_names(SOURCES)))
    return click.option(name, metavar=metavar, type=value_type, multiple=kind == SOURCE, help=help_text)


_RUN_OPTIONS = {flag[0]: _make_option(flag) for flag in list_flags()}
project_option, state_option, trust_all_option = (_RUN_OPTIONS[f"--{n}"] for n in ("project", "state", "trust-all"))
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_SINCE_HELP = "Only records since TIME: 10m, 2h or 3d ago, or a date such as 2026-01-31T12:00."
since_option = click.option("--since", metavar="TIME", help=_SINCE_HELP)
names_argument = click.argument("names", nargs=-1, metavar="[NAME]...", type=PROJECT_HOOK_NAME)


def make_agent_option(
    name: str, help_text: str, *, choices: HostParameter = HOST_TYPE, multiple: bool = False
) -> Callable[..., Any]:
    """Return the option that names an agent; `--host` is the word of `run` for it."""
    more = "; may be repeated" if multiple else ""
    return click.option(
        "--agent", "--host", name, type=choices, metavar="AGENT", multiple=multiple, help=f"{help_text}{more}."
    )


host_argument = click.argument("host", type=HOST_TYPE, metavar="[HOST]", required=False)


def _combine(*options: Callable[..., Any]) -> Callable[..., Any]:
    def add_options(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add_options


add_run_options = _combine(*_RUN_OPTIONS.values())
add_catalog_options = _combine(project_option, state_option, trust_all_option)
_PROJECT_HELP = "For one project only: DIR, or the project around the current folder."
add_scope_options = _combine(
    click.option("--user", is_flag=True, help="For all your projects (the default)."),
    click.option("--project", metavar="[DIR]", is_flag=False, flag_value="", type=click.Path(), help=_PROJECT_HELP),
    click.option("--dry-run", is_flag=True, help="Show every line that would change, and write nothing."),
    click.option("--diff", is_flag=True, help="Show every line that changes, not only a summary."),
    click.option("--yes", is_flag=True, help="Do not ask for confirmation."),
)
