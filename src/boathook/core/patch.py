"""The files that a patch writes, read from its text: the form that `apply_patch` takes, as a tool or in a shell command."""

# Nothing is read from the disk: of a file that is updated only the text of its hunks is known. Where it is not certain whether a
# line begins another file, it does: a guard is asked about a file too many, never about one too few.

from __future__ import annotations

from boathook.core.event import DERIVED, FILE_CHANGES, HOST_KEYS, HOST_TOOL, PATCH_PROGRAMS, PATCH_TOOL, Event
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ADD, _UPDATE, _DELETE, _MOVE = "*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"
_STARTS = (_ADD, _UPDATE, _DELETE)
_END = "*** End Patch"


class PatchedFile(Value):
    """What a patch does with one file: `change` is a key of FILE_CHANGES; `old_text` is what an edit replaces."""

    path: str
    change: str
    text: str = ""
    old_text: str = ""

    @property
    def tool_input(self) -> dict[str, Any]:
        texts = {
            "write": {"content": self.text},
            "edit": {"old_string": self.old_text, "new_string": self.text},
            "delete": {},
        }
        return {"file_path": self.path, **texts[self.change]}


def read_patch(text: str) -> tuple[PatchedFile, ...]:
    """Return what a patch does, file by file in its order; a moved file is deleted, and written under its new name."""
    changes: list[PatchedFile] = []
    section: _Section | None = None
    for line in text.replace("\r\n", "\n").split("\n"):
        start = next((start for start in _STARTS if line.lstrip().startswith(start)), None)
        if start is not None:
            changes += section.list_changes() if section else ()
            section = _Section(start, line.lstrip().removeprefix(start).strip())
        elif section is not None:
            section.add_line(line)
            section.is_open = section.is_open and not line.lstrip().startswith(_END)
    return (*changes, *(section.list_changes() if section else ()))


class _Section:
    """The lines of a patch about one file."""

    def __init__(self, start: str, path: str) -> None:
        self.start, self.path = start, path
        self.new_path = ""
        self.is_open = True
        self.old_lines: list[str] = []
        self.new_lines: list[str] = []

    def add_line(self, line: str) -> None:
        if line.lstrip().startswith(_MOVE):
            self.new_path = line.lstrip().removeprefix(_MOVE).strip()
        elif self.is_open and not line.startswith(("@@", "*** ")):
            sign, rest = (line[0], line[1:]) if line.startswith(("+", "-", " ")) else (" ", line)
            if sign != "+":
                self.old_lines.append(rest)
            if sign != "-":
                self.new_lines.append(rest)

    def list_changes(self) -> tuple[PatchedFile, ...]:
        if self.start == _DELETE:
            return (PatchedFile(self.path, "delete"),)
        content = "".join(f"{line}\n" for line in self.new_lines)
        if self.start == _ADD:
            return (PatchedFile(self.path, "write", content),)
        if self.new_path:
            return PatchedFile(self.path, "delete"), PatchedFile(self.new_path, "write", content)
        return (PatchedFile(self.path, "edit", "\n".join(self.new_lines), "\n".join(self.old_lines)),)


def list_file_calls(event: Event) -> tuple[Event, ...]:
    """Return a call for each file that a patch in a tool call writes; none if there is no patch in it."""
    if not event.patch:
        return ()
    found: tuple[Event, ...] | None = event.__dict__.get("_file_calls")
    if found is None:
        found = event.__dict__["_file_calls"] = tuple(_make_file_call(event, one) for one in read_patch(event.patch))
    return found


def _make_file_call(event: Event, file: PatchedFile) -> Event:
    data = {name: value for name, value in event.data.items() if name != HOST_KEYS}
    if HOST_TOOL in data and event.tool_name != PATCH_TOOL:
        data[HOST_TOOL] = PATCH_PROGRAMS[0]
    name, *aliases = FILE_CHANGES[file.change]
    data |= {"tool_name": name, "tool_input": file.tool_input, DERIVED: event.tool_name}
    return event.replace(data=data, tool_aliases=tuple(aliases) if event.tool_aliases else ())
