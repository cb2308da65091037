"""The settings of the hooks of the standard pack: HOOK.md declares and shows exactly those that the script reads."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import boathook
from boathook.sources.hook_md.folder import read_hook

HOOKS = Path(boathook.__file__).parent / "packs/standard/hooks"


def find_read_settings(script: Path) -> set[str]:
    """Return the settings that a script asks for by name."""
    calls = [node for node in ast.walk(ast.parse(script.read_text())) if isinstance(node, ast.Call)]
    return {
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and (call.func.attr == "list_setting" or _is_settings_get(call.func))
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[0].value, str)
    }


def _is_settings_get(function: ast.Attribute) -> bool:
    return function.attr == "get" and ast.unparse(function.value) in ("settings", "call.settings")


def find_shown_settings(manifest: Path) -> set[str]:
    """Return the settings in the examples of a page."""
    blocks = re.findall(r"```toml\n(.*?)```", manifest.read_text(), re.DOTALL)
    tables = [tomllib.loads(block).get("packs", {}).get("boathook/standard", {}) for block in blocks]
    return {name for table in tables for name in table.get(manifest.parent.name, {})}


def test_each_hook_declares_and_shows_the_settings_that_it_reads():
    declared, read, shown = {}, {}, {}
    for folder in sorted(HOOKS.iterdir()):
        hook, _ = read_hook(str(folder / "HOOK.md"), str(folder), "user")
        declared[folder.name] = None if hook.known_settings is None else {*hook.known_settings}
        read[folder.name] = find_read_settings(folder / "scripts/run.py")
        shown[folder.name] = find_shown_settings(folder / "HOOK.md")
    assert declared == read == shown
    assert sum(map(len, read.values())) > 40
