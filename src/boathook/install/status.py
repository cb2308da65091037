"""How it stands with each host: whether it calls us, and whether what it calls is there, whole, and not turned off."""
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from typing import Any

from boathook.core.hook import PROJECT, USER
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.hosts.detection import READ_BY_OTHERS
from boathook.install.command_line import Found, door, is_stranger, understand
from boathook.install.formats import SHAPES, Part, ours_in
from boathook.install.host_files import Place, folder_part, further, home_of, parts_of, path_of
from boathook.install.json_edit import Editor, TextFault
from boathook.install.plan import read_file, text_of
from boathook.install.registry import Book, Installation, digest
from boathook.install.setups import FILES, FLAT, GROUPS, PLUGIN, SETUPS, TABLES, Setup
from boathook.install.toml_edit import parse

INSTALLED, ABSENT, ALTERED, STALE, SHADOWED = "installed", "not installed", "altered", "stale", "shadowed"
WELL = (INSTALLED, ABSENT)
ORDER = (ALTERED, STALE, SHADOWED)
HEARD_ONCE = "; boathook knows who calls, and runs hooks once"
HEARD_TWICE = ", so that hooks may run twice"
HEARD = ""
COMMAND = re.compile(r"COMMAND = (\[.*\])")


class Standing(Value):
    """How it stands with one host, everywhere or in this project."""

    host: str
    scope: str
    state: str
    path: str
    why: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the fields."""
        return {name: self.__dict__[name] for name in self.FIELDS}


def standings(place: Place, book: Book) -> list[Standing]:
    """Report for every host how it stands, for the user and in the project."""
    found: list[Standing] = []
    for setup in SETUPS:
        for scope in (USER, PROJECT) if setup.project else (USER,):
            found.append(standing(setup, place.replace(scope=scope), book))
    return found


def standing(setup: Setup, place: Place, book: Book) -> Standing:
    """Return how it stands with one host."""
    path = path_of(setup, place)
    old = book.find(setup.name, place.scope, place.project if place.scope == PROJECT else "")
    try:
        return _standing(setup, place, old)
    except (ConfigError, TextFault) as error:
        line = f"line {error.line}: {error.why}" if isinstance(error, TextFault) else str(error)
        return Standing(setup.name, place.scope, ALTERED if old else ABSENT, path, (f"cannot be read: {line}",))


def _standing(setup: Setup, place: Place, old: Installation | None) -> Standing:
    path = path_of(setup, place)
    parts = parts_of(setup, place)
    texts = {part.path: _text(part.path) for part in parts}
    found = {part.path: _found(part, texts[part.path]) for part in parts}
    if not any(found.values()):
        gone = ("what was installed is not there any more",) if old else ()
        return Standing(setup.name, place.scope, ALTERED if old else ABSENT, path, (*gone, *_told(setup, place)))
    troubles: dict[str, list[str]] = {ALTERED: _told(setup, place), STALE: [], SHADOWED: []}
    for part in parts:
        _compare(part, found[part.path], troubles, as_left=_is_as_left(part.path, old))
    for part in further(setup, place, lambda at: texts.get(at) or ""):
        _trusted(part, _found(part, _text(part.path)), troubles)
    troubles[SHADOWED] += [*switched_off(setup, place), *untrusted(setup, place)]
    state = next((name for name in ORDER if troubles[name]), INSTALLED)
    return Standing(
        setup.name, place.scope, state, path, tuple(dict.fromkeys(why for name in ORDER for why in troubles[name]))
    )


def _told(setup: Setup, place: Place) -> list[str]:
    """Return which entries call us beside those that are installed."""
    return [f"another entry calls boathook, too: {command}" for command in dict.fromkeys(strangers(setup, place))]


def _text(path: str) -> str | None:
    real = os.path.realpath(path)
    data = read_file(real)
    return None if data is None else text_of(data, real)


def entries_of(part: Part) -> dict[Any, list[Any]]:
    """Return what of ours stands in a file, by event."""
    return _found(part, _text(part.path))


def _found(part: Part, text: str | None) -> dict[Any, list[Any]]:
    return {} if text is None else SHAPES[part.shape].found(text, part)


def _is_as_left(path: str, old: Installation | None) -> bool:
    real = os.path.realpath(path)
    written = next((one for one in old.files if one.path == real), None) if old else None
    return written is not None and digest(read_file(real) or b"") == written.after


def _compare(part: Part, found: dict[Any, list[Any]], troubles: dict[str, list[str]], *, as_left: bool) -> None:
    """Return what differs from what would be installed now; if nobody touched the file, it was another version that wrote it."""
    calls = [call for entries in found.values() for one in entries for call in commands_in(one, part)]
    gone = [why for call in calls if (why := _dead(call))]
    troubles[STALE] += gone
    kind = STALE if as_left else ALTERED
    if missing := [event for event in part.wanted if event not in found]:
        troubles[kind].append(f"no entry for {', '.join(map(str, missing))}")
    if more := [event for event in found if event not in part.wanted]:
        troubles[kind].append(f"an entry for {', '.join(map(str, more))}, which is no event of it")
    if twice := [event for event, entries in found.items() if len(entries) > 1]:
        troubles[ALTERED].append(f"several entries for {', '.join(map(str, twice))}: hooks run more than once")
    if not gone and not missing and not more and not twice and _differs(part, found):
        troubles[kind].append("the entries are not what would be installed now")


def _differs(part: Part, found: dict[Any, list[Any]]) -> bool:
    for event, wanted in part.wanted.items():
        (entry,) = found[event]
        if entry != ({"hooks": [wanted]} if part.shape == GROUPS else wanted):
            return True
    return False


def commands_in(entry: Any, part: Part) -> list[Found]:
    """Return what an entry calls."""
    if part.shape == PLUGIN:
        found = COMMAND.search(str(entry))
        words: list[str] = json.loads(found.group(1)) if found else []
        texts: list[Any] = [shlex.join(words)]
    elif part.shape == FILES:
        texts = [one.removeprefix("exec ") for one in str(entry).splitlines()]
    else:
        texts = [one.get(key) for one in ours_in(entry, part) for key in (part.setup.command_key, "command")]
    return [call for text in texts if (call := understand(text))]


def strangers(setup: Setup, place: Place) -> list[str]:
    """Return the commands in a host's file that call boathook and were not installed: with ours, hooks run twice."""
    if setup.shape not in (GROUPS, FLAT, TABLES):
        return []
    path = path_of(setup, place)
    text = _text(path) or ""
    value = parse(text) if setup.shape == TABLES else Editor(text, comments=setup.comments).value
    return [one for one in _texts(value) if is_stranger(one, setup.name)]


def _texts(value: Any) -> list[str]:
    """Return all texts in a value."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inside for text in _texts(one)]


def _dead(call: Found) -> str:
    """Return why a command does not call this installation."""
    for what, path in (("interpreter", call.python), ("door", call.door)):
        if not os.path.exists(path):
            return f"its {what} is gone: {path}"
    if os.path.realpath(call.door) != os.path.realpath(door()):
        return f"it calls another boathook: {call.door}"
    return ""


def _trusted(part: Part, found: dict[Any, list[Any]], troubles: dict[str, list[str]]) -> None:
    """Return which of our entries Codex does not run, since their hashes are not in its configuration."""
    there = {name: found.get(name, [{}])[0] for name in part.wanted}
    unfit = [name for name, wanted in part.wanted.items() if {**there[name], **wanted} != there[name]]
    off = [name for name in part.wanted if there[name].get("enabled") is False]
    for names, word in ((unfit, "does not trust"), (off, "turns off")):
        if names:
            shown = ", ".join(name[-1].rpartition("/")[2] for name in names)
            troubles[SHADOWED].append(f"{part.path} {word} {shown}")


def untrusted(setup: Setup, place: Place) -> list[str]:
    """Report so if a host does not run hooks of the project, since it does not trust the folder."""
    part = folder_part(setup, place)
    if part is None or setup.trust is None or not setup.trust.needed:
        return []
    found = _found(part, _text(part.path))
    if any(found.get(name) == [value] for name, value in part.wanted.items()):
        return []
    return [f"{part.path} does not say that the folder {place.project} is trusted: its hooks do not run there"]


def switched_off(setup: Setup, place: Place) -> list[str]:
    """Return which settings of a host turn its hooks off."""
    found: list[str] = []
    for switch in setup.switches:
        paths = [os.path.join(home_of(setup, place), name) for name in switch.user]
        if place.scope == PROJECT:
            paths += [os.path.join(place.project, name) for name in switch.project]
        for path in paths:
            value = _value_at(path, switch.place)
            if value is switch.off or (isinstance(value, list) and switch.off in value):
                found.append(f"{'.'.join(switch.place)} is {json.dumps(value)} in {path}: its hooks are turned off")
    return found


def _value_at(path: str, place: tuple[str, ...]) -> Any:
    """Return a setting of a host, None if there is none or it cannot be read."""
    try:
        text = _text(path) or ""
        value: Any = parse(text) if path.endswith(".toml") else Editor(text, comments=True).value
    except (TextFault, ConfigError):
        return None
    for key in place:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def program_of(setup: Setup) -> str:
    """Return the path of the host's program, nothing if it is not on PATH."""
    return next((found for name in setup.programs if (found := shutil.which(name))), "")


def doubles(found: list[Standing]) -> list[str]:
    """Return where what was installed for one host is read by another as well."""
    there = {(one.host, one.scope): one.path for one in found if one.state != ABSENT}
    notes: list[str] = []
    for setup in SETUPS:
        for (other, scope), path in there.items():
            if other in setup.reads and (setup.name, other, scope) != ("copilot", "claude", USER):
                what = (
                    HEARD_ONCE
                    if other == READ_BY_OTHERS
                    else HEARD_TWICE
                    if any(setup.name == host for host, _ in there)
                    else HEARD
                )
                notes.append(
                    f"{setup.name} reads {path}, too: what is installed for {other} is called there as well{what}"
                )
    return notes
