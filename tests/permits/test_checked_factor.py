"""`boathook check` warns of a second factor that does not work, before a call waits for it."""

from __future__ import annotations

import json

from boathook.permits.totp import write_secret
from tests.permits.waiting_calls import ASK

FACTOR = "[hooks.approvals]\n"


def list_warnings(project):
    rows = json.loads(project.run("check", "--json").stdout)["diagnostics"]
    return [row["message"] for row in rows if row["key"] == "hooks.approvals" and row["level"] == "warning"]


def test_a_factor_that_cannot_work_is_a_warning(project):
    missing, plain = project.base / "gone", project.base / "plain"
    plain.write_text("#!/bin/sh\n")
    plain.chmod(0o644)
    rows = {
        'factor = "totp"': "boathook approvals totp",
        'factor = "askpass"': "hooks.toml names no program",
        f'factor = "askpass"\naskpass = "{missing}"': "",
        f'factor = "askpass"\naskpass = "{plain}"': "",
    }
    for lines, expected in rows.items():
        project.write_hooks_toml("user", f"{FACTOR}{lines}\n")
        [message] = list_warnings(project)
        assert message.startswith("no second factor works: ")
        assert expected in message, lines
    done = project.run("check", "--strict")
    assert done.returncode == 1
    assert f"{project.config}/hooks.toml:1 [hooks.approvals]" in done.stdout
    assert "boathook approvals status" in done.stdout


def test_a_hook_that_wants_a_factor_where_none_is_set_is_a_warning(project):
    assert list_warnings(project) == []
    project.write_hook("careful", ASK, fields={"ask": "strong"})
    [message] = list_warnings(project)
    assert "none is set" in message
    assert "boathook approvals totp" in message


def test_a_factor_that_works_or_cannot_be_read_makes_no_such_warning(project):
    write_secret(str(project.state), b"12345678901234567890", 0)
    project.write_hooks_toml("user", f'{FACTOR}factor = "totp"\n')
    assert list_warnings(project) == []
    # That is an error of its own.
    project.write_hooks_toml("user", f'{FACTOR}factor = "totpp"\n')
    assert list_warnings(project) == []
