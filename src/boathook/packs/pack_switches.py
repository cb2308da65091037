"""Turn hooks of a pack on and off in a hooks.toml; every other byte of it stays."""

from __future__ import annotations

import os
import re
from typing import Any

from boathook.errors import ConfigError
from boathook.install.json_edit import EditError
from boathook.install.toml_edit import add_table, list_tables, parse_toml
from boathook.sources.pack_md import PackManifest
from boathook.system.files import FileError, read_text

_SWITCH_LINE = re.compile(r"[ \t]*(?:on|off)[ \t]*=[ \t]*\[[^\[\]#]*\][ \t]*(?:#[^\n]*)?\r?\n?")
_KEYS = ("on", "off")


def switch_hooks(path: str, pack: str, manifest: PackManifest, wanted: dict[str, bool]) -> bool:
    """Write which hooks of a pack are on; return whether that changed the file. Hooks that are not named stay as they are."""
    text = _read_config(path)
    try:
        before = parse_toml(text)
    except EditError as error:
        raise ConfigError(f"{path}:{error.line}: {error.message}. Fix it first") from None
    present = _find_switches(before, pack)
    switches = dict(present)
    for name, is_on in wanted.items():
        switches = {key: [one for one in names if one != name] for key, names in switches.items()}
        if is_on != manifest.has_on(name):
            switches["on" if is_on else "off"].append(name)
    if switches == present:
        return False
    try:
        after = _edit_text(text, pack, switches)
        _check_edit(before, parse_toml(after), pack, switches)
    except EditError as error:
        raise ConfigError(f"{path}:{error.line}: {error.message}. {_describe_lines(pack, switches)}") from None
    _write_config(path, after)
    return True


def _find_switches(config: dict[str, Any], pack: str) -> dict[str, list[str]]:
    packs = config.get("packs", {})
    table = packs.get(pack, {}) if isinstance(packs, dict) else {}
    found = {key: table.get(key, []) if isinstance(table, dict) else [] for key in _KEYS}
    return {key: [str(name) for name in names] if isinstance(names, list) else [] for key, names in found.items()}


def _edit_text(text: str, pack: str, switches: dict[str, list[str]]) -> str:
    values = {key: names for key, names in switches.items() if names}
    table = next((one for one in list_tables(text) if one.name == ("packs", pack) and not one.is_item), None)
    if table is None:
        return add_table(text, ("packs", pack), values, is_item=False)
    header, newline, body = text[table.start : table.end].partition("\n")
    kept = _SWITCH_LINE.sub("", body)
    lines = add_table("", ("packs", pack), values, is_item=False).partition("\n")[2]
    return text[: table.start] + header + (newline or "\n") + lines + kept + text[table.end :]


def _check_edit(before: dict[str, Any], after: dict[str, Any], pack: str, switches: dict[str, list[str]]) -> None:
    """Refuse an edit that did anything else than it should: the file may be written in a way that we do not know."""
    table = {key: value for key, value in before.get("packs", {}).get(pack, {}).items() if key not in _KEYS}
    table |= {key: names for key, names in switches.items() if names}
    if after != {**before, "packs": {**before.get("packs", {}), pack: table}}:
        raise EditError("this file is written in a way that boathook cannot edit", 1)


def _describe_lines(pack: str, switches: dict[str, list[str]]) -> str:
    lines = "; ".join(f"{key} = {names}" for key, names in switches.items())
    return f'Write it yourself, below [packs."{pack}"]: {lines}'


def _read_config(path: str) -> str:
    if not os.path.lexists(path):
        return ""
    try:
        return read_text(path)
    except FileError as error:
        raise ConfigError(f"{path} {error}") from None


def _write_config(path: str, text: str) -> None:
    real = os.path.realpath(path)
    mode = os.stat(real).st_mode & 0o777 if os.path.exists(real) else 0o644
    temporary = f"{real}.{os.getpid()}.new"
    os.makedirs(os.path.dirname(real), exist_ok=True)
    with open(temporary, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    os.chmod(temporary, mode)
    os.replace(temporary, real)
