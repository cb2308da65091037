"""A fork that waits for a person's answer stops when the agent has gone, as the cold path does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.permits.waiting_calls import WaitingCall, list_ask_files, read_records, set_up
from tests.warm.warm_harness import Client, TestResident, is_running, wait_until


# Before the folder of the test is removed, which has the numbers of the processes.
@pytest.fixture
def started_calls(project) -> Iterator[None]:
    yield
    while WaitingCall.started:
        WaitingCall.started.pop().end()


@pytest.mark.usefixtures("started_calls")
@pytest.mark.parametrize("who", ["agent", "run"])
def test_a_question_is_withdrawn_if_the_agent_or_the_client_is_killed(project, patient_client, who):
    set_up(project, 'ask = "wait"')
    resident = TestResident(project.state, "--config", str(project.config))
    try:
        # The output is a file, which does not end with the agent.
        words = ("sh", "-c", 'unset CI; exec "$@" > /dev/null', "sh")
        call = WaitingCall(project, argv=[*words, *Client(project, patient_client).make_command()])
        wait_until(lambda: list_ask_files(project, ".sock"), "a question")
        assert resident.find_status()["running"] == 1
        call.kill(who)
        wait_until(lambda: not is_running(call.pids["run"]), "the end of the client")
        wait_until(lambda: resident.find_status()["running"] == 0, "the end of the fork")
        if who == "agent":
            assert list_ask_files(project) == []
            assert [record["result"] for record in read_records(project, "answered")] == ["withdrawn"]
        assert project.run("asks", "--json").stdout.count('"id"') == 0
    finally:
        resident.end()
