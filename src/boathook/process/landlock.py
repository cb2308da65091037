"""Landlock (Linux): a process gives up rights for itself and for everything it starts, without being root."""

# Also the program that confines a hook: `landlock.py [--network] [--plain-locale] FOLDER… -- PROGRAM ARGUMENT…` may from then
# on write below the folders only, has no TCP without `--network`, cannot signal other processes, and becomes the program. It
# imports nothing of boathook, because it starts with every confined hook.

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os as system
else:
    try:
        # loaded in every interpreter, unlike `os`
        import posix as system
    except ImportError:
        import os as system

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_SET_NO_NEW_PRIVS = 38
_ASK_VERSION, _BENEATH = 1, 1
EXIT_NOT_CONFINED, EXIT_NOT_STARTED = 125, 126
ERROR_PREFIX = "boathook: the sandbox: "

_WRITE_FILE, _REFER, _TRUNCATE, _IOCTL_DEV = 1 << 1, 1 << 13, 1 << 14, 1 << 15
# folders, files, sockets, pipes, links, devices
_REMOVE_AND_MAKE = 0b1_1111_1111 << 4
_FILE_RIGHTS = _WRITE_FILE | _TRUNCATE | _IOCTL_DEV
# bind and connect
_TCP = 1 << 0 | 1 << 1
# abstract sockets and signals
_SCOPES = 1 << 0 | 1 << 1
_SINCE = {_REFER: 2, _TRUNCATE: 3, _IOCTL_DEV: 5}
_FILES_SINCE, _TCP_SINCE, SCOPES_SINCE = _SINCE[_TRUNCATE], 4, 6
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts")


def find_version() -> int:
    """Return the version of Landlock in this kernel; 0 if it has none or it is turned off."""
    if sys.platform != "linux":
        return 0
    try:
        return max(_call("syscall", _CREATE_RULESET, None, 0, _ASK_VERSION), 0)
    except Exception:  # noqa: BLE001  (this interpreter cannot make the call: as if there were no Landlock)
        return 0


def find_limitation(version: int, *, network: bool) -> str:
    if not version:
        return "this system has no Landlock"
    if version < _FILES_SINCE:
        return f"Landlock version {version} cannot forbid truncating files ({_FILES_SINCE} is needed: Linux 6.2)"
    if version < _TCP_SINCE and not network:
        return f"Landlock version {version} cannot forbid TCP ({_TCP_SINCE} is needed: Linux 6.7)"
    return ""


def confine(folders: list[str], *, network: bool) -> str:
    """Give up all rights to write except below some folders; return an error message, or an empty text."""
    version = find_version()
    if limitation := find_limitation(version, network=network):
        return limitation
    handled = _WRITE_FILE | _REMOVE_AND_MAKE | sum(right for right, since in _SINCE.items() if version >= since)
    parts = [handled]
    if version >= _TCP_SINCE:
        parts.append(0 if network else _TCP)
    if version >= SCOPES_SINCE:
        parts.append(_SCOPES)
    rules = _call("syscall", _CREATE_RULESET, b"".join(map(_u64, parts)), 8 * len(parts), 0)
    if rules < 0:
        return "Landlock refuses the rules"
    for path in (*folders, *_DEVICES):
        if not _allow(rules, path, handled) and path in folders:
            return f"Landlock refuses a rule for {path}"
    if _call("prctl", _SET_NO_NEW_PRIVS, 1, 0, 0, 0) or _call("syscall", _RESTRICT_SELF, rules, 0):
        return "Landlock cannot be put in force"
    return ""


def _allow(rules: int, path: str, handled: int) -> bool:
    try:
        handle = system.open(path, system.O_PATH | system.O_CLOEXEC)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False
    is_folder = system.fstat(handle).st_mode & 0o170000 == 0o040000
    rule = _u64(handled if is_folder else handled & _FILE_RIGHTS) + handle.to_bytes(4, sys.byteorder)
    is_added = _call("syscall", _ADD_RULE, rules, _BENEATH, rule, 0) == 0
    system.close(handle)
    return is_added


def _u64(number: int) -> bytes:
    return number.to_bytes(8, sys.byteorder)


def _call(name: str, *args: int | bytes | None) -> int:
    """Call a function of the C library through the bare interface: `import ctypes` costs half an interpreter start."""
    import _ctypes

    function = _ctypes.dlsym(_ctypes.dlopen(None, 0), name)  # type: ignore[arg-type]
    result: int = _ctypes.call_function(function, args)
    return result


def run_confined(args: list[str]) -> None:
    at = args.index("--")
    options = [word for word in args[:at] if word.startswith("--")]
    error_text = confine([word for word in args[:at] if word not in options], network="--network" in options)
    if error_text:
        _fail(EXIT_NOT_CONFINED, error_text)
    # the interpreter has set this for itself at its start
    if "--plain-locale" in options:
        system.environ.pop(b"LC_CTYPE", None)  # type: ignore[call-overload]
    import _signal  # pyright: ignore[reportMissingImports]

    # Python ignores these, and the program would inherit that.
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)
    argv = args[at + 1 :]
    try:
        system.execve(argv[0], argv, system.environ)
    except (OSError, ValueError) as error:
        _fail(EXIT_NOT_STARTED, f"{argv[0]} cannot be started: {getattr(error, 'strerror', None) or error}")


def _fail(code: int, message: str) -> None:
    system.write(2, f"{ERROR_PREFIX}{message}\n".encode("utf-8", "backslashreplace"))
    system._exit(code)


if __name__ == "__main__":
    run_confined(sys.argv[1:])
