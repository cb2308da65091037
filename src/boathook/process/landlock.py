"""Landlock (Linux): a process gives up rights for itself and for all that it starts, and nobody has to be root for that.

Also the program that confines a hook: `landlock.py [--network] [--plain-locale] FOLDER… -- PROGRAM ARGUMENT…` may from then on
write below the folders only, has no TCP unless told so, cannot signal what is not its own, and becomes the program. It knows
nothing of boathook, for it starts with every confined hook.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os as system
else:
    try:
        import posix as system  # half of what `os` is, and there already
    except ImportError:  # not a POSIX system
        import os as system

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
SET_NO_NEW_PRIVS = 38
ASK_VERSION, BENEATH = 1, 1
NO_RIGHTS, CANNOT_START = 125, 126
SAYS = "boathook: the sandbox: "

WRITE_FILE, REFER, TRUNCATE, IOCTL_DEV = 1 << 1, 1 << 13, 1 << 14, 1 << 15
REMOVE_AND_MAKE = 0b1_1111_1111 << 4  # folders, files, sockets, pipes, links, devices
OF_FILES = WRITE_FILE | TRUNCATE | IOCTL_DEV
TCP = 1 << 0 | 1 << 1  # bind and connect
SCOPES = 1 << 0 | 1 << 1  # abstract sockets and signals
SINCE = {REFER: 2, TRUNCATE: 3, IOCTL_DEV: 5}
FILES_SINCE, TCP_SINCE, SCOPES_SINCE = SINCE[TRUNCATE], 4, 6
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts")


def version() -> int:
    """Return the version of Landlock that this kernel has; 0 if it has none or it is switched off."""
    if sys.platform != "linux":
        return 0
    try:
        return max(_call("syscall", CREATE_RULESET, None, 0, ASK_VERSION), 0)
    except Exception:  # noqa: BLE001  (no such call in this interpreter: then it is as if there were none)
        return 0


def lacks(found: int, *, network: bool) -> str:
    """Return why a version cannot confine a hook, if so."""
    if not found:
        return "this system has no Landlock"
    if found < FILES_SINCE:
        return f"Landlock of version {found} lets files be cut off anywhere ({FILES_SINCE} is needed: Linux 6.2)"
    if found < TCP_SINCE and not network:
        return f"Landlock of version {found} cannot forbid TCP ({TCP_SINCE} is needed: Linux 6.7)"
    return ""


def confine(folders: list[str], *, network: bool) -> str:
    """Return up every right but to write below some folders, for good; say what went wrong, if anything."""
    found = version()
    if why := lacks(found, network=network):
        return why
    handled = WRITE_FILE | REMOVE_AND_MAKE | sum(right for right, since in SINCE.items() if found >= since)
    parts = [handled]
    if found >= TCP_SINCE:
        parts.append(0 if network else TCP)
    if found >= SCOPES_SINCE:
        parts.append(SCOPES)
    rules = _call("syscall", CREATE_RULESET, b"".join(map(_u64, parts)), 8 * len(parts), 0)
    if rules < 0:
        return "Landlock refuses the rules"
    for path in (*folders, *DEVICES):
        if not _allow(rules, path, handled) and path in folders:
            return f"Landlock refuses a rule for {path}"
    if _call("prctl", SET_NO_NEW_PRIVS, 1, 0, 0, 0) or _call("syscall", RESTRICT_SELF, rules, 0):
        return "Landlock cannot be put in force"
    return ""


def _allow(rules: int, path: str, handled: int) -> bool:
    """Allow to write at a path and below it; say whether that was possible."""
    try:
        handle = system.open(path, system.O_PATH | system.O_CLOEXEC)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False
    is_folder = system.fstat(handle).st_mode & 0o170000 == 0o040000
    rule = _u64(handled if is_folder else handled & OF_FILES) + handle.to_bytes(4, sys.byteorder)
    done = _call("syscall", ADD_RULE, rules, BENEATH, rule, 0) == 0
    system.close(handle)
    return done


def _u64(number: int) -> bytes:
    return number.to_bytes(8, sys.byteorder)


def _call(name: str, *args: int | bytes | None) -> int:
    """Call a function of the C library through the bare interface: `import ctypes` costs half an interpreter start."""
    import _ctypes

    function = _ctypes.dlsym(_ctypes.dlopen(None, 0), name)  # type: ignore[arg-type]
    result: int = _ctypes.call_function(function, args)
    return result


def main(args: list[str]) -> None:
    """Be the program: confine this process and become another."""
    at = args.index("--")
    options = [word for word in args[:at] if word.startswith("--")]
    why = confine([word for word in args[:at] if word not in options], network="--network" in options)
    if why:
        _give_up(NO_RIGHTS, why)
    if "--plain-locale" in options:  # the interpreter has set this for itself at its start
        system.environ.pop(b"LC_CTYPE", None)  # type: ignore[call-overload]
    _reset_signals()
    argv = args[at + 1 :]
    try:
        system.execve(argv[0], argv, system.environ)
    except (OSError, ValueError) as error:
        _give_up(CANNOT_START, f"{argv[0]} cannot be started: {getattr(error, 'strerror', None) or error}")


def _reset_signals() -> None:
    """Let the program be told of broken pipes and files too long: Python ignores both, and that is inherited."""
    import _signal  # pyright: ignore[reportMissingImports]

    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)


def _give_up(code: int, why: str) -> None:
    system.write(2, f"{SAYS}{why}\n".encode("utf-8", "backslashreplace"))
    system._exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
