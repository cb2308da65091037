"""One run, with a small program in the place of an agent: what it does is observed, and it never outlives the run."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from e2e import stage
from e2e.hosts import PROMPT, Agent, Deferred, Place
from e2e.install import Cache, pins

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the agents are run on Linux")

FAKE = """
import json, os, subprocess, sys, time, urllib.request

if "--version" in sys.argv:
    print("fake 1.2.3")
    sys.exit()
url, prompt, mode = sys.argv[1:]
if mode == "hangs":
    subprocess.Popen(["sleep", "60"], start_new_session=True)
    time.sleep(60)
while True:
    body = {"messages": [prompt], "tools": [{"name": "Bash"}]}
    with urllib.request.urlopen(url + "/v1/messages", json.dumps(body).encode()) as answer:
        said = json.load(answer)["content"][0]
    if said["type"] == "text":
        print(said["text"])
        sys.exit(int(mode))
    subprocess.run(said["input"]["command"], shell=True)
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    program = tmp_path / "fake.py"
    program.write_text(FAKE)
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(stage, "cache", lambda: Cache(tmp_path, pins("npm fake 1.2.3")))
    monkeypatch.setattr(stage.tempfile, "mkdtemp", lambda prefix: str(tmp_path / "scratch"))

    def made(mode: str = "0", seconds: int = 30) -> Agent:
        def options(place: Place) -> list[str]:
            return [place.url, PROMPT, mode]

        return Agent("fake", "fake", "Bash", lambda _: [sys.executable, str(program)], options, seconds=seconds)

    return made


def test_what_an_agent_did_is_observed(fake, tmp_path):
    seen = stage.play(fake(), stage.CONTROL)
    assert (seen.error, seen.code, seen.version, seen.said.strip()) == ("", 0, "1.2.3", "All is done.")
    assert [one.step for one in seen.own] == ["rewrite", "plain", "block", "stop"]
    assert {"before-word", "plain", "forbidden-word"} <= set(seen.files)
    assert not (tmp_path / "scratch").exists()


def test_tools_that_are_only_named_are_looked_up_without_hooks(fake):
    who = replace(fake(), deferred=Deferred("Find", "", "", ("Monitor", "Other")))
    (step,) = stage._look_up(who, stage.CONTROL)
    assert (step.name, step.tool, step.arguments) == (stage.LOOK_UP, "Find", {"query": "select:Monitor,Other"})
    assert stage._look_up(who, stage.HOOKED) == stage._look_up(fake(), stage.CONTROL) == []


def test_its_exit_code_is_reported(fake):
    assert stage.play(fake("3"), stage.CONTROL).code == 3


def test_another_version_than_the_pinned_is_an_error(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "cache", lambda: Cache(tmp_path, pins("npm fake 1.2.4")))
    seen = stage.play(fake(), stage.CONTROL)
    assert "version 1.2.4 is pinned" in seen.error
    assert not seen.requests


def test_one_that_hangs_is_ended_with_all_that_it_started(fake, tmp_path, monkeypatch):
    mark = f"mark-{os.getpid()}-{tmp_path.name}"
    monkeypatch.setattr(stage.uuid, "uuid4", lambda: SimpleNamespace(hex=mark))
    seen = stage.play(fake("hangs", seconds=1), stage.CONTROL)
    assert (seen.error, seen.code) == ("it did not end within 1 s", None)
    assert stage._marked(mark) == []


def test_a_program_that_is_not_there_is_an_error(fake):
    agent = Agent("fake", "fake", "Bash", lambda _: ["/nonexistent/agent"], lambda _: [])
    assert "nonexistent" in stage.play(agent, stage.CONTROL).error
