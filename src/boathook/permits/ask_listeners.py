"""What can answer questions: the page, and `boathook asks --watch`. Each has a file in the folder of questions while it runs."""

# It holds a lock on its file, which shows that it runs also to processes that do not see it: those of another container that
# shares the folder. Such a listener does not count, because it does not see the questions of processes here either, but its file
# stays.

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress

from boathook.permits.ask_folder import ASK_FOLDER, list_ask_files, open_ask_folder
from boathook.system.process_facts import read_process_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_ENDING = ".listener"


@contextmanager
def register_listener(state: str) -> Iterator[None]:
    """Let boathook wait for answers, as long as this process is in here; OSError if the folder is not private."""
    facts = read_process_facts(os.getpid())
    if facts is None:
        # Without /proc boathook does not wait.
        yield
        return
    name = f"{facts.pid}-{facts.start}-{os.urandom(4).hex()}{_ENDING}"
    folder = open_ask_folder(state)
    try:
        handle = os.open(f"{name}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            # It has its lock before others see it. Some file systems have no locks.
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(f"{name}.new", name, src_dir_fd=folder, dst_dir_fd=folder)
            yield
        finally:
            for one in (name, f"{name}.new"):
                with suppress(OSError):
                    os.unlink(one, dir_fd=folder)
            os.close(handle)
    finally:
        os.close(folder)


def has_ask_listener(state: str) -> bool:
    """Whether something that can answer runs here: with a terminal, and not stopped. Files of what was killed are removed."""
    is_found = False
    for name in list_ask_files(state, _ENDING):
        pid, _, rest = name.removesuffix(_ENDING).partition("-")
        start = rest.partition("-")[0]
        is_number = f"{pid}{start}".isascii() and pid.isdigit() and start.isdigit()
        facts = read_process_facts(int(pid)) if is_number else None
        if facts is not None and facts.start == int(start):
            # Without a terminal no person sees a question or a code.
            is_found = is_found or (bool(facts.terminal) and not facts.is_stopped)
        elif not _is_locked(f"{state}/{ASK_FOLDER}/{name}"):
            with suppress(OSError):
                os.unlink(f"{state}/{ASK_FOLDER}/{name}")
    return is_found


def _is_locked(path: str) -> bool:
    """Whether a process holds a lock on a file, wherever it runs."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False
