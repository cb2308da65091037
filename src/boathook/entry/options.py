"""The flags of `run`: one table for the fast path, the full path and the help of the command line."""

from __future__ import annotations

from boathook.sources.source import list_user_folders, list_without_names

NATIVE_HOST = "native"
SWITCH, VALUE, VALUES, FOLDER = "switch", "value", "values", "folder"


class UsageError(Exception):
    """A command line that cannot be understood."""


class Flag:
    """One flag; `is_fast` if an answer without the engine is possible with it."""

    __slots__ = ("attribute", "help", "is_fast", "kind", "metavar", "name")

    def __init__(self, name: str, kind: str, metavar: str, help: str, *, is_fast: bool = False) -> None:  # noqa: A002
        self.name = name
        self.kind = kind
        self.attribute = name[2:].replace("-", "_")
        self.metavar = metavar
        self.help = help
        self.is_fast = is_fast


class Options:
    """What the command line of `run` says; `folders` by option, such as `state`."""

    def __init__(self) -> None:
        self.event: str | None = None
        self.host = NATIVE_HOST
        self.project: str | None = None
        self.without: tuple[str, ...] = ()
        self.folders: dict[str, str] = {}
        self.json = self.debug = self.no_ask = self.trust_all = False
        self.is_fast = True
        # whether hooks.toml says to refuse what the host cannot express
        self.refuses = False


def list_flags() -> list[Flag]:
    """Return all flags of `run`, those of the sources included."""
    return [
        Flag("--host", VALUE, "HOST", "The agent that calls (see boathook hosts). Default: native.", is_fast=True),
        Flag("--event", VALUE, "EVENT", "The same as the argument EVENT.", is_fast=True),
        Flag("--project", VALUE, "DIR", "Start from this folder instead of the current one.", is_fast=True),
        Flag("--json", SWITCH, "", "Print the whole verdict as JSON and exit with 0."),
        Flag("--debug", SWITCH, "", "Print debug output to stderr."),
        Flag("--no-ask", SWITCH, "", "Nobody can answer questions: a hook that asks blocks the tool call."),
        Flag("--without", VALUES, "SOURCE", WITHOUT_HELP.format(", ".join(list_without_names())), is_fast=True),
        *[Flag(f"--{one.option}", FOLDER, "DIR", one.help, is_fast=True) for one in list_user_folders()],
        Flag(
            "--trust-all",
            SWITCH,
            "",
            "Treat every project hook as trusted. Only if you know what the hooks do.",
            is_fast=True,
        ),
    ]


WITHOUT_HELP = "Skip hooks that the agent runs itself: {}. Can be repeated."


def parse_options(args: list[str]) -> Options:
    """Read the arguments of `run`; raise UsageError if they cannot be understood."""
    options = Options()
    flags = {flag.name: flag for flag in list_flags()}
    rest = list(args)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        flag = flags.get(name)
        if flag is None or (flag.kind == SWITCH and equals):
            if word.startswith("-") or options.event is not None:
                raise UsageError(f"unexpected argument '{word}' (see boathook run --help)")
            options.event = word
            continue
        if flag.kind != SWITCH and not equals:
            if not rest:
                raise UsageError(f"{name} needs a value")
            value = rest.pop(0)
        options.is_fast = options.is_fast and flag.is_fast
        _set_option(options, flag, value)
    return options


def _set_option(options: Options, flag: Flag, value: str) -> None:
    if flag.kind == FOLDER:
        options.folders[flag.attribute] = value
    elif flag.kind == SWITCH:
        setattr(options, flag.attribute, True)
    elif flag.kind == VALUE:
        setattr(options, flag.attribute, value)
    elif value in list_without_names():
        options.without += (value,)
    elif value:
        raise UsageError(f"unknown source '{value}' (known: {', '.join(list_without_names())})")
