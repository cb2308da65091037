"""How many examples hypothesis draws for a property that needs more of them than others."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100


def count_examples(count: int) -> int:
    """Return so many examples in `make explore`, which draws `USUAL` for other properties, and as many fewer in `make test`."""
    return max(count * settings().max_examples // USUAL, 1)
