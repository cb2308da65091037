"""What all bridges share: versions are checked with a clear error, and tools that cannot be guarded are refused."""

from __future__ import annotations

import inspect

import pytest

from boathook import ConfigError, Hooks
from boathook.bridges import attachment
from boathook.bridges.attachment import BridgeOptions, attach


@pytest.fixture
def installed(monkeypatch):
    def set_version(version: str) -> None:
        monkeypatch.setattr(attachment.metadata, "version", lambda _: version)

    return set_version


@pytest.mark.parametrize("version", ["1.4", "1.4.0", "1.10.2", "1.4.7rc1"])
def test_a_version_within_the_limits_is_returned(installed, version):
    installed(version)
    assert attachment.require_version("langchain", "1.4", before="2") == version


@pytest.mark.parametrize("version", ["1.3.9", "2.0", "2.1.0b1", "0.9"])
def test_another_version_is_an_error_that_names_what_to_install(installed, version):
    installed(version)
    with pytest.raises(ConfigError, match=rf"langchain 1.4 or newer, and older than 2, but {version}") as raised:
        attachment.require_version("langchain", "1.4", before="2")
    assert raised.value.fix == "pip install 'langchain>=1.4,<2'"


def test_a_missing_framework_is_an_error_that_names_the_extra():
    with pytest.raises(ConfigError, match="no-such-framework is not installed") as raised:
        attachment.require_version("no-such-framework", "1", extra="none")
    assert raised.value.fix == "pip install 'boathook[none]'"


def test_tools_that_cannot_be_guarded_are_refused_unless_the_program_accepts_it():
    with pytest.raises(ConfigError, match="no hook can see them: search, shell") as raised:
        attach("openai-agents", Hooks()).refuse_unguarded(["shell", "search", "shell"])
    assert "allow_unguarded=True" in raised.value.fix
    attach("openai-agents", Hooks(), allow_unguarded=True).refuse_unguarded(["shell"])
    attach("openai-agents", Hooks()).refuse_unguarded([])


def test_a_bridge_uses_the_hooks_it_is_given_or_loads_those_of_a_project(project):
    hooks = Hooks()
    assert attach("toy", hooks, work_dir=project.path).hooks is hooks
    assert hooks.stack.engine is None
    loaded = attach("toy", work_dir=project.path)
    assert loaded.hooks.stack.engine is not None
    assert loaded.make_run().work_dir == str(project.path)
    with pytest.raises(ConfigError, match=r"must be boathook\.Hooks, not list"):
        attach("toy", [])


def test_the_options_of_all_bridges_are_those_of_an_attachment():
    parameters = inspect.signature(attach).parameters.values()
    assert {each.name for each in parameters if each.kind is each.KEYWORD_ONLY} == {*BridgeOptions.__annotations__}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "name",
            "the bridge to toy has no option 'name', did you mean 'names'? (the options of every bridge: hooks, names, ",
        ),
        (
            "cwd",
            "the bridge to toy has no option 'cwd' (the options of every bridge: hooks, names, arguments, session_id",
        ),
    ],
)
def test_an_option_that_no_bridge_has_is_an_error_that_names_those_there_are(option, message):
    with pytest.raises(TypeError) as raised:
        attach("toy", Hooks(), **{option: "x"})
    assert str(raised.value).startswith(message)


def test_messages_of_a_run_and_of_its_subagents_are_logged_when_they_come(caplog):
    caplog.set_level("INFO", logger="boathook")
    hooks = Hooks()
    for register in (hooks.turn_start, hooks.subagent_start, hooks.session_end):
        register(lambda context: context.add_message(context.event))
    toy = attach("toy", hooks)
    run = toy.make_run()
    run.prompt("go")
    assert caplog.messages == ["pre-agent-turn"]
    toy.make_child(run, "helper").prompt("help")
    run.end()
    assert caplog.messages == ["pre-agent-turn", "pre-subagent", "post-session"]
