"""`boathook check`: the strict checker."""

from __future__ import annotations

import click

from boathook.assembly import load_catalog, resolve_start
from boathook.cli.common_options import HOST, json_option, project_option
from boathook.cli.show import STATE_STYLES, echo, format_count, print_json
from boathook.core.catalog import Catalog, can_take_part
from boathook.core.hook import ERROR, GONE, WARNING, Diagnostic
from boathook.hook_tests.missing_cases import find_missing_cases, find_missing_cases_at
from boathook.hosts.capabilities import find_unsupported
from boathook.hosts.host import load_host
from boathook.sources.agent_forms.entry_lines import add_lines
from boathook.sources.checker import check_catalog, check_path


@click.command("check")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    type=HOST,
    help="Also warn about what this agent does not support. Can be repeated.",
)
@json_option
@project_option
def check_hooks(
    paths: tuple[str, ...], strict: bool, hosts: tuple[str, ...], as_json: bool, project: str | None
) -> int:
    """Find mistakes in hooks and how to fix them.

    PATH is a HOOK.md, a hook folder, a folder of hooks, a pack, a hooks.toml, a settings.json or a project. Without PATH,
    all hooks that apply to the current folder are checked.

    \b
    Exit codes: 0 no errors, 1 errors (with --strict: errors or warnings).

    \b
    Examples:
      boathook check
      boathook check --strict .agents/hooks/my-hook
      boathook check --host codex --host kimi-code
    """
    # Raises an error if it is not a folder.
    resolve_start(project)
    if paths:
        diagnostics = [found for path in paths for found in (*check_path(path), *find_missing_cases_at(path))]
    else:
        catalog = load_catalog(project, trust_all=True)
        diagnostics = [*check_catalog(catalog), *find_missing_cases(catalog.hooks), *_check_gone_hooks(project)]
        if not diagnostics and not as_json and not catalog.hooks:
            echo("There are no hooks here: nothing to check.", "yellow")
            return int(strict)
    if hosts:
        catalog = load_catalog(project, trust_all=True)
        diagnostics += [diagnostic for host in hosts for diagnostic in _check_host(catalog, host)]
    diagnostics = add_lines(diagnostics)
    has_failed = any(strict or diagnostic.level == ERROR for diagnostic in diagnostics)
    if as_json:
        print_json({"ok": not has_failed, "diagnostics": [diagnostic.to_json() for diagnostic in diagnostics]})
    else:
        _print_diagnostics(diagnostics)
    return int(has_failed)


def _check_gone_hooks(project: str | None) -> list[Diagnostic]:
    """Report the hooks that a person trusted here and that are gone: nothing else in these files shows that they are missing."""
    hooks = load_catalog(project).hooks
    return [
        Diagnostic(hook.path, None, "", WARNING, f"hook '{hook.name}': {hook.state_text}")
        for hook in hooks
        if hook.state == GONE
    ]


def _check_host(catalog: Catalog, host_name: str) -> list[Diagnostic]:
    host = load_host(host_name)
    return [
        Diagnostic(hook.path, None, f"host {host_name}", WARNING, f"hook '{hook.name}': {one.text}", one.fix)
        for hook in catalog.hooks
        if can_take_part(hook)
        for one in find_unsupported(hook, host)
    ]


def _print_diagnostics(diagnostics: list[Diagnostic]) -> None:
    for diagnostic in diagnostics:
        position = f"{diagnostic.path}:{diagnostic.line}" if diagnostic.line else diagnostic.path
        key = f" [{diagnostic.key}]" if diagnostic.key else ""
        echo(f"{diagnostic.level}: {position}{key}", STATE_STYLES[diagnostic.level])
        echo(f"    {diagnostic.message}")
        if diagnostic.fix:
            echo(f"    fix: {diagnostic.fix}", "dim")
    errors = sum(diagnostic.level == ERROR for diagnostic in diagnostics)
    if diagnostics:
        echo(f"{format_count(errors, 'error')}, {format_count(len(diagnostics) - errors, 'warning')}")
    else:
        echo("all good", "green")
