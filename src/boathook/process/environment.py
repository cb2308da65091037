"""What a hook must not find in its environment: variables that lead into the project, and secrets."""

# A hook is trusted by its bytes, and some hosts load a project's `.env`: through BASH_ENV or OPENSSL_CONF an unreviewed file of
# the project would run inside it. Nobody knows all such variables, so every one that leads into the project is removed, except
# those that are known to be harmless or that the hook names. Values that point elsewhere stay, because people rely on them.

from __future__ import annotations

from boathook.core.hook import USER, Http, Prompt
from boathook.system.locations import account_home
from boathook.system.programs import (
    CODE_VARIABLE_PREFIXES,
    CODE_VARIABLES,
    MAX_VALUE_BYTES,
    collapse_slashes,
    find_variable_kind,
    points_into,
    split_words,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from boathook.core.hook import Hook

# a shell expands these: they may hold commands
_EXPANDED = frozenset(b"BASH_ENV ENV".split())
_HOME = b"HOME"
# options that load what follows them
_LOADING_OPTIONS = frozenset(b"-r --require --import --loader --experimental-loader -I".split())
_LOADING_PREFIXES = (b"-I", b"-Mlib=", b"-mlib=", b"-javaagent:", b"-agentpath:", b"-Xbootclasspath/a:", b"@")
_HIDDEN_STARTS = (b"./", b"../", b"/proc/", b"/dev/fd/")
_DEVICES = frozenset(b"/dev/null /dev/zero /dev/tty /dev/stdin /dev/stdout /dev/stderr".split())
# Perl runs what follows the name of a module as code.
_PERL_OPTIONS = b"PERL5OPT"
_PERL_STARTS = (b"-M", b"-m", b"-I")
_PERL_SWITCHES = frozenset(b"-w -W -T -t".split())
_PERL_CHARS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:=,./-")

_NAME_TABLE = bytes.maketrans(b",;", b"  ")
_REMOVED = "points into the project and was removed"
_UNNAMED = (
    "1 variable that points into the project was removed; name it in `env` to keep it",
    "{:,} variables that point into the project were removed; name them in `env` to keep them",
)
_HOME_NOTE = "points into the project and was replaced by the home folder of the account"

_SECRET_WORDS = frozenset(
    b"TOKEN KEY KEYS SECRET SECRETS PASSWORD PASSWORDS PASSWD PASSPHRASE PASSCODE CREDENTIAL CREDENTIALS CREDS"
    b" PRIVATE JWT BEARER COOKIE DSN".split()
)
# secret at the end of a name, after other words
_SECRET_LAST_WORDS = frozenset(b"PAT PASS PWD AUTH".split())
_SECRET_ENDINGS = (b"TOKEN", b"SECRET", b"PASSWORD", b"PASSWD", b"APIKEY", b"ACCESSKEY", b"SECRETKEY", b"PRIVATEKEY")
_SECRET_NAMES = frozenset((b"SSHPASS", b"DATABASE_URL", b"DOCKER_AUTH_CONFIG"))
_PLAIN_NAMES = frozenset((b"SSH_AUTH_SOCK", b"OLD_PWD"))
_PLAIN_PREFIXES = (b"XDG_", b"BOATHOOK_")


# Secrets


def is_secret_variable(name: bytes) -> bool:
    plain = name.upper().replace(b"-", b"_")
    if plain in _PLAIN_NAMES or plain.startswith(_PLAIN_PREFIXES):
        return False
    first, *words = plain.split(b"_")
    if plain in _SECRET_NAMES or first in _SECRET_WORDS or first.endswith(_SECRET_ENDINGS):
        return True
    if not words:
        return False
    is_secret = any(word in _SECRET_WORDS or word.endswith(_SECRET_ENDINGS) for word in words)
    return is_secret or words[-1] in _SECRET_LAST_WORDS


def find_secret_variables(hook: Hook, env: Mapping[bytes, bytes]) -> tuple[str, ...]:
    """Return the variables that a hook does not get: of a project's hook the secrets that it does not name."""
    # User hooks get all, and so does our own process that asks for prompt and http hooks.
    if hook.scope == USER or isinstance(hook.handler, Prompt | Http):
        return ()
    if len(_secret_verdicts) > _MAX_SECRET_VERDICTS:
        _secret_verdicts.clear()
    secrets = [_decode(name) for name in env if _is_secret(name)]
    return tuple(sorted(set(secrets) - list_named_variables(hook))) if secrets else ()


# The names of an environment are the same at every event.
_secret_verdicts: dict[bytes, bool] = {}
_MAX_SECRET_VERDICTS = 4096


def _is_secret(name: bytes) -> bool:
    verdict = _secret_verdicts.get(name)
    if verdict is None:
        verdict = _secret_verdicts[name] = is_secret_variable(name)
    return verdict


def list_named_variables(hook: Hook) -> frozenset[str]:
    return frozenset((*hook.env, *hook.needs.env))


# Code of the project


def remove_project_code(
    env: dict[bytes, bytes],
    doubtful: Iterable[bytes],
    tops: tuple[str, ...],
    *,
    is_user_hook: bool,
    named: Collection[str] = (),
) -> tuple[str, ...]:
    """Remove from an environment what leads into the projects `tops`; return notes about it. User hooks keep their functions."""
    # Of the variables that are known to run code, no hook gets one that leads into the project, even if it names it.
    notes, unnamed, home = [], 0, env.get(_HOME, b"")
    for name in sorted(doubtful):
        value, kind, is_named = env[name], find_variable_kind(name), _decode(name) in named
        if kind:
            allowed, note = _filter_code(name, value, tops, home, is_user_hook=is_user_hook, is_named=is_named)
        elif is_named:
            continue
        else:
            allowed, note = _filter_plain(value, tops)
        if allowed == value:
            continue
        del env[name]
        if name == _HOME:
            allowed, note = account_home().encode("utf-8", "surrogateescape"), _HOME_NOTE
        if allowed:
            env[name] = allowed
        if note and kind:
            notes.append(f"the variable {_find_known_name(name)} {note}")
        unnamed += bool(note and not kind)
    if unnamed:
        notes.append(_UNNAMED[0] if unnamed == 1 else _UNNAMED[1].format(unnamed))
    return tuple(dict.fromkeys(notes))


def _find_known_name(name: bytes) -> str:
    """Return the name of a variable that runs code, as our tables have it: a project chooses the rest, and a model may read it."""
    upper = name.upper()
    known = upper if upper in CODE_VARIABLES else next(filter(upper.startswith, CODE_VARIABLE_PREFIXES), b"") + b"*"
    return known.decode()


def _filter_plain(value: bytes, tops: tuple[str, ...]) -> tuple[bytes, str]:
    """Filter a value that nothing is known about: a path, a list of paths, or a text with paths in it."""
    elements = [element for element in value.split(b":") if element]
    if len(elements) > 1 and all(element.startswith((b"/", b".")) for element in elements):
        return _filter_list(value, tops, is_library=False)
    return (b"", _REMOVED) if value in (b".", b"..") or _has_path_inside(value, tops) else (value, "")


def _has_path_inside(value: bytes, tops: tuple[str, ...]) -> bool:
    """Whether a text has a path in it that leads into a project. What is plainly relative may do so, too."""
    for reading in _list_readings(value):
        # A long text is only searched for the project, because each path in it would be looked up.
        words = {reading, *split_words(reading)} if len(reading) <= MAX_VALUE_BYTES else ()
        if _mentions(reading, tops) or any(_is_word_inside(word, tops) for word in words):
            return True
    return False


def _list_readings(value: bytes) -> set[bytes]:
    """Return a text as programs may read the paths in it: without quotes, and with `file:` URLs decoded."""
    # The host of any other URL counts as the first folder of a path: programs that read a list of paths do that, too.
    readings = {value, value.translate(None, b"\"'\\")}
    if b"file:" in value.lower():
        import re

        # as the parsers of URLs do it, in which a backslash is a slash and line ends are nothing
        url = value.translate(None, b"\t\r\n").replace(b"\\", b"/")
        url = re.sub(rb"%([0-9a-fA-F]{2})", lambda match: bytes.fromhex(match[1].decode()), url)
        readings.add(re.sub(rb"(?i)file:/*(localhost)?/", b"file:/", url))
    return set(map(collapse_slashes, readings))


def _is_word_inside(word: bytes, tops: tuple[str, ...]) -> bool:
    if word.startswith(_HIDDEN_STARTS):
        return True
    return word.startswith(b"/") and word not in _DEVICES and points_into(_decode(word), tops)


def _filter_code(
    name: bytes, value: bytes, tops: tuple[str, ...], home: bytes, *, is_user_hook: bool, is_named: bool
) -> tuple[bytes, str]:
    kind = find_variable_kind(name)
    if len(value) > MAX_VALUE_BYTES and kind != "code":
        return b"", "is too long to be checked and was removed"
    if kind in ("folders", "libraries"):
        return _filter_list(value, tops, is_library=kind == "libraries")
    if kind == "switches":
        # with noexec, for example, a guard would read itself and do nothing
        return b"", "changes what a script does and was removed" if value else ""
    if kind == "files":
        points_into_project = _is_file_inside(_expand_home(value, home) if name in _EXPANDED else value, tops)
    elif kind == "names":
        points_into_project = any(points_into(_decode(word), tops) for word in value.translate(_NAME_TABLE).split())
    else:
        points_into_project = _has_path_inside(value, tops) or (kind == "options" and _loads_project_file(value, tops))
    if points_into_project:
        return b"", _REMOVED
    # They hold commands that any file of variables can write out. People have them for their own shell, so that nothing is
    # reported at every event.
    has_commands = kind == "commands" or (name == _PERL_OPTIONS and not _names_modules_only(value))
    is_dropped = (has_commands and not is_named) or (kind == "code" and not is_user_hook)
    return (b"" if is_dropped else value), ""


def _names_modules_only(value: bytes) -> bool:
    return all(
        word in _PERL_SWITCHES or (word.startswith(_PERL_STARTS) and _PERL_CHARS.issuperset(word))
        for word in value.split()
    )


def _filter_list(value: bytes, tops: tuple[str, ...], *, is_library: bool) -> tuple[bytes, str]:
    # the system's loader splits at these, too
    entries = (value.replace(b" ", b":") if is_library else value).replace(b";", b":").split(b":")
    # a library without a slash is one of the system's
    allowed = [
        entry
        for entry in entries
        if entry and ((is_library and b"/" not in entry) or not points_into(_decode(entry), tops))
    ]
    if not value or len(allowed) == len(entries):
        return value, ""
    is_shorter = len(allowed) < len([*filter(None, entries)])
    return b":".join(allowed), "points into the project, and that part of it was removed" if is_shorter else ""


def _is_file_inside(value: bytes, tops: tuple[str, ...]) -> bool:
    if not value:
        return False
    value = collapse_slashes(value)
    return _mentions(value, tops) or any(points_into(_decode(entry), tops) for entry in value.split(b":"))


def _expand_home(value: bytes, home: bytes) -> bytes:
    """Expand the home folder in a file name; anything else that a shell would expand makes it unknown."""
    for start in (b"$HOME/", b"${HOME}/"):
        if value.startswith(start):
            value = home + b"/" + value[len(start) :]
    return b"?" if b"$" in value or b"`" in value else value


def _loads_project_file(value: bytes, tops: tuple[str, ...]) -> bool:
    """Whether options load a file that is searched for where a hook runs."""
    words = value.replace(b"=", b" ").split()
    loaded = [words[at + 1] for at, word in enumerate(words[:-1]) if word in _LOADING_OPTIONS]
    with_prefix = [(word, start) for word in value.split() for start in _LOADING_PREFIXES if word.startswith(start)]
    loaded += [word.removeprefix(start) for word, start in with_prefix]
    # any other -rNAME is for Ruby to find
    loaded += [word[2:] for word in value.split() if word.startswith((b"-r/", b"-r."))]
    return any(points_into(_decode(path.removeprefix(b"file:")), tops) for path in loaded if path)


def _mentions(value: bytes, tops: tuple[str, ...]) -> bool:
    return any(_contains_path(value, top.encode("utf-8", "surrogateescape")) for top in tops)


def _contains_path(value: bytes, path: bytes) -> bool:
    at = value.find(path)
    while at >= 0:
        before, after = value[at - 1 : at] if at else b"", value[at + len(path) :][:1]
        if not _is_name_char(before) and not _is_name_char(after):
            return True
        at = value.find(path, at + 1)
    return False


def _is_name_char(char: bytes) -> bool:
    return char.isalnum() or (char != b"" and (char in b"._-~" or char >= b"\x80"))


def _decode(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
