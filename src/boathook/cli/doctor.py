"""`boathook doctor`: run every hook once to see whether it works."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from boathook.assembly import load_with_trust, locate
from boathook.cli.call_history import WHAT_IS_RECORDED, CallHistory, read_history
from boathook.cli.common_options import json_option, project_option, state_option
from boathook.cli.doctor_firing import Firing, choose_firing, prepare_firing
from boathook.cli.doctor_hooks import FAILS, NOT_RUN, RESULTS, WORKS, HookExaminer, HookHealth
from boathook.cli.doctor_machine import GOOD, HealthFinding, examine_files, examine_machine, list_own_calls
from boathook.cli.hook_causes import list_installed_hosts
from boathook.cli.install import repair_installations
from boathook.cli.name_completion import ANY_HOOK_NAME
from boathook.cli.show import STATE_STYLES, echo, format_count, print_json, repeat_project, show_progress
from boathook.core.catalog import Catalog
from boathook.core.hook import ERROR, GONE, NOTE, WARNING, Hook
from boathook.core.notices import list_names
from boathook.core.value import Value
from boathook.hosts.host import Host
from boathook.process.sandbox import probe_sandbox_levels
from boathook.sources.double_hooks import find_double_hooks
from boathook.sources.hook_names import find_named_hooks
from boathook.system.locations import Locations

_STYLES = {GOOD: "green", NOTE: "dim", WARNING: STATE_STYLES["warning"], ERROR: STATE_STYLES["error"]}
# The words of the last line, for the results that every run has.
_RESULT_WORDS = {WORKS: "working", FAILS: "failing", NOT_RUN: "not run"}


class _Examination(Value):
    """What an examination needs: the hooks, where they are, and how to fire them."""

    catalog: Catalog
    hooks: tuple[Hook, ...]
    state: str
    hosts: tuple[Host, ...]
    firing: Firing
    history: CallHistory
    trust_all: bool


@click.command("doctor")
@click.argument("names", nargs=-1, metavar="[HOOK]...", type=ANY_HOOK_NAME)
@click.option(
    "--for-real", is_flag=True, help="Fire hooks without a sandbox and with your HOME: what they write there stays."
)
@click.option(
    "--trust-all", is_flag=True, help="Also fire project hooks that nobody has reviewed, in a sandbox. For CI."
)
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option(
    "--fix", "is_fixing", is_flag=True, help="Repair entries in agents that call another or a missing boathook."
)
@click.option("--diff", is_flag=True, help="With --fix: show every line that changes, not only a summary.")
@click.option("--yes", is_flag=True, help="With --fix: do not ask for confirmation.")
@json_option
@project_option
@state_option
def examine_hooks(
    names: tuple[str, ...],
    for_real: bool,
    trust_all: bool,
    strict: bool,
    is_fixing: bool,
    diff: bool,
    yes: bool,
    as_json: bool,
    project: str | None,
    state: str | None,
) -> int:
    """Run every hook once to see whether it works.

    With HOOK, only these. Each armed hook gets an event that it matches, in a scratch project. It runs in a sandbox: it can
    read your files, but not write them or reach a network; where there is no sandbox, it gets a scratch HOME. A hook that
    fails for want of these is "not fired safely"; --for-real fires it without. Prompt hooks, HTTP hooks and hooks with
    `metadata: {doctor: skip}` in their HOOK.md do not run. A guard also gets the first plain `block` or `ask` case of its tests.

    Without HOOK, installed agents, the ledger and the trust store are checked too. With --fix, agents whose entries call
    another boathook, or one that is gone, get entries for this one, after a question or with --yes.

    \b
    Exit codes: 0 no errors, 1 errors (with --strict: errors or warnings).
      error    a hook fails, is invalid or not trusted; an installed command does not answer
      warning  a hook could not be fired safely, no installed agent asks it, it is slow

    \b
    Examples:
      boathook doctor
      boathook doctor no-force-push --for-real
      boathook doctor --trust-all --strict --json
      boathook doctor --fix
    """
    if is_fixing and as_json:
        raise click.UsageError("--fix shows what it changes, so it cannot be used with --json")
    if is_fixing:
        repair_installations(state, project, yes=yes, is_whole=diff)
    examination, setup = _prepare(locate(project, state=state, trust_all=trust_all), project, names, for_real=for_real)
    if not as_json:
        _print_start(setup, examination.firing)
    health = _examine_all(examination, is_shown=not as_json)
    findings = [*setup, *(finding for one in health for finding in one.findings)]
    has_failed = any(finding.level == ERROR or (strict and finding.level == WARNING) for finding in findings)
    if as_json:
        print_json({"ok": not has_failed, **_make_report(examination, setup, health)})
    else:
        _print_end(health)
    return int(has_failed)


def _prepare(
    locations: Locations, project: str | None, names: tuple[str, ...], *, for_real: bool
) -> tuple[_Examination, list[HealthFinding]]:
    """Load the hooks and choose how to fire them; if none is named, everything around them is examined as well."""
    loaded, trust = load_with_trust(locations)
    catalog, state, levels = loaded.catalog, locations.state, probe_sandbox_levels()
    hooks, hosts = _choose_hooks(catalog, names), list_installed_hosts(state, project)
    firing = choose_firing(levels, for_real=for_real)
    history = read_history(state, (path for _, path in catalog.projects), hooks)
    examination = _Examination(catalog, tuple(hooks), state, hosts, firing, history, locations.trust_all)
    if names:
        # A hook that is gone may be in a folder of the wrong name.
        return examination, examine_files(catalog, trust)[1:] if any(hook.state == GONE for hook in hooks) else []
    return examination, examine_machine(
        catalog, trust, state, project, history=history, levels=levels, for_real=for_real
    )


def _choose_hooks(catalog: Catalog, names: tuple[str, ...]) -> list[Hook]:
    """Return the hooks that were named, all of them without a name; entries that call boathook are not hooks."""
    own_calls = list_own_calls(catalog)
    hooks = [hook for hook in catalog.hooks if hook not in own_calls]
    if not names:
        return hooks
    wanted = [hook for name in names for hook in find_named_hooks(hooks, name, catalog.diagnostics)]
    return [hook for hook in hooks if hook in wanted]


def _examine_all(examination: _Examination, *, is_shown: bool) -> list[HookHealth]:
    """Examine hooks one after the other; `is_shown` prints each result when it is there."""
    catalog, hooks, firing = examination.catalog, examination.hooks, examination.firing
    results: list[HookHealth] = []
    with prepare_firing(catalog, firing) as firer, show_progress(is_shown=is_shown) as status:
        doubles = find_double_hooks(catalog.hooks)
        trust_all = examination.trust_all
        examiner = HookExaminer(firer, firing, examination.hosts, examination.history, doubles, trust_all=trust_all)
        for number, hook in enumerate(hooks, 1):
            if status is not None:
                status.update(f"firing {hook.name} ({number} of {len(hooks)})")
            results.append(examiner.examine(hook))
            if is_shown:
                _print_health(results[-1])
    return results


def _make_report(examination: _Examination, setup: list[HealthFinding], health: list[HookHealth]) -> dict[str, Any]:
    return {
        "firing": {"way": examination.firing.way, "text": examination.firing.text},
        "agents": [host.name for host in examination.hosts],
        "counts": {result: sum(one.result == result for one in health) for result in RESULTS},
        "setup": [finding.to_json() for finding in setup],
        "hooks": [one.to_json() for one in health],
    }


def _print_start(setup: list[HealthFinding], firing: Firing) -> None:
    for finding in setup:
        _print_finding(finding)
    if setup:
        echo("")
    echo(firing.text[0].upper() + firing.text[1:] + ".", _STYLES[WARNING] if firing.is_for_real else _STYLES[NOTE])


def _print_health(health: HookHealth) -> None:
    for finding in health.findings:
        _print_finding(finding)


def _print_finding(finding: HealthFinding) -> None:
    echo(f"{finding.level:8}{finding.subject}  {repeat_project(finding.text)}", _STYLES[finding.level])
    for label, text in (("at", finding.place), ("fix", repeat_project(finding.fix))):
        if text:
            echo(f"        {label}: {text}", _STYLES[NOTE])


def _print_end(health: list[HookHealth]) -> None:
    echo("")
    _print_unused_hooks((one.hook.name, one.past_text) for one in health)
    if not_run := [one.hook.name for one in health if one.result == NOT_RUN]:
        echo(f"not run: {', '.join(not_run)}", _STYLES[NOTE])
    counts = {result: sum(one.result == result for one in health) for result in RESULTS}
    words = [
        f"{count} {_RESULT_WORDS.get(result, result)}"
        for result, count in counts.items()
        if count or result in _RESULT_WORDS
    ]
    echo(f"{format_count(len(health), 'hook')}: {', '.join(words)}", _STYLES[ERROR if counts[FAILS] else GOOD])


def _print_unused_hooks(rows: Iterable[tuple[str, str]]) -> None:
    """List the hooks that never ran, and say what the ledger records: they may be for rare events, or match nothing."""
    names: dict[str, list[str]] = {}
    for name, text in rows:
        names.setdefault(text, []).append(name)
    names.pop("", None)
    for text, unused in names.items():
        echo(f"never ran: {list_names(unused)} ({text})", _STYLES[NOTE])
    if names:
        echo(f"  {WHAT_IS_RECORDED}", _STYLES[NOTE])
