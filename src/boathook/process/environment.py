"""What a hook must not find in its environment: variables that load code of the project, and secrets."""

# A hook is trusted by its bytes, and some hosts load a project's `.env`: through BASH_ENV or LD_PRELOAD an unreviewed file of
# the project would run inside it. Values that point elsewhere stay, because people rely on them.

from __future__ import annotations

from boathook.core.hook import USER, Http, Prompt
from boathook.system.programs import CODE_VARIABLE_PREFIXES, CODE_VARIABLES, find_project_tops, points_into

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from boathook.core.hook import Hook

# a shell expands these: they may hold commands
_EXPANDED = frozenset(b"BASH_ENV ENV".split())
_GIT_PAIRS, _GIT_COUNT = (b"GIT_CONFIG_KEY_", b"GIT_CONFIG_VALUE_"), b"GIT_CONFIG_COUNT"
# options that load what follows them
_LOADING_OPTIONS = frozenset(b"-r --require --import --loader --experimental-loader -I".split())
_LOADING_PREFIXES = (b"-I", b"-Mlib=", b"-mlib=", b"-javaagent:", b"-agentpath:", b"-Xbootclasspath/a:", b"@")
# every path in a value is looked up
_MAX_VALUE_BYTES = 1 << 14
_SEPARATORS = b" \t\n=:,;@|&<>()\"'`"
_SPLIT_TABLE = bytes.maketrans(_SEPARATORS, b"\0" * len(_SEPARATORS))

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
    named = {*hook.env, *hook.needs.env}
    secrets = (_decode(name) for name in env if is_secret_variable(name))
    return tuple(sorted(name for name in secrets if name not in named))


# Code of the project


def remove_project_code(env: dict[bytes, bytes], projects: Iterable[str], *, is_user_hook: bool) -> tuple[str, ...]:
    """Remove from an environment what would load code of a project; return notes about it. User hooks keep their functions."""
    tops, home = find_project_tops(projects), env.get(b"HOME", b"")
    prefixes = tuple(CODE_VARIABLE_PREFIXES)
    notes = []
    for name in sorted(name for name in env if name in CODE_VARIABLES or name.startswith(prefixes)):
        value = env[name]
        allowed, note = _filter_value(name, value, tops, home, is_user_hook=is_user_hook)
        if allowed == value:
            continue
        env.pop(name)
        if allowed:
            env[name] = allowed
        if name.startswith(_GIT_PAIRS):
            # half of a pair would make git fail
            env[_GIT_COUNT] = b"0"
        if note:
            notes.append(f"the variable {name.decode('utf-8', 'replace')} {note}")
    return tuple(notes)


def _filter_value(
    name: bytes, value: bytes, tops: tuple[str, ...], home: bytes, *, is_user_hook: bool
) -> tuple[bytes, str]:
    prefix = next((prefix for prefix in CODE_VARIABLE_PREFIXES if name.startswith(prefix)), b"")
    kind = CODE_VARIABLES.get(name) or CODE_VARIABLE_PREFIXES[prefix]
    if len(value) > _MAX_VALUE_BYTES and kind != "code":
        return b"", "is too long to be checked and was removed"
    if kind in ("folders", "libraries"):
        return _filter_list(value, tops, is_library=kind == "libraries")
    if kind == "switches":
        # with noexec, for example, a guard would read itself and do nothing
        return b"", "changes what a script does and was removed" if value else ""
    if kind == "files":
        points_into_project = _is_file_inside(_expand_home(value, home) if name in _EXPANDED else value, tops)
    else:
        # What is plainly relative may be in the project, too.
        is_named = _mentions(value, tops) or any(word.startswith((b"./", b"../")) for word in _split_words(value))
        points_into_project = is_named or (kind == "options" and _loads_project_file(value, tops))
    if points_into_project:
        return b"", "points into the project and was removed"
    return (b"" if kind == "code" and not is_user_hook else value), ""


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
    return _mentions(value, tops) or any(points_into(_decode(entry), tops) for entry in value.split(b":"))


def _expand_home(value: bytes, home: bytes) -> bytes:
    """Expand the home folder in a file name; anything else that a shell would expand makes it unknown."""
    for start in (b"$HOME/", b"${HOME}/"):
        if value.startswith(start):
            value = home + b"/" + value[len(start) :]
    return b"?" if b"$" in value or b"`" in value else value


def _split_words(value: bytes) -> list[bytes]:
    return value.translate(_SPLIT_TABLE).split(b"\0")


def _loads_project_file(value: bytes, tops: tuple[str, ...]) -> bool:
    """Whether options load a file in a project by an indirect path, or one that is searched for where a hook runs."""
    if any(word.startswith(b"/") and points_into(_decode(word), tops) for word in _split_words(value)):
        return True
    words = value.replace(b"=", b" ").split()
    loaded = [words[at + 1] for at, word in enumerate(words[:-1]) if word in _LOADING_OPTIONS]
    with_prefix = [(word, start) for word in value.split() for start in _LOADING_PREFIXES if word.startswith(start)]
    loaded += [word.removeprefix(start) for word, start in with_prefix]
    # any other -rNAME is for Ruby to find
    loaded += [word[2:] for word in value.split() if word.startswith((b"-r/", b"-r."))]
    return any(points_into(_decode(path.removeprefix(b"file://")), tops) for path in loaded if path)


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
