"""Limits on what a settings file may cost: it is read so far, and that is reported (found by fuzzing)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from boathook.core.hook import ARMED, ERROR, INVALID, PROJECT
from boathook.sources.settings_json.plugins import MAX_PLUGINS
from boathook.sources.settings_json.settings import load_settings
from boathook.sources.settings_json.settings_file import (
    MAX_GROUP_WARNINGS,
    MAX_HOOKS_PER_FILE,
    SettingsFile,
    read_settings,
)

ENTRY = {"type": "command", "command": "x"}


@pytest.fixture
def read(tmp_path: Path) -> Callable[[object], SettingsFile]:
    def reads(content: object) -> SettingsFile:
        path = tmp_path / "settings.json"
        path.write_text(json.dumps(content))
        os.chmod(path, 0o600)
        return read_settings(str(path), "user")

    return reads


def test_a_file_with_too_many_hooks_is_read_up_to_the_limit_and_reported(read):
    for groups in ([{"hooks": [ENTRY]}] * 2000, [{"hooks": [ENTRY] * 2000}], [5] * 2000, [{"hooks": [5] * 2000}]):
        file = read({"hooks": {"PreToolUse": groups, "Stop": [{"hooks": [ENTRY]}]}})
        assert len(file.hooks) == MAX_HOOKS_PER_FILE
        assert [p.message for p in file.diagnostics] == [
            f"more than {MAX_HOOKS_PER_FILE} hooks in one file; the rest does not run"
        ]
        assert file.diagnostics[0].level == ERROR


def test_remarks_on_a_group_do_not_grow_with_its_keys_and_its_hooks(read):
    file = read({"hooks": {"Stop": [{**{f"k{n}": 1 for n in range(500)}, "hooks": [ENTRY] * 100}]}})
    assert {len(hook.diagnostics) for hook in file.hooks} == {MAX_GROUP_WARNINGS}


def test_of_many_unknown_events_the_first_get_a_guess(read):
    fixes = [p.fix for p in read({"hooks": {f"PreToolUs{n}": [] for n in range(100)}}).diagnostics]
    assert fixes[0] == "did you mean 'PreToolUse'?"
    assert fixes[-1] == ""


def test_a_file_of_costly_patterns_is_not_compiled_to_its_end(read):
    file = read({"hooks": {"PreToolUse": [{"matcher": f"[^x]{{900}}.{n}", "hooks": [ENTRY]} for n in range(50)]}})
    states = [hook.state for hook in file.hooks]
    assert states[0] == ARMED
    assert states[-1] == INVALID
    assert "the patterns of this file are too large together" in file.hooks[-1].state_reason


def test_a_guard_whose_rule_is_not_read_any_more_runs_more_often_and_not_never(read):
    entries = [{**ENTRY, "if": "Edit(" + "{" * 1900 + ")"}] * 50
    file = read({"hooks": {"PreToolUse": [{"matcher": "Edit", "hooks": entries}]}})
    assert {hook.state for hook in file.hooks} == {ARMED}
    assert file.hooks[-1].matcher.pattern is None


def test_one_matcher_of_many_hooks_is_compiled_once_and_wrong_for_all(read):
    file = read({"hooks": {"PreToolUse": [{"matcher": "(?=x", "hooks": [ENTRY] * 5}]}})
    assert {hook.state for hook in file.hooks} == {INVALID}
    assert all("parenthesis" in hook.state_reason for hook in file.hooks)


def test_headers_with_thousands_of_names_are_remarked_on_a_few_times(read):
    headers = {"A": "".join(f"$b{n}" for n in range(3000))}
    entry = {"type": "http", "url": "https://x", "headers": headers, "allowedEnvVars": [f"c{n}" for n in range(3000)]}
    assert len(read({"hooks": {"PreToolUse": [{"hooks": [entry]}]}}).hooks[0].diagnostics) == 20


def test_thousands_of_plugins_are_not_all_looked_for(tmp_path):
    (tmp_path / "settings.json").write_text(json.dumps({"enabledPlugins": {f"p{n}": True for n in range(2000)}}))
    os.chmod(tmp_path / "settings.json", 0o600)
    found = load_settings(str(tmp_path), "")
    assert len(found.diagnostics) == MAX_PLUGINS + 1
    assert "more than" in found.diagnostics[0].message


def test_beyond_the_limit_of_a_file_the_patterns_of_a_project_count_as_matches_until_it_is_trusted(tmp_path):
    groups = [{"matcher": f"[^x]{{900}}.{n}", "hooks": [ENTRY]} for n in range(50)]
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"hooks": {"PreToolUse": groups}}))
    first, *_, last = read_settings(str(path), PROJECT).hooks
    assert (first.state, last.state) == (ARMED, ARMED)
    assert (first.matcher.tool.search("short"), last.matcher.tool.search("49")) == (False, True)
    assert "while it is not trusted, this one counts as a match" in last.diagnostics[0].message
    assert last.matcher.allow_engines().tool.search("49") is False
