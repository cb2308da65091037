"""Engines that a program has loaded, with real hooks."""

from __future__ import annotations

import threading

import pytest

import boathook
from tests.scratch_project import make_project

CALL = {"event_type": "PreToolUse", "tool_name": "Shell", "tool_input": {"command": "rm -rf /"}}


def test_two_engines_in_one_program_leave_each_other_s_hooks_alone(tmp_path):
    engines = []
    for name, script in (("slow", "sleep 0.6\nexit 2"), ("quick", "sleep 0.1\nexit 0")):
        project = make_project(tmp_path / name)
        project.write_hook("guard", script, scope="project")
        folders = {"config": project.config, "state": project.state}
        engines.append(boathook.load(project.path, **folders, trust_all=True))
    later = threading.Timer(0.1, lambda: engines[1].dispatch(CALL))
    later.start()
    verdict = engines[0].dispatch(CALL)
    later.join()
    assert [(run.status, run.code) for run in verdict.runs] == [("ok", 2)]


def test_a_relative_config_and_work_dir_hold_for_every_hook(project, monkeypatch):
    monkeypatch.chdir(project.base)
    (project.path / "sub").mkdir()
    for name in ("a", "b"):
        project.write_hook(name, "pwd")
    engine = boathook.load("project", config="config/agents")
    monkeypatch.chdir(project.path)
    verdict = engine.dispatch({**CALL, "work_dir": "sub"})
    assert verdict.additional_context == (str(project.path / "sub"),) * 2


def test_a_number_that_is_none_in_an_embedded_event_is_refused_and_does_not_disarm(project):
    project.write_hook("guard", "exit 2", scope="project", fields={"matcher": "{pattern: rm}"})
    engine = boathook.load(project.path, config=project.base / "none", trust_all=True)
    with pytest.raises(boathook.DialectError):
        engine.dispatch({**CALL, "tool_input": {"command": "rm", "x": float("nan")}})
