"""Names of tools that servers offer (`mcp__server__bash`): a hook may mean the whole name, or that of the tool alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boathook.inprocess.name_map import NameMap, ToolNaming

_PREFIX, _MARK = "mcp__", "__"


@dataclass(frozen=True, slots=True)
class ServerToolNaming(ToolNaming):
    """What file hooks call a tool of a server; `short_name` is its name without the server."""

    short_name: str = ""

    def _list_names(self) -> tuple[str, ...]:
        # Slots make a new class, which a bare super() does not find.
        return (*ToolNaming._list_names(self), self.short_name)


class ServerToolNames(NameMap):
    """The tools of a program, some of them on servers: those are mapped and guessed by their names without the server."""

    def __init__(
        self, names: Mapping[str, str] | None = None, arguments: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        super().__init__(names, arguments)
        self._mapped = {*(names or {}), *(arguments or {})}

    def find(self, name: str, args: Mapping[str, Any]) -> ToolNaming | None:
        """Return what file hooks call a tool."""
        short_name = name.rpartition(_MARK)[2]
        if not name.startswith(_PREFIX) or not short_name:
            return super().find(name, args)
        naming = super().find(name if name in self._mapped else short_name, args)
        if naming is None:
            return ServerToolNaming(name, name, short_name=short_name)
        return ServerToolNaming(name, naming.tool, naming.keys, naming.is_guess, short_name)
