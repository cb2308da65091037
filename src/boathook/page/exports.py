"""Export: any list as JSON or CSV, and one record as Markdown for a report."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from boathook.cli.log import record_to_json
from boathook.cli.record_story import describe_record
from boathook.cli.show import escape_json_text
from boathook.core.text import reveal_text
from boathook.errors import BoathookError
from boathook.page.guards_screen import list_guards
from boathook.page.hook_screen import list_hook_sums
from boathook.page.live_screen import list_live_rows
from boathook.page.needs import list_need_rows
from boathook.page.parts import make_copied_command
from boathook.page.record_screen import find_whole_record
from boathook.page.session_screen import list_session_steps, list_sessions

if TYPE_CHECKING:
    from boathook.page.page_context import PageContext, Query

# A replay is not among them: saving its list would run the hooks again.
_LISTS: dict[str, Callable[[PageContext, Query], list[dict[str, Any]]]] = {
    "now": list_need_rows,
    "live": list_live_rows,
    "guards": list_guards,
    "hooks": list_hook_sums,
    "sessions": list_sessions,
    "session": list_session_steps,
    "record": lambda context, query: [record_to_json(find_whole_record(context, query.get("id", ""))[1])],
}
# A program for tables takes a cell that begins like this for a formula, and the text of records is written by others.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def make_export(context: PageContext, name: str, kind: str, query: Query) -> str | None:
    """Return a list as text, None if there is no such list or form."""
    make = {"json": _make_json, "csv": _make_csv}.get(kind)
    if make is None or name not in _LISTS or (name, kind) == ("record", "csv"):
        return None
    try:
        return make(_LISTS[name](context, query))
    except BoathookError:
        return None


def _make_json(rows: list[dict[str, Any]]) -> str:
    return escape_json_text(json.dumps(rows, ensure_ascii=False, indent=2)) + "\n"


def _make_csv(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(rows[0] if rows else ())
    writer.writerows([_make_cell_text(value) for value in row.values()] for row in rows)
    return text.getvalue()


def _make_cell_text(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = reveal_text(value)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def make_markdown(context: PageContext, query: Query) -> str | None:
    """Return one record as Markdown; its text is in a block that it cannot end."""
    try:
        row, record = find_whole_record(context, query.get("id", ""))
    except BoathookError:
        return None
    lines = [reveal_text(line, "\t") for line, _ in describe_record(record, context.index.read_ends(row), is_utc=True)]
    fence = "`" * max(3, 1 + max(map(_count_ticks, lines), default=0))
    return "\n".join((f"## {reveal_text(make_copied_command('why', row.id))}", "", f"{fence}text", *lines, fence, ""))


def _count_ticks(line: str) -> int:
    """Return how many backticks a line begins with."""
    stripped = line.lstrip()
    return len(stripped) - len(stripped.lstrip("`"))
