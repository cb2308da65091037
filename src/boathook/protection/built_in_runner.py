"""Run built-in hooks inside the engine: no process can fail to start. A built-in hook without an opinion does not take part."""

from __future__ import annotations

import time

from boathook.core.event import Event
from boathook.core.hook import BuiltIn, Hook
from boathook.core.json_text import dumps
from boathook.core.verdict import FAILED, Call, Exit
from boathook.permits.unlock import read_unlock_end
from boathook.protection.file_view import DiskView
from boathook.protection.objections import find_objection
from boathook.protection.protection import Protection


class BuiltInHooks:
    """Decides for built-in hooks; `state` is the folder that says whether self-protection is paused."""

    def __init__(self, state: str) -> None:
        self._state = state
        # Why the last event that was looked at is objected to, so that it is judged once.
        self._last: tuple[Hook, Event, str] | None = None

    def list_objecting(self, hooks: tuple[Hook, ...], event: Event) -> tuple[Hook, ...]:
        """Return the built-in hooks that object to an event; one that fails is among them, and its failure blocks."""
        return tuple(hook for hook in hooks if self._takes_part(hook, event))

    def run(self, call: Call) -> Exit:
        started = time.perf_counter()
        try:
            reason = self._find_objection(call.hook, call.event)
        except Exception as error:  # noqa: BLE001  (a failure of the guard must not look like an approval)
            return Exit(error=FAILED, detail=f"the engine failed to judge the call: {type(error).__name__}: {error}")
        answer = dumps({"decision": "ask", "reason": reason}).encode() if reason else b""
        return Exit(0, answer, seconds=time.perf_counter() - started)

    def _takes_part(self, hook: Hook, event: Event) -> bool:
        try:
            return bool(self._find_objection(hook, event))
        except Exception:  # noqa: BLE001
            return True

    def _find_objection(self, hook: Hook, event: Event) -> str:
        last = self._last
        if last is not None and last[0] is hook and last[1] is event:
            return last[2]
        reason = "" if read_unlock_end(self._state) > 0 else find_hook_objection(hook, event)
        self._last = hook, event, reason
        return reason


def find_hook_objection(hook: Hook, event: Event) -> str:
    """Return why a built-in hook objects to a call, or "", without regard to a pause."""
    data = hook.handler.data if isinstance(hook.handler, BuiltIn) else ()
    return find_objection(event, Protection.from_data(data), DiskView())
