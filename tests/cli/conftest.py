"""A machine without agents, whatever this one has."""

from __future__ import annotations

import shutil

import pytest

from tests.scratch_project import ScratchProject

# What hooks and probes need.
PROGRAMS = ("sh", "bash", "env", "git", "cat", "true", "false", "dirname", "uname", "id")


@pytest.fixture
def machine(project: ScratchProject, monkeypatch: pytest.MonkeyPatch) -> ScratchProject:
    """A project whose PATH has a few programs and no agent; `add_agents` of tests.terminal adds some."""
    folder = project.programs
    folder.mkdir()
    for name in PROGRAMS:
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    return project
