"""The programs of a call, with those that run elsewhere: by `ssh`, `kubectl exec`, `bundle exec` and their like."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from boathook.core.interpreters import is_interpreter
from boathook.guards import GuardedCall
from boathook.shell.arguments import list_operands, skip_options
from boathook.shell.command_reading import read_command
from boathook.shell.started import quote_word
from boathook.shell.started_program import Started

# Programs that start the command behind one of their words. "" is the first operand: a machine, or a file.
_CARRIERS: dict[str, tuple[str, ...]] = {
    "ssh": ("",),
    "bundle": ("exec",),
    "kubectl": ("--",),
    "oc": ("--",),
    "nomad": ("exec",),
    "doppler": ("--",),
    "op": ("--",),
    "infisical": ("--",),
    "chamber": ("--",),
    "aws-vault": ("--", "exec"),
    "dotenv": ("--", "run"),
    "dotenvx": ("--",),
    "heroku": ("run",),
    "railway": ("run",),
    "fly": ("-C", "--command"),
    "flyctl": ("-C", "--command"),
    "sail": ("",),
    "foreman": ("run",),
    "lando": ("",),
    "ddev": ("exec",),
    "winpty": ("",),
    "rtk": ("",),
    "with-env": ("",),
    "mise": ("--",),
    "devbox": ("run",),
    "pixi": ("run",),
    "spring": ("",),
}
_SSH_VALUES = "-p -i -l -o -F -J -L -R -D -b -c -E -e -m -O -Q -S -W -w -B -I"
_MAX_CARRIED = 200
_ATTRIBUTE = "_standard_programs"


def list_all_programs(call: GuardedCall) -> tuple[Started, ...]:
    """Return every program that a call starts here or on another machine. It is read once for all guards of a process."""
    found: tuple[Started, ...] | None = call.__dict__.get(_ATTRIBUTE)
    if found is None:
        found = call.__dict__[_ATTRIBUTE] = tuple(_iter_programs(call.programs))
    return found


def _iter_programs(programs: tuple[Started, ...]) -> Iterator[Started]:
    for program in programs[: _MAX_CARRIED * 20]:
        yield program
        words = _find_carried_words(program)
        if not words:
            continue
        is_text = program.name == "ssh" or (len(words) == 1 and " " in words[0])
        text = " ".join(words) if is_text else " ".join(map(quote_word, words))
        inner = read_command(text, program.folder).programs[:_MAX_CARRIED]
        for one in inner:
            started_by = (*program.started_by, program.name, *one.started_by)
            yield one.replace(input_text=one.input_text or program.input_text, started_by=started_by)


def _find_carried_words(program: Started) -> list[str]:
    rest = list(program.words[1:])
    for marker in _CARRIERS.get(program.name, ()):
        if not marker:
            behind = skip_options(rest, _SSH_VALUES)
            return behind[1:] if program.name == "ssh" else behind
        if marker in rest:
            return skip_options(rest[rest.index(marker) + 1 :], "-a --app -n -s --service")
    return []


def list_operands_of(program: Started) -> list[str]:
    """Return the words of a program that are not options, without its name."""
    return list_operands(program.words[1:])


def find_called_tool(program: Started, known: Collection[str]) -> tuple[str, list[str]]:
    """Return the tool that is called, by an interpreter or as a module of Python if it is not a known one, and its operands."""
    operands = list_operands(program.words[1:])
    if program.name in known or not is_interpreter(program.name):
        return program.name, operands
    rest = list(program.words[1:])
    called = list_operands(rest[rest.index("-m") + 1 :]) if "-m" in rest else operands
    return (called[0].rpartition("/")[2], called[1:]) if called else (program.name, [])


def has_command_words(operands: Sequence[str], words: Sequence[str], places: int = 5) -> bool:
    """Whether the command of a tool is some words; operands before them may be values of options."""
    return not words or any([*operands[at : at + len(words)]] == [*words] for at in range(min(len(operands), places)))


# Options with which a program changes nothing.
_DRY_OPTIONS = (
    *("--help", "-help", "--dry-run", "--dryrun", "--dry_run", "-dry-run", "--check", "--diff"),
    *("--whatif", "--what-if", "--no-execute", "--plan", "--preview", "--simulate", "--pretend", "--noop"),
    *("--generate-cli-skeleton", "-?", "-whatif"),
)
# These have another meaning if something follows.
_LAST_OPTIONS = ("-h", "--version", "help", "-V")


def is_dry_run(program: Started) -> bool:
    """Whether a program only shows its help, or what it would do."""
    rest = program.words[1:]
    if rest[-1:] and (rest[-1] in _LAST_OPTIONS or rest[0] == "help"):
        return True
    return any(
        word in _DRY_OPTIONS
        or (word.startswith(("--dry-run=", "--dryrun=")) and not word.endswith(("=none", "=false")))
        for word in rest
    )
