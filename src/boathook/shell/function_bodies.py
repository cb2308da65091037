"""The bodies of functions that a shell text defines, so that a call can be read with its arguments."""

from __future__ import annotations

from boathook.core.shell import ShellCommand

# All calls together are read again for at most so many characters.
_MAX_CALLED_CHARS = 32_000


class FunctionBodies:
    """Notes `name() { …; }` while the commands of a text are read one after the other."""

    def __init__(self) -> None:
        self._bodies: dict[str, str] = {}
        self._called_chars = 0
        self._is_calling = False

    def note_commands(self, text: str) -> FunctionReader:
        return FunctionReader(text, self._bodies)

    def open_call(self, name: str) -> str:
        """Return the body that a call runs, "" if nothing in it can be another than before or it is inside another call."""
        body = self._bodies.get(name, "") if self._bodies else ""
        if "$" not in body or self._is_calling or self._called_chars + len(body) > _MAX_CALLED_CHARS:
            return ""
        self._called_chars += len(body)
        self._is_calling = True
        return body

    def close_call(self) -> None:
        self._is_calling = False


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
