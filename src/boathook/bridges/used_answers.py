"""The approvals that were used in this process: frameworks take the same answer of a person any number of times."""

from __future__ import annotations

import threading
from collections import OrderedDict

_MAX_USED_ANSWERS = 16_384


class UsedAnswers:
    """Which answers were used, by the framework, the place of the question in its conversation, and the call."""

    def __init__(self) -> None:
        self._keys: OrderedDict[tuple[str, ...], None] = OrderedDict()
        self._lock = threading.Lock()

    def use(self, *key: str) -> bool:
        """Use up the answer to a question; False if it was used already."""
        with self._lock:
            if key in self._keys:
                return False
            self._keys[key] = None
            if len(self._keys) > _MAX_USED_ANSWERS:
                self._keys.popitem(last=False)
            return True

    def has(self, *key: str) -> bool:
        """Whether an answer was used."""
        return key in self._keys

    def give_back(self, *key: str) -> None:
        """Let the next answer count: the question was asked once more, or the framework makes the same call again."""
        with self._lock:
            self._keys.pop(key, None)


# One for all bridges of the process: a result of one agent may go on in another one.
used_answers = UsedAnswers()
