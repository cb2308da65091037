"""What can answer questions: the page, and `boathook asks --watch`. Each has a file in the folder of questions while it runs."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress

from boathook.permits.ask_folder import list_ask_files, open_ask_folder
from boathook.system.process_facts import is_process_alive, read_process_facts

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
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder))
        try:
            yield
        finally:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)


def has_ask_listener(state: str) -> bool:
    """Whether something that can answer runs; files of what was killed are removed."""
    is_found = False
    for name in list_ask_files(state, _ENDING):
        pid, _, rest = name.removesuffix(_ENDING).partition("-")
        start = rest.partition("-")[0]
        is_number = f"{pid}{start}".isascii() and pid.isdigit() and start.isdigit()
        if is_number and is_process_alive(int(pid), int(start)):
            is_found = True
        else:
            with suppress(OSError):
                os.unlink(f"{state}/asks/{name}")
    return is_found
