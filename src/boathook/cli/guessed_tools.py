"""Which tools of programs were guessed in a project, from recent records of the ledger."""

from __future__ import annotations

import time

from boathook.core.hook import NOTE, Diagnostic
from boathook.ledger.reader import LedgerReader
from boathook.ledger.record import DISPATCH_TYPE
from boathook.ledger.writer import make_timestamp

# Older records say little about the program as it is now.
_RECENT_DAYS = 7
_MAX_GUESSES = 50
_PYTHON_HOST = "python"


def list_guesses(state: str, project: str, folder: str) -> list[Diagnostic]:
    """Return a note for each tool whose name was guessed when a program last called it in a project, or in a folder without one."""
    guesses: dict[str, str] = {}
    for record in LedgerReader(state).read(make_timestamp(time.time() - _RECENT_DAYS * 86400)):
        is_call = record["type"] == DISPATCH_TYPE and record["host"] == _PYTHON_HOST and record["tool"]
        is_here = record.get("project") == project and (project or record.get("folder") == folder)
        if not is_call or not is_here or record.get("spilled"):
            continue
        # What the program says by now counts.
        guesses.pop(record.get("called") or record["tool"], None)
        if record.get("guessed"):
            guesses[record["guessed"]] = record["tool"]
    return [_make_note(project or folder, name, tool) for name, tool in list(guesses.items())[:_MAX_GUESSES]]


def _make_note(place: str, name: str, tool: str) -> Diagnostic:
    message = f"a program calls its tool '{name}', and file hooks know it as '{tool}': that is a guess"
    return Diagnostic(place, None, "names", NOTE, message, f'if it is right, set names={{"{name}": "{tool}"}}')
