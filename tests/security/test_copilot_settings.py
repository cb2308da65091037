"""A trusted guard in a project's settings.json works in Copilot, whether or not Copilot trusts the folder."""

from __future__ import annotations

import json

from boathook.hosts.setup import load_setup
from boathook.install.command_line import CallContext, make_command

GUARD = """grep -q '"file_path": "[^"]*secret.cfg"' && { echo protected >&2; exit 2; }; exit 0"""


def test_the_installed_command_runs_a_guard_of_a_projects_settings(project):
    entry = {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": GUARD}]}
    project.write_settings("project", {"hooks": {"PreToolUse": [entry]}})
    options = make_command(load_setup("copilot"), "preToolUse", CallContext({}, "repair it"))[4:]
    call = {"cwd": str(project.path), "sessionId": "s", "toolName": "create"}
    call["toolArgs"] = json.dumps({"path": "/p/secret.cfg", "file_text": "x"})
    done = project.run("run", *options, stdin=json.dumps(call), trust_all=True)
    assert json.loads(done.stdout) == {"permissionDecision": "deny", "permissionDecisionReason": "protected"}
    unreviewed = project.run("run", *options, stdin=json.dumps(call), trust_all=False)
    assert "(untrusted). Review them: boathook trust" in unreviewed.stderr
