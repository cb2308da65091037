"""Answer made-up events before the first real one, in the resident itself."""

# Python adapts code that has run a few times, and keeps what it learns in the code. A fork would begin without that each time,
# and would copy the memory that it writes this to. What is learned here all forks share. Only the hook of the rehearsal can run:
# it is in a folder below the state folder, all other sources are off, and with any other hook nothing is answered.

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from boathook.assembly import locate_enabled
from boathook.catalog_cache.format import forget_catalogues
from boathook.catalog_cache.write import write_compiled
from boathook.core.json_text import dumps
from boathook.dialects.dialect import find_host_dialect
from boathook.entry.fast_path import find_answer
from boathook.entry.options import parse_options
from boathook.entry.run_once import EventRun
from boathook.hosts.host import find_row, list_host_names, load_host
from boathook.ledger.writer import list_segments
from boathook.loader import load_hooks
from boathook.sources.source import SOURCES
from boathook.system.locations import read_environment
from boathook.warm.warm_folder import REHEARSAL_FOLDER

if TYPE_CHECKING:
    from boathook.entry.options import Options
    from boathook.hosts.host import Host, HostEvent

# Python 3.11 adapts a function after eight calls.
_ROUNDS = 12
_HOOK = "---\nname: rehearsal\ndescription: It blocks.\ntrigger: pre-tool-call\n---\n"
_SCRIPT = "#!/bin/sh\nexit 2\n"
_KIND = "pre-tool-call"
_CALL = {"session_id": "rehearsal", "tool_name": "Shell", "tool_input": {"command": "make rehearsal"}}
_SET_SUBREAPER = 36


def rehearse(warm_folder: int) -> int:
    """Answer made-up events; return how many are on record. If something goes wrong, events are slower, and nothing else.

    The folder must be locked. What the events write is below it, and is removed, also if this process should end.
    """
    # The path goes through a handle: below a folder that is removed meanwhile nothing can be made.
    scratch, count = f"/proc/{os.getpid()}/fd/{warm_folder}/{REHEARSAL_FOLDER}", 0
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))
    try:
        shutil.rmtree(scratch, ignore_errors=True)
        _write_project(f"{scratch}/project")
        # The plain dialect, and that of agents, which is one for all of them.
        _answer_rounds(scratch, "native", {"event_type": _KIND, "work_dir": f"{scratch}/project"})
        host, row = _choose_host()
        folder = dict.fromkeys(host.folder_keys, f"{scratch}/project")
        _answer_rounds(scratch, host.name, {host.event_keys[0]: row.name, **folder})
    except Exception:  # noqa: BLE001, S110
        pass
    finally:
        count = _count_records(f"{scratch}/state")
        shutil.rmtree(scratch, ignore_errors=True)
        forget_catalogues()
        with suppress(AttributeError, OSError):
            # An event takes this role in its own process. Here, what a killed fork leaves would never be waited for.
            ctypes.CDLL(None).prctl(_SET_SUBREAPER, 0, 0, 0, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return count


def _write_project(project: str) -> None:
    hook = f"{project}/.agents/hooks/rehearsal"
    os.makedirs(f"{hook}/scripts")
    for path, text in ((f"{hook}/HOOK.md", _HOOK), (f"{hook}/scripts/run.sh", _SCRIPT)):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    os.chmod(f"{hook}/scripts/run.sh", 0o700)


def _choose_host() -> tuple[Host, HostEvent]:
    """Return an agent that sends a tool call under the names of our own fields, and the row of that event."""
    for host in map(load_host, list_host_names()):
        row = find_row(host, _KIND)
        if row is not None and not row.renames and host.folder_keys and "session_id" in host.session_keys:
            return host, row
    raise LookupError(_KIND)


def _count_records(state: str) -> int:
    count = 0
    with suppress(OSError):
        for name in list_segments(state):
            with open(f"{state}/{name}", "rb") as file:
                count += file.read().count(b"\n")
    return count


def _answer_rounds(scratch: str, host: str, fields: Mapping[str, object]) -> None:
    project = f"{scratch}/project"
    words = ["--trust-all", "--host", host, "--state", f"{scratch}/state", "--config", f"{scratch}/config"]
    # The state folder may be in a project, whose hooks must not run here.
    without = [f"--without={source.without}" for source in SOURCES if source.without != "hook-md"]
    options = parse_options([*words, *without])
    data = dumps({**_CALL, **fields}).encode()
    if _compile_hooks(project, options) != ("rehearsal",):
        return
    for _ in range(_ROUNDS):
        find_answer(options, data)
        EventRun(options, find_host_dialect(host)).answer(data)


def _compile_hooks(project: str, options: Options) -> tuple[str, ...]:
    """Write the compiled catalogue, and return the names of the hooks that would run.

    No other process changes these hooks, so there is no need to wait until they are old.
    """
    locations = locate_enabled(
        project, read_environment(), given=options.folders, without=options.without, trust_all=True
    )
    loaded = load_hooks(locations, None)
    write_compiled(loaded.catalog, loaded.watch, locations, time.time(), loaded.trusted_folders, racy_seconds=0.0)
    return tuple(hook.name for hook in loaded.catalog.hooks)
