"""`boathook check`: the strict checker."""

from __future__ import annotations

import click

from boathook.assembly import load_catalog, locate, resolve_start, resolve_state
from boathook.cli.check_formats import write_annotations, write_sarif
from boathook.cli.common_options import make_agent_option, project_option
from boathook.cli.guessed_tools import list_called_tools, list_guesses
from boathook.cli.hook_causes import explain_double, find_state_cause, find_unasked_cause, list_installed_hosts
from boathook.cli.show import STATE_STYLES, echo, format_count, print_json, repeat_project
from boathook.core.catalog import Catalog, can_take_part
from boathook.core.hook import (
    DISABLED,
    ERROR,
    GONE,
    HOOK_MD,
    MODIFIED,
    NOTE,
    PACK,
    SHADOWED,
    UNTRUSTED,
    WARNING,
    Diagnostic,
    Hook,
)
from boathook.core.notices import list_names
from boathook.core.value import Value
from boathook.hook_tests.missing_cases import find_missing_cases, find_missing_cases_at
from boathook.hosts.capabilities import find_unsupported
from boathook.hosts.host import Host, load_host
from boathook.permits.factors import find_factor_problem, is_factor_used
from boathook.sources.agent_forms.entry_lines import add_lines
from boathook.sources.checker import check_catalog, check_path
from boathook.sources.double_hooks import find_double_hooks

_TEXT, _JSON, _GITHUB, _SARIF = _FORMATS = ("text", "json", "github", "sarif")
_BAD_LEVELS = (ERROR, WARNING)
_NO_HOOKS = "There are no hooks here: nothing to check."
_NO_FILE_HOOKS = "There are no file hooks here, only programs with hooks of their own: nothing else to check."
_NO_AGENT = "No agent calls boathook here: only your own programs run these hooks. Connect an agent: boathook setup"
_WAITING_STATES = (UNTRUSTED, MODIFIED)
# States that no other finding explains.
_EXPLAINED_STATES = {DISABLED: NOTE, SHADOWED: NOTE, GONE: WARNING}


class CheckReport(Value):
    """What a check found; `hooks` is the number of hooks that were checked, `agents` those that it was done for."""

    hooks: int
    diagnostics: tuple[Diagnostic, ...]
    agents: tuple[str, ...] = ()
    # All hooks that apply to a folder were asked for, and there are none.
    is_empty: bool = False
    # Hooks that do not run until a person has reviewed them.
    waiting: tuple[str, ...] = ()
    # No agent calls boathook in the folder, so nothing but programs runs some of the hooks.
    is_unused: bool = False

    def has_failed(self, *, strict: bool) -> bool:
        """Whether to report failure: with `strict` warnings count, and so does that there is nothing to check."""
        levels = _BAD_LEVELS if strict else (ERROR,)
        return any(one.level in levels for one in self.diagnostics) or (strict and self.is_empty)


@click.command("check")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@make_agent_option("hosts", "Also warn about what this agent does not support", multiple=True)
@click.option(
    "--format",
    "output",
    type=click.Choice(_FORMATS),
    default=_TEXT,
    show_default=True,
    help="How to print: for people, as JSON, as annotations of GitHub Actions, or as SARIF for code scanners.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@project_option
def check_hooks(
    paths: tuple[str, ...], strict: bool, hosts: tuple[str, ...], output: str, as_json: bool, project: str | None
) -> int:
    """Find mistakes in hooks and how to fix them.

    PATH is a HOOK.md, a hook folder, a folder of hooks, a pack, a hooks.toml, a settings.json or a project. Without PATH,
    all hooks that apply to the current folder are checked, and what the agents do not support that call boathook here.

    \b
    Exit codes: 0 no errors, 1 errors (with --strict: errors, warnings, or no hooks at all). Notes never count.

    \b
    Examples:
      boathook check
      boathook check --strict .agents/hooks/my-hook
      boathook check --agent codex --agent kimi-code
      boathook check --strict --format github
      boathook check --format sarif . > boathook.sarif
    """
    # Raises an error if it is not a folder.
    resolve_start(project)
    report = _check_paths(paths) if paths else _check_here(project, hosts)
    if paths and hosts:
        catalog = load_catalog(project, trust_all=True)
        found = tuple(one for host in hosts for one in _check_host(catalog, load_host(host)))
        report = report.replace(diagnostics=(*report.diagnostics, *found), agents=hosts)
    report = report.replace(diagnostics=tuple(add_lines(list(report.diagnostics))))
    has_failed = report.has_failed(strict=strict)
    if as_json or output == _JSON:
        diagnostics = [diagnostic.to_json() for diagnostic in report.diagnostics]
        about = {"hooks": report.hooks, "agents": list(report.agents), "waiting": list(report.waiting)}
        print_json({"ok": not has_failed, **about, "diagnostics": diagnostics})
    elif output in (_GITHUB, _SARIF):
        write = write_annotations if output == _GITHUB else write_sarif
        for line in write(report.diagnostics, _NO_HOOKS if report.is_empty else ""):
            echo(line)
    else:
        _print_report(report)
    return int(has_failed)


def _check_paths(paths: tuple[str, ...]) -> CheckReport:
    seen: list[Hook] = []
    diagnostics = [found for path in paths for found in (*check_path(path, seen), *find_missing_cases_at(path))]
    return CheckReport(len(seen), tuple(diagnostics))


def _check_here(project: str | None, hosts: tuple[str, ...]) -> CheckReport:
    catalog = load_catalog(project, trust_all=True)
    hooks = [hook for hook in catalog.hooks if not hook.is_installed_call]
    judging = load_catalog(project)
    judged = judging.hooks
    place = (resolve_state(None), catalog.project, resolve_start(project))
    diagnostics = [
        *check_catalog(catalog, list_called_tools(*place)),
        *find_missing_cases(hooks),
        *_explain_states(judged),
        *_check_factor(judging, project),
    ]
    diagnostics += [explain_double(double) for double in find_double_hooks(hooks)]
    installed = list_installed_hosts(resolve_state(None), project)
    diagnostics += _check_installed_hosts(hooks, [host for host in installed if host.name not in hosts])
    diagnostics += [diagnostic for host in hosts for diagnostic in _check_host(catalog, load_host(host))]
    diagnostics += list_guesses(*place)
    agents = dict.fromkeys((*hosts, *(host.name for host in installed)))
    # Hooks in the files of an agent are run by that one as well.
    is_unused = not installed and any(hook.source in (HOOK_MD, PACK) for hook in hooks)
    waiting = tuple(hook.name for hook in judged if hook.state in _WAITING_STATES)
    return CheckReport(
        len(hooks), tuple(diagnostics), tuple(agents), is_empty=not hooks, waiting=waiting, is_unused=is_unused
    )


def _explain_states(hooks: tuple[Hook, ...]) -> list[Diagnostic]:
    """Return why hooks are off, replaced or gone; that one waits for a review is not a mistake in a file."""
    causes: list[Diagnostic] = []
    for hook in hooks:
        if hook.state in _EXPLAINED_STATES and (cause := find_state_cause(hook)):
            causes.append(cause.replace(level=_EXPLAINED_STATES[hook.state]))
    return causes


def _check_factor(catalog: Catalog, project: str | None) -> list[Diagnostic]:
    """Return a warning if no answer with the second factor would hold. A mistake in hooks.toml has a diagnostic of its own."""
    if catalog.settings.factor_mistake or not is_factor_used(catalog):
        return []
    problem = find_factor_problem(catalog.settings, resolve_state(None))
    path = f"{locate(project).config}/hooks.toml"
    message, fix = (
        f"no second factor works: {problem}",
        "correct that, then see whether it works: boathook approvals status",
    )
    return [Diagnostic(path, None, "hooks.approvals", WARNING, message, fix)] if problem else []


def _check_installed_hosts(hooks: list[Hook], installed: list[Host]) -> list[Diagnostic]:
    """Return a warning for each hook that no installed agent asks, and notes on what one of them does not support."""
    found: list[Diagnostic] = []
    for hook in hooks:
        # `install` says it of packs.
        if hook.pack or not can_take_part(hook):
            continue
        unasked = find_unasked_cause(hook, installed)
        found += [unasked] if unasked else [one for host in installed for one in _check_hook_in(hook, host, NOTE)]
    return found


def _check_host(catalog: Catalog, host: Host) -> list[Diagnostic]:
    return [one for hook in catalog.hooks if can_take_part(hook) for one in _check_hook_in(hook, host, WARNING)]


def _check_hook_in(hook: Hook, host: Host, level: str) -> list[Diagnostic]:
    key = f"host {host.name}"
    return [
        Diagnostic(hook.path, None, key, level, f"hook '{hook.name}': {one.text}", one.fix)
        for one in find_unsupported(hook, host)
    ]


def _print_report(report: CheckReport) -> None:
    for diagnostic in report.diagnostics:
        key = f" [{diagnostic.key}]" if diagnostic.key else ""
        echo(f"{diagnostic.level}: {diagnostic.position}{key}", STATE_STYLES.get(diagnostic.level, "dim"))
        echo(f"    {diagnostic.message}")
        if diagnostic.fix:
            echo(f"    fix: {repeat_project(diagnostic.fix)}", "dim")
    errors, warnings = (sum(one.level == level for one in report.diagnostics) for level in _BAD_LEVELS)
    if errors or warnings:
        echo(f"{format_count(errors, 'error')}, {format_count(warnings, 'warning')}")
    elif report.is_empty:
        echo(_NO_FILE_HOOKS if report.diagnostics else _NO_HOOKS, "yellow")
    else:
        echo("all good", "green")
        _print_unused(report)


def _print_unused(report: CheckReport) -> None:
    """Say what keeps hooks without mistakes from running."""
    if report.waiting:
        one = len(report.waiting) == 1
        verbs = ("waits", "does") if one else ("wait", "do")
        count = format_count(len(report.waiting), "hook")
        names = list_names(report.waiting)
        review = repeat_project("boathook trust")
        echo(f"{count} {verbs[0]} for your review and {verbs[1]} not run: {names}. Review: {review}", "yellow")
    if report.is_unused:
        echo(_NO_AGENT, "yellow")
