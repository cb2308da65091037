"""What the engine records: one record per dispatch that concerned a hook, and error that changes no decision."""

from __future__ import annotations

import asyncio
import json
import os
import time

import pytest

import boathook
from boathook.core.hook import DISABLED, INVALID
from boathook.core.verdict import Exit, Skip, Verdict
from boathook.ledger.reader import LedgerReader, verify_chain
from tests.core.builders import a_call, a_hook
from tests.engine.fakes import an_engine
from tests.scratch_project import CALL


class Recorder:
    """Remembers what it is asked to record, and returns an error if it has one."""

    ledger_path = "/s/ledger"

    def __init__(self, error: str = "") -> None:
        self.error = error
        self.verdicts: list[Verdict] = []
        self.seconds: list[float] = []

    def write(self, verdict: Verdict, seconds: float) -> str:
        self.verdicts.append(verdict)
        self.seconds.append(seconds)
        return self.error

    def find_log_error(self) -> str:
        return ""


def test_a_dispatch_that_ran_a_hook_is_recorded_once_with_its_id_and_time():
    recorder = Recorder()
    verdict = an_engine([a_hook("one"), a_hook("two")], {}, recorder=recorder).dispatch(a_call())
    assert (recorder.verdicts, len(verdict.id), recorder.seconds[0] >= 0) == ([verdict], 12, True)
    assert verdict.to_json()["id"] == verdict.id


def test_an_async_dispatch_is_recorded_the_same_way():
    recorder = Recorder()
    verdict = asyncio.run(an_engine([a_hook()], {}, recorder=recorder).adispatch(a_call()))
    assert recorder.verdicts == [verdict]


def test_what_concerned_no_hook_is_not_recorded():
    recorder = Recorder()
    hooks = [a_hook("other", tool="Write"), a_hook("off", state=DISABLED, state_reason="disabled")]
    verdict = an_engine(hooks, {}, recorder=recorder).dispatch(a_call())
    assert (recorder.verdicts, verdict.id, verdict.skipped) == ([], "", (Skip("off", "disabled", state=DISABLED),))


def test_a_hook_that_should_have_run_is_recorded():
    recorder = Recorder()
    verdict = an_engine([a_hook("bad", state=INVALID, state_reason="unreadable")], {}, recorder=recorder).dispatch(
        a_call()
    )
    assert recorder.verdicts == [verdict]


def test_a_hook_in_the_background_knows_the_id_of_its_dispatch():
    recorder = Recorder()
    engine = an_engine([a_hook("later", background=True)], {}, recorder=recorder)
    verdict = engine.dispatch(a_call())
    assert (recorder.verdicts, len(verdict.background)) == ([verdict], 1)
    [[call]] = engine._parts.background.did
    assert (call.dispatch, call.describe()["dispatch"]) == (verdict.id, verdict.id)


def test_an_error_of_the_recorder_is_reported_and_changes_no_decision():
    message = "/s/ledger cannot be written (No space left on device): the record is lost"
    engine = an_engine([a_hook()], {"guard": Exit(2, stderr=b"no")}, recorder=Recorder(message))
    verdict = engine.dispatch(a_call())
    assert (verdict.decision.word, verdict.reasons, verdict.id) == ("block", ("no",), "")
    assert (verdict.skipped, verdict.warnings()) == (
        (Skip("/s/ledger", message, is_warning=True, is_hook=False, is_for_model=True),),
        (message,),
    )


def test_an_exception_of_the_recorder_is_an_error_too():
    class FailingRecorder(Recorder):
        def write(self, verdict: Verdict, seconds: float) -> str:
            raise RuntimeError("oops")

    engine = an_engine([a_hook()], {"guard": Exit(2, stderr=b"no")}, recorder=FailingRecorder())
    verdict = engine.dispatch(a_call())
    message = "/s/ledger cannot be written (RuntimeError: oops): the record is lost"
    assert (verdict.decision.word, verdict.warnings()) == ("block", (message,))


def test_an_engine_for_some_of_the_hooks_records_as_well():
    recorder = Recorder()
    engine = an_engine([a_hook("one"), a_hook("two")], {}, recorder=recorder)
    verdict = engine.only(engine.catalog.hooks[:1]).dispatch(a_call())
    assert (recorder.verdicts, [run.hook.name for run in verdict.runs]) == ([verdict], ["one"])


def records(project) -> list[dict]:
    return list(LedgerReader(str(project.state)).read())


def test_the_end_of_an_async_hook_is_recorded_with_its_dispatch(project):
    project.write_hook("later", script="exit 3", fields={"async": "true"})
    with boathook.load() as engine:
        verdict = engine.dispatch(a_call())
    first, end = sorted(records(project), key=lambda record: record["type"])
    assert (first["id"], first["background"]) == (verdict.id, [{"hook": "later", "pid": None}])
    known = {key: end[key] for key in ("type", "host", "hook", "event", "session", "status", "exit", "dispatch")}
    assert known == {
        "type": "end",
        "host": "python",
        "hook": "later",
        "event": "pre-tool-call",
        "session": "s",
        "status": "failed",
        "exit": 3,
        "dispatch": verdict.id,
    }
    assert verify_chain(str(project.state)).findings == ()


def test_the_supervisor_of_a_one_shot_records_the_end(project):
    import subprocess
    import sys

    project.write_hook("later", script="exit 0", fields={"async": "true"})
    argv = [sys.executable, "-m", "boathook", "run", "pre-tool-call", "--json"]
    call = json.dumps({"tool_name": "Shell", "session_id": "s"})
    done = subprocess.run(argv, input=call, capture_output=True, text=True, cwd=project.path, env=project.environment)
    deadline = time.monotonic() + 60
    while len(records(project)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    first, end = sorted(records(project), key=lambda record: record["type"])
    assert (first["id"], end["dispatch"], end["status"]) == (*[json.loads(done.stdout)["id"]] * 2, "ok")
    assert (first["host"], end["host"], first["session"], end["session"]) == ("native", "native", "s", "s")


def test_the_whole_event_is_kept_if_the_user_wants_that(project):
    project.write_hook("guard")
    project.write_hooks_toml("user", "[hooks]\nrecord = 'whole'\n")
    with boathook.load() as engine:
        engine.dispatch({"event_type": "pre-tool-call", "tool_name": "Shell", "extra": "kept", "tool_input": {}})
    [record] = records(project)
    assert record["whole"]["extra"] == "kept"


def test_many_tasks_and_threads_make_one_chain(project):
    project.write_hook("guard")

    async def many() -> list[Verdict]:
        return await asyncio.gather(*(engine.adispatch(a_call()) for _ in range(20)))

    with boathook.load() as engine:
        verdicts = asyncio.run(many())
    assert sorted(record["id"] for record in records(project)) == sorted(verdict.id for verdict in verdicts)
    assert verify_chain(str(project.state)).findings == ()


def test_a_forked_child_can_record_while_its_parent_does(project):
    project.write_hook("guard")
    with boathook.load() as engine:
        engine.dispatch(a_call())
        pid = os.fork()
        if pid == 0:
            os._exit(0 if engine.dispatch(a_call()).id else 1)
        engine.dispatch(a_call())
        assert os.waitpid(pid, 0)[1] == 0
    assert (len(records(project)), verify_chain(str(project.state)).findings) == (3, ())


# Secrets in fields that are not texts of hooks


@pytest.mark.parametrize("way", ["in process", "by command"])
def test_no_secret_in_the_name_of_a_tool_or_a_session_reaches_the_disk(project, way):
    secret = "ghp_" + "a1" * 18
    project.write_hook("guard", script="echo no >&2; exit 2", fields={"matcher": "{tool: '.*'}"})
    project.write_hook("later", script="exit 0", fields={"async": "true", "trigger": "post-tool-call"})
    event = {**CALL, "tool_name": f"mcp__{secret}", "session_id": f"s {secret}"}
    assert project.dispatch(way, event)["decision"] == "block"
    project.dispatch(way, {**event, "event_type": "post-tool-call"})
    data = b"".join(path.read_bytes() for path in project.state.glob("ledger*"))
    assert (secret.encode() in data, b"[redacted GitHub token" in data) == (False, True)
