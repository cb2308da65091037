"""The files that a patch writes, read from its text: the form that `apply_patch` takes, as a tool or in a shell command."""

# Nothing is read from the disk: of a file that is updated only the text of its hunks is known. Agents read the same patch
# differently. Where it is not certain whether a line begins another file, it does, and it is text of the file before it as well:
# a guard is asked about a file too many, and with text too much, never about one too few.

from __future__ import annotations

from boathook.core.event import DERIVED, FILE_CHANGES, HOST_KEYS, HOST_TOOL, PATCH_PROGRAMS, PATCH_TOOL, Event
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_ADD, _UPDATE, _DELETE, _MOVE = "*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"
_STARTS = (_ADD, _UPDATE, _DELETE)
_END = "*** End Patch"
# No agent reads more than one new name of a file. Every other one is asked about, but so many have the text at most.
_MAX_MOVES_WITH_TEXT = 8
# What programs take for blanks; in JavaScript a byte-order mark is one as well.
_BLANKS = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
# A change of folder in a shell command, up to the folder.
_ENTERS = r"(?:^|[\s;&|({\"'`])(?:cd|pushd)[ \t]+(?:-[-\w@]*[ \t]+)*"
_MAX_ENTERED_FOLDERS = 16
# What a shell takes out of a word.
_QUOTES = "\"'`\\"


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


def read_call_patch(event: Event) -> tuple[PatchedFile, ...]:
    """Return what the patch in a tool call does, each change once; nothing if there is no patch in it."""
    text = event.patch
    files = () if not text else read_patch(text) if event.tool_name == PATCH_TOOL else _read_shell_patch(text)
    return tuple(dict.fromkeys(files))


def read_patch(text: str) -> tuple[PatchedFile, ...]:
    """Return what a patch does, file by file in its order; a moved file is deleted, and written under its new name."""
    lines = text.replace("\r\n", "\n").split("\n")
    changes = [change for section in _find_sections(lines) for change in section.list_changes(lines)]
    return tuple(spelling for change in changes for spelling in _list_readings(change))


def _list_readings(file: PatchedFile) -> Iterator[PatchedFile]:
    """Yield a file under each path that an agent reads in its header."""
    yield file
    # OpenCode reads a path up to a colon.
    start, colon, _ = file.path.partition(":")
    if colon and start.strip(_BLANKS):
        yield file.replace(path=start.strip(_BLANKS))


def _find_sections(lines: list[str]) -> list[_Section]:
    """Return the sections of a patch, each to the farthest end that an agent reads; no line is in more than three."""
    sections: list[_Section] = []
    in_hunks = False
    for at, line in enumerate(lines):
        start = next((start for start in _STARTS if line.lstrip(_BLANKS).startswith(start)), None)
        if start is not None:
            is_plain = line.startswith(start)
            # In the hunks of an update, Codex takes an indented header as text; elsewhere it is a header as any other.
            begins_hunks = start == _UPDATE and (is_plain or not in_hunks)
            in_hunks = begins_hunks or (in_hunks and not is_plain)
            sections.append(_Section(line.lstrip(_BLANKS), start, at, is_plain, begins_hunks))
    next_any = next_plain = len(lines)
    for section in reversed(sections):
        section.end = next_plain if section.is_plain or section.begins_hunks else next_any
        next_any = section.at
        next_plain = section.at if section.is_plain else next_plain
    return sections


class _Section:
    """The lines of a patch about one file: those after its header, up to an end."""

    def __init__(self, header: str, start: str, at: int, is_plain: bool, begins_hunks: bool) -> None:  # noqa: FBT001
        self.start, self.path = start, header.removeprefix(start).strip(_BLANKS)
        self.at, self.end = at, at
        self.is_plain, self.begins_hunks = is_plain, begins_hunks

    def list_changes(self, lines: list[str]) -> Iterator[PatchedFile]:
        if self.start == _DELETE:
            yield PatchedFile(self.path, "delete")
            return
        own = lines[self.at + 1 : self.end]
        old_lines, new_lines = _read_hunks(own)
        content = "".join(f"{line}\n" for line in new_lines)
        if self.start == _ADD:
            yield PatchedFile(self.path, "write", content)
            return
        starts = [line.lstrip(_BLANKS) for line in own]
        moves = [line.removeprefix(_MOVE).strip(_BLANKS) for line in starts if line.startswith(_MOVE)]
        # Agents read a new name in the first line only; anywhere else it may be nothing, or text.
        if not own or not own[0].startswith(_MOVE):
            yield PatchedFile(self.path, "edit", "\n".join(new_lines), "\n".join(old_lines))
        if moves:
            yield PatchedFile(self.path, "delete")
        for number, path in enumerate(moves):
            yield PatchedFile(path, "write", content if number < _MAX_MOVES_WITH_TEXT else "")


def _read_hunks(lines: list[str]) -> tuple[list[str], list[str]]:
    """Return the lines that a patch replaces, and those that it writes; only an end that is not indented ends them."""
    old_lines: list[str] = []
    new_lines: list[str] = []
    for line in lines:
        if line.rstrip() == _END:
            break
        if line.startswith(("@@", "*** ")):
            continue
        sign, rest = (line[0], line[1:]) if line.startswith(("+", "-", " ")) else (" ", line)
        if sign != "+":
            old_lines.append(rest)
        if sign != "-":
            new_lines.append(rest)
    return old_lines, new_lines


def _read_shell_patch(command: str) -> Iterator[PatchedFile]:
    """Yield what a patch in a shell command does; its lines may be in quotes, or have escapes for line ends."""
    files = [*_list_spellings(read_patch(command))]
    if any(map(_has_quoted_header, command.split("\n"))):
        files += _list_spellings(read_patch(_split_words(command)))
    yield from files
    for folder in _list_entered_folders(command) if files else ():
        yield from (file.replace(path=f"{folder}/{file.path}") for file in files if not file.path.startswith("/"))


def _list_entered_folders(command: str) -> tuple[str, ...]:
    """Return the folders in which a command may apply its patch (`cd x && apply_patch`): each alone, and from the one before."""
    import re

    # A line that a patch adds or removes is not a command.
    lines = "\n".join(line for line in command.replace("\\\n", "").split("\n") if not line.startswith(("+", "-")))
    words = re.findall(rf"{_ENTERS}((?:\"[^\"\n]*\"|'[^'\n]*'|\\.|[^\s;&|()\"'])+)", lines)
    folders: list[str] = []
    before = ""
    plain = ["".join(sign for sign in word if sign not in _QUOTES).rstrip("/") for word in words]
    for folder in [folder for folder in plain if folder not in ("", ".")][:_MAX_ENTERED_FOLDERS]:
        before = folder if folder.startswith(("/", "~")) or not before else f"{before}/{folder}"
        folders += (folder, before)
    return tuple(dict.fromkeys(folders))


def _has_quoted_header(line: str) -> bool:
    start = max(map(line.rfind, (*_STARTS, _MOVE)))
    return start >= 0 and (bool(line[:start].strip()) or any(sign in line for sign in _QUOTES))


def _split_words(command: str) -> str:
    """Return a command with a line for each header in it, and for each of its words in quotes."""
    import re

    text = command.replace("\\\n", "").replace("\\r", "").replace("\\n", "\n")
    text = re.sub(r"""["']\s+\$?["']""", "\n", text)
    # Indented, because such a header may as well be text of the file before it.
    return re.sub(r"(?<=\S)[ \t]*(?=\*\*\* (?:Add File|Update File|Delete File|Move to):)", "\n ", text)


def _list_spellings(files: Iterable[PatchedFile]) -> Iterator[PatchedFile]:
    """Yield files of a shell command under each name that they may have: as it is, up to a quote, and without quotes."""
    for file in files:
        yield file
        end = min((at for at in map(file.path.find, _QUOTES) if at >= 0), default=-1)
        if end >= 0:
            # What follows the quote may be text.
            text = file.text if file.change == "delete" else f"{file.path[end:]}\n{file.text}"
            names = (file.path[:end].strip(), "".join(sign for sign in file.path if sign not in _QUOTES).strip())
            yield from (file.replace(path=name, text=text) for name in names if name)


def list_file_calls(event: Event) -> tuple[Event, ...]:
    """Return a call for each file that a patch in a tool call writes; none if there is no patch in it."""
    if not event.patch:
        return ()
    found: tuple[Event, ...] | None = event.__dict__.get("_file_calls")
    if found is None:
        found = event.__dict__["_file_calls"] = tuple(_make_file_call(event, one) for one in read_call_patch(event))
    return found


def _make_file_call(event: Event, file: PatchedFile) -> Event:
    data = {name: value for name, value in event.data.items() if name != HOST_KEYS}
    if HOST_TOOL in data and event.tool_name != PATCH_TOOL:
        data[HOST_TOOL] = PATCH_PROGRAMS[0]
    name, *aliases = FILE_CHANGES[file.change]
    data |= {"tool_name": name, "tool_input": file.tool_input, DERIVED: event.tool_name}
    return event.replace(data=data, tool_aliases=tuple(aliases) if event.tool_aliases else ())
