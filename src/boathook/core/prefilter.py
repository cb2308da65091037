"""The words of a pattern: every text that it matches has one of them, so most events need no regular expression."""

# If a pattern consists of words only (`Shell`, `rm -rf /|mkfs`, `^(Shell|Bash)$`), they decide alone. A pattern that is not
# plainly understood has none. The patterns must be ones that `core.matcher` accepts. What RE2 does not have proves nothing:
# what looks around or refers back is like a place where anything may be, and no such pattern is decided by its words.

from __future__ import annotations

from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

GRAM_CHARS = 3
_MAX_SOURCE_CHARS, _MAX_GROUPS = 4096, 32
# More words of one pattern cost more than they save. To look for this many in an output takes less than loading the engine.
_MAX_WORDS = 256

CONTAINS, EQUALS, HINT = "contains", "equals", "hint"

_START, _END, _GAP = "^", "$", "."
_LOOK_MARKS = ("?=", "?!", "?<=", "?<!")
_GROUP_MARKS = ("?:", "?>", *_LOOK_MARKS)


class PrefilterWords(Value):
    """The words of a pattern, and what they prove: that it matches (contains, equals) or that it may (hint)."""

    any_of: tuple[str, ...]
    proof: str


class _Unclear(Exception):
    """The pattern has something that is not plainly understood."""


class _Piece(Value):
    words: tuple[str, ...]
    exact: bool = True


_ANYTHING = _Piece((), exact=False)


def find_words(source: str) -> PrefilterWords | None:
    if len(source) > _MAX_SOURCE_CHARS or source.count("(") > _MAX_GROUPS:
        return None
    try:
        branches, at = _read_branches(source, 0)
    except _Unclear:
        return None
    if at != len(source):
        return None
    return _find_exact_words(branches) or _make_hint([_find_needed_words(branch) for branch in branches])


def _find_exact_words(branches: list[list[_Piece | str]]) -> PrefilterWords | None:
    """Return the words if they decide alone: all branches are exact, and all of them are anchored or none is."""
    anchored = [(b[:1] == [_START], b[-1:] == [_END]) for b in branches]
    if len(set(anchored)) != 1 or anchored[0] not in ((True, True), (False, False)):
        return None
    both = anchored[0][0]
    if both and len(branches) == 1 and len(branches[0]) < 2:
        return None
    words: list[str] = []
    for branch in branches:
        inner = branch[1:-1] if both else branch
        pieces = [piece for piece in inner if isinstance(piece, _Piece)]
        if len(pieces) != len(inner) or not all(piece.exact for piece in pieces):
            return None
        product = _combine_pieces(pieces)
        if not product or (not both and not all(product)):
            return None
        words += product
    unique, proof = tuple(dict.fromkeys(words)), EQUALS if both else CONTAINS
    return PrefilterWords(unique, proof) if len(words) <= _MAX_WORDS else None


def _make_hint(needed: list[tuple[str, ...]]) -> PrefilterWords | None:
    words = tuple(dict.fromkeys(word for branch in needed for word in branch))
    if not all(needed) or not all(words) or len(words) > _MAX_WORDS:
        return None
    return PrefilterWords(words, HINT)


def _find_needed_words(branch: list[_Piece | str]) -> tuple[str, ...]:
    candidates: list[tuple[str, ...]] = []
    run: list[_Piece] = []
    for piece in [*branch, _GAP]:
        if isinstance(piece, _Piece) and piece.exact:
            run.append(piece)
            continue
        candidates.append(tuple(_combine_pieces(run)))
        run = []
        if isinstance(piece, _Piece):
            candidates.append(piece.words)
    usable = [words for words in candidates if words and all(words)]
    return max(usable, key=lambda words: min(map(len, words)), default=())


def _combine_pieces(pieces: list[_Piece]) -> list[str]:
    if not pieces:
        return []
    words = [""]
    for piece in pieces:
        words = [left + right for left in words for right in piece.words]
        if len(words) > _MAX_WORDS:
            return []
    return words


def _read_branches(source: str, at: int) -> tuple[list[list[_Piece | str]], int]:
    branches: list[list[_Piece | str]] = [[]]
    while at < len(source) and source[at] != ")":
        if source[at] == "|":
            branches.append([])
            at += 1
            continue
        piece, at = _read_atom(source, at)
        piece, at = _read_quantifiers(piece, source, at)
        branches[-1].append(piece)
    return branches, at


def _read_atom(source: str, at: int) -> tuple[_Piece | str, int]:
    char = source[at]
    if char == "(":
        return _read_group(source, at)
    if char == "[":
        return _ANYTHING, _find_class_end(source, at) + 1
    if char == "\\":
        return _read_escape(source, at)
    if char in "^$.":
        return char, at + 1
    if char in "?*+{":
        raise _Unclear
    return _Piece((char,)), at + 1


def _read_escape(source: str, at: int) -> tuple[_Piece | str, int]:
    escaped = source[at + 1 : at + 2]
    if escaped and not escaped.isalnum():
        return _Piece((escaped,)), at + 2
    if escaped and escaped in "bBdDwWsSAzZ":
        return _GAP, at + 2
    if escaped and escaped in "123456789" and not source[at + 2 : at + 3].isdigit():
        return _GAP, at + 2
    raise _Unclear


def _read_group(source: str, at: int) -> tuple[_Piece | str, int]:
    at += 1
    mark = next((mark for mark in _GROUP_MARKS if source.startswith(mark, at)), "")
    if not mark and source.startswith("?", at):
        # Flags change the meaning of what follows.
        raise _Unclear
    branches, at = _read_branches(source, at + len(mark))
    if source[at : at + 1] != ")":
        raise _Unclear
    if mark in _LOOK_MARKS:
        return _GAP, at + 1
    pieces = [[p for p in b if isinstance(p, _Piece)] for b in branches]
    is_exact = all(len(p) == len(b) and all(x.exact for x in p) for p, b in zip(pieces, branches, strict=True))
    # An atomic group does not try all the ways that are written there.
    if is_exact and mark != "?>":
        ways = [_combine_pieces(p) if p else [""] for p in pieces]
        words = [word for way in ways for word in way]
        if all(ways) and len(words) <= _MAX_WORDS:
            return _Piece(tuple(words)), at + 1
    hint = _make_hint([_find_needed_words(branch) for branch in branches])
    return _Piece(hint.any_of if hint else (), exact=False), at + 1


def _read_quantifiers(piece: _Piece | str, source: str, at: int) -> tuple[_Piece | str, int]:
    """Read the quantifiers of an atom; an optional atom proves nothing, a repeated one is there at least once."""
    while at < len(source) and source[at] in "?*+{":
        char = source[at]
        if char == "{":
            close = source.find("}", at)
            inner = source[at + 1 : close]
            if close < 0 or not inner or inner.strip("0123456789,"):
                # RE2 reads such a brace as itself.
                raise _Unclear
            at = close
        once = char == "+" and isinstance(piece, _Piece)
        piece = _Piece(piece.words, exact=False) if once and isinstance(piece, _Piece) else _GAP
        at += 1
    return piece, at


def _find_class_end(source: str, at: int) -> int:
    at += 1
    if source[at : at + 1] == "^":
        at += 1
    first = True
    while at < len(source):
        char = source[at]
        if char == "\\":
            at += 1
        elif source.startswith("[:", at) and ":]" in source[at + 2 :]:
            close = source.index(":]", at + 2)
            if not source[at + 2 : close].lstrip("^").isalpha():
                raise _Unclear
            at = close + 1
        elif char == "]" and not first:
            return at
        first = False
        at += 1
    raise _Unclear


def index_words(words: Iterable[str]) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Index words by the rarest letter group (gram) of each; return the index, and the words that are too short for it."""
    # A text is then looked up gram by gram (`list_grams`), so the cost depends on the text and not on the number of words.
    unique = tuple(dict.fromkeys(words))
    count: dict[str, int] = {}
    for word in unique:
        for gram in list_grams(word):
            count[gram] = count.get(gram, 0) + 1
    index: dict[str, list[str]] = {}
    short: list[str] = []
    for word in unique:
        grams = list_grams(word)
        if grams:
            index.setdefault(min(sorted(grams), key=count.__getitem__), []).append(word)
        else:
            short.append(word)
    return {gram: tuple(words) for gram, words in index.items()}, tuple(short)


def list_grams(text: str) -> set[str]:
    return {text[at : at + GRAM_CHARS] for at in range(len(text) - GRAM_CHARS + 1)}
