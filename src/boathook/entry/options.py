"""The flags of `run`: one table for the fast path, the full path and the help of the command line."""

from boathook.sources.source import SOURCES
from boathook.system.locations import list_user_folders, list_without_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    Flag = tuple[str, str, bool, str, str]

SWITCH, VALUE, SOURCE, FOLDER = "switch", "value", "source", "folder"
# Each row: the flag, what it takes, whether the fast path may answer with it, what help calls its value, and the help.
# Plain tuples, because every start of `run` makes them. The folders of the user are flags, too: see `list_flags`.
FLAGS: "tuple[Flag, ...]" = (
    ("--host", VALUE, True, "HOST", "The agent that calls (see boathook hosts). Default: native."),
    ("--event", VALUE, True, "EVENT", "The same as the argument EVENT."),
    ("--project", VALUE, True, "DIR", "Start from this folder instead of the current one."),
    ("--json", SWITCH, False, "", "Print the whole verdict as JSON and exit with 0."),
    ("--debug", SWITCH, False, "", "Print debug output to stderr."),
    ("--no-ask", SWITCH, False, "", "Do not ask a person: a hook that asks blocks the tool call instead."),
    ("--without", SOURCE, True, "SOURCE", "Skip hooks that the agent runs itself: {sources}. Can be repeated."),
    ("--repair", VALUE, True, "TEXT", "What the message says to do if boathook cannot start."),
    (
        "--broken",
        VALUE,
        True,
        "ANSWER",
        "The answer if boathook cannot start: an exit code, or JSON with REASON in it.",
    ),
    (
        "--engine",
        VALUE,
        True,
        "NAME",
        "`warm` asks the warm engine first, see boathook warm; it is in installed commands.",
    ),
    ("--trust-all", SWITCH, True, "", "Treat every project hook as trusted. Only if you know what the hooks do."),
)


class Options:
    def __init__(self) -> None:
        self.event: str | None = None
        self.host = "native"
        self.project: str | None = None
        # Only `hook_entry` uses them, which reads them itself.
        self.repair = self.broken = self.engine = ""
        self.without: tuple[str, ...] = ()
        self.folders: dict[str, str] = {}
        self.json = self.debug = self.no_ask = self.trust_all = False
        self.is_fast = True


def list_flags() -> "tuple[Flag, ...]":
    return (
        *FLAGS,
        *[("--" + folder.option, FOLDER, True, "DIR", folder.help) for folder in list_user_folders(SOURCES)],
    )


def parse_options(args: "list[str]") -> "Options":
    options = Options()
    flags = {flag[0]: flag for flag in list_flags()}
    rest = list(args)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        _, kind, is_fast, _, _ = flags.get(name, (name, "", True, "", ""))
        if not kind or (kind == SWITCH and equals):
            if word.startswith("-") or options.event is not None:
                raise _make_error(f"unexpected argument '{word}' (see boathook run --help)")
            options.event = word
            continue
        if kind != SWITCH and not equals:
            if not rest:
                raise _make_error(f"{name} needs a value")
            value = rest.pop(0)
        options.is_fast = options.is_fast and is_fast
        _set_option(options, kind, name[2:], value)
    return options


def _set_option(options: "Options", kind: str, name: str, value: str) -> None:
    if kind == FOLDER:
        options.folders[name] = value
    elif kind != SOURCE:
        setattr(options, name.replace("-", "_"), value if kind == VALUE else True)
    elif value:
        known = list_without_names(SOURCES)
        if value not in known:
            raise _make_error(f"unknown source '{value}' (known: {', '.join(known)})")
        options.without += (value,)


def _make_error(message: str) -> "Exception":
    from boathook.errors import UsageError

    return UsageError(message)
