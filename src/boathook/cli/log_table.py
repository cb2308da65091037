"""The log as a table that is printed record by record: one long line each, or two short ones in a narrow terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from boathook.cli.record_text import (
    LONG_TIME,
    SHORT_TIME,
    describe_deciders,
    describe_hooks,
    describe_input,
    describe_reasons,
    describe_wait,
    format_time,
    has_problem,
    name_decision,
    name_project,
)
from boathook.cli.show import DECISION_STYLES, cut_text, make_console, pad_cell
from boathook.core.event import PRE_TOOL
from boathook.core.text import reveal_text
from boathook.ledger.schema import LedgerRecord

# From this width on, a record has one line.
_MIN_WIDE_CHARS = 200
# The columns of one line and their widths; the last ones share what is left in a terminal, and are whole in a pipe.
_WIDE_COLUMNS = {
    "TIME": 19, "ID": 12, "AGENT": 8, "PROJECT": 12, "EVENT": 19, "TOOL": 12, "DECISION": 10, "WAITED": 12,
    "HOOKS": 24, "INPUT": 24, "REASON": 0,
}  # fmt: skip
_FIXED_COUNT = 8
# The columns of the first of two lines; the second begins below the id.
_NARROW_COLUMNS = {"TIME": 14, "ID": 12, "DECISION": 10, "TOOL": 12, "INPUT": 0}
_INDENT = " " * 16
_GAP = "  "


class LogTable:
    def __init__(self, *, is_utc: bool = False) -> None:
        self._console = make_console()
        self._is_utc, self._has_header = is_utc, False
        self._is_terminal, width = self._console.is_terminal, self._console.width
        self._is_wide = not self._is_terminal or width >= _MIN_WIDE_CHARS
        self._columns = _WIDE_COLUMNS if self._is_wide else _NARROW_COLUMNS
        self._widths = list(self._columns.values())
        gaps = len(_GAP) * (len(self._widths) - 1)
        if not self._is_wide:
            self._widths[-1] = max(width - sum(self._widths) - gaps, 0)
        elif self._is_terminal:
            room = width - sum(self._widths[:_FIXED_COUNT]) - gaps
            self._widths[_FIXED_COUNT:] = [room // 4, room * 3 // 8, room - room // 4 - room * 3 // 8]

    def print_record(self, record: LedgerRecord) -> None:
        if not self._has_header:
            self._has_header = True
            titles = [f"{title} (UTC)" if title == "TIME" and self._is_utc else title for title in self._columns]
            self._print(self._join(titles, self._widths), "bold")
        if self._is_wide:
            self._print_wide(record)
        else:
            self._print_narrow(record)

    def _print_wide(self, record: LedgerRecord) -> None:
        time = format_time(record, LONG_TIME, is_utc=self._is_utc)
        about = (record.get("host", ""), name_project(record), record.get("event", ""), record.get("tool", ""))
        describe = describe_deciders if self._is_terminal else describe_hooks
        hooks, reasons = (function(record, is_utc=self._is_utc) for function in (describe, describe_reasons))
        texts = (hooks, describe_input(record), reasons)
        decision = name_decision(record)
        line = self._join((time, record["id"], *about, decision, describe_wait(record), *texts), self._widths)
        before = self._widths[: _FIXED_COUNT - 2]
        self._print(line, *self._style_decision(record, decision, sum(before) + len(_GAP) * len(before)))

    def _print_narrow(self, record: LedgerRecord) -> None:
        time, decision = format_time(record, SHORT_TIME, is_utc=self._is_utc), name_decision(record)
        tool, event, widths = record.get("tool", ""), record.get("event", ""), self._widths
        # An event without a tool has no input, either.
        what = (tool, describe_input(record)) if tool else (event,)
        widths = widths if tool else [*widths[:-2], sum(widths[-2:]) + len(_GAP)]
        before = widths[:2]
        line = self._join((time, record["id"], decision, *what), widths)
        self._print(line, *self._style_decision(record, decision, sum(before) + len(_GAP) * len(before)))
        self._print_below(record, event if tool and event != PRE_TOOL.name else "")

    def _print_below(self, record: LedgerRecord, event: str) -> None:
        place = " in ".join(filter(None, (record.get("host", ""), name_project(record))))
        hooks, reason = (one(record, is_utc=self._is_utc) for one in (describe_deciders, describe_reasons))
        words = filter(None, (event, place, f"{hooks}: {reason}" if reason else hooks))
        style = "yellow" if has_problem(record) else "" if reason else "dim"
        if below := reveal_text(" · ".join(words)):
            self._print(_INDENT + cut_text(below, self._console.width - len(_INDENT)), style)

    def _join(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        """Return a row; in a terminal every cell is cut to its column, in a pipe none is."""
        texts = [reveal_text(cell) for cell in cells]
        if self._is_terminal:
            return _GAP.join(pad_cell(text, width) for text, width in zip(texts, widths, strict=True)).rstrip()
        return _GAP.join(text.ljust(width) for text, width in zip(texts, widths, strict=True)).rstrip()

    def _style_decision(self, record: LedgerRecord, decision: str, start: int) -> tuple[str, int, int | None]:
        style = DECISION_STYLES.get(decision, "")
        if not style and not record.get("reasons") and not has_problem(record):
            # No hook objected: the whole line is in the background.
            return "dim", 0, None
        return style, start, start + len(decision)

    def _print(self, line: str, style: str = "", start: int = 0, end: int | None = None) -> None:
        text = Text(line)
        if style and self._is_terminal:
            text.stylize(style, start, end)
        self._console.print(text, soft_wrap=True)
