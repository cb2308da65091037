"""Why a hook does not run although its files are right: its state, and the agents that are installed here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from boathook.assembly import resolve_start
from boathook.core.catalog import Catalog
from boathook.core.event import EventKind
from boathook.core.hook import (
    DENIED,
    DISABLED,
    GONE,
    HIDDEN,
    INVALID,
    MODIFIED,
    NOTE,
    PLUGIN,
    SHADOWED,
    UNTRUSTED,
    USER,
    WARNING,
    Diagnostic,
    Hook,
    Script,
)
from boathook.errors import ConfigError
from boathook.hosts.capabilities import Unsupported, find_unsupported
from boathook.hosts.host import Host, load_host
from boathook.install.installed_targets import list_installed_targets
from boathook.install.registry import InstallRegistry
from boathook.sources.agent_forms.entry_lines import add_lines, list_lines
from boathook.sources.checker import check_hook
from boathook.sources.double_hooks import DoubleHook
from boathook.sources.hook_md.folder import read_hook
from boathook.sources.hooks_toml import read_hooks_toml
from boathook.sources.source import SETTINGS_JSON_SOURCE, SOURCES
from boathook.system.files import FileError, read_text

_DISABLED_BY = "disabled by "


def list_installed_hosts(state: str, project: str | None) -> tuple[Host, ...]:
    """Return the agents that call boathook here: for all projects of the user, or for this one."""
    try:
        targets = list_installed_targets(InstallRegistry(state), project)
    except ConfigError:
        # `boathook status` reports it.
        return ()
    here = [setup.name for setup, target in targets if target.scope == USER or _is_here(target.project, project)]
    return tuple(load_host(name) for name in dict.fromkeys(here))


def _is_here(installed: str, project: str | None) -> bool:
    return f"{resolve_start(project)}/".startswith(f"{installed.rstrip('/')}/")


def find_own_host(hook: Hook) -> Host | None:
    """Return the agent that runs a hook itself, because it is in that agent's own file; None for hooks of all agents."""
    # What plugins bring is for the agent of settings.json.
    source = SETTINGS_JSON_SOURCE.name if hook.source == PLUGIN else hook.source
    host = next((one.host for one in SOURCES if one.name == source), "")
    return load_host(host) if host else None


def find_unasking_hosts(hook: Hook, hosts: Iterable[Host]) -> dict[str, Unsupported]:
    """Return the installed agents that never ask a hook, by their titles, with the reason."""
    own = find_own_host(hook)
    found: dict[str, Unsupported] = {}
    for host in hosts:
        never = next((one for one in find_unsupported(hook, host) if one.is_never_asked), None)
        if never is not None and (own is None or own.name != host.name):
            found[host.title] = never
    return found


def find_unasked_cause(hook: Hook, hosts: Sequence[Host]) -> Diagnostic | None:
    """Return why no installed agent asks a hook, None if one does or none is installed."""
    own = find_own_host(hook)
    unasking = find_unasking_hosts(hook, hosts)
    if not hosts or len(unasking) < len(hosts) or own is not None:
        return None
    title, first = next(iter(unasking.items()))
    *most, last = unasking
    agents = f"{', '.join(most)} and {last} never ask" if most else f"{last} never asks"
    message = f"{agents} hook '{hook.name}', and no other agent calls boathook here: {first.text}"
    line = find_key_line(hook.path, "tool" if "tool" in first.text else "trigger")
    return Diagnostic(hook.path, line, f"host {title}", WARNING, message, first.fix)


def find_key_line(path: str, key: str) -> int | None:
    """Return the first line of a HOOK.md that sets a key, also inside of braces."""
    if not path.endswith(".md"):
        return None
    try:
        lines = read_text(path).splitlines()
    except FileError:
        return None
    matching = (at for at, line in enumerate(lines, 1) if line.strip().startswith(f"{key}:") or f"{{{key}:" in line)
    return next(matching, None)


def check_edited_hook(hook: Hook) -> list[Diagnostic]:
    """Check the files of a hook that a person edits; what runs may be a private copy of them."""
    if hook.state == GONE:
        return []
    hook = _read_broken_manifest(hook) or hook
    if isinstance(hook.handler, Script):
        hook = hook.replace(handler=Script(hook.edited_folder))
    return add_lines(check_hook(hook))


def _read_broken_manifest(hook: Hook) -> Hook | None:
    """Return a trusted hook as its HOOK.md is now, if that cannot be read any more; else None."""
    if hook.state != MODIFIED or not isinstance(hook.handler, Script):
        return None
    edited, _ = read_hook(hook.path, hook.edited_folder, hook.scope)
    return edited if edited.state == INVALID else None


def explain_double(double: DoubleHook) -> Diagnostic:
    return Diagnostic(double.hook.path, None, "", WARNING, double.text, double.fix)


def find_state_cause(hook: Hook) -> Diagnostic | None:
    """Return why a hook is not armed, where that is written, and what to do; None if its own files are the reason."""
    find = _STATE_CAUSES.get(hook.state)
    if find is None or hook.is_off_in_pack or hook.is_installed_call:
        return None
    return find(hook)


def _explain_trust(hook: Hook) -> Diagnostic:
    fixes = {DENIED: f"boathook untrust {hook.name}, then boathook trust {hook.name}", HIDDEN: "boathook trust"}
    fix = fixes.get(hook.state, f"boathook trust {hook.name}")
    if _read_broken_manifest(hook):
        fix = f"correct {hook.path}, then {fix}"
    return _make_cause(hook, fix=fix)


def _explain_gone_hook(hook: Hook) -> Diagnostic:
    # Its reason says what to do.
    return _make_cause(hook)


def _explain_shadowed_hook(hook: Hook) -> Diagnostic:
    if hook.scope == USER and hook.state_reason.startswith("replaced"):
        fix = f"to keep yours, write 'protected: true' into {hook.path}; or boathook untrust {hook.name}"
    elif hook.state_reason.endswith("is protected"):
        fix = "rename this hook, or remove 'protected: true' from yours"
    else:
        fix = "rename one of the two"
    return _make_cause(hook, fix=fix)


def _explain_disabled_hook(hook: Hook) -> Diagnostic | None:
    path, _, detail = hook.state_reason.removeprefix(_DISABLED_BY).partition(" (")
    if not hook.state_reason.startswith(_DISABLED_BY):
        return None
    lines = list_lines(path)
    if not path.endswith("hooks.toml"):
        key = detail.rstrip(")")
        return _make_cause(hook, path, lines.get(key), key, f"remove '{key}' from {path}" if key else "")
    if detail:
        return _make_cause(hook, path, lines.get("hooks.enabled"), "hooks.enabled", "remove 'enabled = false'")
    disabled = read_hooks_toml(path, hook.scope).disable
    place = f"hooks.disable[{disabled.index(hook.name)}]" if hook.name in disabled else "hooks.disable"
    fix = f'remove the [[hooks.disable]] table with name = "{hook.name}"'
    return _make_cause(hook, path, lines.get(place, lines.get("hooks.disable")), place, fix)


def _make_cause(hook: Hook, path: str = "", line: int | None = None, key: str = "", fix: str = "") -> Diagnostic:
    return Diagnostic(path or hook.path, line, key, NOTE, f"hook '{hook.name}' does not run: {hook.state_reason}", fix)


_STATE_CAUSES: dict[str, Callable[[Hook], Diagnostic | None]] = {
    **dict.fromkeys((UNTRUSTED, MODIFIED, DENIED, HIDDEN), _explain_trust),
    GONE: _explain_gone_hook,
    SHADOWED: _explain_shadowed_hook,
    DISABLED: _explain_disabled_hook,
}


def list_other_events(catalog: Catalog, kind: EventKind) -> dict[str, list[Hook]]:
    """Return the hooks that people wrote for other events, by event: one of them may be meant for this one."""
    hooks: dict[str, list[Hook]] = {}
    for hook in catalog.hooks:
        is_own = not hook.pack and not hook.is_installed_call
        if is_own and hook.kind is not None and hook.kind is not kind:
            hooks.setdefault(hook.kind.name, []).append(hook)
    return hooks
