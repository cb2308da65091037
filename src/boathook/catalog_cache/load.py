"""Making the catalogue again from the compiled one: the lean half of `sources.cache`."""

from __future__ import annotations

from boathook.core.catalog import Catalog, Settings
from boathook.core.event import KINDS
from boathook.core.hook import Diagnostic, hook_from_data
from boathook.dialects.dialect import find_dialect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from boathook.catalog_cache.format import Compiled
    from boathook.core.event import EventKind


def recall(found: Compiled, kind: EventKind) -> Catalog:
    """Make the catalogue again, as far as one kind of event needs it."""
    kinds = {one.name: one for one in KINDS}
    return Catalog(
        tuple(hook_from_data(data, kinds, find_dialect) for data in found.section(f"hooks {kind.name}")),
        Settings(*found.head["settings"]),
        tuple(Diagnostic(*data) for data in found.head["diagnostics"]),
        found.head["where"][1],
        found.head["claude_project"],
    )
