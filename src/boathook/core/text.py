"""Make the text of hooks safe for a terminal and a model: no control characters, no escape sequences, within a limit."""

from __future__ import annotations

MAX_REASON_CHARS = 8192
# Letters and marks that look like nothing: joiners, fillers of Hangul and Khmer, blank Braille, and variation selectors.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc\U0001d159") | frozenset(
    map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
_PATH_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-")
_MAX_PATH_CHARS = 200
CONTROL_CHARS = {code: None for code in (*range(32), 127, *range(128, 160)) if chr(code) not in "\n\t"}


def clean_text(text: str, limit: int | None = None) -> str:
    """Remove escape sequences, control characters and outer white space; a cut at the limit is marked."""
    if limit is not None and len(text) > limit:
        return f"{clean_text(text[:limit])}… [cut, {len(text):,} characters]"
    if "\x1b" in text:
        first, *rest = text.split("\x1b")
        text = first + "".join(map(_remove_leading_escape, rest))
    return text.replace("\r\n", "\n").translate(CONTROL_CHARS).strip()


def reveal_text(text: str, keep: str = "") -> str:
    """Return a text on one line in which every character is seen: control, invisible and bidi ones become escapes."""
    if text.isprintable() and _BLANKS.isdisjoint(text):
        return text
    return "".join([c if c in keep or (c.isprintable() and c not in _BLANKS) else _escape_char(c) for c in text])


def is_plain_path(path: str) -> bool:
    """Whether a path is one that nobody reads as a sentence."""
    return len(path) <= _MAX_PATH_CHARS and _PATH_CHARS.issuperset(path)


def quote_plain_path(path: str, otherwise: str) -> str:
    return repr(path) if is_plain_path(path) else otherwise


def _escape_char(char: str) -> str:
    return char.encode("unicode_escape").decode()


def _remove_leading_escape(part: str) -> str:
    if part[:1] == "[":
        at = 1
        while at < len(part) and not "@" <= part[at] <= "~":
            at += 1
        return part[at + 1 :]
    # A string up to BEL; one that ends in ESC \ has no BEL before it.
    if part[:1] and part[0] in "]PX^_":
        return part.partition("\x07")[2]
    return part[1:]
