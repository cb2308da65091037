"""How `boathook agent` shows the records of `cli.agent_trace`: lines for a person, or JSON lines for a program."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from boathook.cli.show import cut_text, end_broken_pipe, format_count, make_console, make_printable, write_json_line
from boathook.core.text import clean_text
from boathook.core.verdict import STOP_FEEDBACK
from boathook.inprocess.json_values import to_json_value

AgentRecord = Mapping[str, Any]
MAIN_AGENT = "main"
_LABEL_WIDTH = 10
_PIPE_WIDTH = 160
_MAX_OUTPUT_LINES = 4
_MAX_FILE_LINES = 30
_FILE_TEXTS = ("content", "old", "new")
_DECISION_STYLES = {"block": "bold red", "stop": "bold red", "ask": "yellow", "allow": "green", "none": "cyan"}
_STATUS_LABELS = {"unfinished": "not done", "interrupted": "aborted", "gate_lifted": "lifted"}
_STATUS_STYLES = {
    "done": "bold green",
    "unfinished": "bold yellow",
    "interrupted": "bold yellow",
    "gate_lifted": "bold yellow",
}
_ANSWERS = {
    "--yes": "yes (--yes)",
    "always": "yes (always)",
    "person": "yes",
    "nobody": "no: there is no terminal to ask at; --yes allows every call that no hook blocks",
}


def print_record(record: AgentRecord) -> None:
    try:
        write_json_line(to_json_value(record))
        sys.stdout.flush()
    except BrokenPipeError:
        end_broken_pipe()


class Display:
    """Shows records to a person; with `show_all` also hooks without an opinion, with `spin` a spinner on a terminal."""

    def __init__(self, *, show_all: bool = False, show_task: bool = True, spin: bool = False) -> None:
        self._console: Console = make_console()
        self._is_terminal = self._console.is_terminal
        self._width = max(self._console.width - _LABEL_WIDTH - 12, 40) if self._is_terminal else _PIPE_WIDTH
        self._show_all, self._show_task = show_all, show_task
        self._spinner = None
        if spin and self._is_terminal:
            self._spinner = self._console.status("working, Ctrl-C interrupts", spinner_style="dim")
        # Records that wait while the display is paused.
        self._delayed: list[AgentRecord] | None = None
        self._shown_messages: set[str] = set()
        self._declined_calls: set[str] = set()
        self._call_numbers: dict[str, str] = {}
        self._stop_feedback = ""
        self._step = self._turns = 0

    def show(self, record: AgentRecord) -> None:
        """Show a record, or keep it while the display is paused."""
        if self._delayed is not None:
            self._delayed.append(record)
            return
        match record:
            case {"type": "session", "model": model, "hooks": hooks, "work_dir": folder}:
                self._print("agent", f"{model}, {format_count(hooks, 'hook')}, in {folder}", "dim")
            case {"type": "turn", "prompt": prompt}:
                self._show_turn(prompt)
            case {"type": "reply"}:
                self._show_reply(record)
            case {"type": "hook"} if record["counts"] or record["background"] or self._show_all:
                self._show_hook(record)
            # For a call that the person refused, the question and the answer are enough.
            case {"type": "tool", "id": id, "ran": ran} if ran or id not in self._declined_calls:
                self._show_tool(record)
            case {"type": "ask"}:
                self._show_answer(record)
            # A broken file is reported at every event.
            case {"type": "message", "text": text} if text not in self._shown_messages:
                self._shown_messages.add(text)
                self._print("  system", text, "yellow")
            case {"type": "event", "event": "post-context-compact"}:
                self._print("  agent", self._name(record, "the conversation was compacted"), "dim")
            case {"type": "outcome", "event": "pre-agent-turn-stop", "decision": "block", "reason": reason}:
                self._stop_feedback = "; ".join(reason.splitlines()).replace(":; ", ": ")
            case {"type": "note", "who": who, "text": text}:
                self._print(f"  {who}", text)
            case {"type": "result"}:
                self._show_result(record)
            case {"type": "error", "message": message}:
                line = Text(f"boathook: {make_printable(clean_text(message))}")
                make_console(err=True).print(line, soft_wrap=True)

    def show_working(self) -> AbstractContextManager[Any]:
        return self._spinner or nullcontext()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Leave the terminal to a person who types; records are shown afterwards."""
        self._delayed = []
        if self._spinner is not None:
            self._spinner.stop()
        try:
            yield
        finally:
            delayed, self._delayed = self._delayed, None
            for record in delayed:
                self.show(record)
            if self._spinner is not None:
                self._spinner.start()

    def _print(self, label: str, text: str, style: str = "", *, label_style: str = "dim") -> None:
        """Print a text after a label: in its own column on a terminal, as plain lines in a pipe."""
        body = make_printable(clean_text(text))
        if self._is_terminal:
            grid = Table.grid()
            grid.add_column(width=_LABEL_WIDTH)
            grid.add_column(overflow="fold")
            grid.add_row(Text(label, label_style), Text(body, style))
            self._console.print(grid)
        else:
            lines = f"{label:<{_LABEL_WIDTH}}{body}".replace("\n", "\n" + " " * _LABEL_WIDTH)
            self._console.print(Text(lines.rstrip()), soft_wrap=True)

    def _print_gap(self) -> None:
        if self._is_terminal:
            self._console.print()

    def _show_turn(self, prompt: str) -> None:
        if self._turns:
            self._shown_messages.clear()
        self._turns += 1
        self._step = 0
        self._stop_feedback = ""
        if self._show_task:
            self._print_gap()
            self._print("task", prompt, "bold", label_style="bold")

    def _show_reply(self, record: AgentRecord) -> None:
        agent, text, calls = record["agent"], record["text"], record["calls"]
        if agent == MAIN_AGENT:
            self._print_gap()
            if self._stop_feedback:
                self._print("  agent", f"continues after {STOP_FEEDBACK.format(self._stop_feedback)}", "italic")
                self._stop_feedback = ""
                self._print_gap()
            self._step += 1
            self._print(f"step {self._step}", text or ("" if calls else "(no text)"), label_style="bold")
        elif text:
            self._print(f"  {agent}", text)
        for number, call in enumerate(calls, 1):
            self._call_numbers[call["id"]] = f" [{number}]" if len(calls) > 1 else ""
            name = self._name({**call, "agent": agent}, call["tool"])
            self._print("  call", f"{name}  {_format_input(call['tool'], call['input'], self._width)}")

    def _name(self, record: AgentRecord, name: str) -> str:
        """Return a name with its subagent before it, and the number of its call behind it."""
        agent = record.get("agent", MAIN_AGENT)
        number = self._call_numbers.get(record.get("id") or "", "")
        return name + number if agent == MAIN_AGENT else f"[{agent}] {name}{number}"

    def _show_hook(self, record: AgentRecord) -> None:
        text = f"{self._name(record, record['event'])} -> {record['hook']}: "
        if record["background"]:
            self._print("  hook", text + "started in the background", "cyan")
            return
        text += record["decision"] if record["decision"] != "none" else "no opinion"
        text += f" ({record['duration_ms']:.0f} ms)"
        if effects := _list_effects(record, self._width):
            text += "  " + "; ".join(effects)
        self._print("  hook", text, _DECISION_STYLES[record["decision"]] if record["counts"] else "dim")

    def _show_tool(self, record: AgentRecord) -> None:
        name = self._name(record, record["tool"])
        output = _cut_lines(record["output"], _MAX_OUTPUT_LINES)
        if not record["ran"]:
            self._print("  tool", f"{name} did not run: {record['output']}", "red")
        elif record["is_error"]:
            self._print("  tool", f"{name} failed: {output}", "red")
        else:
            self._print("  tool", f"{name}: {output or '(no output)'}", "dim")

    def _show_answer(self, record: AgentRecord) -> None:
        is_allowed = record["allowed"]
        if not is_allowed:
            self._declined_calls.add(record["id"])
        answer = "no" if record["by"] == "person" and not is_allowed else _ANSWERS[record["by"]]
        self._print("  ask", f"{self._name(record, record['reason'])} -> {answer}", "" if is_allowed else "yellow")

    def _show_result(self, record: AgentRecord) -> None:
        self._print_gap()
        status: str = record["status"]
        reason = record["reason"]
        steps, decisions = format_count(record["steps"], "step"), format_count(record["decisions"], "hook decision")
        numbers = f"{steps}, {record['seconds']:.1f} s, {decisions}"
        style = _STATUS_STYLES.get(status, "bold red")
        text = f"{reason} ({numbers})" if reason else numbers
        self._print(_STATUS_LABELS.get(status, status), text, style, label_style=style)


def _list_effects(record: AgentRecord, width: int) -> list[str]:
    effects = [record["reason"]] if record["reason"] else []
    if "modified_input" in record:
        effects.append(f"input becomes {_format_input(record['tool'], record['modified_input'], width)}")
    if "modified_output" in record:
        effects.append(f"output becomes {_cut_line(_to_text(record['modified_output']), width)}")
    contexts = record.get("additional_context", ())
    return effects + [f"context: {_cut_lines(text, _MAX_OUTPUT_LINES)}" for text in contexts]


_INPUT_FORMATS: dict[str, Callable[[Callable[[str], str]], str]] = {
    "Shell": lambda get: get("command"),
    "ReadFile": lambda get: get("path"),
    "WriteFile": lambda get: f"{get('path')}  {get('content')!r}",
    "EditFile": lambda get: f"{get('path')}  {get('old')!r} -> {get('new')!r}",
    "Search": lambda get: f"{get('pattern')!r} in {get('path') or '.'}",
    "Subagent": lambda get: f"{get('name')}: {get('task')}",
}


def _format_input(tool: str, tool_input: Any, width: int) -> str:
    format_input = _INPUT_FORMATS.get(tool)
    if format_input is None or not isinstance(tool_input, Mapping):
        return _cut_line(_to_text(tool_input), width)
    return _cut_line(format_input(lambda name: _to_text(tool_input.get(name, ""))), width)


def format_full_input(tool_input: Mapping[str, Any]) -> str:
    """Return the input of a call for a person who has to allow it: only long texts of files are cut, nothing is hidden."""
    parts = []
    for name, value in tool_input.items():
        text = "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in _to_text(value))
        text = _cut_lines(text, _MAX_FILE_LINES) if name in _FILE_TEXTS else text
        parts.append(f"{name}:\n{text}" if "\n" in text else f"{name}: {text}")
    return "\n".join(parts)


def _cut_line(text: str, width: int) -> str:
    return cut_text(" ".join(clean_text(text).split("\n")), width)


def _cut_lines(text: str, max_lines: int) -> str:
    lines = clean_text(text).splitlines()
    left = len(lines) - max_lines
    return "\n".join(lines if left <= 0 else [*lines[:max_lines], f"… {format_count(left, 'more line')}"])


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
