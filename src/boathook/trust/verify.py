"""The last look before a trusted hook runs: whether the project's own copy is still what was trusted."""

from __future__ import annotations

import os

from boathook.core.approval import compute_digest, resolve_copy_path
from boathook.core.catalog import Catalog, Plan, mark_untrusted
from boathook.core.hook import ARMED, HOOK_MD, MODIFIED, SHADOWED, USER
from boathook.trust.snapshot import SnapshotError, describe_root, is_copy_of, read_snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from boathook.core.approval import Approval
    from boathook.core.event import Event
    from boathook.core.hook import Hook
    from boathook.core.verdict import Skip

CHANGED = "it changed since it was trusted"


def broken(approval: Approval) -> str:
    """Return in what a hook is not what was trusted; nothing if it still is."""
    try:
        trees = {root: read_snapshot(root) for root in approval.roots}
    except SnapshotError as error:
        return f"{CHANGED}: {error}"
    words = [describe_root(root, tree) for root, tree in trees.items()]
    if compute_digest(approval.definition, words) != approval.digest or any(map(os.path.lexists, approval.absent)):
        return CHANGED
    if all(
        is_copy_of(tree, resolve_copy_path(approval.copy, at, root)) for at, (root, tree) in enumerate(trees.items())
    ):
        return ""
    return "the private copy that it runs from is gone, or is not what was trusted"


def _restored(hook: Hook, fallen: set[str]) -> Hook:
    """Let the user's hook guard again whose replacement is not what was trusted."""
    replaced = hook.state == SHADOWED and hook.scope == USER and hook.source == HOOK_MD and hook.name in fallen
    return hook.replace(state=ARMED, why="") if replaced else hook


class Vetted:
    """A catalogue in which hooks are looked at again when an event asks for them, each once."""

    def __init__(self, catalog: Catalog, look: Callable[[Approval], str] = broken) -> None:
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
            rest = (fallen.get(hook.order, hook) for hook in self._catalog.hooks)
            names = {hook.name for hook in fallen.values() if hook.source == HOOK_MD}
            self._catalog = self._catalog.replace(hooks=tuple(_restored(hook, names) for hook in rest))

    def skips(self, event: Event) -> tuple[Skip, ...]:
        """Name the hooks that are not armed but could have been meant by an event."""
        return self._catalog.skips(event)

    def _fallen(self, hook: Hook) -> tuple[object, Hook] | None:
        if hook.approval is None or hook.order in self._seen:
            return None
        self._seen.add(hook.order)
        why = self._look(hook.approval)
        if not why:
            return None
        told = f"{why} (see what: boathook trust {hook.name})"
        return hook.order, mark_untrusted(hook, MODIFIED, told, self._catalog.settings.untrusted)
