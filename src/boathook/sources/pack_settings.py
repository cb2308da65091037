"""The tables `[packs."OWNER/NAME"]` of hooks.toml: which hooks of a pack are on, and what is set for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from boathook.core.hook import (
    ABSENT_STATES,
    ARMED,
    DISABLED,
    ERROR,
    MODIFIED,
    PROJECT,
    USER,
    WARNING,
    Diagnostic,
    Hook,
)
from boathook.core.json_text import dumps, loads
from boathook.core.near_words import suggest
from boathook.core.value import Value
from boathook.sources.fields import (
    PACK_TOML_FIELDS,
    PACKS_FIELD,
    TABLE,
    FieldChecker,
    describe_value,
    is_hook_name,
    is_pack_name,
)

if TYPE_CHECKING:
    from boathook.sources.hooks_toml import HooksConfig

# It becomes a variable of the environment.
MAX_SETTINGS_CHARS = 16 * 1024
_PACK_KEYS = tuple(field.key for field in PACK_TOML_FIELDS)


class PackSettings(Value):
    """What a hooks.toml says about one pack; `settings` has the JSON of each hook's table."""

    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.on, *self.off, *(name for name, _ in self.settings))))


def check_packs(tables: Mapping[str, Any], checker: FieldChecker) -> dict[str, PackSettings]:
    """Return what the table `packs` of a hooks.toml says, by the names of packs; what is wrong is reported and left out."""
    packs: dict[str, PackSettings] = {}
    for name, table in tables.items():
        place = f'{PACKS_FIELD.key}."{name}"'
        if not is_pack_name(name):
            fix = 'write the owner and the name in quotes, such as [packs."boathook/standard"]'
            checker.report(ERROR, place, f"'{name}' is not the name of a pack; it is ignored", fix)
            continue
        if not isinstance(table, dict):
            message = f"{place} must be {TABLE.expected}, not {describe_value(table)}; it is ignored"
            checker.report(ERROR, place, message, f'write [{place}], and below it on = ["…"], off = ["…"]')
            continue
        values = checker.check(PACK_TOML_FIELDS, {key: table[key] for key in _PACK_KEYS if key in table}, place)
        on, off = tuple(values.get("on", ())), tuple(values.get("off", ()))
        for both in (hook for hook in on if hook in off):
            checker.report(ERROR, place, f"'{both}' is in 'on' and in 'off'; it is on", "remove it from one of them")
        settings = {
            hook: text for hook, value in table.items() if (text := _read_settings(hook, value, place, checker))
        }
        packs[name] = PackSettings(on, tuple(hook for hook in off if hook not in on), tuple(settings.items()))
    return packs


def _read_settings(hook: str, value: Any, place: str, checker: FieldChecker) -> str:
    """Return the settings of one hook as JSON, "" if there are none that can be used."""
    if hook in _PACK_KEYS:
        return ""
    if not is_hook_name(hook) or not isinstance(value, dict):
        message = f"'{hook}' must be {TABLE.expected} with the settings of the hook of this name"
        checker.report(ERROR, place, f"{message}; it is ignored", f"write [{place}.{hook}], or use 'on' and 'off'")
        return ""
    try:
        text = dumps(value)
    except (TypeError, ValueError, RecursionError):
        message = f"the settings of '{hook}' must be texts, numbers, true, false, lists and tables; they are ignored"
        checker.report(ERROR, place, message, "write dates as texts")
        return ""
    if len(text) > MAX_SETTINGS_CHARS:
        limit = f"{MAX_SETTINGS_CHARS // 1024} KiB"
        checker.report(ERROR, place, f"the settings of '{hook}' are larger than {limit}; they are ignored")
        return ""
    return text


def configure_pack_hook(hook: Hook, project: HooksConfig, user: HooksConfig) -> Hook:
    """Turn a hook of a pack on or off and give it its settings: first what its project says, then the user.

    A project configures its own packs only, so that it cannot turn a guard of the user off.
    """
    if not hook.pack:
        return hook
    name, is_on, settings, switch = hook.short_name, hook.is_on, "", ""
    for config in (project, user):
        is_stranger = config.scope == PROJECT and (hook.scope == USER or hook.state in (MODIFIED, *ABSENT_STATES))
        found = config.packs.get(hook.pack)
        if found is None or is_stranger:
            continue
        if name in (*found.on, *found.off):
            is_on, switch = name in found.on, config.path
        settings = dict(found.settings).get(name, settings)
    hook = hook.replace(settings=settings)
    if is_on or hook.state == DISABLED:
        return hook
    reason = f"off in {switch}" if switch else "off by default"
    return hook.replace(state=DISABLED, state_reason=f"{reason}. Turn it on with: boathook pack on {hook.name}")


def get_project_choice(hook: Hook, config: HooksConfig) -> list[Any]:
    """Return what a project's hooks.toml says about a hook of its pack, which is trusted with the hook."""
    found = config.packs.get(hook.pack) if hook.pack else None
    name = hook.short_name
    if found is None or name not in found.named:
        return [] if hook.is_on or not hook.pack else ["disabled"]
    is_on = name in found.on or (hook.is_on and name not in found.off)
    settings = dict(found.settings).get(name)
    return [*([{"settings": settings}] if settings else []), *(() if is_on else ("disabled",))]


def list_pack_mistakes(hooks: tuple[Hook, ...], project: HooksConfig, user: HooksConfig) -> Iterator[Diagnostic]:
    """Return what hooks.toml says about packs and hooks that are not there, or that a project may not configure."""
    for config in (user, project):
        seen = [hook for hook in hooks if hook.pack and (config.scope == USER or hook.scope == PROJECT)]
        others = {hook.pack for hook in hooks if hook.pack}
        unreadable = {hook.pack for hook in hooks if hook.is_whole_pack}
        for pack, found in config.packs.items():
            if pack in unreadable:
                continue
            key = f'{PACKS_FIELD.key}."{pack}"'
            names = {hook.short_name for hook in seen if hook.pack == pack}
            if not names and pack in others:
                message = f"a project cannot configure your pack '{pack}'; this is ignored"
                yield Diagnostic(config.path, None, key, WARNING, message, "remove it")
            elif not names:
                fix = suggest(pack, others, f"add it with: boathook pack add {pack}")
                yield Diagnostic(config.path, None, key, WARNING, f"there is no pack '{pack}' here", fix)
            for name in found.named if names else ():
                if name not in names:
                    message = f"the pack '{pack}' has no hook '{name}'"
                    yield Diagnostic(config.path, None, key, ERROR, message, suggest(name, sorted(names)))
            yield from _list_unknown_settings(config.path, [hook for hook in seen if hook.pack == pack], found)


def _is_reviewed(hook: Hook) -> bool:
    """Whether events may quote what a hook says about itself: it is the user's, or a person trusts it."""
    return hook.scope == USER or hook.approval is not None or hook.state == ARMED


def _list_unknown_settings(path: str, hooks: list[Hook], found: PackSettings) -> Iterator[Diagnostic]:
    """Return the settings that no hook of this name reads: the hook works as if they were not there."""
    for name, text in found.settings:
        own = [hook for hook in hooks if hook.name.endswith(f":{name}") and _is_reviewed(hook)]
        known = {one for hook in own for one in hook.known_settings or ()}
        if not own or any(hook.known_settings is None for hook in own):
            continue
        for setting in (one for one in loads(text) if one not in known):
            key = f'{PACKS_FIELD.key}."{own[0].pack}".{name}.{setting}'
            fix = suggest(setting, sorted(known)) if known else "remove it: the hook has no settings"
            yield Diagnostic(path, None, key, ERROR, f"the hook '{own[0].name}' has no setting '{setting}'", fix)
