"""How `boathook agent` shows what happens: lines for a person, or one JSON object per line for a program.

What happens comes as records: plain objects with a `type`, made by `cli.agent`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from boathook.cli.show import make_console, make_printable
from boathook.core.text import clean_text

Record = Mapping[str, Any]
MAIN = "main"
LABEL = 10
ROOM = 160
OUTPUT_LINES = 4
FULL_LINES = 30
FILE_TEXTS = ("content", "old", "new")
STYLES = {"block": "bold red", "stop": "bold red", "ask": "yellow", "allow": "green", "none": "cyan"}
ENDS = {"unfinished": "not done", "interrupted": "cut off"}
STATUS_STYLES = {"done": "bold green", "unfinished": "bold yellow", "interrupted": "bold yellow"}
BY = {
    "--yes": "yes (--yes)",
    "always": "yes (always)",
    "person": "yes",
    "nobody": "no: nobody can be asked here; --yes allows everything that hooks do not block",
}


def json_line(record: Record) -> None:
    """Print a record for a program."""
    line = json.dumps(record, ensure_ascii=False, default=str) + "\n"
    try:
        sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace"))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter complains at its end
        raise


class Display:
    """Shows records to a person. `every`: also what hooks without an opinion did; `echo`: also the task."""

    def __init__(self, *, every: bool = False, echo: bool = True, spin: bool = False) -> None:
        """Take what to show; `spin` shows on a terminal that something is waited for."""
        self.out: Console = make_console()
        self._every, self._echo = every, echo
        self._status: Status | None = None
        if spin and self.out.is_terminal:
            self._status = self.out.status("working, Ctrl-C ends it", spinner_style="dim")
        self._held: list[Record] | None = None
        self._told: set[str] = set()
        self._declined: set[str] = set()
        self._marks: dict[str, str] = {}
        self._refused = ""
        self._step = self._turns = 0

    def show(self, record: Record) -> None:
        """Show a record, or keep it until the terminal is free."""
        shown = SHOWN.get(record["type"])
        if self._held is not None:
            self._held.append(record)
        elif shown is not None:
            shown(self, record)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Show that something is waited for."""
        with self._status or nullcontext():
            yield

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the terminal to somebody who types; what happens meanwhile is shown afterwards."""
        self._held = []
        if self._status is not None:
            self._status.stop()
        try:
            yield
        finally:
            held, self._held = self._held, None
            for record in held:
                self.show(record)
            if self._status is not None:
                self._status.start()

    def line(self, label: str, text: str, style: str = "", *, label_style: str = "dim") -> None:
        """Print a text behind a label; a terminal gets it in a column of its own, a pipe as plain lines."""
        body = make_printable(clean_text(text))
        if self.out.is_terminal:
            grid = Table.grid()
            grid.add_column(width=LABEL)
            grid.add_column(overflow="fold")
            grid.add_row(Text(label, label_style), Text(body, style))
            self.out.print(grid)
            return
        whole = f"{label:<{LABEL}}{body}".replace("\n", "\n" + " " * LABEL)
        self.out.print(Text(whole.rstrip()), soft_wrap=True)

    def gap(self) -> None:
        """Leave a line free on a terminal."""
        if self.out.is_terminal:
            self.out.print()

    @property
    def _room(self) -> int:
        return max(self.out.width - LABEL - 12, 40) if self.out.is_terminal else ROOM

    def _session(self, record: Record) -> None:
        count = record["hooks"]
        hooks = f"{count} hook{'' if count == 1 else 's'}"
        self.line("agent", f"{record['model']}, {hooks}, in {record['work_dir']}", "dim")

    def _turn(self, record: Record) -> None:
        if self._turns:
            self._told.clear()
        self._turns += 1
        self._step = 0
        self._refused = ""
        if self._echo:
            self.gap()
            self.line("task", record["prompt"], "bold", label_style="bold")

    def _reply(self, record: Record) -> None:
        agent, calls = record["agent"], record["calls"]
        if agent == MAIN:
            self._begin_step()
            self.line(f"step {self._step}", record["text"] or ("" if calls else "(says nothing)"), label_style="bold")
        elif record["text"]:
            self.line(f"  {agent}", record["text"])
        for at, call in enumerate(calls, 1):
            self._marks[call["id"]] = f" [{at}]" if len(calls) > 1 else ""
            said = f"{self._who(record)}{call['tool']}{self._mark(call)}  "
            self.line("  call", said + view(call["tool"], call["input"], self._room))

    def _begin_step(self) -> None:
        self.gap()
        if self._refused:
            self.line("  agent", f"goes on, having read: [Hook blocked stop: {self._refused}]", "italic")
            self._refused = ""
            self.gap()
        self._step += 1

    def _who(self, record: Record) -> str:
        agent = record.get("agent", MAIN)
        return "" if agent == MAIN else f"[{agent}] "

    def _mark(self, record: Record) -> str:
        return self._marks.get(record.get("id") or "", "")

    def _hook(self, record: Record) -> None:
        if not (record["counts"] or record["background"] or self._every):
            return
        said = f"{self._who(record)}{record['event']}{self._mark(record)} -> {record['hook']}: "
        if record["background"]:
            self.line("  hook", said + "started in the background", "cyan")
            return
        word = record["decision"] if record["decision"] != "none" else "no opinion"
        said += f"{word} ({record['duration_ms']:.0f} ms)"
        told = effects(record, self._room)
        style = STYLES[record["decision"]] if record["counts"] else "dim"
        self.line("  hook", "  ".join([said, "; ".join(told)]) if told else said, style)

    def _tool(self, record: Record) -> None:
        if record["id"] in self._declined and not record["ran"]:
            return  # the question and its answer stand there already
        said = self._who(record) + record["tool"] + self._mark(record)
        if not record["ran"]:
            self.line("  tool", f"{said} did not run: {record['output']}", "red")
        elif record["is_error"]:
            self.line("  tool", f"{said} failed: {few_lines(record['output'], OUTPUT_LINES)}", "red")
        else:
            self.line("  tool", f"{said}: {few_lines(record['output'], OUTPUT_LINES) or '(no output)'}", "dim")

    def _ask(self, record: Record) -> None:
        if not record["allowed"]:
            self._declined.add(record["id"])
        answer = "no" if record["by"] == "person" and not record["allowed"] else BY[record["by"]]
        said = f"{self._who(record)}{record['reason']}{self._mark(record)} -> {answer}"
        self.line("  ask", said, "" if record["allowed"] else "yellow")

    def _message(self, record: Record) -> None:
        if record["text"] not in self._told:  # a broken file is told at every event
            self._told.add(record["text"])
            self.line("  system", record["text"], "yellow")

    def _event(self, record: Record) -> None:
        if record["event"] == "post-context-compact":
            self.line("  agent", f"{self._who(record)}the conversation was made shorter", "dim")

    def _outcome(self, record: Record) -> None:
        if record["event"] == "pre-agent-turn-stop" and record["decision"] == "block":
            self._refused = "; ".join(record["reason"].splitlines())

    def _note(self, record: Record) -> None:
        self.line(f"  {record['who']}", record["text"])

    def _result(self, record: Record) -> None:
        self.gap()
        status: str = record["status"]
        steps, decisions = _count(record["steps"], "step"), _count(record["decisions"], "hook decision")
        numbers = f"{steps}, {record['seconds']:.1f} s, {decisions}"
        said = f"{record['reason']} ({numbers})" if record["reason"] else numbers
        style = STATUS_STYLES.get(status, "bold red")
        self.line(ENDS.get(status, status), said, style, label_style=style)

    def _error(self, record: Record) -> None:
        make_console(err=True).print(Text(f"boathook: {make_printable(clean_text(record['message']))}"), soft_wrap=True)


SHOWN: dict[str, Callable[[Display, Record], None]] = {
    "session": Display._session,
    "turn": Display._turn,
    "reply": Display._reply,
    "hook": Display._hook,
    "tool": Display._tool,
    "ask": Display._ask,
    "message": Display._message,
    "event": Display._event,
    "outcome": Display._outcome,
    "note": Display._note,
    "result": Display._result,
    "error": Display._error,
}


def effects(record: Record, room: int = ROOM) -> list[str]:
    """Return what one hook said and changed; reasons are never cut."""
    told = [record["reason"]] if record["reason"] else []
    if "modified_input" in record:
        told.append(f"input becomes {view(record['tool'], record['modified_input'], room)}")
    if "modified_output" in record:
        told.append(f"output becomes {one_line(_as_text(record['modified_output']), room)}")
    told += [f"context: {few_lines(text, OUTPUT_LINES)}" for text in record.get("additional_context", ())]
    return told


VIEWS: dict[str, Callable[[Callable[[str], str]], str]] = {
    "Shell": lambda get: get("command"),
    "ReadFile": lambda get: get("path"),
    "WriteFile": lambda get: f"{get('path')}  {get('content')!r}",
    "EditFile": lambda get: f"{get('path')}  {get('old')!r} -> {get('new')!r}",
    "Search": lambda get: f"{get('pattern')!r} in {get('path') or '.'}",
    "Subagent": lambda get: f"{get('name')}: {get('task')}",
}


def view(tool: str, given: Any, room: int = ROOM) -> str:
    """Return the input of a call in one short line."""
    seen = VIEWS.get(tool)
    if seen is None or not isinstance(given, Mapping):
        return one_line(_as_text(given), room)
    return one_line(seen(lambda name: _as_text(given.get(name, ""))), room)


def full_view(given: Any) -> str:
    """Return the input of a call to somebody who is to allow it: whole but for long texts of files, and nothing in it hides."""
    if not isinstance(given, Mapping):
        return _visible(_as_text(given))
    shown = []
    for name, value in given.items():
        text = _visible(_as_text(value))
        text = few_lines(text, FULL_LINES) if name in FILE_TEXTS else text
        shown.append(f"{name}:\n{text}" if "\n" in text else f"{name}: {text}")
    return "\n".join(shown)


def _visible(text: str) -> str:
    return "".join(char if char.isprintable() or char in "\n\t" else repr(char)[1:-1] for char in text)


def one_line(text: str, room: int) -> str:
    """Return a text as one line within some room."""
    flat = " ".join(clean_text(text).split("\n"))
    return flat if len(flat) <= room else f"{flat[: room - 1]}…"


def few_lines(text: str, most: int) -> str:
    """Return the first lines of a text, and say how many are left out."""
    lines = clean_text(text).splitlines()
    left = len(lines) - most
    return "\n".join(lines if left <= 0 else [*lines[:most], f"… {_count(left, 'more line')}"])


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
