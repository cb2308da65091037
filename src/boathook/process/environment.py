"""Variables that make a program run or load more code than its own: what leads into the project reaches no hook.

A hook is known by its bytes, and some hosts load a project's `.env`: through BASH_ENV or LD_PRELOAD a file of the project that
nobody has seen would run within a trusted hook, or within one of the user's. What leads elsewhere stays: people rely on it.
"""

from __future__ import annotations

from boathook.system.programs import leads_into, tops_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FILES = frozenset(
    b"BASH_ENV ENV ZDOTDIR PYTHONSTARTUP PYTHONHOME PYTHONUSERBASE GIT_EXEC_PATH GIT_TEMPLATE_DIR".split()
)
GIT_FILES = frozenset(b"GIT_CONFIG GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM".split())
FOLDERS = frozenset(b"PYTHONPATH NODE_PATH PERL5LIB PERLLIB RUBYLIB LD_LIBRARY_PATH".split())
LIBRARIES = frozenset(b"LD_PRELOAD LD_AUDIT".split())  # a name without a slash is one of the system's
OPTIONS = frozenset(
    b"NODE_OPTIONS PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS PYTHONBREAKPOINT".split()
)
CODE = frozenset(b"PROMPT_COMMAND PS4 PERL5DB".split())
SWITCHES = frozenset(b"SHELLOPTS BASHOPTS PYTHONINSPECT".split())  # by these a guard reads itself and does nothing
EXPANDED = frozenset(b"BASH_ENV ENV".split())  # a shell works these out: they may hold commands
FUNCTION, GIT_CONFIG, DYLD = b"BASH_FUNC_", b"GIT_CONFIG_", b"DYLD_"
GIT_PAIRS, GIT_COUNT = (b"GIT_CONFIG_KEY_", b"GIT_CONFIG_VALUE_"), b"GIT_CONFIG_COUNT"
NAMES = FILES | GIT_FILES | FOLDERS | LIBRARIES | OPTIONS | CODE | SWITCHES
LOADERS = frozenset(b"-r --require --import --loader --experimental-loader -I".split())  # what follows is loaded
GLUED = (b"-I", b"-Mlib=", b"-mlib=", b"-javaagent:", b"-agentpath:", b"-Xbootclasspath/a:", b"@")
LONGEST = 1 << 14  # every path in it is looked up
BETWEEN = b" \t\n=:,;@|&<>()\"'`"
APART = bytes.maketrans(BETWEEN, b"\0" * len(BETWEEN))


def leave_out(env: dict[bytes, bytes], projects: Iterable[str], *, own: bool) -> tuple[str, ...]:
    """Take from an environment what leads into a project; say what. `own` is a hook of the user's, which keeps its functions."""
    tops, home = tops_of(projects), env.get(b"HOME", b"")
    notes = []
    for name in sorted(name for name in env if name in NAMES or name.startswith((FUNCTION, GIT_CONFIG, DYLD))):
        value = env[name]
        kept, told = _kept(name, value, tops, home, own=own)
        if kept == value:
            continue
        env.pop(name)
        if kept:
            env[name] = kept
        if name.startswith(GIT_PAIRS):
            env[GIT_COUNT] = b"0"  # half of a pair would make git fail
        if told:
            notes.append(f"the variable {name.decode('utf-8', 'replace')} {told}")
    return tuple(notes)


def _kept(name: bytes, value: bytes, tops: tuple[str, ...], home: bytes, *, own: bool) -> tuple[bytes, str]:
    """Return what a hook gets of a variable, and what is said of the rest."""
    code = name in CODE or name.startswith(FUNCTION)
    if len(value) > LONGEST and not code:
        return b"", "is too long to be looked through and was left out"
    if name in FOLDERS or name in LIBRARIES or name.startswith(DYLD):
        return _entries(value, tops, bare=name in LIBRARIES)
    if name in SWITCHES:
        return b"", "changes what a script does and was left out" if value else ""
    if name in FILES or name in GIT_FILES:
        leads = _file_leads(_expanded(value, home) if name in EXPANDED else value, tops)
    else:
        leads = _text_leads(value, tops) or (not code and _options_lead(value, tops))
    if leads:
        return b"", "led into the project and was left out"
    return (b"" if code and not own else value), ""


def _entries(value: bytes, tops: tuple[str, ...], *, bare: bool) -> tuple[bytes, str]:
    """Leave out those of a list that lead into a project; an empty one means the present folder, and nobody means that."""
    parts = (
        (value.replace(b" ", b":") if bare else value).replace(b";", b":").split(b":")
    )  # so does the system's loader
    good = [part for part in parts if part and ((bare and b"/" not in part) or not leads_into(_text(part), tops))]
    if not value or len(good) == len(parts):
        return value, ""
    told = "led into the project, and that part of it was left out" if len(good) < len([*filter(None, parts)]) else ""
    return b":".join(good), told


def _file_leads(value: bytes, tops: tuple[str, ...]) -> bool:
    return bool(value) and (_mentions(value, tops) or any(leads_into(_text(part), tops) for part in value.split(b":")))


def _expanded(value: bytes, home: bytes) -> bytes:
    """Put the home folder into a file name; with anything else that a shell works out it is none that we know."""
    for start in (b"$HOME/", b"${HOME}/"):
        if value.startswith(start):
            value = home + b"/" + value[len(start) :]
    return b"?" if b"$" in value or b"`" in value else value


def _text_leads(value: bytes, tops: tuple[str, ...]) -> bool:
    """Whether options or code name something of a project, or something that is plainly relative."""
    return _mentions(value, tops) or any(piece.startswith((b"./", b"../")) for piece in _pieces(value))


def _pieces(value: bytes) -> list[bytes]:
    return value.translate(APART).split(b"\0")


def _options_lead(value: bytes, tops: tuple[str, ...]) -> bool:
    """Whether options load something of a project by a crooked path, or something that is looked for where a hook runs."""
    if any(piece.startswith(b"/") and leads_into(_text(piece), tops) for piece in _pieces(value)):
        return True
    words = value.replace(b"=", b" ").split()
    loaded = [words[at + 1] for at, word in enumerate(words[:-1]) if word in LOADERS]
    loaded += [word.removeprefix(start) for word in value.split() for start in GLUED if word.startswith(start)]
    loaded += [word[2:] for word in value.split() if word.startswith((b"-r/", b"-r."))]  # another one is Ruby's to find
    return any(leads_into(_text(path.removeprefix(b"file://")), tops) for path in loaded if path)


def _mentions(value: bytes, tops: tuple[str, ...]) -> bool:
    """Whether the path of a project stands in a text, as a whole."""
    return any(_stands_in(top.encode("utf-8", "surrogateescape"), value) for top in tops)


def _stands_in(top: bytes, value: bytes) -> bool:
    at = value.find(top)
    while at >= 0:
        before, after = value[at - 1 : at] if at else b"", value[at + len(top) :][:1]
        if not _is_of_name(before) and not _is_of_name(after):
            return True
        at = value.find(top, at + 1)
    return False


def _is_of_name(char: bytes) -> bool:
    return char.isalnum() or (char != b"" and (char in b"._-~" or char >= b"\x80"))


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
