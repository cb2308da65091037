"""The last look before a trusted hook runs: whether the project's own copy is still what was trusted."""

from __future__ import annotations

import os

from boathook.core.catalog import Catalog, Plan, doubted
from boathook.core.hook import MODIFIED
from boathook.core.trust import digest_of
from boathook.tree import TreeFault, read_tree, word_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from boathook.core.event import Event
    from boathook.core.hook import Hook
    from boathook.core.run import Skip
    from boathook.core.trust import Seal

CHANGED = "it changed since it was trusted"


def broken(seal: Seal) -> str:
    """Say in what a hook is not what was trusted; nothing if it still is."""
    try:
        words = [word_of(root, read_tree(root)) for root in seal.roots]
    except TreeFault as fault:
        return f"{CHANGED}: {fault}"
    if digest_of(seal.definition, words) != seal.digest:
        return CHANGED
    return "" if not seal.roots or os.path.isdir(seal.copy) else "the private copy that it runs from is gone"


class Vetted:
    """A catalogue in which hooks are looked at again when an event asks for them, each once."""

    def __init__(self, catalog: Catalog, look: Callable[[Seal], str] = broken) -> None:
        """Take the catalogue, for one dispatch."""
        self._catalog = catalog
        self._look = look
        self._seen: set[object] = set()

    def plan(self, event: Event) -> Plan:
        """Select the hooks that match an event; without those that are not what was trusted."""
        while True:
            plan = self._catalog.plan(event)
            hooks = (*(hook for stage in plan.stages for hook in stage.hooks), *plan.background)
            fallen = dict(filter(None, map(self._fallen, hooks)))
            if not fallen:
                return plan
            rest = tuple(fallen.get(hook.order, hook) for hook in self._catalog.hooks)
            self._catalog = self._catalog.replace(hooks=rest)

    def skips(self, event: Event) -> tuple[Skip, ...]:
        """Name the hooks that are not armed but could have been meant by an event."""
        return self._catalog.skips(event)

    def _fallen(self, hook: Hook) -> tuple[object, Hook] | None:
        if hook.seal is None or hook.order in self._seen:
            return None
        self._seen.add(hook.order)
        why = self._look(hook.seal)
        if not why:
            return None
        told = f"{why} (see what: boathook trust {hook.name})"
        return hook.order, doubted(hook, MODIFIED, told, self._catalog.settings.untrusted)
