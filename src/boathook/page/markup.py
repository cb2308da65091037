"""HTML made of values: every text is escaped here, and nowhere else."""

from __future__ import annotations

import html

from boathook.core.text import reveal_text

# Elements without an end tag.
_VOID_ELEMENTS = frozenset(("br", "input", "meta"))


class Html(str):
    """A text that is HTML already. Only this module makes one."""

    __slots__ = ()


def escape_text(text: object) -> Html:
    """Return any value as HTML that shows it: markup is inert, and control, invisible and bidi characters are visible."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(reveal_text(str(text), "\n\t"), quote=True))


def join_html(parts: object) -> Html:
    """Return values one after the other; a list is its items, None is nothing."""
    if parts is None:
        return Html("")
    if isinstance(parts, list | tuple):
        return Html("".join(map(join_html, parts)))
    return escape_text(parts)


def make_element(name: str, /, *children: object, **attributes: object) -> Html:
    """Return an element; `data_copy` is the attribute `data-copy`, and one that is None or False is left out."""
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        words.append(attribute if value is True else f'{attribute}="{escape_text(value)}"')
    start = f"<{' '.join(words)}>"
    return Html(start) if name in _VOID_ELEMENTS else Html(f"{start}{join_html(children)}</{name}>")
