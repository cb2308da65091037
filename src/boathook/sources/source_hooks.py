"""What a source returns: the hooks that its reader found, before trust and hooks.toml are applied to them."""

from __future__ import annotations

from collections.abc import Callable

from boathook.core.catalog import Settings
from boathook.core.hook import Diagnostic, Hook
from boathook.core.value import Value

ReadHook = tuple[Hook, frozenset[str]]


class SourceHooks(Value):
    """The hooks of one source, each with the fields that no default of hooks.toml may replace.

    `watch` are the paths whose change makes them stale. `project` is the project that the hooks of it belong to. `settle` is
    called once trust and hooks.toml were applied, for sources whose hooks depend on each other: it returns the hooks as they
    count, and more to watch.
    """

    hooks: tuple[ReadHook, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    watch: tuple[str, ...] = ()
    project: str = ""
    settle: Callable[[tuple[Hook, ...], Settings], tuple[tuple[Hook, ...], tuple[str, ...]]] | None = None
