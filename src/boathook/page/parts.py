"""Parts that several screens are made of."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from urllib.parse import urlencode

from boathook.cli.record_text import LONG_TIME, format_time
from boathook.page.markup import Html, join_html, make_element

_AGES = ((86400 * 2, 86400, "day"), (7200, 3600, "hour"), (120, 60, "minute"), (0, 1, "second"))


def make_address(screen: str, **query: str) -> str:
    """Return the address of a screen; it is in the fragment, so that no server sees a filter."""
    words = {key: value for key, value in query.items() if value}
    return f"#/{screen}?{urlencode(words)}" if words else f"#/{screen}"


def make_link(text: object, screen: str, **query: str) -> Html:
    return make_element("a", text, href=make_address(screen, **query))


def make_copy_button(command: str) -> Html:
    """Return a command with a button that copies it."""
    button = make_element("button", "copy", type="button", data_copy=command, aria_label=f"Copy: {command}")
    return make_element("span", make_element("code", command), " ", button, class_="command")


def make_time(text: str) -> Html | str:
    """Return a moment in the time of this machine; its age is there for those who point at it."""
    if not text:
        return ""
    shown = format_time({"time": text}, LONG_TIME)
    return make_element("time", shown, datetime=text, title=describe_age(text))


def describe_age(text: str) -> str:
    """Return how long ago a moment was, in one unit."""
    try:
        seconds = max(0.0, time.time() - datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())
    except (ValueError, OverflowError):
        return ""
    unit_seconds, unit = next((size, unit) for least, size, unit in _AGES if seconds >= least)
    count = int(seconds // unit_seconds)
    return f"{count} {unit}{'' if count == 1 else 's'} ago"


def make_decision(decision: str) -> Html:
    return make_element("span", decision, class_=f"decision {make_class_name(decision)}")


def make_class_name(word: str) -> str:
    """Return a word of ours as the name of a class; anything else is `other`."""
    return word if word.isascii() and word.isalpha() else "other"


def make_table(headers: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> Html:
    """Return a table. On a narrow screen each cell is a line that begins with its header."""
    head = make_element("tr", [make_element("th", name, scope="col") for name in headers])
    body = [
        make_element("tr", [make_element("td", cell, data_label=name) for name, cell in zip(headers, row, strict=True)])
        for row in rows
    ]
    label = make_element("caption", caption) if caption else None
    return make_element("table", label, make_element("thead", head), make_element("tbody", body))


def make_facts(facts: Mapping[str, object]) -> Html:
    """Return labelled values, without those that are empty."""
    pairs = [(make_element("dt", name), make_element("dd", value)) for name, value in facts.items() if value]
    return make_element("dl", pairs, class_="facts") if pairs else Html("")


def make_downloads(name: str, kinds: Sequence[str], query: Mapping[str, str]) -> Html:
    """Return buttons that save a list or a record as a file."""
    words = urlencode({key: value for key, value in query.items() if value})
    buttons = [
        make_element("button", kind.upper(), type="button", data_download=f"/data/export/{name}.{kind}?{words}")
        for kind in kinds
    ]
    return make_element("p", "Save as ", [join_html((button, " ")) for button in buttons], class_="downloads")


def make_lines(lines: Iterable[tuple[str, str]]) -> Html:
    """Return lines of a terminal, each with its style."""
    shown = [make_element("span", f"{text}\n", class_=_name_style(style)) for text, style in lines]
    return make_element("pre", shown, class_="story")


def _name_style(style: str) -> str | None:
    words = [word for word in style.split() if word.isalpha()]
    return " ".join(f"style-{word}" for word in words) or None


def make_diff(lines: Iterable[str]) -> Html:
    """Return lines of a diff, with those that were added and removed marked."""
    marks = {"+": "added", "-": "removed", "@": "place"}
    shown = [make_element("span", f"{line}\n", class_=marks.get(line.strip()[:1])) for line in lines]
    return make_element("pre", shown, class_="diff")
