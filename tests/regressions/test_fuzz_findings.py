"""What fuzzing has found, each with its smallest input: nothing here may raise, grow without end, or take its square of time.

Time is compared with a smaller input of the same kind, never with a clock on the wall.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from boathook.core.hook import ARMED, ERROR, INVALID, Command
from boathook.core.matcher import MAX_PATTERN_WEIGHT, compile_pattern, compute_weight
from boathook.core.shell_exports import MAX_EXPANDED_CHARS, read_exports
from boathook.errors import ConfigError
from boathook.sources.fields import MAX_DIAGNOSTICS
from boathook.sources.hook_md.frontmatter import FrontmatterError, read_frontmatter
from boathook.sources.hook_md.manifest import parse_manifest
from boathook.sources.hooks_toml import MAX_DOTS_PER_LINE, read_hooks_toml
from boathook.sources.own_commands import has_own_command, is_own_command
from boathook.sources.settings_json.plugins import MAX_PLUGINS
from boathook.sources.settings_json.settings import load_settings
from boathook.sources.settings_json.settings_file import (
    MAX_GROUP_WARNINGS,
    MAX_HOOKS_PER_FILE,
    SettingsFile,
    read_settings,
)
from boathook.sources.shell_scripts import find_blocking_exit_1, has_blocking_exit_1, read_first_pipeline
from boathook.sources.source import HOOK_MD_SOURCE
from boathook.system.locations import find_project
from tests.growth import grows_in_proportion

ENTRY = {"type": "command", "command": "x"}


# hooks.toml


def config_of(tmp_path: Path, text: str):
    path = tmp_path / "hooks.toml"
    path.write_text(text)
    return read_hooks_toml(str(path), "user")


def test_a_number_that_python_does_not_write_is_told_all_the_same(tmp_path):
    found = config_of(tmp_path, "[hooks.defaults]\ntimeout = 0x" + "f" * 4000)
    assert found.defaults == {"timeout": 600_000}
    assert found.diagnostics[0].message == (
        "'timeout' must be a whole number from 100 to 600000, not a number that large; 600000 is used"
    )


@pytest.mark.parametrize("end", ["\u2028", "\x85", "\u2029"])
def test_a_line_end_that_toml_does_not_know_hides_no_dots(tmp_path, end):
    found = config_of(tmp_path, ("a." * (MAX_DOTS_PER_LINE - 2) + f'"{end}".') * 20 + "a = 1\n")
    assert [problem.message for problem in found.diagnostics] == [
        f"hooks.toml has a line with more than {MAX_DOTS_PER_LINE} dots"
    ]


def test_no_more_problems_of_a_file_are_told_than_anybody_reads(tmp_path):
    assert len(config_of(tmp_path, "".join(f"k{n} = 1\n" for n in range(1000))).diagnostics) == MAX_DIAGNOSTICS
    wrong = "[[hooks.override]]\nname = 'a'\ntimeout = 1\n" * 500
    assert len(config_of(tmp_path, wrong).diagnostics) == MAX_DIAGNOSTICS


# Files of variables


@pytest.mark.parametrize("line", ["A=$A$A\n", 'A="$A$A"\n', "A=${A}${A}\n"])
def test_a_variable_that_is_doubled_again_and_again_stays_within_its_room(line):
    found, odd = read_exports("A=x\n" + line * 200 + "B=1\n", {})
    assert len(found["A"]) <= MAX_EXPANDED_CHARS
    assert found["B"] == "1"
    assert odd  # and that is said


def test_lines_that_are_continued_belong_to_what_was_not_understood():
    assert read_exports("nvm use \\\nA=1\nB=2\n", {}) == ({"B": "2"}, ("nvm use \\\nA=1",))


@pytest.mark.parametrize("unit", ["\\\n", "A{n}=1\n", "${\n", "'\n", '"\n', "$"])
def test_a_file_of_variables_takes_time_by_its_length(unit):
    def read(count):
        return read_exports("".join(unit.replace("{n}", str(n)) for n in range(count)) + "(", {"HOME": "/"})

    assert grows_in_proportion(read, 1000)


# Manifests


def problems_of(text: str):
    return parse_manifest(text, path="/h/x/HOOK.md", folder="/h/x", scope="user")[0].diagnostics


@pytest.mark.parametrize("unit", ["a: *\n", "a: *#", 'a: "\\."\n', 'k: "\\d"\n'])
def test_a_frontmatter_that_needs_much_forgiving_takes_time_by_its_length(unit):
    def read(count):
        with suppress(FrontmatterError):
            read_frontmatter(f"---\n{unit * count}\n---\n")

    assert grows_in_proportion(read, 1000)


def test_a_star_before_a_comment_is_still_forgiven():
    found = read_frontmatter("---\nmatcher: {tool: *} # all\nother: * # of them\n---\n")
    assert [told for _, told in found.forgiven] == ['a bare * was read as "*"; quote it'] * 2


def test_what_unknown_fields_might_have_meant_is_guessed_for_the_first_of_them():
    fixes = [
        p.fix
        for p in problems_of("---\n" + "".join(f"priorit{n}: 1\n" for n in range(100)) + "---\n")
        if "unknown" in p.message
    ]
    assert len(fixes) == MAX_DIAGNOSTICS
    assert fixes[0] == "did you mean 'priority'?"
    assert fixes[-1] == ""


# Patterns


@pytest.mark.parametrize(
    "source", ["\\pL" * 20, "[^x]{3000}", "((a{50}){50}){50}", "(\\pL{30}){30}", "a?" * 3000, "[[:" * 2000]
)
def test_a_pattern_that_would_take_re2_long_is_refused_before(source):
    with pytest.raises(ConfigError, match="is too large"):
        compile_pattern(source)


@pytest.mark.parametrize(
    "source", ["|".join(f"command-{n}" for n in range(300)), "(?i)\\bsudo\\b", "[^;]{1,200}rm", "\\pL+", "x{999}"]
)
def test_patterns_that_people_write_are_light_enough(source):
    assert compute_weight(source) <= MAX_PATTERN_WEIGHT
    assert compile_pattern(source) is not None


@pytest.mark.parametrize(
    "source", ["{", "a{", "a{x}", "a{,}", "{5}", ")", "[", "[]", "\\", "a{99999999999}", "(" * 50, "a{٣}"]
)
def test_every_pattern_can_be_weighed(source):
    assert compute_weight(source) >= 0


# Settings


@pytest.fixture
def read(tmp_path: Path) -> Callable[[object], SettingsFile]:
    def reads(content: object) -> SettingsFile:
        path = tmp_path / "settings.json"
        path.write_text(json.dumps(content))
        os.chmod(path, 0o600)
        return read_settings(str(path), "user")

    return reads


def test_a_file_with_more_hooks_than_anybody_has_is_read_so_far_and_says_so(read):
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
    file = read({"hooks": {"PreToolUse": [{"matcher": "(?=x)", "hooks": [ENTRY] * 5}]}})
    assert {hook.state for hook in file.hooks} == {INVALID}
    assert all("lookahead" in hook.state_reason for hook in file.hooks)


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


# Commands


@pytest.mark.parametrize("unit", ["! ", "env ", "-a ", "A=1 ", "'\n", "a\n", "$(boathook ", "eval boathook "])
@pytest.mark.parametrize("head", ["boathook ; env ", "boathook '"])
def test_commands_are_searched_in_a_time_by_their_length(head, unit):
    assert grows_in_proportion(lambda count: has_own_command(head + unit * count), 500)


@pytest.mark.parametrize(
    "text",
    [
        "boathook run",
        'sh -c "boathook run"',
        "sh -c 'boathook run'",
        "cat <<E\ndon't\nE\nboathook run",
        'echo "a;b" && boathook run',
        "if true; then boathook run; fi",
        'eval "boathook \\"run\\""',
        "echo 'x' | (boathook run)",
    ],
)
def test_a_call_of_ours_is_still_found(text):
    assert has_own_command(text)


def test_words_in_quotes_are_no_calls_of_ours():
    assert not has_own_command("echo 'boathook run'")
    assert not has_own_command('echo "boathook run" \\; boathook')
    assert not is_own_command(Command("echo boathook run"))


@pytest.mark.parametrize("text", ['"' + '\\"' * 40_000, "'" * 40_001, '"\\' * 30_000])
def test_an_open_quote_goes_to_the_end(text):
    assert has_blocking_exit_1(text) is False


def test_lines_are_checked_in_a_time_by_their_length():
    assert grows_in_proportion(lambda count: has_blocking_exit_1('"' + '\\"' * count), 1000)
    assert grows_in_proportion(lambda count: find_blocking_exit_1("exit 1\n" * count), 1000)
    assert grows_in_proportion(lambda count: read_first_pipeline("a " * count, {}), 2000)


# Places


def test_a_folder_whose_name_is_too_long_hides_no_guards_further_up(tmp_path):
    (tmp_path / ".agents/hooks").mkdir(parents=True)
    for below in ("x" * 300, "y/" * 5000, "z" * 70_000):
        assert find_project(f"{tmp_path}/{below}", HOOK_MD_SOURCE.markers) == str(tmp_path)
