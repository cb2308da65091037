"""What hooks export at the start of a session reaches the shell of the host as well, where the host names a file for that."""

from __future__ import annotations

import os

from boathook.core.outcome import Outcome
from boathook.process.sessions import Sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from boathook.core.event import Event
    from boathook.core.verdict import Verdict


def pass_on_exports(folder: str, host_file: bytes, event: Event, dispatch: Callable[[Event], Verdict]) -> Verdict:
    """Run an event through its hooks, and append what they wrote to the file of the session to the file of the host."""
    sessions = Sessions(folder)
    before = sessions.read_exports_text(event.session_id)
    verdict = dispatch(event)
    after = sessions.read_exports_text(event.session_id)
    text = after[len(before) :] if after.startswith(before) else after
    try:
        if text.strip():
            _append(host_file, text.rstrip("\n"))
    except OSError as error:
        path = os.fsdecode(host_file)
        message = f"variables of hooks do not reach the agent: {path} cannot be written ({error.strerror})"
        return verdict.replace(outcome=verdict.outcome | Outcome(messages=(message,)))
    return verdict


def _append(path: bytes, text: str) -> None:
    # Not a FIFO, which we would wait for.
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
    handle = os.open(path, flags, 0o600)
    try:
        size = os.fstat(handle).st_size
        # Another hook may have left the last line open.
        start = "" if not size or os.pread(handle, 1, size - 1) == b"\n" else "\n"
        rest = memoryview(f"{start}{text}\n".encode("utf-8", "surrogateescape"))
        while rest:
            rest = rest[os.write(handle, rest) :]
    finally:
        os.close(handle)
