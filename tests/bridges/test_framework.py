"""What all bridges share: versions are checked with a clear error, and tools that cannot be guarded are refused."""

from __future__ import annotations

import pytest

from boathook import ConfigError, Hooks
from boathook.bridges import framework


@pytest.fixture
def installed(monkeypatch):
    def set_version(version: str) -> None:
        monkeypatch.setattr(framework.metadata, "version", lambda _: version)

    return set_version


@pytest.mark.parametrize("version", ["1.4", "1.4.0", "1.10.2", "1.4.7rc1"])
def test_a_version_within_the_limits_is_returned(installed, version):
    installed(version)
    assert framework.require_version("langchain", "1.4", before="2") == version


@pytest.mark.parametrize("version", ["1.3.9", "2.0", "2.1.0b1", "0.9"])
def test_another_version_is_an_error_with_what_to_install(installed, version):
    installed(version)
    with pytest.raises(ConfigError, match=rf"langchain 1.4 or newer, and older than 2, but {version}") as raised:
        framework.require_version("langchain", "1.4", before="2")
    assert raised.value.fix == "pip install 'langchain>=1.4,<2'"


def test_a_missing_framework_is_an_error_that_names_the_extra():
    with pytest.raises(ConfigError, match="no-such-framework is not installed") as raised:
        framework.require_version("no-such-framework", "1", extra="none")
    assert raised.value.fix == "pip install 'boathook[none]'"


def test_tools_that_cannot_be_guarded_are_refused_unless_the_program_accepts_it():
    with pytest.raises(ConfigError, match="no hook can see them: search, shell") as raised:
        framework.refuse_unguarded(["shell", "search", "shell"], "openai-agents")
    assert "allow_unguarded=True" in raised.value.fix
    framework.refuse_unguarded(["shell"], "openai-agents", allow_unguarded=True)
    framework.refuse_unguarded([], "openai-agents")


def test_a_bridge_uses_the_hooks_it_is_given_or_loads_those_of_a_project(project, tmp_path):
    hooks = Hooks()
    assert framework.choose_hooks(hooks) is hooks
    loaded = framework.choose_hooks(None, project.path)
    assert loaded.stack.engine is not None
    with pytest.raises(ConfigError, match="not both"):
        framework.choose_hooks(hooks, tmp_path)
