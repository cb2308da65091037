"""`boathook convert`: hooks of agents' files to HOOK.md folders, and HOOK.md folders to settings.json."""

from __future__ import annotations

import os
from typing import Any

import click

from boathook.assembly import load_with_trust
from boathook.cli.common_options import json_option, project_option
from boathook.cli.convert_files import apply_conversion, find_backup_path, list_files
from boathook.cli.convert_plan import (
    CONVERTED,
    LEFT,
    ConversionEnds,
    ConversionPlan,
    find_conversion_ends,
    locate_form,
    plan_folders,
    plan_settings,
)
from boathook.cli.person import confirm_change, require_person
from boathook.cli.show import echo, pick_fields, print_json
from boathook.core.hook import USER
from boathook.core.notices import list_names
from boathook.errors import UsageError
from boathook.hosts.host import load_host
from boathook.sources.agent_forms.hook_form import HOOK_FORMS

_TO_HOOKS, _TO_SETTINGS = "to-hookmd", "to-settings"
_FORM_NAMES = [form.source.without for form in HOOK_FORMS]
# Before a person has agreed.
_PLANNED = "convert"
_STYLES = {CONVERTED: "green", LEFT: "yellow"}
_RUNS_TWICE = (
    "Without --move the entries stay where they are, so these hooks run twice. Remove one of the two, or use --move."
)

_RUNS_TWICE_THERE = (
    "Without --move {} still runs its own copy, so these hooks run twice there if it calls boathook. "
    "Remove one of the two, or use --move."
)


@click.command("convert")
@click.argument("direction", type=click.Choice([_TO_HOOKS, _TO_SETTINGS]))
@click.option(
    "--from",
    "origin",
    metavar="FORM|FILE",
    help=f"The agent whose hooks are converted, or its file: {', '.join(_FORM_NAMES)} "
    f"(default: {_FORM_NAMES[0]}, which are those of {load_host(HOOK_FORMS[0].source.host).title}).",
)
@click.option("--user", is_flag=True, help="Your own hooks, for all projects, instead of the project's.")
@click.option("--local", is_flag=True, help="Use settings.local.json instead of settings.json.")
@click.option("--move", is_flag=True, help="Remove the converted hooks from the source (keeps a backup).")
@click.option("--dry-run", is_flag=True, help="Show the changes without writing them.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@project_option
def convert_hooks(
    direction: str,
    origin: str | None,
    user: bool,
    local: bool,
    move: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    project: str | None,
) -> int:
    """Convert hooks in the files of agents to HOOK.md folders.

    With to-settings, convert HOOK.md hooks to settings.json. Nothing is overwritten. What the other form cannot express
    stays where it is and is reported. Without --move both copies run, so each event runs the hook twice until you
    remove one. You are asked at the terminal; without one, nothing is written unless you pass --yes.

    \b
    Exit codes: 0 all hooks were converted, 1 some were not.

    \b
    Examples:
      boathook convert to-hookmd --dry-run
      boathook convert to-hookmd --from cursor --move
      boathook convert to-hookmd --from .codex/config.toml
      boathook convert to-settings --user --move
    """
    ends = find_conversion_ends(project, user=user, local=local, origin=_choose_origin(origin, direction))
    plan = _make_plan(ends, direction, project, move=move)
    files = list_files(plan, ends)
    source, target = (ends.shown_files, ends.hooks) if direction == _TO_HOOKS else (ends.hooks, ends.settings)
    is_asking = bool(files) and not (dry_run or yes or as_json)
    if is_asking:
        _print_rows(plan, source, is_planned=True)
    # New hooks of a project need trust before they run, so an agent may write those.
    if files and not dry_run and (move or ends.scope == USER):
        require_person(files=[*files, *ends.files])
    if files and not dry_run and not confirm_change(_make_question(plan), yes=yes, default=True):
        return 1
    renamed = {path: find_backup_path(path) for path in plan.manifests_to_rename}
    backups = [] if dry_run else apply_conversion(plan, ends, project or ends.top or None)
    if as_json:
        about = {"direction": direction, "from": source, "to": target, "dry_run": dry_run, "move": move}
        written = [{"path": path, "content": data.decode() if dry_run else None} for path, data in files.items()]
        _print_json(plan, {**about, "files": written, "backups": backups})
    else:
        if not is_asking:
            _print_rows(plan, source)
        _print_result(plan, files if dry_run else None, backups, renamed)
    return int(any(row.status == LEFT for row in plan.rows))


def _choose_origin(origin: str | None, direction: str) -> str:
    if origin is not None and direction != _TO_HOOKS:
        raise UsageError("--from is for to-hookmd: HOOK.md hooks can be converted to settings.json only")
    return origin or _FORM_NAMES[0]


def _make_plan(ends: ConversionEnds, direction: str, project: str | None, *, move: bool) -> ConversionPlan:
    catalog = load_with_trust(locate_form(project or ends.top or None, ends.form))[0].catalog
    plan = (plan_folders if direction == _TO_HOOKS else plan_settings)(ends, catalog, move=move)
    if move or not any(row.status == CONVERTED for row in plan.rows):
        return plan
    note = _RUNS_TWICE if ends.form.source.is_default else _RUNS_TWICE_THERE.format(ends.form.title)
    return plan.replace(notes=(*plan.notes, note))


def _print_json(plan: ConversionPlan, about: dict[str, Any]) -> None:
    rows = [pick_fields(row, *row.FIELDS) for row in plan.rows]
    print_json({**about, "hooks": rows, "notes": plan.notes, "backed_up": plan.manifests_to_rename})


def _make_question(plan: ConversionPlan) -> str:
    names = [row.name for row in plan.rows if row.status == CONVERTED]
    return f"Convert {list_names(names)}?"


def _print_rows(plan: ConversionPlan, source: str, *, is_planned: bool = False) -> None:
    if not plan.rows:
        echo(f"There are no hooks in {source}: nothing to convert.")
    for row in plan.rows:
        status = _PLANNED if is_planned and row.status == CONVERTED else row.status
        echo(f"{status:9}  {row.name}" + (f"  →  {row.to}" if row.to else ""), _STYLES[row.status])
        for text in filter(None, (row.reason, *row.notes)):
            echo(f"           {text}")


def _print_result(
    plan: ConversionPlan, planned: dict[str, bytes] | None, backups: list[str], renamed: dict[str, str]
) -> None:
    """Print what was done; `planned` are the files that a dry run would write, None if they were written."""
    if not plan.rows:
        return
    for path, data in (planned or {}).items():
        echo(f"would write {path}:", "bold")
        for line in data.decode().splitlines():
            echo(f"    {line}")
    for path, backup in renamed.items():
        word = "renamed" if planned is None else "would rename"
        echo(f"{word} {path} to {os.path.basename(backup)}, so that it is no hook any more", "dim")
    for path in backups:
        echo(f"backup of the source: {path}", "dim")
    left = sum(row.status == LEFT for row in plan.rows)
    echo(f"{len(plan.rows) - left} converted, {left} left" + ("" if planned is None else " (nothing was written)"))
    for note in plan.notes:
        echo(note, "yellow")
