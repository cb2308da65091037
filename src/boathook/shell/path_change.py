"""A change of a path, and the ways to change one."""

# Ways to change: `EXACT`, the file itself; `TREE`, everything at and below the path; `OVERLAY`, files are put below the path, and
# it is not known which ones; `CREATE`, the path is made unless it is there. Paths are as they are written, relative to the
# folder of the program.

from __future__ import annotations

from collections.abc import Callable, Iterator

from boathook.core.value import Value
from boathook.shell.started_program import Started

EXACT, TREE, OVERLAY, CREATE = "exact", "tree", "overlay", "create"


class PathChange(Value):
    """A path that a program changes; `source` is what is copied over an `OVERLAY`, if it is known."""

    # `takes_link`: if the path is a link, it is the link that is changed.

    path: str
    way: str = EXACT
    source: str = ""
    takes_link: bool = False


Changes = Iterator[PathChange]
Rule = Callable[[Started, list[str]], Changes]
