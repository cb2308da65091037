"""Text of hooks made fit for a terminal and a model: no control characters, no escape sequences, no more than a limit."""

from __future__ import annotations

MAX_REASON_CHARS = 8192
CONTROL = {code: None for code in (*range(32), 127, *range(128, 160)) if chr(code) not in "\n\t"}


def clean_text(text: str, limit: int | None = None) -> str:
    """Strip escape sequences, control characters and outer white space; cut at a limit, and say so."""
    if limit is not None and len(text) > limit:
        return f"{clean_text(text[:limit])}… [cut, {len(text):,} characters]"
    if "\x1b" in text:
        text = _without_escapes(text)
    return text.replace("\r\n", "\n").translate(CONTROL).strip()


def _without_escapes(text: str) -> str:
    first, *rest = text.split("\x1b")
    return first + "".join(map(_after_escape, rest))


def _after_escape(part: str) -> str:
    """Drop what belongs to the escape sequence at the start of a part."""
    if part[:1] == "[":
        at = 1
        while at < len(part) and not "@" <= part[at] <= "~":
            at += 1
        return part[at + 1 :]
    if part[:1] and part[0] in "]PX^_":  # a string up to BEL; one that ends in ESC \ has no BEL before it
        return part.partition("\x07")[2]
    return part[1:]
