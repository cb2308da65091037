"""What is known at a place in a shell text: variables, the folder, links, and what words stand for."""

# A part of a word that cannot be known is `UNKNOWN` in it. Patterns such as `.a*` stay as they are written: who compares paths
# reads them as patterns.

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from posixpath import normpath

from boathook.core.shell import ShellCommand, ShellReader, ShellRedirection, ShellWord, get_assigned_name
from boathook.shell.arguments import UNKNOWN, get_program_name, make_absolute_path
from boathook.shell.found_paths import FoundPath, QuotedName, surround_path
from boathook.shell.listers import list_printed_paths
from boathook.shell.printed_text import find_output, find_printed_text, normalize_written

MAX_VALUE_CHARS = 4096
# The variable with the top of the git repository that a text starts in, if the caller knows it. A text cannot use this name.
REPOSITORY_TOP = "top of the repository"
_MAX_BRACES = _MAX_CHOICES = 64
_MAX_EVALUATED_DEPTH, _MAX_INNER = 3, 4
_MAX_EVALUATED_COMMANDS = 8
_MAX_FOLDERS = 64
_BRACES = re.compile(r"\{([^{}]*(?:,|\.\.)[^{}]*)\}")
_RANGE = re.compile(r"(-?\d{1,4}|[A-Za-z])\.\.(-?\d{1,4}|[A-Za-z])")
_PARAMETER = re.compile(r"\$(?:(\d|[@*])|\{(\d|[@*])\}|[#?$!-])")
_WHOLE_PARAMETER = re.compile(r'"?\$(?:(\d|[@*])|\{(\d|[@*])\})"?')
_EXPANSION = re.compile(r"\$\{([A-Za-z_]\w*|\d)(?:(:?[-=+?])(.*)|(%%?|##?)(.*)|(//?)([^/]*)/?(.*))?\}", re.DOTALL)
_PART = re.compile(r"\$\{(!)?([A-Za-z_]\w*)(,,?|\^\^?)?(?::\s*(-?\d{1,6})(?::\s*(-?\d{1,6}))?)?\}")
_BLANKS = " \t\n"
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")
_WHOLE_SUBSTITUTION = re.compile(r'"?(?:\$\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)|`([^`]*)`)"?', re.DOTALL)
_NO_PATH_SIGNS = frozenset(" \n\t'\"()")
_USER_HOME = re.compile(r"~[^/]*")
# Variables that a shell sets when it starts.
_SET_BY_SHELL = frozenset(("IFS", "PATH", "PWD", "OLDPWD", "SHLVL", "OPTIND", "_"))
_PATTERN_SIGNS = frozenset("*?[")
_QUOTED = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", re.DOTALL)


class ShellScope:
    """What is known where a command starts; a copy is what a subshell knows."""

    # `folder` is "" if it is not known; it may have patterns in it. `links` are links that the text makes: where, and to what.
    # `given` are the variables that the text began with. `doubtful` are those that were set where it `is_plain` no more that
    # what follows is run in the same shell, and always. `choices` are the values that a variable may have, one after the other.

    def __init__(self, folder: str, variables: dict[str, str], depth: int = 0) -> None:
        self.folder, self.variables, self.depth = folder, variables, depth
        self.given = dict(variables)
        self.aliases: dict[str, str] = {}
        self.is_plain, self.doubtful = True, set[str]()
        # Where commands run if the last `cd` fails, "" if they do not run then, and whether the shell ends if something fails.
        self.other_folder, self.ends_on_error = "", False
        self.parameters: tuple[str, ...] = ()
        self.links: dict[str, str] = {}
        self.earlier_folders: list[str] = []
        self.choices: dict[str, tuple[str, ...]] = {}
        # Programs that a shell remembers under the name of a command of its own, which comes first until it is disabled.
        self.hidden: dict[str, str] = {}
        # Those of the aliases that are programs which a shell remembers: `hash -p`.
        self.remembered: set[str] = set()
        # The variables that a function has for itself, and what they were before.
        self._locals: list[tuple[str, str | None, tuple[str, ...] | None]] = []
        # Texts that the text puts into files, by their paths.
        self.written: dict[str, str] = {}

    def copy(self, *, deeper: int = 0) -> ShellScope:
        scope = ShellScope(self.folder, dict(self.variables), self.depth + deeper)
        scope.parameters, scope.links, scope.earlier_folders = self.parameters, self.links, self.earlier_folders[:]
        scope.given, scope.aliases = self.given, dict(self.aliases)
        scope.is_plain, scope.doubtful = self.is_plain, set(self.doubtful)
        scope.choices, scope.written, scope.hidden = dict(self.choices), self.written, self.hidden
        scope.remembered = set(self.remembered)
        scope.other_folder, scope.ends_on_error = self.other_folder, self.ends_on_error
        return scope

    def look_up(self, name: str) -> str:
        if name == "PWD":
            return self.folder or UNKNOWN
        if name == "IFS":
            return self.variables.get(name, _BLANKS)
        return self.variables.get(name, UNKNOWN)

    def assign(self, name: str, value: str) -> None:
        (self.doubtful.discard if self.is_plain else self.doubtful.add)(name)
        self.choices.pop(name, None)
        is_nothing_known = UNKNOWN in value and not value.strip(UNKNOWN)
        self.variables[name] = UNKNOWN if is_nothing_known or len(value) > MAX_VALUE_CHARS else value

    def note_local(self, name: str, *, is_local: bool) -> None:
        """Note that a variable belongs to the function whose body is read, or that it may belong to all, as with `declare -g`."""
        if is_local:
            self._locals.append((name, self.variables.get(name), self.choices.get(name)))
        else:
            self._locals = [one for one in self._locals if one[0] != name]

    def end_function(self, *, is_end: bool, is_inside: bool) -> None:
        """Give the variables of a function back what they were before, if its body has been read."""
        if not is_end and not is_inside:
            self._locals.clear()
        while is_end and self._locals:
            name, value, choices = self._locals.pop()
            self.variables.pop(name, None)
            self.choices.pop(name, None)
            self.variables |= {name: value} if value is not None else {}
            self.choices |= {name: choices} if choices is not None else {}

    def assign_choices(self, name: str, values: Sequence[str]) -> None:
        """Note the values that a variable has one after the other, as in a loop."""
        is_one = len(values) == 1 and not isinstance(values[0], FoundPath) and set("*?[").isdisjoint(values[0])
        self.assign(name, values[0] if is_one else UNKNOWN)
        if not is_one and values:
            self.choices[name] = tuple(values[:_MAX_CHOICES])

    def remove(self, name: str) -> None:
        """Forget what the text made of a variable: without `HOME`, programs find the home folder by themselves."""
        self.variables[name] = self.given.get(name, UNKNOWN)

    def forget_programs(self) -> None:
        """Forget what `hash -p` said, as a shell does if PATH is assigned; not if that is perhaps not run."""
        while self.is_plain and self.remembered:
            self.aliases.pop(self.remembered.pop(), None)

    def clear(self, name: str) -> None:
        """Note that a variable is not set, unless the text began with it, or a shell sets it by itself."""
        self.choices.pop(name, None)
        if name in _SET_BY_SHELL:
            self.variables.pop(name, None)
        else:
            self.variables[name] = self.given.get(name, "")

    def assign_word(self, word: ShellWord) -> None:
        name = get_assigned_name(word.raw)
        text = self.expand_text(word)
        value = text[text.find("=") + 1 :]
        is_longer = word.raw.startswith(f"{name}+=")
        if value == UNKNOWN and not is_longer and (paths := self._list_substitutions(word.raw.partition("=")[2])):
            self.assign_choices(name, paths)
            return
        self.assign(name, self.look_up(name) + value if is_longer and name in self.variables else value)

    def change_folder(self, target: str) -> None:
        self.earlier_folders.append(self.folder)
        if target == "-":
            self.folder = self.earlier_folders[-2] if len(self.earlier_folders) > 1 else ""
        else:
            self.folder = self.make_absolute(target)

    def make_absolute(self, path: str) -> str:
        return make_absolute_path(path, self.folder)

    # What words stand for

    def expand(self, word: ShellWord) -> list[str]:
        """Return the words that a shell makes of one."""
        whole = _WHOLE_PARAMETER.fullmatch(word.raw) if "$" in word.raw and self.parameters else None
        if whole:
            number = whole[1] or whole[2]
            words = self.parameters[1:] if number in "@*" else self.parameters[int(number) :][:1]
            # Without quotes, what was quoted where it came from is a pattern again.
            return [str(one) if isinstance(one, QuotedName) and '"' not in word.raw else one for one in words]
        text, raw = self.expand_text(word), word.raw
        if UNKNOWN in text and (paths := self._list_choices(text, raw)):
            return paths
        values = [text]
        if "{" in raw and text == word.text:
            values = expand_braces(text)
        # A shell splits only what is not in quotes.
        outside = raw if raw[-1:] not in ("'", '"') else re.split("\\$?['\"]", raw, maxsplit=1)[0]
        if "$" in outside or "`" in outside:
            values = [piece for value in values for piece in self._split(value)]
        is_quoted = values == [text] and not _PATTERN_SIGNS.isdisjoint(text) and _has_quoted_signs(raw)
        return [QuotedName(text)] if is_quoted else values

    def _split(self, text: str) -> list[str]:
        """Return the words that a shell splits a text into."""
        signs = self.look_up("IFS")
        if signs == _BLANKS or UNKNOWN in signs or not signs:
            return text.split()
        return [piece for piece in re.split(f"[{re.escape(signs)}]+", text) if piece]

    def _list_choices(self, text: str, raw: str) -> list[str]:
        """Return what a word may be that has a variable with several values, or paths that a command lists."""
        if text == UNKNOWN and (paths := self._list_substitutions(raw)):
            return paths
        names = [name for name in _VARIABLE.findall(raw) if name in self.choices] if self.choices else []
        if len(names) != 1 or text.count(UNKNOWN) != 1:
            return []
        prefix, _, suffix = text.partition(UNKNOWN)
        # A longer text is a script or code.
        if not _NO_PATH_SIGNS.isdisjoint(prefix + suffix):
            return []
        return [surround_path(value, prefix, suffix) for value in self.choices[names[0]]]

    def _list_substitutions(self, raw: str) -> list[str]:
        if self.depth >= _MAX_EVALUATED_DEPTH or len(raw) > MAX_VALUE_CHARS:
            return []
        match = _WHOLE_SUBSTITUTION.fullmatch(raw)
        if match is None:
            return []
        paths = self.list_script_paths(match[1] or match[2] or "")
        return [] if paths == [UNKNOWN] else paths

    def list_script_paths(self, script: str) -> list[str]:
        """Return the paths that the commands of a text print."""
        inner = self.copy(deeper=1)
        paths: list[str] = []
        read_paths: list[str] = []
        reader = ShellReader(script, inner.look_up, evaluate=inner.evaluate)
        while len(paths) < _MAX_CHOICES and (command := reader.read_command()) is not None:
            words = [text for word in command.words for text in inner.expand(word)]
            if words[:1] == ["cd"]:
                inner.change_folder(words[-1] if len(words) > 1 else inner.look_up("HOME"))
                continue
            if not words:
                continue
            printed = (
                inner._find_repository() if _asks_for_repository(words) else find_printed_text(words, inner.folder)
            )
            read_paths = printed.split() if UNKNOWN not in printed else list_printed_paths(words, read_paths)
            if command.operator not in ("|", "|&"):
                paths += [inner._place(path) for path in read_paths] if inner.folder != self.folder else read_paths
                read_paths = []
        return paths or [UNKNOWN]

    def _place(self, path: str) -> str:
        absolute = self.make_absolute(path)
        return FoundPath.make(absolute, path.filters) if isinstance(path, FoundPath) else absolute

    def expand_text(self, word: ShellWord) -> str:
        text = word.text
        if not word.is_known and "$" in text:
            text = _PARAMETER.sub(self._find_parameter, text)
            text = text if "$(" not in text and "`" not in text else _hide_substitutions(text)
        if text.startswith("~") and word.raw.startswith("~"):
            text = _USER_HOME.sub(UNKNOWN, text, count=1)
        return text[: MAX_VALUE_CHARS * 16]

    def _find_parameter(self, match: re.Match[str]) -> str:
        number = match[1] or match[2]
        if not number or not self.parameters:
            return UNKNOWN
        if number in "@*":
            return " ".join(self.parameters[1:])
        return self.parameters[int(number)] if int(number) < len(self.parameters) else ""

    def evaluate(self, written: str) -> str | None:
        """Return what `$(…)` or `${…}` stands for, `UNKNOWN` in place of what is not known."""
        # Each one inside is read again for every one around it.
        if (
            len(written) > MAX_VALUE_CHARS
            or written.count("$(") + written.count("${") + written.count("`") > _MAX_INNER
        ):
            return UNKNOWN
        if written.startswith("$("):
            return self._evaluate_script(written[2:].removesuffix(")"))
        if written.startswith("${"):
            return self._evaluate_expansion(written)
        # `<(…)` is a file of its own (see `find_file_text`).
        return UNKNOWN

    def find_file_text(self, raw: str) -> str:
        """Return what is in the file that `<(…)` stands for, "" if that is not known."""
        text = self._evaluate_script(raw[2:].removesuffix(")")) if len(raw) <= MAX_VALUE_CHARS * 4 else UNKNOWN
        return "" if UNKNOWN in text else text

    def _evaluate_script(self, script: str) -> str:
        """Return what the commands of a text print, one after the other."""
        if self.depth >= _MAX_EVALUATED_DEPTH:
            return UNKNOWN
        inner = self.copy(deeper=1)
        reader = ShellReader(script, inner.look_up, evaluate=inner.evaluate)
        printed = input_text = ""
        count = 0
        while (command := reader.read_command()) is not None:
            count += 1
            is_choice = command.operator == "||" and count > 1
            if count > _MAX_EVALUATED_COMMANDS or is_choice or command.operator in ("(", ")", "&"):
                return UNKNOWN
            output = inner._find_command_output(command, input_text)
            if command.operator in ("|", "|&"):
                input_text = output
                continue
            input_text = ""
            printed += output
            # What is behind is printed only if the first command fails.
            if command.operator == "||":
                break
        return printed.strip("\n") if printed.strip(UNKNOWN) else UNKNOWN

    def _find_command_output(self, command: ShellCommand, input_text: str) -> str:
        words = [text for word in command.words for text in self.expand(word)]
        bodies = [one.body or self.find_redirected_text(one) for one in command.redirections]
        given = next(filter(None, reversed(bodies)), "") or input_text
        if not words:
            return given or UNKNOWN
        if words[0] == "cd":
            self.change_folder(words[-1] if len(words) > 1 else self.look_up("HOME"))
            return ""
        if words[0] in (":", "true", "set", "exec"):
            return ""
        output = self.find_program_output(words, given)
        return f"{output}\n" if words[0] == "echo" and UNKNOWN not in output else output

    def find_program_output(self, words: tuple[str, ...] | list[str], input_text: str) -> str:
        """Return what a command prints that reads a text, `UNKNOWN` for what cannot be known."""
        if _asks_for_repository(words):
            return self._find_repository()
        return find_output(words, self.folder, input_text, self.written)

    def _find_repository(self) -> str:
        top = self.given.get(REPOSITORY_TOP, "")
        is_inside = f"{normpath(self.folder)}/".startswith(f"{top}/") if self.folder and top else False
        return top if is_inside else UNKNOWN

    def find_redirected_text(self, redirection: ShellRedirection) -> str:
        """Return the text that a redirection gives to a command, "" if it is not known."""
        if redirection.target is None or redirection.operator not in ("<", "<<<", "<&"):
            return ""
        text = self.expand_text(redirection.target)
        if redirection.operator == "<<<":
            return text
        if redirection.target.raw.startswith("<("):
            return self.find_file_text(redirection.target.raw)
        path = f"/dev/fd/{text}" if redirection.operator == "<&" else text
        return self.written.get(normalize_written(self.make_absolute(path)), "").strip("\n")

    def _evaluate_expansion(self, written: str) -> str:
        match = _EXPANSION.fullmatch(written)
        if match is None:
            return self._evaluate_part(written)
        name = match[1]
        value = self._find_parameter_value(name) if name.isdigit() else self.look_up(name)
        is_set = value != UNKNOWN
        other = match[3] or ""
        if match[2] in ("-", ":-", "=", ":="):
            value = value if is_set else self._read_other(other)
            if "=" in match[2] and not is_set:
                self.assign(name, value)
            return value
        if match[2] in ("+", ":+"):
            return self._read_other(other) if is_set else UNKNOWN
        if match[4] and is_set:
            return _cut(value, match[4], match[5] or "")
        if match[6] and is_set and match[7]:
            return value.replace(match[7], match[8] or "") if not set(match[7]) & set("*?[$`\\") else UNKNOWN
        return value

    def _evaluate_part(self, written: str) -> str:
        """Return what `${x:1:2}`, `${x,,}` and `${!x}` stand for."""
        match = _PART.fullmatch(written)
        if match is None:
            return UNKNOWN
        value = self.look_up(match[2])
        if match[1]:
            return self.look_up(value) if value.isidentifier() else UNKNOWN
        if UNKNOWN in value:
            return UNKNOWN
        if match[3]:
            changed = value.lower() if match[3][0] == "," else value.upper()
            return changed if len(match[3]) == 2 else changed[:1] + value[1:]
        start, length = int(match[4] or 0), match[5]
        end = None if length is None else int(length) if int(length) < 0 else (start % (len(value) or 1)) + int(length)
        return value[start:end]

    def _find_parameter_value(self, number: str) -> str:
        return self.parameters[int(number)] if int(number) < len(self.parameters) else UNKNOWN

    def _read_other(self, text: str) -> str:
        if self.depth >= _MAX_EVALUATED_DEPTH:
            return UNKNOWN
        inner = self.copy(deeper=1)
        commands = ShellReader(text, inner.look_up, evaluate=inner.evaluate).read_all()
        return " ".join(inner.expand_text(word) for command in commands for word in command.words)


def _has_quoted_signs(raw: str) -> bool:
    """Whether a word has no sign outside of quotes that makes it a pattern, or that stands for something with such signs."""
    return len(raw) <= MAX_VALUE_CHARS and set("*?[$`").isdisjoint(_QUOTED.sub("", raw))


def make_repository_variable(text: str, folder: str, exists: Callable[[str], bool]) -> dict[str, str]:
    """Return the variable with the top of the repository that a folder is in; {} if there is none, or no need to know."""
    if "--show-toplevel" not in text or not folder.startswith("/"):
        return {}
    parts = normpath(folder).split("/")[:_MAX_FOLDERS]
    tops = ("/".join(parts[:count]) for count in range(len(parts), 1, -1))
    return next(({REPOSITORY_TOP: top} for top in tops if exists(f"{top}/.git")), {})


def _asks_for_repository(words: tuple[str, ...] | list[str]) -> bool:
    return get_program_name(words) == "git" and [*words[1:]] == ["rev-parse", "--show-toplevel"]


def _hide_substitutions(text: str) -> str:
    """Return a text with nothing known from its first substitution on that was nested too deep to be read."""
    at = min(place for place in (text.find("$("), text.find("`")) if place >= 0)
    return text[:at] + UNKNOWN


def _cut(value: str, operator: str, pattern: str) -> str:
    if pattern == "/*" and operator[0] == "%":
        return value.partition("/")[0] if operator == "%%" else value.rpartition("/")[0]
    if pattern == "*/" and operator[0] == "#":
        return value.rpartition("/")[2] if operator == "##" else value.partition("/")[2]
    if set(pattern) & set("*?[$`\\"):
        return UNKNOWN
    return value.removesuffix(pattern) if operator[0] == "%" else value.removeprefix(pattern)


def expand_braces(text: str) -> list[str]:
    """Return `ab` and `ac` for `a{b,c}`; beyond a limit what is in braces may be anything."""
    done: list[str] = []
    pending = [text]
    while pending:
        current = pending.pop()
        match = _BRACES.search(current)
        if match is None:
            done.append(current)
        elif len(done) + len(pending) > _MAX_BRACES:
            done.append(current[: match.start()] + "*" + current[match.end() :].replace("{", "*"))
        else:
            choices = _list_choices(match[1])
            pending.extend(current[: match.start()] + one + current[match.end() :] for one in reversed(choices))
    return done


def _list_choices(inner: str) -> list[str]:
    if "," in inner:
        return inner.split(",")[:_MAX_BRACES]
    match = _RANGE.fullmatch(inner)
    if match is None:
        return [inner]
    first, last = match[1], match[2]
    if first.lstrip("-").isdigit() and last.lstrip("-").isdigit():
        low, high = sorted((int(first), int(last)))
        return [str(number) for number in range(low, min(high, low + _MAX_BRACES) + 1)]
    low, high = sorted((ord(first), ord(last)))
    return [chr(code) for code in range(low, high + 1)]
