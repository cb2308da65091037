"""Parts that several screens are made of."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlencode

from boathook.cli.record_text import LONG_TIME, format_time
from boathook.cli.show import add_project
from boathook.ledger.timestamps import parse_timestamp
from boathook.page.markup import Html, join_html, make_element

_HEAD_LINES = 2
# From here on milliseconds are not shown.
_MIN_SECONDS_MS = 10_000
_KIND_NAMES = {"md": "Markdown"}
_CODE = re.compile("`([^`\n]+)`")
_AGES = ((86400 * 2, 86400, "day"), (7200, 3600, "hour"), (60, 60, "minute"))


def make_address(screen: str, **query: str) -> str:
    """Return the address of a screen; it is in the fragment, so that no server sees a filter."""
    words = _encode_query(query)
    return f"#/{screen}?{words}" if words else f"#/{screen}"


def _encode_query(query: Mapping[str, str]) -> str:
    # An agent can send half of a character, which no address can have.
    return urlencode({key: value for key, value in query.items() if value}, errors="backslashreplace")


def make_link(text: object, screen: str, **query: str) -> Html:
    return make_element("a", text, href=make_address(screen, **query))


def make_copy_button(command: str) -> Html:
    """Return a command with a button that copies it."""
    button = make_element("button", "copy", type="button", data_copy=command, aria_label=f"Copy: {command}")
    return make_element("span", make_element("code", command), " ", button, class_="command")


def make_advice(fix: str, folder: str) -> Html:
    """Return what to do about the hooks of a folder, after a text: only a command may be copied, because it goes into a shell."""
    if not fix:
        return Html("")
    is_command, fix = fix.startswith("boathook ") and ", then " not in fix, add_project(fix, folder)
    return join_html((". ", make_copy_button(fix) if is_command else f"What to do: {fix}"))


def make_time(text: str) -> Html | str:
    """Return a moment in the time of this machine, and not its age, which would not be true for long."""
    if not text:
        return ""
    shown = format_time({"time": text}, LONG_TIME)
    return make_element("time", shown, datetime=text)


def describe_age(text: str) -> str:
    """Return how long ago a moment was, in one unit. It is not kept up to date by itself: show it where it is made again."""
    moment = parse_timestamp(text)
    if moment is None:
        return ""
    seconds = max(0.0, time.time() - moment.timestamp())
    unit_seconds, unit = next(((size, unit) for least, size, unit in _AGES if seconds >= least), (0, ""))
    if not unit:
        return "less than a minute ago"
    count = int(seconds // unit_seconds)
    return f"{count} {unit}{'' if count == 1 else 's'} ago"


def format_ms(ms: float) -> str:
    """Return a duration: that of a hook in milliseconds, that of a call that waited for a person in minutes and seconds."""
    minutes, seconds = divmod(round(ms / 1000), 60)
    if ms < _MIN_SECONDS_MS:
        return f"{ms:g} ms"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def make_text(text: str) -> Html:
    """Return a text in which what is between backticks looks like code."""
    parts = _CODE.split(text)
    return join_html([make_element("code", part) if number % 2 else part for number, part in enumerate(parts)])


def make_decision(decision: str) -> Html:
    return make_element("span", decision, class_=f"decision {make_class_name(decision)}")


def make_class_name(word: str) -> str:
    """Return a word of ours as the name of a class; anything else is `other`."""
    return word if word.isascii() and word.isalpha() else "other"


def make_copied_command(*words: str) -> str:
    """Return a command to copy: names in it are written by others, and must not be commands of their own."""
    return shlex.join(("boathook", *words))


def make_project_command(project: str | None, *words: str) -> str:
    return make_copied_command(*words, *(("--project", project) if project else ()))


def make_show_command(hook: str, project: str = "") -> str:
    return make_project_command(project, "show", hook)


def make_table(
    headers: Sequence[str], rows: Sequence[Sequence[object]], commands: Sequence[str], caption: str = ""
) -> Html:
    """Return a table; each row can be copied as its command. On a narrow screen each cell begins with its header."""
    head = make_element("tr", [make_element("th", name, scope="col") for name in headers])
    body: list[Html] = []
    for row, command in zip(rows, commands, strict=True):
        cells = [make_element("td", cell, data_label=name) for name, cell in zip(headers, row, strict=True)]
        body.append(make_element("tr", cells, data_copy=command))
    label = make_element("caption", caption) if caption else None
    return make_element("table", label, make_element("thead", head), make_element("tbody", body))


def make_row_headings(headings: Mapping[str, str], class_name: str = "") -> Html:
    """Return the headings of a list of records, by the names of their cells. A narrow screen has no columns, and no headings."""
    cells = [make_element("span", text, class_=f"cell {name}") for name, text in headings.items()]
    # Each row has a name of its own for a screen reader.
    return make_element("div", cells, class_=f"headings {class_name}".strip(), aria_hidden="true")


def make_facts(facts: Mapping[str, object] | Iterable[tuple[str, object]]) -> Html:
    """Return labelled values, without those that are empty."""
    rows = facts.items() if isinstance(facts, Mapping) else facts
    pairs = [(make_element("dt", name), make_element("dd", value)) for name, value in rows if value]
    return make_element("dl", pairs, class_="facts") if pairs else Html("")


def make_downloads(name: str, kinds: Sequence[str], query: Mapping[str, str]) -> Html:
    """Return buttons that save a list or a record as a file."""
    words = _encode_query(query)
    buttons = [
        make_element(
            "button",
            _KIND_NAMES.get(kind, kind.upper()),
            type="button",
            data_download=f"/data/export/{name}.{kind}?{words}",
        )
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
    shown: list[Html] = []
    for number, line in enumerate(lines):
        # The first two lines only name the sides.
        is_head = number < _HEAD_LINES and line.strip().startswith(("--- ", "+++ "))
        mark = "place" if is_head else marks.get(line.strip()[:1])
        shown.append(make_element("span", f"{line}\n", class_=mark))
    return make_element("pre", shown, class_="diff")
