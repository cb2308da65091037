"""The bodies of functions that a shell text defines, so that a call can be read with its arguments."""

from __future__ import annotations

import re

from boathook.core.shell import ShellCommand

# All calls together are read again for at most so many characters.
_MAX_CALLED_CHARS = 32_000
_MAX_CALL_DEPTH = 4
_NAME = re.compile(r"[\w.-]+")


class FunctionBodies:
    """Notes `name() { …; }` while the commands of a text are read one after the other."""

    def __init__(self) -> None:
        self._bodies: dict[str, str] = {}
        self._called_chars = 0
        # The functions whose bodies are being read, one inside the other.
        self._calls: list[str] = []

    def note_commands(self, text: str) -> FunctionReader:
        return FunctionReader(text, self._bodies)

    def open_call(self, name: str) -> str:
        """Return the body that a call runs, "" if nothing in it can be another than where it is defined."""
        body = self._bodies.get(name, "") if self._bodies else ""
        is_again = name in self._calls or len(self._calls) >= _MAX_CALL_DEPTH
        if not body or is_again or self._called_chars + len(body) > _MAX_CALLED_CHARS:
            return ""
        self._called_chars += len(body)
        if "$" not in body and not self._calls_others(name, body):
            return ""
        self._calls.append(name)
        return body

    def _calls_others(self, name: str, body: str) -> bool:
        """Whether a body may call another function, which may be defined behind it."""
        return len(self._bodies) > 1 and any(word != name and word in self._bodies for word in _NAME.findall(body))

    def close_call(self) -> None:
        self._calls.pop()


class FunctionReader:
    """Finds where the body of a function begins and ends in one text."""

    def __init__(self, text: str, bodies: dict[str, str]) -> None:
        self._text, self._bodies = text, bodies
        self._name = self._named = ""
        self._start = self._depth = 0

    @property
    def is_inside(self) -> bool:
        return self._depth > 0

    def note(self, command: ShellCommand) -> bool:
        """Note a command; return whether it is the end of a body."""
        raws = [word.raw for word in command.words]
        is_inside = self.is_inside
        if self._depth:
            self._depth += (raws[:1] == ["{"]) - (raws[:1] == ["}"])
            if not self._depth:
                self._bodies[self._name] = self._text[self._start : command.start]
        elif raws[:1] == ["{"] and self._named:
            self._name, self._start, self._depth = self._named, command.start + 1, 1
        elif raws[:1] == ["function"] and raws[2:3] == ["{"]:
            self._name, self._start, self._depth = raws[1], command.words[2].start + 1, 1
        is_opening = command.operator == "(" and len(raws) == 1
        is_closing = command.operator == ")" and not raws and self._named
        self._named = raws[0] if is_opening else self._named if is_closing else ""
        return is_inside and not self._depth
