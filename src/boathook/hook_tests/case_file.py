"""Read a tests.txt: one line per case, the value verbatim; indented lines say more about it. Never raises, whatever it reads."""

# docs/reference/tests-file.md describes the form for people.

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from boathook.core.event import SPELLINGS
from boathook.core.hook import ERROR, Diagnostic
from boathook.core.near_words import suggest
from boathook.core.text import reveal_text
from boathook.core.value import Value
from boathook.errors import ConfigError
from boathook.hook_tests.case import CASE_WORDS, CLEAN, CORPUS, GIT_STATES, TODO_PREFIX, Case, GitSetup, LeftFile
from boathook.hosts.host import list_host_names
from boathook.hosts.tool_names import list_known_tools
from boathook.system.files import FileError, read_text

TESTS_FILE = "tests.txt"
_HOOK = "hook"
_MAX_SHOWN_CHARS = 60
_MAX_DIAGNOSTICS = 50
# Of one case: a case is a value, and every one of its lines makes another one.
_MAX_DETAILS = 500
_BLANK = " \t"
_TOOL = re.compile(r"(?P<tool>[A-Z][A-Za-z0-9_]*|mcp__[\w.-]+|[\w-]+):(?:[ \t]+(?P<value>.*)|$)", re.DOTALL)
_EVENT = re.compile(r"@(?P<event>[\w-]+)(?:[ \t]+(?P<rest>.*)|[ \t]*$)", re.DOTALL)
_BRANCH = re.compile(r"[\w./-]+")
_PROGRAM = re.compile(r"[\w.+-]+")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
# What a line of a file can be; every line is one of them.
CASE, DETAIL, BODY, COMMENT, BLANK_LINE, WRONG = LINE_KINDS = ("case", "detail", "body", "comment", "blank", "wrong")


class CaseFile(Value):
    """The cases of a file, what is wrong with it, and the kind of each of its lines."""

    path: str
    cases: tuple[Case, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    line_kinds: tuple[str, ...] = ()


class _DetailLine(Value):
    """An indented line of a case: its word, the rest of the line, and the more deeply indented lines below it, if any."""

    line: int
    word: str
    text: str
    body: str | None = None

    @property
    def whole_text(self) -> str:
        return self.text if self.body is None else self.body


_Fix = str | Callable[[], str]


class _Mistake(Exception):
    # A fix that takes a search is computed only if the mistake is reported.
    def __init__(self, message: str, fix: _Fix) -> None:
        super().__init__(message)
        self.message, self.fix = message, fix


def load_cases(path: str) -> tuple[Case, ...]:
    """Return the cases of a file; ConfigError if there is anything wrong with it."""
    read = read_case_file(path)
    if read.diagnostics:
        raise ConfigError("; ".join(map(str, read.diagnostics)))
    return read.cases


def read_case_file(path: str) -> CaseFile:
    try:
        text = read_text(path)
    except FileError as error:
        return CaseFile(path, diagnostics=(Diagnostic(path, None, "", ERROR, f"the file {error}"),))
    return parse_cases(text, path)


def parse_cases(text: str, path: str = TESTS_FILE) -> CaseFile:
    reader = _CaseReader(path, text)
    reader.read()
    return CaseFile(path, tuple(reader.cases), tuple(reader.diagnostics), tuple(reader.kinds))


class _CaseReader:
    def __init__(self, path: str, text: str) -> None:
        self.path = path
        lines = text.split("\n")
        self.lines = [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]
        self.kinds = [WRONG] * len(self.lines)
        self.cases: list[Case] = []
        self.diagnostics: list[Diagnostic] = []
        self.hook = ""

    def read(self) -> None:
        at = 0
        while at < len(self.lines):
            line = self.lines[at]
            if self._mark_empty(at):
                at += 1
            elif line[0] in _BLANK:
                self._report(at, "this line belongs to no case", "begin a case in the first column")
                at += 1
            else:
                at = self._read_case(at)

    def _mark_empty(self, at: int) -> bool:
        line = self.lines[at]
        if line.startswith("#"):
            self.kinds[at] = COMMENT
        elif not line.strip(_BLANK):
            self.kinds[at] = BLANK_LINE
        return self.kinds[at] != WRONG

    def _report(self, at: int, message: str, fix: _Fix = "") -> None:
        if len(self.diagnostics) > _MAX_DIAGNOSTICS:
            return
        if len(self.diagnostics) == _MAX_DIAGNOSTICS:
            message, fix = "there are more mistakes from here on", "correct the first ones"
        self.diagnostics.append(
            Diagnostic(self.path, at + 1, "", ERROR, message, fix if isinstance(fix, str) else fix())
        )

    def _read_case(self, at: int) -> int:
        """Read a case and the lines that belong to it; return where the next one begins."""
        word, _, rest = _split_word(self.lines[at])
        details, end = self._read_details(at + 1)
        if word == _HOOK:
            self._read_section(at, rest, details)
            return end
        try:
            case = _read_case_line(at + 1, word, rest).replace(hook=self.hook)
        except _Mistake as mistake:
            self._report(at, mistake.message, mistake.fix)
            return end
        self.kinds[at] = CASE
        is_right = len(details) <= _MAX_DETAILS
        if not is_right:
            self._report(at, f"the case has more than {_MAX_DETAILS} lines of its own", "write several cases")
        for detail in details[:_MAX_DETAILS]:
            try:
                case = _add_detail(case, detail)
            except _Mistake as mistake:
                self._report(detail.line - 1, mistake.message, mistake.fix)
                is_right = False
        if case.value is not None and case.input is not None:
            self._report(at, "the case has both a value and 'input'", "write one of them")
        elif is_right:
            self.cases.append(case)
        return end

    def _read_section(self, at: int, rest: str, details: list[_DetailLine]) -> None:
        self.hook = rest.strip(_BLANK)
        self.kinds[at] = CASE
        if not self.hook:
            self._report(at, "'hook' needs the name of a hook", "boathook list shows the names")
        for detail in details:
            self._report(detail.line - 1, "a 'hook' line has no lines of its own", "begin a case in the first column")

    def _read_details(self, at: int) -> tuple[list[_DetailLine], int]:
        details: list[_DetailLine] = []
        while at < len(self.lines):
            line = self.lines[at]
            if self._mark_empty(at):
                at += 1
                continue
            if line[0] not in _BLANK:
                break
            indent = _get_indent(line)
            word, _, text = _split_word(line[len(indent) :])
            self.kinds[at] = DETAIL
            body, end = self._read_body(at + 1, indent)
            details.append(_DetailLine(at + 1, word, text, body))
            at = end
        return details, at

    def _read_body(self, at: int, outer: str) -> tuple[str | None, int]:
        """Return the more deeply indented lines below a line, without their indentation; None if there are none."""
        indent = ""
        lines: list[str] = []
        end = at
        while at < len(self.lines):
            line = self.lines[at]
            if line.startswith("#"):
                self.kinds[at] = COMMENT
            elif not line.strip(_BLANK):
                self.kinds[at] = BLANK_LINE
                lines.append("")
            elif not _is_deeper(line, outer):
                break
            else:
                indent = indent or _get_indent(line)
                self.kinds[at] = BODY
                if not line.startswith(indent):
                    message = "this line is less indented than the first one of the same text"
                    self._report(at, message, "indent all lines of the text alike, with the same blanks or tabs")
                lines.append(line.removeprefix(indent))
                end = at + 1
            at += 1
        if not indent:
            return None, end
        while lines and not lines[-1]:
            lines.pop()
        return "\n".join(lines), end


def _get_indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(_BLANK))]


def _is_deeper(line: str, outer: str) -> bool:
    indent = _get_indent(line)
    return len(indent) > len(outer) and indent.startswith(outer)


def _split_word(line: str) -> tuple[str, str, str]:
    """Return the first word of a line, the blanks after it, and the rest as it is."""
    match = re.match(r"([^ \t]*)([ \t]*)", line)
    word, blanks = match.groups() if match else (line, "")
    return word, blanks, line[len(word) + len(blanks) :]


def _show(text: str) -> str:
    shown = text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"
    return reveal_text(shown)


def _suggest(word: str, known: Iterable[str], otherwise: str = "") -> _Fix:
    # The time of the search grows with the length of the word.
    return lambda: suggest(word[:_MAX_SHOWN_CHARS], known, otherwise)


def _read_case_line(line: int, word: str, rest: str) -> Case:
    if word not in CASE_WORDS:
        common = "begin the line with block, ask, allow, stop, pass or skip"
        raise _Mistake(f"'{_show(word)}' is not a word that a case begins with", _suggest(word, CASE_WORDS, common))
    if word == CORPUS:
        path = rest.strip(_BLANK)
        if not path:
            raise _Mistake("'corpus' needs the path of a file", "write its path relative to this file")
        return Case(line, CORPUS, path, text=path)
    event = tool = ""
    if match := _EVENT.fullmatch(rest):
        event, rest = match["event"], match["rest"] or ""
        _check_event(event)
    text = rest
    match = _TOOL.fullmatch(rest)
    if match and _is_tool(match["tool"]):
        tool, rest = match["tool"], match["value"] or ""
    value = rest if rest.strip(_BLANK) else None
    return Case(line, word.removeprefix(TODO_PREFIX), value, word.startswith(TODO_PREFIX), event, tool, text)


def _is_tool(name: str) -> bool:
    return name[0].isupper() or "__" in name or name in list_known_tools()


def _check_event(name: str) -> None:
    if name not in SPELLINGS:
        fix = _suggest(name, SPELLINGS, "boathook events lists them")
        raise _Mistake(f"unknown event '{_show(name)}'", fix)


def _add_detail(case: Case, detail: _DetailLine) -> Case:
    add = _DETAILS.get(detail.word)
    if add is None:
        common = f"the words of indented lines are {', '.join(_DETAILS)}"
        raise _Mistake(
            f"'{_show(detail.word)}' is not a word of an indented line", _suggest(detail.word, _DETAILS, common)
        )
    return add(case, detail)


def _need_text(detail: _DetailLine) -> str:
    if detail.text and detail.body is not None:
        raise _Mistake(
            f"'{detail.word}' has a text on its line and another one below", "write one of them, or indent less"
        )
    if not detail.whole_text:
        raise _Mistake(f"'{detail.word}' needs a text", "write it on the same line, or indented below it")
    return detail.whole_text


def _refuse_body(detail: _DetailLine) -> str:
    if detail.body is not None:
        raise _Mistake(f"'{detail.word}' has no lines of its own", "indent the lines below it less")
    return detail.text.strip(_BLANK)


def _split_name(detail: _DetailLine, what: str) -> tuple[str, str]:
    """Return a name, which is in double quotes if it has blanks in it, and the rest of the line."""
    text = detail.text
    if text.startswith('"'):
        try:
            name, end = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            raise _Mistake(f"{what} has no end: '{_show(text)}'", "close the double quotes") from None
        if text[end : end + 1] not in ("", *_BLANK):
            raise _Mistake(f"{what} ends within a word: '{_show(text)}'", "put a blank after the double quotes")
        rest = text[end:].lstrip(_BLANK)
    else:
        name, _, rest = _split_word(text)
    if not name:
        raise _Mistake(f"'{detail.word}' needs {what}", f"write it after '{detail.word}'")
    if rest and detail.body is not None:
        raise _Mistake(
            f"'{detail.word}' has a text on its line and another one below", "write one of them, or indent less"
        )
    return name, rest


def _read_path(detail: _DetailLine) -> tuple[str, str]:
    path, rest = _split_name(detail, "a path")
    parts = path.removeprefix("~/").split("/")
    if path.startswith("/") or ".." in parts or "\0" in path or not "".join(parts).strip("."):
        fix = "write a path in the project, or one in the home folder that begins with ~/"
        raise _Mistake(f"the path '{_show(path)}' leaves the scratch project", fix)
    return path, rest


def _read_json(detail: _DetailLine) -> dict[str, Any]:
    text = _need_text(detail)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _Mistake(f"'{detail.word}' is not JSON: {_show(str(error))}", "write one JSON object") from None
    if not isinstance(value, dict):
        raise _Mistake(f"'{detail.word}' must be a JSON object", 'write it as {"name": value}')
    return value


def _add_says(case: Case, detail: _DetailLine) -> Case:
    return case.replace(says=(*case.says, _need_text(detail)))


def _add_adds(case: Case, detail: _DetailLine) -> Case:
    return case.replace(adds=(*case.adds, _need_text(detail)))


def _add_becomes(case: Case, detail: _DetailLine) -> Case:
    _refuse_second(case.becomes, detail)
    return case.replace(becomes=_need_text(detail))


def _add_field(case: Case, detail: _DetailLine) -> Case:
    name, rest = _split_name(detail, "the name of a field")
    return case.replace(fields=(*case.fields, (name, rest if detail.body is None else detail.body)))


def _add_input(case: Case, detail: _DetailLine) -> Case:
    _refuse_second(case.input, detail)
    return case.replace(input=_read_json(detail))


def _add_event_fields(case: Case, detail: _DetailLine) -> Case:
    _refuse_second(case.event_fields, detail)
    return case.replace(event_fields=_read_json(detail))


def _add_settings(case: Case, detail: _DetailLine) -> Case:
    _refuse_second(case.settings, detail)
    return case.replace(settings=_read_json(detail))


def _refuse_second(value: object, detail: _DetailLine) -> None:
    if value is not None:
        raise _Mistake(f"the case has '{detail.word}' twice", "write it once")


def _add_git(case: Case, detail: _DetailLine) -> Case:
    _refuse_second(case.git, detail)
    words = _refuse_body(detail).split()
    branch, state = (*words, CLEAN)[:2] if len(words) in (1, 2) else ("", "")
    if not _BRANCH.fullmatch(branch) or ".." in branch or branch[0] in "-./" or branch[-1] in "./":
        raise _Mistake("'git' needs the name of a branch", "write 'git main', 'git main empty' or 'git main dirty'")
    if state not in GIT_STATES:
        raise _Mistake(f"'{_show(state)}' is not a state of a repository", _suggest(state, GIT_STATES))
    return case.replace(git=GitSetup(branch, state, len(case.files)))


def _add_file(case: Case, detail: _DetailLine) -> Case:
    path, rest = _read_path(detail)
    # Our own git, which no sandbox holds, runs at the 'git' line: it would read the settings of these files, and start programs.
    if case.git is None and any(part.lower() == ".git" for part in path.split("/")):
        raise _Mistake("there is no repository before a 'git' line", "write this line after the 'git' line")
    text = rest if detail.body is None else detail.body
    return case.replace(files=(*case.files, (path, f"{text}\n" if text else "")))


def _add_program(case: Case, detail: _DetailLine) -> Case:
    name, rest = _split_name(detail, "the name of a program")
    if not _PROGRAM.fullmatch(name) or not name.strip("."):
        raise _Mistake(f"'{_show(name)}' is not the name of a program", "write a plain name, without a folder")
    text = rest if detail.body is None else detail.body
    script = text if text.startswith("#!") else f"#!/bin/sh\n{text}"
    return case.replace(programs=(*case.programs, (name, f"{script}\n")))


def _add_variable(case: Case, detail: _DetailLine) -> Case:
    name, rest = _split_name(detail, "the name of a variable")
    if not _VARIABLE.fullmatch(name):
        raise _Mistake(f"'{_show(name)}' is not the name of a variable", "use letters, digits and _ only")
    return case.replace(variables=(*case.variables, (name, rest if detail.body is None else detail.body)))


def _add_left_file(case: Case, detail: _DetailLine) -> Case:
    path, part = _read_path(detail)
    text = None if detail.body is None else f"{detail.body}\n"
    return case.replace(leaves=(*case.leaves, LeftFile(path, text, part)))


def _add_host(case: Case, detail: _DetailLine) -> Case:
    name, known = _refuse_body(detail), list_host_names()
    if name not in known:
        raise _Mistake(f"'{_show(name)}' is not an agent", _suggest(name, known, "boathook hosts lists them"))
    return case.replace(hosts=(*case.hosts, name))


_DETAILS: dict[str, Callable[[Case, _DetailLine], Case]] = {
    "says": _add_says,
    "adds": _add_adds,
    "becomes": _add_becomes,
    "with": _add_field,
    "input": _add_input,
    "event": _add_event_fields,
    "git": _add_git,
    "file": _add_file,
    "program": _add_program,
    "variable": _add_variable,
    "leaves": _add_left_file,
    "on": _add_host,
    "settings": _add_settings,
}
