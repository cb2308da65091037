"""Several hooks in one process: which jobs may share one, how it is started, and what it says about each."""

from __future__ import annotations

import os
import sys

from boathook.core.json_text import dumps
from boathook.core.shared_frames import HookFrame, read_frames
from boathook.core.verdict import FAILED, TIMEOUT, Exit
from boathook.process.child import BLOCK_CODE, Job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_PROCESS_ENDED = "the process that it shares with other hooks has ended"
_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_START = "import sys;sys.path.insert(0,sys.argv[1]);from boathook.guards.shared_process import {0};{0}(*sys.argv[2:])"
# What differs between hooks that are asked about the same event.
OWN_VARIABLES = frozenset(
    [f"{prefix}_HOOK_{name}".encode() for prefix in ("AGENT", "KIMI") for name in ("NAME", "DIR", "EVENT")]
    + [b"AGENT_HOOK_SETTINGS", b"AGENT_HOOK_LIB"]
)


def make_script_command(script: str, shared_code: str, cache: str) -> tuple[str, ...]:
    """Return the command that runs a script in a process of its own, by the Python that boathook is installed in."""
    return (*start_python("run_alone"), cache, script, shared_code)


def start_python(function: str) -> tuple[str, ...]:
    """Return how the command begins that runs a function of the shared process."""
    return (sys.executable, "-I", "-S", "-X", "utf8", "-c", _START.format(function), _PACKAGES)


def can_share(first: Job, other: Job) -> bool:
    """Whether two jobs differ only in what a shared process can give each of its scripts."""
    if not (first.script and other.script) or first.refused or other.refused or first.sandbox or other.sandbox:
        return False
    if first.cwd != other.cwd:
        return False
    return all(name in OWN_VARIABLES for name, _ in first.env.items() ^ other.env.items())


def join_jobs(jobs: Sequence[Job], cache: str) -> Job:
    """Return the job of one process that runs several scripts."""
    # Hooks may get different forms of the same event, such as one that lists the files that a call writes.
    events = list(dict.fromkeys(job.stdin for job in jobs))
    hooks = [(*job.script, _list_own_variables(job), events.index(job.stdin)) for job in jobs]
    head = dumps({"hooks": hooks, "sizes": [len(event) for event in events]})
    stdin = head.encode("utf-8", "surrogateescape") + b"\n" + b"".join(events)
    timeouts = tuple([job.timeout for job in jobs])
    return jobs[0].replace(argv=(*start_python("run_shared"), cache), stdin=stdin, timeouts=timeouts, warnings=())


def _list_own_variables(job: Job) -> dict[str, str]:
    found = {name: job.env[name] for name in OWN_VARIABLES if name in job.env}
    return {name.decode(): value.decode("utf-8", "surrogateescape") for name, value in found.items()}


def split_exit(end: Exit, jobs: Sequence[Job]) -> tuple[Exit, ...]:
    """Return the ends of the scripts that ran in a shared process; those after the last one were not asked.

    There is none if the process ended before it asked any script, for example because of the code that they share.
    """
    frames = read_frames(end.stdout)[: len(jobs)]
    ends = [_read_frame(frame, job) for frame, job in zip(frames, jobs, strict=False)]
    rest = max(end.seconds - sum(frame.seconds for frame in frames), 0.0)
    is_late = any(frame.is_late for frame in frames)
    if len(frames) < len(jobs) and not is_late and (end.error or end.code != 0):
        ends += [_explain_missing(end, jobs[len(frames)]).replace(seconds=rest)] if frames or end.error else []
    elif ends:
        # The start of the process belongs to the script that it was started for.
        ends[0] = ends[0].replace(seconds=ends[0].seconds + rest)
    return tuple(ends)


def _read_frame(frame: HookFrame, job: Job) -> Exit:
    end = Exit(frame.code, frame.stdout, frame.stderr, frame.seconds, overflow=frame.overflow, warnings=job.warnings)
    is_late = frame.is_late and frame.code != BLOCK_CODE
    return end.replace(error=TIMEOUT, detail=describe_timeout(job.timeout)) if is_late else end


def _explain_missing(end: Exit, job: Job) -> Exit:
    """Return the end of the script that the process did not report: it was late, or it has ended the process."""
    own = end.replace(stdout=b"", warnings=job.warnings)
    if end.error == TIMEOUT:
        return own.replace(detail=describe_timeout(job.timeout))
    return own if end.error else own.replace(error=FAILED, detail=_PROCESS_ENDED)


def describe_timeout(seconds: float) -> str:
    return f"it did not end within {seconds:g} s"
