"""Make a text that nobody trusts yet fit to be read by a person: nothing in it is invisible or looks like something else."""

from __future__ import annotations

import unicodedata

# Formats and direction marks, private and unassigned characters, surrogates, separators, and blanks other than the plain one.
_DECEPTIVE_CATEGORIES = frozenset(("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp", "Zs"))
# Marks and letters that show nothing: grapheme joiner, fillers of Hangul and Khmer, variation selectors, blank Braille, and others.
_INVISIBLE = frozenset(
    map(
        chr,
        (
            *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0xFFFC, 0x1D159),
            *range(0x180B, 0x1810),
            *range(0xFE00, 0xFE10),
            *range(0xE0100, 0xE01F0),
        ),
    )
)


def reveal_text(text: str) -> str:
    """Return a text with an escape in place of every character that cannot be seen as what it is, line ends included."""
    if text.isascii() and text.isprintable():
        return text
    return "".join([char if _is_visible(char) else _escape(char) for char in text])


def _is_visible(char: str) -> bool:
    if char in " \t":
        return True
    return char not in _INVISIBLE and unicodedata.category(char) not in _DECEPTIVE_CATEGORIES


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
