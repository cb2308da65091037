"""A person at the terminal of an agent that asks itself, with a small program in the place of the agent."""

from __future__ import annotations

import os
import sys

import pytest

from e2e.hosts import Place
from e2e.install import Cache
from e2e.people import BY_CAREFUL, DeedError, attend_agent

ASK, RUN = f"print({BY_CAREFUL!r}, flush=True); input()", "open('asked-call', 'w').close()"
STAY = "import time; time.sleep(60)"


def attend(folder, *lines: str) -> str:
    place = Place(Cache(folder, {}), folder, folder, 0)
    argv = [sys.executable, "-c", "\n".join(lines)]
    # It is done when the call has run.
    return attend_agent(argv, place, os.environ, 1, lambda: len([*folder.glob("asked-*")]))


def test_a_question_is_answered_with_yes_and_the_agent_is_ended_when_it_is_done(tmp_path):
    assert BY_CAREFUL in attend(tmp_path, ASK, RUN, STAY)


def test_an_agent_that_ends_without_a_question_did_not_ask(tmp_path):
    with pytest.raises(DeedError, match="the agent did not ask"):
        attend(tmp_path, "print('done')")


def test_an_agent_that_runs_the_call_without_a_question_did_not_ask(tmp_path):
    with pytest.raises(DeedError, match="the agent did not ask"):
        attend(tmp_path, RUN, STAY)
