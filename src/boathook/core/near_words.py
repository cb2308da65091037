"""The word that somebody probably meant, for messages about one that is not known."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# How every suggestion begins.
DID_YOU_MEAN = "did you mean"


def find_near_word(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the known word that is nearest to another one, capital letters or not; "" if none is near."""
    import difflib

    # Of words that differ only in capital letters, the first counts.
    lowered = {name.lower(): name for name in reversed(tuple(known))}
    near = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=cutoff)
    return lowered[near[0]] if near else ""


def ask_if_meant(word: str) -> str:
    return f"{DID_YOU_MEAN} '{word}'?"


def suggest(word: str, known: Iterable[str], otherwise: str = "", cutoff: float = 0.6) -> str:
    """Return the known word that was probably meant, else another text or all of them."""
    known = tuple(known)
    near = find_near_word(word, known, cutoff)
    return ask_if_meant(near) if near else otherwise or f"known: {', '.join(known)}"
