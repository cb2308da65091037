"""A regular expression for what most commands do not have: it is compiled when a guard first needs it.

To compile all patterns of the pack takes longer than to ask all guards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator


class LazyPattern:
    """A pattern that is compiled at its first use; `re` keeps it, so nothing here changes."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text, self._flags = text, flags

    def match(self, text: str) -> re.Match[str] | None:
        return re.match(self._text, text, self._flags)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return re.fullmatch(self._text, text, self._flags)

    def search(self, text: str) -> re.Match[str] | None:
        return re.search(self._text, text, self._flags)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return re.finditer(self._text, text, self._flags)

    def sub(self, new: str, text: str) -> str:
        return re.sub(self._text, new, text, flags=self._flags)
