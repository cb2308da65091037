"""The shell of the reference agent has the variables that hooks exported at the start of the session."""

from __future__ import annotations

import os

from boathook import AgentBuilder, ScriptedModel, ToolCall

EXPORT = """echo 'export COLOUR="dark green"' >> "$CLAUDE_ENV_FILE" """


def test_the_shell_has_what_hooks_exported(project, monkeypatch):
    project.write_hook("exports", EXPORT, fields={"trigger": "pre-session"})
    for name, value in project.variables.items():
        monkeypatch.setenv(name, value)
    call = ToolCall("Shell", {"command": 'printf %s "$COLOUR" > made.txt'})
    builder = AgentBuilder().with_model(ScriptedModel([call, "done"])).with_standard_tools().in_dir(project.path)
    builder.with_permission(lambda *_: True).with_hooks_from(project.path).build().run("go")
    assert (project.path / "made.txt").read_text() == "dark green"
    assert "COLOUR" not in os.environ
