"""`boathook convert`: settings.json hooks to HOOK.md folders, and back."""

from __future__ import annotations

import click

from boathook.assembly import load_catalog
from boathook.cli.common_options import json_option, project_option
from boathook.cli.convert_files import apply_conversion, list_files
from boathook.cli.convert_plan import CONVERTED, LEFT, ConversionPlan, find_conversion_ends, plan_folders, plan_settings
from boathook.cli.person import confirm_change, require_person
from boathook.cli.show import echo, pick_fields, print_json
from boathook.core.notices import list_names

_TO_HOOKS, _TO_SETTINGS = "settings-to-hookmd", "hookmd-to-settings"
# Before a person has agreed.
_PLANNED = "convert"
_STYLES = {CONVERTED: "green", LEFT: "yellow"}
_RUNS_TWICE = "Both copies run now, so hooks run twice. Remove one of the two, or run this again with --move."


@click.command("convert")
@click.argument("direction", type=click.Choice([_TO_HOOKS, _TO_SETTINGS]))
@click.option("--user", is_flag=True, help="Your own hooks, for all projects, instead of the project's.")
@click.option("--local", is_flag=True, help="Use settings.local.json instead of settings.json.")
@click.option("--move", is_flag=True, help="Remove the converted hooks from the source (keeps a backup).")
@click.option("--dry-run", is_flag=True, help="Show the changes without writing them.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@project_option
def convert_hooks(
    direction: str, user: bool, local: bool, move: bool, dry_run: bool, yes: bool, as_json: bool, project: str | None
) -> int:
    """Convert settings.json hooks to HOOK.md folders, or back.

    Nothing is overwritten. A hook that the other form cannot express stays where it is and is reported. Without
    --move both copies run, so each event runs the hook twice until you remove one. You are asked at the terminal;
    without one, nothing is written unless you pass --yes.

    \b
    Exit codes: 0 all hooks were converted, 1 some were not.

    \b
    Examples:
      boathook convert settings-to-hookmd --dry-run
      boathook convert settings-to-hookmd --move
      boathook convert hookmd-to-settings --user --move
    """
    ends = find_conversion_ends(project, user=user, local=local)
    make_plan = plan_folders if direction == _TO_HOOKS else plan_settings
    plan = make_plan(ends, load_catalog(project, trust_all=True), move=move)
    if any(row.status == CONVERTED for row in plan.rows) and not move:
        plan = plan.replace(notes=(*plan.notes, _RUNS_TWICE))
    files = list_files(plan, ends)
    source, target = (ends.settings, ends.hooks) if direction == _TO_HOOKS else (ends.hooks, ends.settings)
    is_asking = bool(files) and not dry_run and not yes
    if is_asking and not as_json:
        _print_rows(plan, source, is_planned=True)
    if not dry_run and files:
        # New hooks of a project need trust before they run, so an agent may write those.
        if move or user:
            require_person(files=[*files, ends.settings])
        if not confirm_change(_make_question(plan), yes=yes, default=True):
            return 1
    backup = "" if dry_run else apply_conversion(plan, ends, project)
    if as_json:
        about = {"direction": direction, "from": source, "to": target, "dry_run": dry_run, "move": move}
        rows = [pick_fields(row, *row.FIELDS) for row in plan.rows]
        written = [{"path": path, "content": data.decode() if dry_run else None} for path, data in files.items()]
        backups = {"backed_up": plan.manifests_to_rename, "backup": backup or None}
        print_json({**about, "hooks": rows, "notes": plan.notes, "files": written, **backups})
    else:
        if not is_asking:
            _print_rows(plan, source)
        _print_result(plan, files if dry_run else None, backup)
    return int(any(row.status == LEFT for row in plan.rows))


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


def _print_result(plan: ConversionPlan, planned: dict[str, bytes] | None, backup: str) -> None:
    """Print what was done; `planned` are the files that a dry run would write, None if they were written."""
    if not plan.rows:
        return
    for path, data in (planned or {}).items():
        echo(f"would write {path}:", "bold")
        for line in data.decode().splitlines():
            echo(f"    {line}")
    for path in plan.manifests_to_rename:
        echo(f"{'renamed' if planned is None else 'would rename'} to {path}.bak-N", "dim")
    if backup:
        echo(f"backup of the settings file: {backup}", "dim")
    left = sum(row.status == LEFT for row in plan.rows)
    echo(f"{len(plan.rows) - left} converted, {left} left" + ("" if planned is None else " (nothing was written)"))
    for note in plan.notes:
        echo(note, "yellow")
