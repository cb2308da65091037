"""Find hooks by the name that a person types: whole, without the pack, or without the digest of an entry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from boathook.core.hook import ARMED, Diagnostic, Hook
from boathook.core.near_words import suggest
from boathook.errors import ConfigError

_SEE_LIST = "boathook list --all shows the names"


def list_short_names(hooks: Iterable[Hook]) -> dict[str, Hook]:
    """Return the hooks of packs by their names without the pack, where that is clear."""
    short: dict[str, list[Hook]] = {}
    taken = {hook.name for hook in hooks}
    for hook in hooks:
        name = hook.short_name if hook.pack else ""
        if name and name not in taken:
            short.setdefault(name, []).append(hook)
    return {name: found[0] for name, found in short.items() if len(found) == 1}


def is_hook_called(name: str, wanted: str) -> bool:
    """Whether a hook is meant: by its name, by that without its pack, or by that without the digest of an entry."""
    return wanted in (name, name.rpartition(":")[2]) or name.startswith(f"{wanted}#")


def match_hook_names(hooks: Iterable[Hook], name: str) -> list[Hook]:
    """Return the hooks of exactly this name; if there is none, those whose name it is a part of."""
    found = [hook for hook in hooks if is_hook_called(hook.name, name) and _may_be_short(hook, name)]
    return [hook for hook in found if hook.name == name] or found


def make_unknown_hook_error(hooks: Sequence[Hook], name: str) -> ConfigError:
    known = dict.fromkeys((*(hook.name for hook in hooks), *list_short_names(hooks)))
    if not known:
        return ConfigError(f"there is no hook '{name}' here, and no other hook. Create one: boathook new --help")
    return ConfigError(f"there is no hook '{name}' here: {suggest(name, known, _SEE_LIST)}")


def find_named_hooks(hooks: Sequence[Hook], name: str, diagnostics: Sequence[Diagnostic] = ()) -> list[Hook]:
    """Return the hooks of a name: of several scopes, the one that counts first. A name that is not clear is an error.

    `diagnostics` are those of all files: one of them may be why there is no such hook.
    """
    found = match_hook_names(hooks, name)
    names = list(dict.fromkeys(hook.name for hook in found))
    if len(names) > 1:
        raise ConfigError(f"several hooks are called '{name}': {', '.join(names)}. Write the whole name")
    if not found:
        error = make_unknown_hook_error(hooks, name)
        problem = next(iter(diagnostics), None)
        raise ConfigError(f"{error}. {problem}") if problem else error
    return sorted(found, key=lambda hook: hook.state != ARMED)


def _may_be_short(hook: Hook, name: str) -> bool:
    """Whether a name can be that of a hook: whole, without its pack, or without the digest of an entry."""
    return bool(hook.pack) or hook.name == name or hook.name.startswith(f"{name}#")
