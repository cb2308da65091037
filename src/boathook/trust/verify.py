"""The last check before a trusted hook runs: whether the project's files are still what was trusted."""

from __future__ import annotations

import os

from boathook.core.approval import compute_hook_digest
from boathook.core.catalog import Catalog, Plan, mark_untrusted
from boathook.core.hook import ARMED, MODIFIED, REMOVED, SHADOWED, USER, Script
from boathook.core.notices import describe_absence, hide_hook_text
from boathook.trust.snapshot import SnapshotError, describe_root, has_copies, read_snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from boathook.core.approval import Approval
    from boathook.core.event import Event
    from boathook.core.hook import Hook
    from boathook.core.verdict import Skip
    from boathook.trust.snapshot import Snapshot

CHANGED = "it changed since it was trusted"


def describe_change(change: str, name: str) -> str:
    return f"{change}. Review the change with: boathook trust {name}"


def find_change(approval: Approval, known: dict[str, Snapshot] | None = None) -> str:
    """Return what changed since a hook was trusted, or ""; `known` are roots that were read for other hooks of the same event."""
    known = {} if known is None else known
    try:
        # Hooks of a pack share some of their roots.
        known.update({root: read_snapshot(root) for root in approval.roots if root not in known})
        snapshots = {root: known[root] for root in approval.roots}
    except SnapshotError as error:
        return f"{CHANGED}: {error}"
    roots = [describe_root(root, snapshot) for root, snapshot in snapshots.items()]
    has_new_file = any(map(os.path.lexists, approval.missing_files))
    if has_new_file or compute_hook_digest(approval.definition, roots) != approval.digest:
        return CHANGED
    is_copied = has_copies(approval.copy_folder, snapshots)
    return "" if is_copied else "the private copy that it runs from is missing or changed"


def _restore(hook: Hook, changed_names: set[tuple[str, str]]) -> Hook:
    is_replaced = hook.state == SHADOWED and hook.scope == USER and (hook.source, hook.name) in changed_names
    return hook.replace(state=ARMED, state_reason="") if is_replaced else hook


class VerifiedCatalog:
    """A catalogue that verifies each trusted hook once, when an event asks for it. Make one for each dispatch."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._verified: set[object] = set()
        self._snapshots: dict[str, Snapshot] = {}

    def plan(self, event: Event) -> Plan:
        while True:
            plan = self._catalog.plan(event)
            hooks = (*(hook for stage in plan.stages for hook in stage.hooks), *plan.background)
            changed = dict(filter(None, map(self._find_changed_hook, hooks)))
            if not changed:
                return plan
            rest = [changed.get(hook.order, hook) for hook in self._catalog.hooks]
            changed_hooks = [hook for hook in self._catalog.hooks if hook.order in changed]
            names = {(hook.source, hook.name) for hook in changed_hooks if not hook.runs_together}
            restored = sorted((_restore(hook, names) for hook in rest), key=lambda hook: hook.order)
            self._catalog = self._catalog.replace(hooks=tuple(restored))

    def find_skips(self, event: Event) -> tuple[Skip, ...]:
        return self._catalog.find_skips(event)

    def _find_changed_hook(self, hook: Hook) -> tuple[object, Hook] | None:
        if hook.approval is None or hook.order in self._verified:
            return None
        self._verified.add(hook.order)
        change = find_change(hook.approval, self._snapshots)
        if not change:
            return None
        state, why = MODIFIED, describe_change(change, hook.name)
        if isinstance(hook.handler, Script) and not os.path.lexists(hook.path):
            state, why = REMOVED, describe_absence(REMOVED, hook.name)
        return hook.order, hide_hook_text(mark_untrusted(hook, state, why, self._catalog.settings.untrusted))
