"""Start the resident in the background, at the end of a cold run, if `hooks.warm` is on; see docs/adr/0038-warm-engine.md."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os as system
    from collections.abc import Mapping
else:
    import posix as system

# A start that led to nothing is not tried again at every event.
RETRY_SECONDS = 10.0
# In these a resident would outlive its purpose: continuous integration, and a hook that calls boathook itself.
UNWANTED_VARIABLES = (b"CI", b"BOATHOOK_RUN")

_requested: "list[tuple[str, str]]" = []


def request_resident(folders: "Mapping[str, str]") -> None:
    """Start the resident when this process ends. Only a command that names the state folder can find it."""
    state, config = folders.get("state", ""), folders.get("config", "")
    if state.startswith("/") and not _requested:
        _requested.append((state, config if config.startswith("/") else ""))


def start_requested() -> None:
    """Start what was requested; whatever goes wrong is no reason for another answer."""
    try:
        for state, config in _requested:
            if _is_wanted(state):
                start_resident(state, config)
    except Exception:  # noqa: BLE001
        return


def _is_wanted(state: str) -> bool:
    import time

    known: dict[bytes, bytes] = system.environ  # type: ignore[assignment]
    if any(known.get(name) for name in UNWANTED_VARIABLES) or not hasattr(system, "memfd_create"):
        return False
    folder = state + "/warm"
    try:
        # A resident that starts, or ends, changes the folder; so does the mark of an attempt.
        is_recent = 0 <= time.time() - system.stat(folder).st_mtime < RETRY_SECONDS
    except FileNotFoundError:
        system.mkdir(folder, 0o700)
        # The mask of a caller may be anything.
        system.chmod(folder, 0o700)
        return True
    if not is_recent:
        system.utime(folder)
    return not is_recent


def start_resident(state: str, config: str) -> int:
    """Start the resident for a state folder, with no environment and in a session of its own; return its number."""
    entry = __file__.replace("entry/warm_start.py", "warm/resident_entry.py")
    words = [sys.executable, "-I", "-S", entry, "--state", state, *(["--config", config] if config else [])]
    streams = [(system.POSIX_SPAWN_OPEN, number, "/dev/null", system.O_RDWR, 0) for number in (0, 1, 2)]
    return system.posix_spawn(words[0], words, {}, file_actions=streams, setsid=True, setsigmask=())
