"""Hooks that run twice: a HOOK.md hook that was converted, and the entry in an agent's file that it was made from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from boathook.core.hook import ARMED, HOOK_MD, PROJECT, Command, Hook
from boathook.core.notices import list_names
from boathook.core.value import Value
from boathook.sources.agent_forms.hook_form import HOOK_FORMS, find_form
from boathook.sources.conversion import CONVERTED_MARK, ConversionError, make_script_body
from boathook.sources.settings_json.settings_file import read_settings
from boathook.system.files import FileError, read_text
from boathook.system.programs import find_entry_point

_ENTRY_SOURCES = tuple(form.source.name for form in HOOK_FORMS)


class DoubleHook(Value):
    """A HOOK.md hook, and the entry of an agent's file that runs the same command at the same events."""

    hook: Hook
    entry: Hook

    @property
    def text(self) -> str:
        return f"'{self.hook.name}' runs twice: {self.entry.path} has the same command, at {self.entry.place}"

    @property
    def fix(self) -> str:
        return f"remove that entry, or the folder {self.hook.edited_folder}"


def describe_doubles(doubles: Sequence[DoubleHook]) -> str:
    """Return in one sentence which hooks run twice, and what to do; "" if none does."""
    if not doubles:
        return ""
    first, files = doubles[0], dict.fromkeys(one.entry.path for one in doubles)
    if len(doubles) == 1:
        return f"{first.text}. Fix: {first.fix}"
    names = list_names([one.hook.name for one in doubles])
    fix = "remove one of each two; boathook check shows where they are"
    return f"{len(doubles)} hooks run twice, because {', '.join(files)} has the same commands: {names}. Fix: {fix}"


def find_double_hooks(hooks: Iterable[Hook]) -> tuple[DoubleHook, ...]:
    """Return the armed HOOK.md hooks whose command an armed entry of an agent's file runs as well."""
    armed = [hook for hook in hooks if hook.state == ARMED]
    entries = [_read_written(hook) for hook in armed if hook.source in _ENTRY_SOURCES]
    folders = [hook for hook in armed if hook.source == HOOK_MD and hook.folder] if entries else []
    found: list[DoubleHook] = []
    for hook in folders:
        path = find_entry_point(hook.folder)
        body = _read_converted_body(path) if path else ""
        twin = next((one for one in entries if one.kind is hook.kind and _is_twin(hook, path or "", body, one)), None)
        found += [DoubleHook(hook, twin)] if twin is not None else []
    return tuple(found)


def find_converted_hooks(hooks: Iterable[Hook], host: str) -> tuple[Hook, ...]:
    """Return the armed HOOK.md hooks that were converted from the files of an agent, which does not run them by itself."""
    dialects = [form.dialect.name for form in HOOK_FORMS if form.source.host == host]
    own = [hook for hook in hooks if hook.state == ARMED and hook.folder and hook.dialect.name in dialects]
    return tuple(hook for hook in own if (path := find_entry_point(hook.folder)) and _read_converted_body(path))


def _read_written(entry: Hook) -> Hook:
    """Return an entry as its file has it: a trusted one names the private copies of its files."""
    if entry.approval is None:
        return entry
    form = find_form(entry.source)
    file = read_settings(entry.path, entry.scope, source=entry.source, form=form)
    return next((one for one in file.hooks if (one.place, one.kind) == (entry.place, entry.kind)), entry)


def _read_converted_body(path: str) -> str:
    """Return what a script that `convert` wrote does, "" for any other script."""
    try:
        _, _, rest = read_text(path).partition("\n")
    except FileError:
        return ""
    origin, _, body = rest.partition("\n")
    return body if origin.startswith("# from ") and origin.endswith(CONVERTED_MARK) else ""


def _is_twin(hook: Hook, path: str, body: str, entry: Hook) -> bool:
    """Whether an entry has the command that a hook was made from, or starts the script of the hook."""
    command = entry.handler
    if not isinstance(command, Command):
        return False
    script = hook.edited_folder + path.removeprefix(hook.folder)
    top, _, _ = hook.edited_folder.partition("/.agents/hooks/")
    is_same_project = hook.scope == PROJECT and entry.path.startswith(f"{top}/")
    # What `convert to-settings` writes: the script of the hook, from the project's folder if it is in one.
    if path and (script in command.line or (is_same_project and script.removeprefix(top) in command.line)):
        return True
    try:
        return bool(body) and body == make_script_body(entry, command)
    except ConversionError:
        return False
