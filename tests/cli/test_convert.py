"""`boathook convert`: what it writes, what it leaves, and that converted hooks do what they did before."""

from __future__ import annotations

import errno
import json
import os
import stat
import uuid
from pathlib import Path
from typing import Any

import pytest

from boathook.cli.convert_files import apply_conversion
from boathook.cli.convert_plan import ConversionEnds, ConversionPlan
from boathook.core.matcher import compile_names, compile_pattern
from boathook.errors import ConfigError
from boathook.sources.conversion import ConversionError, ConvertedFolder, convert_pattern, find_free_name
from boathook.sources.settings_json.settings_file import read_settings
from tests.scratch_project import ScratchProject, write_script

IN_ORDER = "HOOK.md hooks run one after another, and a block skips the rest; settings.json hooks run together"
GROUP_ORDER = "settings.json hooks run together, and a block skips none; HOOK.md hooks run one after another"
TWICE = (
    "Without --move the entries stay where they are, so these hooks run twice. Remove one of the two, or use --move."
)
COST = (
    "Through boathook, Claude Code waits about one start of Python longer for each event, and about three where a hook "
    "runs, than for hooks that it starts itself."
)
ALWAYS = (COST, "To rename a hook, rename its folder, and change `name` in its HOOK.md.")
UNCALLED = (
    "Claude Code reads only settings.json, so it no longer runs these hooks. "
    "To make it call boathook: boathook install claude"
)
WORK_DIR = "it runs in the project's folder, no longer in the work dir"


class ConvertProject(ScratchProject):
    """A scratch project with the `convert` commands."""

    def convert(self, direction: str, *args: str) -> tuple[int, dict[str, Any]]:
        done = self.run("convert", direction, "--json", *args, "--yes")
        assert done.stderr == ""
        return done.returncode, json.loads(done.stdout)

    def to_hooks(self, *args: str) -> tuple[int, dict[str, Any]]:
        return self.convert("to-hookmd", *args)

    def to_settings(self, *args: str) -> tuple[int, dict[str, Any]]:
        return self.convert("to-settings", *args)

    def write_entries(
        self, *entries: Any, event: str = "PreToolUse", matcher: str | None = None, scope: str = "project"
    ) -> Path:
        """Write a settings file with one group."""
        group = {**({} if matcher is None else {"matcher": matcher}), "hooks": list(entries)}
        return self.write_settings(scope, {"hooks": {event: [group]}})

    def read_hook_states(self) -> dict[str, str]:
        return {hook["name"]: hook["state"] for hook in self.list_hooks()}

    def read_files(self) -> dict[str, tuple[int, bytes]]:
        """Return every file of the project and the home with its mode and content."""
        files = [path for top in (self.path, self.home, self.config.parent) for path in top.rglob("*")]
        return {str(p): (stat.S_IMODE(p.stat().st_mode), p.read_bytes()) for p in files if p.is_file()}


@pytest.fixture
def project(project: ScratchProject) -> ConvertProject:
    return ConvertProject(project.base, trust_all=True)


def command(text: str, **rest: Any) -> dict[str, Any]:
    return {"type": "command", "command": text, **rest}


def manifest(folder: Path) -> list[str]:
    """Return the frontmatter of a hook as lines."""
    return (folder / "HOOK.md").read_text().split("---\n")[1].splitlines()


def only(report: dict[str, Any]) -> dict[str, Any]:
    (row,) = report["hooks"]
    return row


# settings.json to HOOK.md: what is written


def test_an_entry_becomes_a_folder_with_a_manifest_and_a_script(project: ConvertProject) -> None:
    entry = command('"$CLAUDE_PROJECT_DIR"/.claude/hooks/format.sh', timeout=5, statusMessage="Formats it's file")
    path = project.write_entries(entry, event="PostToolUse", matcher="Edit|Write")
    code, report = project.to_hooks()
    folder = project.hooks_folder("project") / "format"
    assert code == 0
    assert report == {
        "version": 1,
        "direction": "to-hookmd",
        "from": str(path),
        "to": str(project.hooks_folder("project")),
        "dry_run": False,
        "move": False,
        "hooks": [
            {
                "name": only(report)["name"],
                "place": "hooks.PostToolUse[0].hooks[0]",
                "event": "PostToolUse",
                "status": "converted",
                "to": str(folder),
                "reason": "",
                "notes": [],
            }
        ],
        "notes": [*ALWAYS, TWICE],
        "files": [{"path": f"{folder}/{name}", "content": None} for name in ("HOOK.md", "scripts/run.sh")],
        "backed_up": [],
        "backups": [],
    }
    assert (folder / "HOOK.md").read_bytes() == (
        b"---\n"
        b"name: format\n"
        b"description: 'Formats it''s file'\n"
        b"trigger: PostToolUse\n"
        b"matcher:\n"
        b"  tool: '^(?:Edit|Write)$'\n"
        b"timeout: 5000\n"
        b"dialect: claude\n"
        b"---\n"
        b"\n"
        b"# format\n"
        b"\n"
        b"This hook was converted from .claude/settings.json, hooks.PostToolUse[0].hooks[0]. Describe here what it is for.\n"
    )
    assert (folder / "scripts/run.sh").read_bytes() == (
        b"#!/usr/bin/env bash\n"
        b"# from .claude/settings.json, hooks.PostToolUse[0].hooks[0] (boathook convert)\n"
        b'cd "${CLAUDE_PROJECT_DIR:-.}" || exit 1\n'
        b'"$CLAUDE_PROJECT_DIR"/.claude/hooks/format.sh\n'
    )
    assert os.access(folder / "scripts/run.sh", os.X_OK)
    assert sorted(path.name for path in project.hooks_folder("project").iterdir()) == ["format"]


def test_the_name_of_an_agent_is_a_name_of_its_hooks(project: ConvertProject) -> None:
    project.write_entries("exit 2", matcher="Bash")
    assert project.to_hooks("--from", "claude", "--dry-run") == project.to_hooks("--dry-run")


def test_a_converted_hook_passes_the_strict_check(project: ConvertProject) -> None:
    project.write_entries(command("echo no >&2; exit 2", **{"if": "Bash(rm *)"}), matcher="Bash")
    project.to_hooks("--move")
    done = project.run("check", "--strict", str(project.path))
    assert (done.returncode, done.stdout) == (0, "all good\n")


MATCHERS: dict[str, tuple[str | None, dict[str, Any], list[str]]] = {
    "no matcher": (None, {}, []),
    "a star": ("*", {}, []),
    "a single name": ("Bash", {}, ["matcher:", "  tool: '^Bash$'"]),
    "a list of names": ("Edit, Write", {}, ["matcher:", "  tool: '^(?:Edit|Write)$'"]),
    "a pattern": ("mcp__.*__it's", {}, ["matcher:", "  tool: 'mcp__.*__it''s'"]),
    "a rule without inner part": (None, {"if": "Bash"}, ["matcher:", "  tool: '^Bash$'"]),
}


@pytest.mark.parametrize(("matcher", "rest", "lines"), MATCHERS.values(), ids=MATCHERS)
def test_a_matcher_becomes_patterns(
    project: ConvertProject, matcher: str | None, rest: dict[str, Any], lines: list[str]
) -> None:
    project.write_entries(command("true", **rest), matcher=matcher)
    assert project.to_hooks()[0] == 0
    assert manifest(project.hooks_folder("project") / "true")[3:-2] == lines


def test_a_rule_becomes_the_patterns_that_it_is_read_as(project: ConvertProject) -> None:
    path = project.write_entries(command("true", **{"if": "Edit(it's/*.ts)"}), matcher="Edit|Write|Bash")
    (hook,) = read_settings(str(path), "project").hooks
    assert hook.matcher.tool is not None
    assert hook.matcher.pattern is not None
    assert project.to_hooks("--move")[0] == 0
    (found,) = json.loads(project.run("list", "--json").stdout)["hooks"]
    assert found["matcher"] == {"tool": hook.matcher.tool.source, "pattern": hook.matcher.pattern.source}


FIELDS: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "no timeout is that of settings.json": ({}, ["timeout: 60000"], []),
    "a fraction of a second": ({"timeout": 0.25}, ["timeout: 250"], []),
    "a timeout below what is allowed": (
        {"timeout": 0.01},
        ["timeout: 100"],
        ["its timeout of 0.01 s becomes 100 ms, the nearest allowed value"],
    ),
    "a timeout beyond what is allowed": (
        {"timeout": 3600},
        ["timeout: 600000"],
        [
            "'timeout' is in seconds: 3600 is more than 600, so 600 is used; if you mean milliseconds, write 3.6",
        ],
    ),
    "async": ({"async": True}, ["timeout: 60000", "async: true"], []),
    "asyncRewake": (
        {"asyncRewake": True},
        ["timeout: 60000", "async: true"],
        ["this engine cannot wake the agent: the hook runs in the background and its result is logged"],
    ),
    "once": ({"once": True}, ["timeout: 60000"], ["'once' is dropped: the hook runs at every event"]),
    "a rule that is none": (
        {"if": "((("},
        ["timeout: 60000"],
        ["'if' is not a rule like 'Bash(git *)' or 'Edit(*.ts)'; it is ignored, so the hook runs more often"],
    ),
}


@pytest.mark.parametrize(("rest", "lines", "notes"), FIELDS.values(), ids=FIELDS)
def test_fields_become_fields_and_what_changes_is_noted(
    project: ConvertProject, rest: dict[str, Any], lines: list[str], notes: list[str]
) -> None:
    project.write_entries(command("true", **rest))
    code, report = project.to_hooks()
    found = manifest(project.hooks_folder("project") / "true")
    assert (code, found[3:], only(report)["notes"]) == (0, [*lines, "dialect: claude"], notes)


@pytest.mark.parametrize(
    "entry",
    [
        command('[ -n "$CLAUDE_CODE_REMOTE" ] || true'),
        command("sh", args=["-c", "echo $CLAUDE_CODE_REMOTE"]),
    ],
)
def test_a_variable_that_is_for_hooks_of_settings_alone_is_noted(
    project: ConvertProject, entry: dict[str, Any]
) -> None:
    project.write_entries(entry)
    assert only(project.to_hooks()[1])["notes"] == ["CLAUDE_CODE_REMOTE is only set for hooks of settings.json"]


def test_a_backslash_at_the_end_of_an_argument_is_taken_along(project: ConvertProject) -> None:
    project.write_entries(command("printf", args=["a\\"]))
    assert project.to_hooks()[0] == 0
    assert (
        (project.hooks_folder("project") / "pre-tool-call-printf/scripts/run.sh")
        .read_text()
        .endswith("exec printf 'a\\'\n")
    )


def test_an_unknown_key_is_noted(project: ConvertProject) -> None:
    project.write_entries(command("true", colour="red"))
    (note,) = only(project.to_hooks()[1])["notes"]
    assert note.startswith("unknown key 'colour'")


def test_the_description_of_a_group_is_used_where_the_entry_has_none(project: ConvertProject) -> None:
    group = {"description": "Looks\nat it", "hooks": [command("true")]}
    project.write_settings("project", {"hooks": {"Stop": [group]}})
    project.to_hooks()
    assert manifest(project.hooks_folder("project") / "true")[1] == "description: 'Looks at it'"


def test_a_program_with_arguments_becomes_quoted_words(project: ConvertProject) -> None:
    words = ["${CLAUDE_PROJECT_DIR}/a b.js", "it's", "", "--in=${CLAUDE_PROJECT_DIR}", "$HOME", "two\nlines"]
    project.write_entries(command("node", args=words))
    project.to_hooks()
    script = (project.hooks_folder("project") / "b/scripts/run.sh").read_text()
    assert script == (
        "#!/bin/sh\n"
        "# from .claude/settings.json, hooks.PreToolUse[0].hooks[0] (boathook convert)\n"
        'cd "${CLAUDE_PROJECT_DIR:-.}" || exit 1\n'
        "exec node \"$CLAUDE_PROJECT_DIR\"'/a b.js' 'it'\"'\"'s' '' --in=\"$CLAUDE_PROJECT_DIR\" '$HOME' 'two\nlines'\n"
    )


def test_a_command_of_many_lines_stays_as_it_is(project: ConvertProject) -> None:
    text = "input=$(cat)\n\tcat <<'END'\n$HOME \\ \"é\"\nEND\nexit 0"
    project.write_entries(command(text))
    project.to_hooks()
    script = (project.hooks_folder("project") / "pre-tool-call-cat/scripts/run.sh").read_bytes()
    assert script.split(b"|| exit 1\n")[1] == text.encode() + b"\n"


NAMES = {
    "a script": ("python3 .claude/hooks/check-style.py --fast", "check-style"),
    "a program": ("/usr/bin/prettier --write .", "prettier"),
    "a dotted program": ("python3.11 -c pass", "python3.11"),
    "a program that begins with a dash": ("_-.hidden", "hidden"),
    "nothing that could be a name": ("[ -f x ]", "pre-tool-call-command"),
    # The program of a pipe says little about what the hook is for.
    "a filter": ("jq -r .tool_input.command | grep -q force && exit 2", "pre-tool-call-jq"),
    "a word of the shell": ("if grep -q force; then exit 2; fi", "pre-tool-call-command"),
    "a script with the name of a filter": ("./hooks/echo.sh", "echo"),
    "a script of a hook folder": ("/elsewhere/guard/scripts/run.sh", "guard"),
    "a digit": ("7z t x", "7z"),
    "a word that YAML would take for nothing": ("null", "null"),
}


@pytest.mark.parametrize(("text", "name"), NAMES.values(), ids=NAMES)
def test_a_hook_has_the_name_of_what_it_runs(project: ConvertProject, text: str, name: str) -> None:
    project.write_entries(command(text))
    assert only(project.to_hooks()[1])["to"] == str(project.hooks_folder("project") / name)
    assert project.read_hook_states()[name] == "armed"


def test_names_are_made_unique(project: ConvertProject) -> None:
    project.write_entries(command("a/format.sh"), command("b/format.sh"), command("c/Format.sh"))
    names = [Path(row["to"]).name for row in project.to_hooks()[1]["hooks"]]
    assert names == ["format", "format-2", "Format-3"]
    assert find_free_name("x", {"x", "x-2", "x-3"}) == "x-4"


def test_a_name_of_another_level_is_not_taken_for_that_hook_would_be_replaced(project: ConvertProject) -> None:
    project.write_hook("format", scope="user")
    project.write_entries(command("format.sh"))
    assert Path(only(project.to_hooks("--move")[1])["to"]).name == "format-2"
    assert project.read_hook_states() == {"format": "armed", "format-2": "armed"}


def test_a_name_that_hooks_toml_disables_is_not_taken(project: ConvertProject) -> None:
    project.write_hooks_toml("user", '[[hooks.disable]]\nname = "format"\n')
    project.write_entries(command("format.sh"))
    assert Path(only(project.to_hooks("--move")[1])["to"]).name == "format-2"


def test_defaults_of_hooks_toml_do_not_change_a_converted_hook(project: ConvertProject) -> None:
    project.write_hooks_toml(
        "user", '[hooks.defaults]\npriority = 7\nasync = true\non_failure = "block"\ntimeout = 100\n'
    )
    project.write_entries(command("true"))
    project.to_hooks("--move")
    (hook,) = json.loads(project.run("list", "--json").stdout)["hooks"]
    found = [hook[key] for key in ("priority", "mode", "on_failure", "timeout_ms")]
    assert found == [100, "sync", "allow", 60000]


def test_what_hooks_toml_sets_for_an_entry_is_converted_too(project: ConvertProject) -> None:
    project.write_entries(command("true"))
    (name,) = project.read_hook_states()
    project.write_hooks_toml("user", f'[[hooks.override]]\nname = "{name}"\ntimeout = 2000\non_failure = "block"\n')
    notes = only(project.to_hooks()[1])["notes"]
    assert notes == ["hooks.toml sets its timeout, on_failure: converted with the current value"]
    lines = manifest(project.hooks_folder("project") / "true")
    assert lines[3:] == ["timeout: 2000", "on_failure: block", "dialect: claude"]


def test_the_order_and_equal_commands_are_noted(project: ConvertProject) -> None:
    groups = [{"matcher": name, "hooks": [command("guard.sh")]} for name in ("Edit", "Edit|Write")]
    project.write_settings("project", {"hooks": {"PreToolUse": groups}})
    same = "another entry has the same command: both run if both match, no longer one for both"
    assert [row["notes"] for row in project.to_hooks()[1]["hooks"]] == [[IN_ORDER, same], [IN_ORDER, same]]


# settings.json to HOOK.md: what is left

UNFIT: dict[str, tuple[str, dict[str, Any], str | None, str]] = {
    "a prompt": (
        "PreToolUse",
        {"type": "prompt", "prompt": "ok?"},
        None,
        "it asks a model; a HOOK.md hook runs a script",
    ),
    "an address": (
        "PreToolUse",
        {"type": "http", "url": "https://example.org/"},
        None,
        "it sends the event to a server; a HOOK.md hook runs a script",
    ),
    "powershell": (
        "PreToolUse",
        command("Get-Item", shell="powershell"),
        None,
        "its shell is powershell; scripts are written for sh and bash only",
    ),
    "an entry without command": (
        "PreToolUse",
        {"type": "command"},
        None,
        "invalid: hooks.PreToolUse[0].hooks[0]: 'command' is missing",
    ),
    "a line break in a pattern": (
        "PreToolUse",
        command("true"),
        "Ba.\nsh",
        "HOOK.md cannot express it: its matcher contains characters that would be lost",
    ),
    "a backslash at the end": (
        "PreToolUse",
        command("echo a \\"),
        None,
        "its command ends with a backslash, which means something else at the end of a script",
    ),
    "a type that Claude Code alone has": (
        "PreToolUse",
        {"type": "agent", "prompt": "ok?"},
        None,
        "disabled: hooks of the type 'agent' run only in Claude Code",
    ),
    "half a character": (
        "PreToolUse",
        command("echo \ud800"),
        None,
        "it contains characters that UTF-8 cannot encode",
    ),
}


@pytest.mark.parametrize(("event", "entry", "matcher", "reason"), UNFIT.values(), ids=UNFIT)
def test_an_entry_that_cannot_be_expressed_is_left_with_the_reason(
    project: ConvertProject, event: str, entry: dict[str, Any], matcher: str | None, reason: str
) -> None:
    path = project.write_entries(entry, event=event, matcher=matcher)
    before = path.read_bytes()
    code, report = project.to_hooks("--move")
    row = only(report)
    assert (code, row["status"], row["to"], row["reason"]) == (1, "left", "", reason)
    assert (path.read_bytes(), report["files"], report["backups"]) == (before, [], [])
    assert not (project.path / ".agents").exists()


def test_events_without_counterpart_and_unknown_ones_are_named(project: ConvertProject) -> None:
    groups = [{"hooks": [command("true")]}]
    project.write_settings("project", {"hooks": {"TaskCreated": groups, "PreTool": groups, "Stop": groups}})
    code, report = project.to_hooks("--move")
    assert code == 1
    assert [(row["name"], row["status"]) for row in report["hooks"][1:]] == [
        ("hooks.TaskCreated", "left"),
        ("hooks.PreTool", "left"),
    ]
    assert json.loads(Path(report["from"]).read_text()) == {"hooks": {"TaskCreated": groups, "PreTool": groups}}


def test_disabled_hooks_are_left(project: ConvertProject) -> None:
    path = project.write_settings(
        "project", {"disableAllHooks": True, "hooks": {"Stop": [{"hooks": [command("true")]}]}}
    )
    code, report = project.to_hooks()
    assert (code, only(report)["reason"]) == (1, f"disabled: disabled by {path} (disableAllHooks)")


def test_hooks_of_plugins_are_left(project: ConvertProject) -> None:
    root = project.base / "plugin"
    (root / "hooks").mkdir(parents=True)
    (root / "hooks/hooks.json").write_text(json.dumps({"hooks": {"Stop": [{"hooks": [command("true")]}]}}))
    register = project.claude_folder / "plugins/installed_plugins.json"
    register.parent.mkdir(parents=True)
    register.write_text(json.dumps({"plugins": {"a@b": [{"installPath": str(root)}]}}))
    project.write_settings("project", {"enabledPlugins": {"a@b": True}})
    code, report = project.to_hooks("--move")
    assert (code, only(report)["reason"]) == (1, "it belongs to a plugin")


def test_a_folder_that_is_there_is_never_overwritten(project: ConvertProject) -> None:
    folder = project.write_hook("format", scope="project")
    project.write_entries(command("format.sh"), command("lint.sh"))
    before = project.read_files()
    code, report = project.to_hooks()
    assert code == 1
    assert [(row["status"], row["reason"]) for row in report["hooks"]] == [
        ("left", f"{folder} exists already"),
        ("converted", ""),
    ]
    assert before.items() <= project.read_files().items()


def test_a_second_call_finds_its_own_folders_and_can_then_move(project: ConvertProject) -> None:
    project.write_entries(command("format.sh"), command("lint.sh"))
    project.to_hooks()
    before = project.read_files()
    code, report = project.to_hooks("--move")
    assert (code, [row["notes"][0] for row in report["hooks"]]) == (
        0,
        ["its folder exists already, with the same content"] * 2,
    )
    assert project.read_hook_states() == {"format": "armed", "lint": "armed"}
    after = project.read_files()
    assert {path for path in before if after[path] != before[path]} == {report["from"]}


def test_a_broken_file_is_not_touched(project: ConvertProject) -> None:
    for text in (
        '{"hooks": ',
        '{"a": 1, "a": 2, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}',
    ):
        path = project.write_settings("project", text)
        done = project.run("convert", "to-hookmd", "--move", "--yes")
        assert (done.returncode, done.stdout) == (1, "")
        assert "not valid JSON" in done.stderr
        assert (path.read_text(), [p.name for p in project.path.iterdir()]) == (text, [".claude"])


# settings.json to HOOK.md: taking out of the source


def test_a_move_keeps_all_the_rest_and_a_backup(project: ConvertProject) -> None:
    text = """{
    "permissions": {
        "allow": [
            "Bash(ls:*)"
        ],
        "deny": []
    },
    "hooks": {
        "Stop": [
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": "a.sh"
                    }
                ]
            }
        ],
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [
                    {
                        "type": "command",
                        "command": "b.sh"
                    },
                    {
                        "type": "prompt",
                        "prompt": "schön?"
                    },
                    {
                        "type": "command",
                        "command": "c.sh"
                    }
                ]
            },
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": "d.sh"
                    }
                ]
            }
        ]
    },
    "model": "opus",
    "ratio": 1.5
}"""
    path = project.write_settings("project", text)
    path.chmod(0o640)
    code, report = project.to_hooks("--move")
    remaining = json.loads(text)
    del remaining["hooks"]["Stop"]
    remaining["hooks"]["PreToolUse"] = [{"matcher": "Bash", "hooks": [{"type": "prompt", "prompt": "schön?"}]}]
    assert code == 1
    assert path.read_text() == json.dumps(remaining, indent=4, ensure_ascii=False)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    backup = path.with_name("settings.json.bak-1")
    assert (report["backups"], backup.read_text()) == ([str(backup)], text)
    assert sorted(p.name for p in path.parent.iterdir()) == ["settings.json", "settings.json.bak-1"]
    assert report["notes"] == [*ALWAYS, UNCALLED]


def test_the_last_hook_leaves_with_its_key_and_two_blanks_stay_the_indentation(project: ConvertProject) -> None:
    data = {"env": {"A": "1"}, "hooks": {"Stop": [{"hooks": [command("a.sh")]}]}, "model": "opus"}
    path = project.write_settings("project", json.dumps(data, indent=2) + "\n")
    assert project.to_hooks("--move")[0] == 0
    assert path.read_text() == '{\n  "env": {\n    "A": "1"\n  },\n  "model": "opus"\n}\n'


def test_backups_are_numbered(project: ConvertProject) -> None:
    for number in (1, 2):
        path = project.write_entries(command(f"a{number}.sh"))
        assert project.to_hooks("--move")[1]["backups"] == [f"{path}.bak-{number}"]


def test_entries_that_are_the_same_to_the_letter_become_one_hook(project: ConvertProject) -> None:
    path = project.write_entries(command("a.sh"), command("a.sh"))
    code, report = project.to_hooks("--move")
    assert code == 0
    assert [(Path(row["to"]).name, row["notes"]) for row in report["hooks"]] == [
        ("a", []),
        ("a", ["the same entry as hooks.PreToolUse[0].hooks[0]: one hook for both"]),
    ]
    assert path.read_text() == "{}"


def test_the_same_entry_elsewhere_is_noted(project: ConvertProject) -> None:
    project.write_entries(command("a.sh"))
    other = project.write_entries(command("a.sh"), scope="local")
    notes = only(project.to_hooks()[1])["notes"]
    assert notes == [f"{other} has the same entry, which runs too once this one is removed"]


def test_claude_code_that_calls_boathook_keeps_its_hooks(project: ConvertProject) -> None:
    project.write_entries(command("boathook run --host claude --event PreToolUse --without settings"), scope="user")
    project.write_entries(command("a.sh"))
    assert project.to_hooks("--move")[1]["notes"] == [*ALWAYS]


def test_a_link_to_a_settings_file_stays_a_link(project: ConvertProject) -> None:
    real = project.base / "dotfiles/settings.json"
    real.parent.mkdir()
    path = project.write_entries(command("a.sh"), scope="user")
    path.rename(real)
    path.symlink_to(real)
    assert project.to_hooks("--user", "--move")[0] == 0
    assert (path.is_symlink(), real.read_text()) == (True, "{}")


def test_a_dry_run_prints_everything_and_writes_nothing(project: ConvertProject) -> None:
    path = project.write_entries(command("a.sh"), {"type": "prompt", "prompt": "ok?"}, scope="project")
    project.write_hook("guard", scope="project", script="exit 2")
    before = project.read_files()
    code, report = project.to_hooks("--dry-run", "--move")
    assert (code, project.read_files()) == (1, before)
    folder = project.hooks_folder("project") / "a"
    files = {file["path"]: file["content"] for file in report["files"]}
    assert list(files) == [str(folder / "HOOK.md"), str(folder / "scripts/run.sh"), str(path)]
    assert json.loads(files[str(path)]) == {"hooks": {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "ok?"}]}]}}
    printed = project.run("convert", "to-hookmd", "--dry-run").stdout.splitlines()
    assert f"would write {folder}/scripts/run.sh:" in printed
    assert "    a.sh" in printed
    assert printed[-4:] == ["1 converted, 1 left (nothing was written)", *ALWAYS, TWICE]
    back = project.to_settings("--dry-run", "--move")[1]
    assert (back["backed_up"], [file["path"] for file in back["files"]]) == (
        [str(project.hooks_folder("project") / "guard/HOOK.md")],
        [str(path)],
    )
    assert project.read_files() == before


def test_a_real_run_writes_exactly_the_files_of_the_dry_run(project: ConvertProject) -> None:
    project.write_entries(command("a.sh"), command("b.sh"), matcher="Bash")
    planned = project.to_hooks("--dry-run", "--move")[1]["files"]
    written = project.to_hooks("--move")[1]["files"]
    assert [{"path": file["path"], "content": Path(file["path"]).read_text()} for file in written] == planned


def test_a_person_gets_plain_sentences(project: ConvertProject) -> None:
    path = project.write_entries(command("a.sh"), {"type": "prompt", "prompt": "ok?"})
    done = project.run("convert", "to-hookmd", "--move", "--yes")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("converted  PreToolUse:a.sh#")
    assert lines[0].endswith(f"  →  {project.hooks_folder('project')}/a")
    assert lines[1] == f"           {IN_ORDER}"
    assert lines[2].startswith("left       PreToolUse:prompt#")
    assert lines[3:] == [
        "           it asks a model; a HOOK.md hook runs a script",
        f"backup of the source: {path}.bak-1",
        "1 converted, 1 left",
        *ALWAYS,
        UNCALLED,
    ]


def test_where_there_are_no_hooks_there_is_nothing_to_do(project: ConvertProject) -> None:
    for direction, source in (("to-hookmd", ".claude/settings.json"), ("to-settings", ".agents/hooks")):
        done = project.run("convert", direction, "--move", "--yes")
        text = f"There are no hooks in {project.path}/{source}: nothing to convert.\n"
        assert (done.returncode, done.stdout, list(project.path.iterdir())) == (0, text, [])


# Levels


def test_the_users_hooks_go_to_the_users_folder_and_back(project: ConvertProject) -> None:
    path = project.write_entries(command("true"), scope="user")
    project.write_entries(command("false"), scope="project")
    code, report = project.to_hooks("--user", "--move")
    assert (code, only(report)["to"]) == (0, str(project.hooks_folder("user") / "true"))
    assert only(report)["notes"] == [IN_ORDER]
    # Once for all of them.
    variable = (
        "In these hooks, CLAUDE_PROJECT_DIR is the folder with .claude settings, else the folder with .agents/hooks"
    )
    assert report["notes"][0] == f"{variable}, else the work dir."
    assert path.read_text() == "{}"
    script = project.hooks_folder("user") / "true/scripts/run.sh"
    assert "# from the user's settings.json, hooks.PreToolUse[0].hooks[0]" in script.read_text()
    assert project.to_settings("--user", "--move")[0] == 0
    (group,) = json.loads(path.read_text())["hooks"]["PreToolUse"]
    assert group == {"hooks": [command(str(script), timeout=60, statusMessage="Runs true at PreToolUse")]}
    assert not (project.path / ".agents").exists()


def test_local_settings_are_converted_with_a_note_about_who_sees_them(project: ConvertProject) -> None:
    project.write_entries(command("false"), scope="project")
    path = project.write_entries(command("true"), scope="local")
    code, report = project.to_hooks("--local", "--move")
    shared = "settings.local.json is private to you; .agents/hooks is shared with everyone who has the project."
    assert (code, report["notes"], path.read_text()) == (0, [shared, *ALWAYS, UNCALLED], "{}")
    assert project.to_settings("--local", "--move")[0] == 0
    assert list(json.loads(path.read_text())["hooks"]) == ["PreToolUse"]


def test_local_and_user_cannot_be_used_together(project: ConvertProject) -> None:
    done = project.run("convert", "to-hookmd", "--user", "--local", "--yes")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--local" in done.stderr


def test_a_project_is_found_from_below(project: ConvertProject) -> None:
    project.write_entries(command("true"))
    (project.path / "a/b").mkdir(parents=True)
    assert project.to_hooks("--project", str(project.path / "a/b"))[0] == 0
    assert project.read_hook_states()["true"] == "armed"


def test_settings_below_that_do_not_mention_hooks_are_passed_over(project: ConvertProject) -> None:
    path = project.write_entries(command("true"))
    below = project.path / "pkg"
    (below / ".claude").mkdir(parents=True)
    (below / ".claude/settings.local.json").write_text('{"permissions": {}}')
    code, report = project.to_hooks("--move", "--project", str(below))
    assert (code, report["from"], report["to"]) == (0, str(path), str(project.hooks_folder("project")))
    code, report = project.to_settings("--project", str(below))
    assert (code, report["from"]) == (0, str(project.hooks_folder("project")))


def test_hooks_do_not_change_their_project(project: ConvertProject) -> None:
    project.write_entries(command("true"))
    (project.path / "sub/.agents/hooks").mkdir(parents=True)
    for direction in ("to-hookmd", "to-settings"):
        done = project.run("convert", direction, "--project", str(project.path / "sub"), "--yes")
        assert (done.returncode, done.stdout) == (1, "")
        assert "the nearest .agents/hooks is in" in done.stderr


def test_the_settings_of_the_home_folder_are_not_those_of_a_project(project: ConvertProject) -> None:
    (project.home / ".agents/hooks").mkdir(parents=True)
    done = project.run("convert", "to-settings", "--project", str(project.home), "--yes")
    assert (done.returncode, done.stdout) == (1, "")
    assert "for all projects: use --user" in done.stderr


def test_a_hook_that_would_not_run_undoes_everything(project: ConvertProject) -> None:
    elsewhere = project.base / "elsewhere"
    elsewhere.mkdir()
    (project.path / ".agents").mkdir()
    (project.path / ".agents/hooks").symlink_to(elsewhere)
    project.write_entries(command("a.sh"), command("b.sh"))
    before = project.read_files()
    done = project.run("convert", "to-hookmd", "--move", "--yes")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("is a link that leaves the project). Nothing was changed\n")
    assert (project.read_files(), list(elsewhere.iterdir())) == (before, [])


@pytest.mark.parametrize("step", ["replace", "rename"])
def test_a_step_that_fails_undoes_those_before_it(
    project: ConvertProject, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = project.write_entries(command("a.sh"))
    guard = project.write_hook("guard", scope="project")
    ends = ConversionEnds("project", str(project.path), (str(path),), str(project.path / "new/hooks"))
    plan = ConversionPlan((), (ConvertedFolder("a", b"", b""),), {str(path): b"{}"}, (str(guard / "HOOK.md"),))
    before, real = project.read_files(), getattr(os, step)

    def fail(source: str, target: str) -> None:
        if step == "replace" or target.startswith(str(guard)):
            raise OSError(errno.ENOSPC, "the disk is full")
        real(source, target)

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(ConfigError, match=r"cannot be written: the disk is full\. Nothing was changed"):
        apply_conversion(plan, ends, None)
    assert (project.read_files(), (project.path / "new").exists()) == (before, False)


# HOOK.md to settings.json


def test_a_hook_of_the_claude_dialect_becomes_an_entry(project: ConvertProject) -> None:
    fields = {"trigger": "PostToolUse", "matcher": "{tool: '^(?:Edit|Write)$'}", "timeout": 1500, "async": "true"}
    folder = project.write_hook(
        "format", scope="project", fields={**fields, "dialect": "claude", "description": "Formats"}
    )
    code, report = project.to_settings()
    path = project.path / ".claude/settings.json"
    assert code == 0
    assert report == {
        "version": 1,
        "direction": "to-settings",
        "from": str(project.hooks_folder("project")),
        "to": str(path),
        "dry_run": False,
        "move": False,
        "hooks": [
            {
                "name": "format",
                "place": str(folder / "HOOK.md"),
                "event": "PostToolUse",
                "status": "converted",
                "to": "hooks.PostToolUse[0].hooks[0]",
                "reason": "",
                "notes": [WORK_DIR],
            }
        ],
        "notes": [TWICE],
        "files": [{"path": str(path), "content": None}],
        "backed_up": [],
        "backups": [],
    }
    assert path.read_text() == (
        "{\n"
        '  "hooks": {\n'
        '    "PostToolUse": [\n'
        "      {\n"
        '        "matcher": "Edit|Write",\n'
        '        "hooks": [\n'
        "          {\n"
        '            "type": "command",\n'
        '            "command": "\\"$CLAUDE_PROJECT_DIR\\"/.agents/hooks/format/scripts/run.sh",\n'
        '            "timeout": 1.5,\n'
        '            "async": true,\n'
        '            "statusMessage": "Formats"\n'
        "          }\n"
        "        ]\n"
        "      }\n"
        "    ]\n"
        "  }\n"
        "}\n"
    )


def test_entries_are_added_to_what_is_there_with_a_backup(project: ConvertProject) -> None:
    project.write_hook("guard", scope="project", script="exit 2")
    data = {"model": "opus", "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [command("a.sh")]}], "Stop": []}}
    path = project.write_settings("project", json.dumps(data, indent=2))
    code, report = project.to_settings()
    entry = command('"$CLAUDE_PROJECT_DIR"/.agents/hooks/guard/scripts/run.sh', timeout=30, statusMessage="a test")
    data["hooks"]["PreToolUse"].append({"hooks": [entry]})
    assert (code, only(report)["to"]) == (0, "hooks.PreToolUse[1].hooks[0]")
    assert path.read_text() == json.dumps(data, indent=2)
    assert json.loads(Path(report["backups"][0]).read_text())["hooks"]["PreToolUse"] == data["hooks"]["PreToolUse"][:1]


def test_a_move_puts_the_manifest_aside_and_leaves_the_script_where_it_is(project: ConvertProject) -> None:
    folder = project.write_hook("guard", scope="project", script="exit 2")
    (folder / "HOOK.md.bak-1").write_text("older")
    text = (folder / "HOOK.md").read_text()
    code, report = project.to_settings("--move")
    assert (code, report["backed_up"], report["notes"]) == (0, [str(folder / "HOOK.md")], [])
    assert (folder / "HOOK.md.bak-2").read_text() == text
    assert sorted(path.name for path in folder.iterdir()) == ["HOOK.md.bak-1", "HOOK.md.bak-2", "scripts"]
    (name,) = project.read_hook_states()
    assert name.startswith("PreToolUse:run.sh#")


def test_a_hook_that_was_put_aside_is_not_written_over_but_its_way_back_is_named(project: ConvertProject) -> None:
    folder = project.write_hook("guard", scope="project", script="exit 2")
    project.to_settings("--move")
    code, report = project.to_hooks("--move")
    way = f"{folder} exists already (to restore that hook, rename its HOOK.md.bak-1 to HOOK.md)"
    assert (code, only(report)["reason"]) == (1, way)


def test_a_folder_name_is_quoted_for_the_shell(project: ConvertProject) -> None:
    project.write_hook("it's mine", scope="project", script="exit 2", fields={"name": "mine"})
    project.to_settings("--move")
    ((group,),) = json.loads((project.path / ".claude/settings.json").read_text())["hooks"].values()
    assert group["hooks"][0]["command"] == "\"$CLAUDE_PROJECT_DIR\"/'.agents/hooks/it'\"'\"'s mine/scripts/run.sh'"
    assert send(project, {"event_type": "pre-tool-call", "tool_name": "Bash"})["decision"] == "block"


def test_a_second_call_finds_its_own_entry_and_refuses_one_that_differs(project: ConvertProject) -> None:
    folder = project.write_hook("guard", scope="project", script="exit 2")
    project.to_settings()
    before = project.read_files()
    code, report = project.to_settings()
    assert (code, only(report)["notes"][-1], report["files"]) == (
        0,
        "its entry exists already, with the same content",
        [],
    )
    assert project.read_files() == before
    (folder / "HOOK.md").write_text((folder / "HOOK.md").read_text().replace("a test", "another"))
    code, report = project.to_settings("--move")
    reason = "the settings file already has another entry for it (hooks.PreToolUse[0].hooks[0])"
    assert (code, only(report)["reason"], (folder / "HOOK.md").exists()) == (1, reason, True)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a pattern": ({"matcher": "{pattern: rm}"}, "settings.json has no field for matcher.pattern"),
    "a field without a matcher there": (
        {"trigger": "pre-agent-turn", "matcher": "{prompt: deploy}"},
        "settings.json has no field for matcher.prompt",
    ),
    "a second field": (
        {"trigger": "post-subagent", "matcher": "{subagent_type: a, subagent_name: b}"},
        "settings.json has no field for matcher.subagent_name",
    ),
    "on_failure": ({"on_failure": "block"}, "settings.json has no field for on_failure: block"),
    "protected": ({"protected": "true"}, "settings.json has no field for protected"),
    "sandbox": ({"sandbox": "restricted"}, "settings.json has no field for sandbox"),
    "requires and a pattern": (
        {"requires": "{bins: [sh]}", "matcher": "{pattern: rm}"},
        "settings.json has no field for matcher.pattern, requires",
    ),
    "an event without counterpart": ({"trigger": "pre-step"}, "settings.json has no event for pre-step"),
    "the end of a turn": ({"trigger": "after_agent"}, "settings.json has no event for post-agent-turn"),
    "an invalid hook": ({"trigger": "nonsense"}, "invalid: unknown event 'nonsense'"),
    "a pattern that would be read otherwise": (
        {"matcher": "{tool: '^(?:A||B)$'}"},
        "its pattern '^(?:A||B)$' means something else as a matcher of settings.json",
    ),
    "a block of a session": (
        {"trigger": "pre-session"},
        "it may block, which hooks of settings.json cannot do at SessionStart",
    ),
    "a block of a subagent": (
        {"trigger": "pre-subagent"},
        "it may block, which hooks of settings.json cannot do at SubagentStart",
    ),
}


@pytest.mark.parametrize(("fields", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_settings_json_cannot_express_is_left(
    project: ConvertProject, fields: dict[str, Any], reason: str
) -> None:
    folder = project.write_hook("guard", scope="user", script="exit 2", fields=fields)
    code, report = project.to_settings("--user", "--move")
    assert (code, only(report)["status"], only(report)["reason"]) == (1, "left", reason)
    assert ((folder / "HOOK.md").exists(), (project.claude_folder / "settings.json").exists()) == (True, False)


NATIVE = {
    "its name of the event": ("jq -r .event_type", "event_type"),
    "its folder": ("""python3 -c 'print(json.load(sys.stdin)["work_dir"])'""", "work_dir"),
    "a new input": ("""echo '{"modified_input": {}}'""", "modified_input"),
    "a new output": ("""echo '{"modified_output": 1}'""", "modified_output"),
    "context": ("""echo '{"additional_context": "x"}'""", "additional_context"),
    "a message": ("""echo '{"system_message": "x"}'""", "system_message"),
    "a stop": ("""echo '{"continue": false, "stop_reason": "x"}'""", "stop_reason"),
    "the last message": ("jq .final_message.content", "final_message"),
    "an output": ("jq .tool_output", "tool_output"),
    "a subagent": ("jq .subagent_type", "subagent_type"),
    "a time": ("jq .timestamp", "timestamp"),
    "a log": ("""echo '{"log": "x"}'""", "log"),
    "deny": ("""echo '{"decision": "deny"}'""", "decision: deny"),
    "allow, escaped": ('echo "{\\"decision\\": \\"allow\\"}"', "decision: allow"),
    "ask, of jq": ("""jq -n '{decision: "ask"}'""", "decision: ask"),
    "a decision in a variable": ("""printf '{"decision": "%s"}' "$d" """, "decision: %s"),
    "a choice": ("""python3 -c 'a["decision"] = "block" if x else "allow"'""", "decision: allow"),
    "a variable of the engine": ("echo $AGENT_HOOK_NAME >&2", "AGENT_HOOK_NAME"),
    "another": ('cd "$KIMI_PROJECT_DIR" && ls "$MONOCO_PROJECT_ROOT"', "KIMI_PROJECT_DIR, MONOCO_PROJECT_ROOT"),
    "an engine inside": ("boathook run", "boathook run"),
    "an engine inside a shell": ("""exec timeout 5 sh -c 'boathook run'""", "boathook run"),
    "a decision however put together": ("""python3 -c 'print(dict([("decision", x)]))'""", "decision"),
    "a decision beside a shared one": (
        """python3 -c 'a.update({"decision": "block"}); a.pop("decision")'""",
        "decision",
    ),
}


@pytest.mark.parametrize(("script", "words"), NATIVE.values(), ids=NATIVE)
def test_a_native_script_is_left_with_the_words_that_were_found(
    project: ConvertProject, script: str, words: str
) -> None:
    project.write_hook("guard", scope="project", script=script)
    code, report = project.to_settings()
    reason = f"its script uses {words}, which hooks of settings.json do not have"
    assert (code, only(report)["reason"]) == (1, reason)


def test_the_words_are_looked_for_in_every_program_of_the_folder(project: ConvertProject) -> None:
    folder = project.write_hook("guard", scope="project", script='exec python3 "$(dirname "$0")/../guard.py"')
    (folder / "guard.py").write_text("print(event['event_type'])\n")
    (folder / "scripts/words").write_text("tool_output")
    (folder / "README.md").write_text("modified_input\n")
    (folder / "cases.json").write_text('{"work_dir": "/"}')
    reason = "its script uses event_type, tool_output, which hooks of settings.json do not have"
    assert only(project.to_settings()[1])["reason"] == reason


SHARED = {
    "exit 2": "echo no >&2; exit 2",
    "a block in JSON": """echo '{"decision": "block", "reason": "no"}'""",
    "an approval": """echo '{"decision":"approve"}'""",
    "fields that both have": "jq -r .tool_input.command >> hooks.log",
    "a mention of the engine": "echo 'see boathook run' >&2; exit 2",
}


@pytest.mark.parametrize("script", SHARED.values(), ids=SHARED)
def test_a_native_script_that_speaks_what_both_share_is_converted(project: ConvertProject, script: str) -> None:
    project.write_hook("guard", scope="project", script=script)
    code, report = project.to_settings()
    plain = "plain text on standard output was context for the agent; at PreToolUse it is only logged"
    assert (code, only(report)["notes"]) == (0, [plain, WORK_DIR])


def test_a_hook_of_the_claude_dialect_may_use_any_word_but_no_variable_of_the_engine(project: ConvertProject) -> None:
    fields = {"trigger": "PreToolUse", "dialect": "claude"}
    project.write_hook("words", scope="project", script="jq .event_type # hookSpecificOutput", fields=fields)
    project.write_hook("variables", scope="project", script="echo $AGENT_HOOK_DIR", fields=fields)
    rows = {row["name"]: (row["status"], row["reason"]) for row in project.to_settings()[1]["hooks"]}
    message = "its script uses AGENT_HOOK_DIR, which hooks of settings.json do not have"
    assert rows == {"variables": ("left", message), "words": ("converted", "")}


def test_a_native_script_that_speaks_the_other_dialect_is_left_with_a_hint(project: ConvertProject) -> None:
    project.write_hook("guard", scope="project", script="""echo '{"hookSpecificOutput": {}}'""")
    reason = "it is a native hook but uses hookSpecificOutput (write dialect: claude into its HOOK.md)"
    assert only(project.to_settings()[1])["reason"] == reason


def test_a_script_that_a_command_cannot_start_is_left(project: ConvertProject) -> None:
    folder = project.write_hook("plain", scope="project", script="exit 2")
    (folder / "scripts/run.sh").chmod(0o644)
    folder = project.write_hook("binary", scope="project", script=None)
    (folder / "scripts").mkdir()
    (folder / "scripts/run").write_bytes(b"\x7fELF" + bytes(64))
    (folder / "scripts/run").chmod(0o755)
    reasons = {row["name"]: row["reason"] for row in project.to_settings()[1]["hooks"]}
    assert reasons == {
        "plain": "scripts/run.sh is not executable (chmod +x), so a command cannot start it",
        "binary": "its script is a binary, so boathook cannot see what it reads and answers",
    }


def test_hooks_in_other_states_are_left_with_their_why(project: ConvertProject) -> None:
    project.write_hook("empty", scope="project", script=None)
    project.write_hook("off", scope="project")
    toml = project.write_hooks_toml("project", '[[hooks.disable]]\nname = "off"\n')
    reasons = {row["name"]: row["reason"] for row in project.to_settings()[1]["hooks"]}
    assert reasons == {
        "empty": "no-entry-point: none of scripts/run, scripts/run.sh, scripts/run.py is a file",
        "off": f"disabled: disabled by {toml}",
    }


def test_a_hook_that_hides_another_is_left(project: ConvertProject) -> None:
    project.write_hook("guard", scope="project")
    hidden = project.write_hook("guard", scope="user")
    reason = f"it replaces {hidden}/HOOK.md of the same name, which would run instead"
    assert only(project.to_settings("--move")[1])["reason"] == reason
    two = project.write_hook("two", scope="project")
    (two / "hook.md").write_text((two / "HOOK.md").read_text())
    message = "its folder has both HOOK.md and hook.md; the second would be used instead"
    assert {row["name"]: row["reason"] for row in project.to_settings("--move")[1]["hooks"]} == {
        "guard": reason,
        "two": message,
    }


def test_hooks_are_left_where_settings_disable_all_hooks(project: ConvertProject) -> None:
    project.write_hook("guard", scope="project")
    path = project.write_settings("user", {"disableAllHooks": True})
    reason = f"its entry would not run: {path} sets disableAllHooks"
    assert only(project.to_settings("--move")[1])["reason"] == reason


def test_what_a_project_disables_is_its_own_settings_and_not_local_ones(project: ConvertProject) -> None:
    project.write_hook("guard", scope="project", script="exit 2")
    path = project.write_settings("project", {"disableAllHooks": True})
    assert only(project.to_settings()[1])["reason"] == f"its entry would not run: {path} sets disableAllHooks"
    assert project.to_settings("--local", "--move")[0] == 0
    assert send(project, BASH)["decision"] == "block"
    local = project.path / ".claude/settings.local.json"
    assert list(json.loads(local.read_text())["hooks"]) == ["PreToolUse"]


def test_what_changes_on_the_way_to_settings_is_noted(project: ConvertProject) -> None:
    fields = {"priority": 200, "timeout": 500, "metadata": "{a: 1}", "env": "[HOME]", "matcher": "{tool: '(?i)bash'}"}
    project.write_hook("guard", scope="project", script="exit 2", fields={**fields, "dialect": "claude"})
    project.write_hook("other", scope="project", script="exit 2")
    project.write_hooks_toml("project", '[[hooks.override]]\nname = "guard"\ntimeout = 250\n')
    rows = {row["name"]: row["notes"] for row in project.to_settings()[1]["hooks"]}
    assert rows["guard"] == [
        "its priority of 200 is lost: hooks of settings.json have none",
        "its timeout is a fraction of a second (0.25)",
        "its metadata is dropped",
        "its list of variables (env) is dropped",
        "Claude Code reads matchers as JavaScript patterns, which may not have (?i",
        WORK_DIR,
        "hooks.toml sets its timeout: converted with the current value",
        GROUP_ORDER,
    ]


TOOLS = {
    "^Bash$": "Bash",
    "^(?:Edit|Write)$": "Edit|Write",
    "^(Edit|Write)$": "Edit|Write",
    "Shell": "(Shell)",
    "Edit|Write": "(Edit|Write)",
    "^mcp__": "^mcp__",
    "^Edit|Write$": "^Edit|Write$",
    "mcp__.*__get": "mcp__.*__get",
}


@pytest.mark.parametrize(("source", "matcher"), TOOLS.items())
def test_a_pattern_of_a_tool_becomes_a_matcher_that_means_the_same(source: str, matcher: str) -> None:
    pattern = compile_pattern(source)
    assert pattern is not None
    assert convert_pattern(pattern) == matcher
    other = compile_names(matcher)
    assert other is not None
    for name in ("Bash", "Edit", "Write", "MultiEdit", "Shell", "shell", "PowerShell", "mcp__a__get", "xmcp__", ""):
        assert pattern.search(name) == other.search(name)


def test_a_pattern_that_would_match_everything_there_is_refused() -> None:
    pattern = compile_pattern(" *")
    assert pattern is not None
    with pytest.raises(ConversionError, match="means something else"):
        convert_pattern(pattern)


# There and back, and the same effect


def test_there_and_back_keeps_the_events_matchers_and_timeouts(project: ConvertProject) -> None:
    hooks = {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [command("a.sh", timeout=5), command("b.sh")]},
            {"matcher": "Edit|Write", "hooks": [command("c.sh", timeout=0.5)]},
            {"matcher": "mcp__.*", "hooks": [command("d.sh", **{"async": True})]},
        ],
        "SessionStart": [{"hooks": [command("e.sh")]}, {"matcher": "startup|resume", "hooks": [command("g.sh")]}],
        "SessionEnd": [{"matcher": "logout", "hooks": [command("h.sh")]}],
        "SubagentStop": [{"matcher": "^Expl.*", "hooks": [command("i.sh")]}],
        "Stop": [{"hooks": [command("f.sh", timeout=600)]}],
    }
    path = project.write_settings("project", {"permissions": {"deny": []}, "hooks": hooks})
    before = shape(project)
    assert project.to_hooks("--move")[0] == 0
    assert json.loads(path.read_text()) == {"permissions": {"deny": []}}
    assert project.to_settings("--move")[0] == 0
    assert shape(project) == before
    assert json.loads(path.read_text())["permissions"] == {"deny": []}


def shape(project: ConvertProject) -> list[Any]:
    hooks = json.loads(project.run("list", "--json").stdout)["hooks"]
    found = [[hook[key] for key in ("event", "trigger", "matcher", "timeout_ms", "mode", "source")] for hook in hooks]
    return sorted(found, key=json.dumps)


def answer(**nested: Any) -> str:
    """Return a command that answers in JSON."""
    text = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **nested}})
    return f"cat > /dev/null; echo '{text}'"


BASH = {"event_type": "pre-tool-call", "tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}
WRITE = {"event_type": "post-tool-call", "tool_name": "Write", "tool_input": {"file_path": "a.py"}, "tool_output": "ok"}
BEHAVIOUR: dict[str, tuple[str, str | None, str, dict[str, Any], dict[str, Any]]] = {
    "a block with exit 2": (
        "PreToolUse",
        "Bash",
        """if grep -q 'rm -rf'; then echo "no rm" >&2; exit 2; fi""",
        BASH,
        {"decision": "block", "reasons": ["no rm"]},
    ),
    "no opinion about another tool": ("PreToolUse", "Bash", "exit 2", {**BASH, "tool_name": "Read"}, {}),
    "a denial in JSON": (
        "PreToolUse",
        "Bash|Write",
        answer(permissionDecision="deny", permissionDecisionReason="not today"),
        BASH,
        {"decision": "block", "reasons": ["not today"]},
    ),
    "a question": (
        "PreToolUse",
        "B.*",
        answer(permissionDecision="ask", permissionDecisionReason="sure?"),
        BASH,
        {"decision": "ask", "reasons": ["sure?"]},
    ),
    "a rewrite": (
        "PreToolUse",
        None,
        answer(permissionDecision="allow", updatedInput={"command": "ls"}),
        BASH,
        {"decision": "allow", "modified_input": {"command": "ls"}},
    ),
    "a format on write": (
        "PostToolUse",
        "Edit|Write",
        """python3 -c 'import json, sys; print(json.load(sys.stdin)["tool_input"]["file_path"])' >> seen.txt""",
        WRITE,
        {},
    ),
    "feedback": (
        "PostToolUse",
        "Write",
        """read -r event; [[ $event == *tool_response* ]] && echo '{"decision": "block", "reason": "lint"}'""",
        WRITE,
        {"decision": "block", "reasons": ["lint"]},
    ),
    "context for a session": (
        "SessionStart",
        None,
        'echo branch main of $(basename "$CLAUDE_PROJECT_DIR") in ${PWD##*/}',
        {"event_type": "pre-session", "source": "startup"},
        {"additional_context": ["branch main of project in project"]},
    ),
    "a block of the stop": (
        "Stop",
        None,
        """grep -q '"stop_hook_active": true' || echo '{"decision": "block", "reason": "run the tests"}'""",
        {"event_type": "pre-agent-turn-stop"},
        {"decision": "block", "reasons": ["run the tests"]},
    ),
    "a failure": ("PreToolUse", None, "echo oops >&2; exit 3", BASH, {}),
}
JUDGED = ("decision", "reasons", "modified_input", "modified_output", "additional_context", "system_message")


def send(project: ConvertProject, event: dict[str, Any]) -> dict[str, Any]:
    """Send an event from a folder below the project; return what counts of the verdict."""
    below = project.path / "src"
    below.mkdir(exist_ok=True)
    answers = {
        **event,
        "work_dir": str(below),
        "session_id": uuid.uuid4().hex,
    }  # a session remembers that it was stopped
    done = project.run("run", "--json", "--project", str(below), stdin=json.dumps(answers))
    verdict = json.loads(done.stdout)
    assert len(verdict["runs"]) <= 1
    return {**{key: verdict[key] for key in JUDGED}, "statuses": [run["status"] for run in verdict["runs"]]}


@pytest.mark.parametrize(("event", "matcher", "text", "sent", "wanted"), BEHAVIOUR.values(), ids=BEHAVIOUR)
def test_a_hook_does_the_same_in_settings_in_hook_md_and_back_in_settings(
    project: ConvertProject, event: str, matcher: str | None, text: str, sent: dict[str, Any], wanted: dict[str, Any]
) -> None:
    project.write_entries(command(text), event=event, matcher=matcher)
    nothing = {"decision": "none", "reasons": [], "modified_input": None, "modified_output": None}
    nothing |= {"additional_context": [], "system_message": []}
    first = send(project, sent)
    assert {key: first[key] for key in JUDGED} == {**nothing, **wanted}
    assert project.to_hooks("--move")[0] == 0
    assert send(project, sent) == first
    assert project.to_settings("--move")[0] == 0
    assert send(project, sent) == first
    seen = project.path / "seen.txt"
    assert (seen.read_text() if seen.exists() else "") == ("a.py\n" * 3 if "seen.txt" in text else "")


def test_a_program_with_arguments_does_the_same_afterwards(project: ConvertProject) -> None:
    write_script(project.path, 'printf "<%s>" "$@" >&2; exit 2', "tell.sh")
    words = ["a b", "", "it's $HOME", "${CLAUDE_PROJECT_DIR}/x", "\\"]
    project.write_entries(command("${CLAUDE_PROJECT_DIR}/scripts/tell.sh", args=words))
    first = send(project, BASH)
    assert first["reasons"] == [f"<a b><><it's $HOME><{project.path}/x><\\>"]
    project.to_hooks("--move")
    assert send(project, BASH) == first


def test_a_native_guard_does_the_same_as_an_entry(project: ConvertProject) -> None:
    script = "grep -q 'rm -rf' && { echo no >&2; exit 2; }\nexit 0"
    project.write_hook("guard", scope="project", script=script, fields={"matcher": "{tool: Bash}"})
    first = send(project, BASH)
    assert (first["decision"], first["reasons"]) == ("block", ["no"])
    assert project.to_settings("--move")[0] == 0
    assert send(project, BASH) == first


def test_without_a_move_the_entry_and_the_converted_hook_both_run(project: ConvertProject) -> None:
    project.write_entries(command("echo x >> seen.txt"))
    project.to_hooks()
    project.run("run", stdin=json.dumps({**BASH, "work_dir": str(project.path)}))
    assert (project.path / "seen.txt").read_text() == "x\nx\n"
