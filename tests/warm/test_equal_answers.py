"""The warm engine and the cold path answer the same, byte for byte."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boathook.testing.conformance import Vector, check_command, load_vectors
from tests.entry.test_hook_entry import FILLS, calls, names
from tests.example_counts import count_examples
from tests.warm.warm_harness import COLD, Client

PAYLOADS = sorted((Path(__file__).parent.parent / "fixtures/hosts").glob("*/*.json"))
KNOWN_HOSTS = {path.parent.name for path in PAYLOADS} - {"copilot-pascalcase"}
VECTORS = load_vectors()
ONE_IN = 150
# The others are for `make test-long`.
QUICK_HOSTS = ("claude", "codex", "gemini")


@pytest.fixture(scope="session")
def clients(new_project, shared_resident, patient_client):
    """Per project a warm client and a cold one; the catalogues are cached, so that both ways can say that nothing is to do."""
    made = {name: new_project(f"warm-{name}") for name in FILLS}
    for name, project in made.items():
        project.hooks_folder("project").mkdir(parents=True)
        FILLS[name](project)
        shared_resident.lead_here(project.state)
    time.sleep(2.1)
    pairs = {name: (Client(project, patient_client), Client(project, "/usr/bin/env")) for name, project in made.items()}
    for _, cold in pairs.values():
        cold.run({}, "--trust-all", "--event", "Notification")
    return pairs


def ask(client: Client, event: Any, *args: str) -> tuple[int, bytes, bytes]:
    # No refused stop has been counted, so that one way does not count for the other.
    shutil.rmtree(client.project.state / "sessions", ignore_errors=True)
    code, out, err = client.run(event, *args)
    # The number of a question is random.
    return code, *(re.sub(rb"boathook allow [0-9a-f]{12}", b"boathook allow", text) for text in (out, err))


@given(st.sampled_from(sorted(FILLS)), names, calls | calls | st.sampled_from([b"", b"{", b"[]", b"\xff"]))
@settings(max_examples=count_examples(40))
def test_warm_and_cold_give_the_same_answer(clients, shared_resident, name, event, data):
    warm, cold = clients[name]
    before = shared_resident.count_events()
    answer = ask(warm, data, "--trust-all", "--event", event)
    assert shared_resident.count_events() == before + 1
    assert answer == ask(cold, data, "--trust-all", "--event", event)


@pytest.mark.parametrize(
    "host",
    [pytest.param(host, marks=[] if host in QUICK_HOSTS else pytest.mark.long) for host in sorted(KNOWN_HOSTS)],
)
def test_warm_and_cold_agree_on_what_agents_send(clients, host):
    for name in ("words", "gates"):
        warm, cold = clients[name]
        for path in (path for path in PAYLOADS if path.parent.name == host):
            event = path.name.partition(".")[0]
            args = ("--trust-all", "--host", host, "--event", event)
            data = path.read_bytes()
            assert ask(warm, data, *args) == ask(cold, data, *args), path


def start_warm(shared_resident, patient_client: str, argv: list[str], **options: Any) -> Any:
    """Run a command of a vector: `run` by the client, everything else as it is."""
    if "run" not in argv:
        return subprocess.run(argv, **options)
    env = options["env"]
    top = env.get("XDG_STATE_HOME") or f"{env['HOME']}/.local/state"
    state = Path(top) / "boathook"
    try:
        shared_resident.lead_here(state)
    except OSError:
        # A vector in which the state cannot be written, or is in the project.
        return subprocess.run(argv, **options)
    words = argv[argv.index("run") + 1 :]
    shared_resident.asked += 1
    return subprocess.run([patient_client, *COLD, "--state", str(state), *words], **options)


def check_warm(vector: Vector, shared_resident, patient_client: str) -> list[str]:
    return check_command(vector, run_process=lambda argv, **o: start_warm(shared_resident, patient_client, argv, **o))


def _is_quick(vector: Vector) -> bool:
    return crc32(vector.id.encode()) % ONE_IN == 0


@pytest.mark.parametrize("vector", [vector for vector in VECTORS if _is_quick(vector)], ids=lambda vector: vector.id)
def test_vectors_through_the_warm_engine(vector, shared_resident, patient_client):
    assert check_warm(vector, shared_resident, patient_client) == []


@pytest.mark.long
@pytest.mark.parametrize("number", range(64))
def test_every_vector_through_the_warm_engine(number, shared_resident, patient_client):
    part = [vector for vector in VECTORS[number::64] if not _is_quick(vector)]
    asked, answered = shared_resident.asked, shared_resident.count_events()
    errors = {vector.id: check_warm(vector, shared_resident, patient_client) for vector in part}
    assert {name: found for name, found in errors.items() if found} == {}
    # Some vectors have callers that must take the cold path; if many did, this would show nothing.
    assert shared_resident.count_events() - answered >= (shared_resident.asked - asked) * 0.9


LOOK = "{ env | grep -v 'BOATHOOK_[RC]' | sort; pwd; umask; ulimit -a; grep 'Sig[^Q]' /proc/self/status; nice; } >&2; exit 2"
CHANGES = 'umask 027; ulimit -n 300; ulimit -f 4000; trap "" USR1 QUIT HUP; MORE=1 exec "$@"'


def test_a_hook_sees_the_environment_folder_mask_limits_and_signals_of_the_caller(project, warm, cold, shared_resident):
    project.write_hook("look", script=LOOK)
    event = {"tool_name": "Shell", "tool_input": {}, "work_dir": str(project.path)}
    before = shared_resident.count_events()
    ways = ((warm, ()), (cold, ()))
    answers = [
        client.run(event, "--event", "PreToolUse", *flags, before=("sh", "-c", CHANGES, "sh")) for client, flags in ways
    ]
    assert shared_resident.count_events() == before + 1
    assert b"\nMORE=1\n" in answers[0][2]
    assert answers[0] == answers[1]
