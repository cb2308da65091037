"""Starting a process while an engine above lowers the limits of this one, as it does for all that its hooks have started."""

from __future__ import annotations

import subprocess
import sys

import pytest

# What a hook of an outer engine is: a process whose hard limits are lowered from outside, here while it starts a hook of its own.
INNER_ENGINE = """
import resource, sys
from boathook.process.child import Job
from boathook.process.runner import ProcessRunner
from boathook.process.spawn import spawn_posix

LOWERED = {"RLIMIT_CORE": 0, "RLIMIT_NOFILE": 512, "RLIMIT_FSIZE": 1 << 20, "RLIMIT_CPU": 1000, "RLIMIT_RTTIME": 1 << 61}

def lower_limits():
    for name, limit in LOWERED.items():
        resource.setrlimit(getattr(resource, name), (limit, limit))

def spawn(*arguments):
    if "before" in sys.argv:
        lower_limits()
    pid = spawn_posix(*arguments)
    lower_limits()
    return pid

job = Job(("/bin/sh", "-c", "echo no >&2; exit 2"), b"", "/", {}, 60.0)
(end,) = ProcessRunner(spawn, exclusive="exclusive" in sys.argv).run_all([job])
print(end.code, end.error, end.detail, end.stderr)
"""


@pytest.mark.any_user
@pytest.mark.skipif(sys.platform != "linux", reason="limits are set from outside on Linux only")
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("process", ["exclusive", "embedded"])
def test_a_block_counts_though_an_engine_above_lowers_our_limits_at_that_moment(moment, process):
    done = subprocess.run(
        [sys.executable, "-c", INNER_ENGINE, moment, process], capture_output=True, text=True, timeout=120, cwd="/"
    )
    assert (done.stdout, done.stderr) == ("2   b'no\\n'\n", "")
