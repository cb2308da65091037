"""`boathook check`: the strict checker."""

from __future__ import annotations

import click

from boathook.assembly import load_catalog, start_of
from boathook.cli.common_options import json_option, project_option
from boathook.cli.show import STATE_STYLES, print_json, say
from boathook.core.catalog import Catalog, takes_part
from boathook.core.hook import ERROR, WARNING, Diagnostic
from boathook.hosts.capabilities import misfits
from boathook.hosts.host import NAMES, load
from boathook.sources.checker import check_catalog, check_path


@click.command("check")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    type=click.Choice(NAMES),
    help="Also warn about features that this agent lacks. Can be repeated.",
)
@json_option
@project_option
def check_hooks(
    paths: tuple[str, ...], strict: bool, hosts: tuple[str, ...], as_json: bool, project: str | None
) -> int:
    """Find mistakes in hooks and how to fix them.

    PATH is a HOOK.md, a hook folder, a folder of hooks, a hooks.toml, a settings.json or a project. Without PATH,
    all hooks that apply to the current folder are checked.

    \b
    Exit codes: 0 no errors, 1 errors (with --strict: errors or warnings).

    \b
    Examples:
      boathook check
      boathook check --strict .agents/hooks/my-hook
      boathook check --host codex --host kimi-code
    """
    start_of(project)  # refuses what is no folder
    if paths:
        found = [problem for path in paths for problem in check_path(path)]
    else:
        catalog = load_catalog(project, trust_all=True)
        found = check_catalog(catalog)
        if not found and not as_json and not catalog.hooks:
            say("there are no hooks here: nothing to check", "yellow")
            return int(strict)
    if hosts:
        catalog = load_catalog(project, trust_all=True)
        found += [problem for name in hosts for problem in misfitting(catalog, name)]
    if as_json:
        print_json([problem.to_json() for problem in found])
    else:
        _print(found)
    return int(any(strict or problem.level == ERROR for problem in found))


def misfitting(catalog: Catalog, host: str) -> list[Diagnostic]:
    """Return a warning for everything that the hooks of a catalogue cannot do in a host."""
    table = load(host)
    return [
        Diagnostic(
            hook.path, None, f"host {host}", WARNING, f"hook '{hook.name}': {text}", "see boathook hosts --capabilities"
        )
        for hook in catalog.hooks
        if takes_part(hook)
        for text in misfits(hook, table)
    ]


def _print(found: list[Diagnostic]) -> None:
    for problem in found:
        place = f"{problem.path}:{problem.line}" if problem.line else problem.path
        key = f" [{problem.key}]" if problem.key else ""
        say(f"{problem.level}: {place}{key}", STATE_STYLES[problem.level])
        say(f"    {problem.message}")
        if problem.fix:
            say(f"    mend: {problem.fix}", "dim")
    errors = sum(problem.level == ERROR for problem in found)
    if found:
        say(f"{errors} error{'s' * (errors != 1)}, {len(found) - errors} warning{'s' * (len(found) - errors != 1)}")
    else:
        say("all good", "green")
