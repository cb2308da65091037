"""`boathook check`: the strict checker."""

from __future__ import annotations

from boathook.assembly import load_catalog, start_of
from boathook.cli.show import STATE_STYLES, print_json, say
from boathook.core.catalog import Catalog, takes_part
from boathook.core.hook import ERROR, WARNING, Diagnostic
from boathook.hosts.capabilities import misfits
from boathook.hosts.host import load
from boathook.sources.checker import check_catalog, check_path


def check(
    paths: tuple[str, ...], project: str | None, *, strict: bool, as_json: bool, hosts: tuple[str, ...] = ()
) -> int:
    """Print what is wrong; return the exit code: 0 clean, 1 with errors (with strict: or warnings).

    With hosts, everything that a hook wants and cannot do there is told, too.
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
