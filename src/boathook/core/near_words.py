"""The word that somebody probably meant, for messages about one that is not known."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# How every suggestion begins.
DID_YOU_MEAN = "did you mean"
# If two words are this similar, one of them is probably a typing error.
STRICT_CUTOFF = 0.8
# In shorter words, one other letter makes another word.
_SHORTEST_SLIP = 4


def find_near_word(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the known word that is nearest to another one, capital letters or not; "" if none is near."""
    import difflib

    # Of words that differ only in capital letters, the first counts.
    lowered = {name.lower(): name for name in reversed(tuple(known))}
    near = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=cutoff)
    # Two swapped letters are one slip, but make short words look very different.
    near = near or [other for other in lowered if has_swapped_letters(word.lower(), other)]
    return lowered[near[0]] if near else ""


def is_typing_error(word: str, known: str) -> bool:
    """Whether a word is a known one with one slip: other capitals, two letters swapped, one missing, too many or wrong.

    A plural is another word, and so is another number at the end.
    """
    one, other = sorted((word.lower(), known.lower()), key=len)
    if one == other:
        return word != known
    start = next((at for at, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs), len(one))
    if len(one) < _SHORTEST_SLIP or not other[start].isalpha() or other == f"{one}s":
        return False
    if len(one) < len(other):
        return one[start:] == other[start + 1 :]
    if not one[start].isalpha():
        return False
    return one[start + 1 :] == other[start + 1 :] or has_swapped_letters(one, other)


def has_swapped_letters(word: str, other: str) -> bool:
    """Whether two words differ only in two letters side by side that changed places."""
    places = [at for at, (mine, theirs) in enumerate(zip(word, other, strict=False)) if mine != theirs]
    if len(word) != len(other) or len(places) != 2 or places[1] != places[0] + 1:
        return False
    return word[places[0]] == other[places[1]] and word[places[1]] == other[places[0]]


def ask_if_meant(word: str) -> str:
    return f"{DID_YOU_MEAN} '{word}'?"


def suggest(word: str, known: Iterable[str], otherwise: str = "", cutoff: float = 0.6) -> str:
    """Return the known word that was probably meant, else another text or all of them."""
    known = tuple(known)
    near = find_near_word(word, known, cutoff)
    return ask_if_meant(near) if near else otherwise or f"known: {', '.join(known)}"
