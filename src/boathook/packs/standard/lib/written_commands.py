"""The commands of a call as they are written: the names of variables and the files that are read by `<`, in pipes."""

# What programs a text starts is known without this; what is here is what their words do not tell any more.

from __future__ import annotations

import re

from boathook.core.interpreters import SHELLS
from boathook.core.shell import ShellCommand, ShellReader, ShellRedirection, get_assigned_name
from boathook.guards import GuardedCall

_VARIABLE = re.compile(r"\$\{?(?:[Ee][Nn][Vv]:)?([A-Za-z_]\w*)")
# What shows that a variable is set, and nothing of its value.
_HARMLESS_EXPANSION = re.compile(r"\$\{#\w+\}|\$\{\w+:?\+[^}]*\}|\$\{\w+:0:[1-6]\}")
_SECRET_NAME = re.compile(
    r"(?i)(?:^|_)(?:secret|token|password|passwd|passphrase|pat|credentials?|apikey)(?:$|_)"
    r"|(?:api|access|private|secret|encryption|signing|auth)_?key|database_url|connection_string"
)
# What is about a secret, and is none.
_ABOUT_SECRET = re.compile(
    r"(?i)_(?:file|path|name|count|ttl|length|len|type|dir|host|enabled|expir\w+|id|version|limit|header)$"
)
_SINGLE_QUOTED = re.compile(r"'[^']*'")
_INPUT = ("<", "<>")
# What is written to these is seen as if it was printed.
SCREEN = re.compile(r"/dev/(?:stdout|stderr|tty|pts/\d+|fd/[12])|/proc/(?:self|\$\$|\d+)/fd/[12]")
_ATTRIBUTE = "_standard_pipes"


class WrittenCommand:
    """A command as it is written: its words, the variables in each of them, and the files behind `<`."""

    def __init__(self, command: ShellCommand, home: str, *, is_nested: bool) -> None:
        assigned = 0
        while assigned < len(command.words) and get_assigned_name(command.words[assigned].raw):
            assigned += 1
        words = command.words[assigned:]
        self.words = [word.text for word in words]
        self.raws = [word.raw for word in words]
        self.inputs = [
            _expand_home(one.target.text, home)
            for one in command.redirections
            if one.operator in _INPUT and one.target is not None
        ]
        self.has_output = any(map(_keeps_output, command.redirections))
        self.operator, self.is_nested = command.operator, is_nested

    @property
    def name(self) -> str:
        return self.words[0].rpartition("/")[2] if self.words else ""


def _keeps_output(redirection: ShellRedirection) -> bool:
    """Whether what a command prints goes into a file, and is not seen."""
    target = redirection.target.text if redirection.target is not None else ""
    is_seen = SCREEN.fullmatch(target) or (redirection.operator == ">&" and target.isdigit())
    return ">" in redirection.operator and redirection.descriptor != "2" and not is_seen


def _expand_home(path: str, home: str) -> str:
    for start in ("~/", "$HOME/", "${HOME}/"):
        path = home + path[len(start) - 1 :] if path.startswith(start) else path
    return path


def list_pipes(call: GuardedCall) -> list[list[WrittenCommand]]:
    """Return the commands of a call, and those in `bash -c`, as lists of what is joined by `|`."""
    found: list[list[WrittenCommand]] | None = call.__dict__.get(_ATTRIBUTE)
    if found is None:
        found = [pipe for text in _list_texts(call) for pipe in _read_pipes(text, call.home)]
        call.__dict__[_ATTRIBUTE] = found
    return found


def _list_texts(call: GuardedCall) -> list[str]:
    texts = [*call.commands]
    for program in call.programs:
        words = program.words
        if program.name in SHELLS:
            at = next((at for at, word in enumerate(words) if re.fullmatch(r"-\w*c", word)), len(words))
            texts += words[at + 1 : at + 2]
        elif program.name == "eval":
            texts.append(" ".join(words[1:]))
    return texts[:50]


def _read_pipes(text: str, home: str) -> list[list[WrittenCommand]]:
    reader = ShellReader(text)
    commands: list[WrittenCommand] = []
    while len(commands) < 1000 and (command := reader.read_command()) is not None:
        commands.append(WrittenCommand(command, home, is_nested=False))
    nested = [WrittenCommand(command, home, is_nested=True) for command in reader.nested[:1000]]
    pipes: list[list[WrittenCommand]] = [[]]
    for one in (*commands, *nested):
        pipes[-1].append(one)
        if one.operator not in ("|", "|&"):
            pipes.append([])
    return [pipe for pipe in pipes if any(one.words or one.inputs for one in pipe)]


def is_name_of_secret(name: str) -> bool:
    """Whether a variable is called after a secret."""
    return _SECRET_NAME.search(name) is not None and _ABOUT_SECRET.search(name) is None


def list_variables(raw: str) -> list[str]:
    """Return the names of the variables in a word, without those whose value it does not show."""
    text = _SINGLE_QUOTED.sub("", raw) if not raw.startswith('"') else raw
    return _VARIABLE.findall(_HARMLESS_EXPANSION.sub("", text))


def list_assignments(call: GuardedCall) -> set[str]:
    """Return the variables that the commands of a call set themselves."""
    return {match[1] for text in call.commands for match in re.finditer(r"(?:^|[\s;&|(])([A-Za-z_]\w*)=", text)}
