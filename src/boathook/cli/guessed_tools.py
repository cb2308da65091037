"""Which tools of programs were guessed in a project, from recent records of the ledger."""

from __future__ import annotations

import time
from collections.abc import Iterator

from boathook.core.hook import NOTE, Diagnostic
from boathook.hosts.tool_names import find_canonical_name
from boathook.ledger.reader import LedgerReader
from boathook.ledger.record import DISPATCH_TYPE
from boathook.ledger.schema import LedgerRecord
from boathook.ledger.writer import make_timestamp

# Older records say little about the program as it is now.
_RECENT_DAYS = 7
_MAX_GUESSES = 50
_PYTHON_HOST = "python"


def list_guesses(state: str, project: str, folder: str) -> list[Diagnostic]:
    """Return a note for each tool whose name was guessed when a program last called it in a project, or in a folder without one."""
    guesses: dict[str, str] = {}
    for record in _iter_calls(state, project, folder):
        # What the program says by now counts.
        guesses.pop(record.get("called") or record["tool"], None)
        # A name that some agent has for the tool is certain.
        if record.get("guessed") and find_canonical_name(record["guessed"]) != record["tool"]:
            guesses[record["guessed"]] = record["tool"]
    return [_make_note(project or folder, name, tool) for name, tool in list(guesses.items())[:_MAX_GUESSES]]


def list_called_tools(state: str, project: str, folder: str) -> tuple[str, ...]:
    """Return the names, as file hooks know them, of the tools that programs called in a project, or in a folder without one."""
    return tuple(dict.fromkeys(record["tool"] for record in _iter_calls(state, project, folder)))


def _iter_calls(state: str, project: str, folder: str) -> Iterator[LedgerRecord]:
    for record in LedgerReader(state).read(make_timestamp(time.time() - _RECENT_DAYS * 86400)):
        is_call = record["type"] == DISPATCH_TYPE and record["host"] == _PYTHON_HOST and record["tool"]
        is_here = record.get("project") == project and (project or record.get("folder") == folder)
        if is_call and is_here and not record.get("spilled"):
            yield record


def _make_note(place: str, name: str, tool: str) -> Diagnostic:
    message = f"a program calls its tool '{name}', and file hooks know it as '{tool}': that is a guess"
    return Diagnostic(place, None, "names", NOTE, message, f'if it is right, set names={{"{name}": "{tool}"}}')
