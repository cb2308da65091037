"""What `boathook check` remarks on hooks of settings.json, and what it leaves alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.catalog import Catalog, Settings
from boathook.core.hook import ARMED, DISABLED, ERROR, INVALID, PLUGIN, WARNING, Diagnostic, Hook
from boathook.hosts.claude_events import CLAUDE_EVENTS_BY_NAME
from boathook.sources.agent_forms.hook_form import SETTINGS_FORM
from boathook.sources.checker import check_catalog, check_path
from boathook.sources.settings_json.settings_checker import check_remote_hook, check_settings_hook
from boathook.sources.settings_json.settings_file import read_settings
from boathook.sources.shell_scripts import read_first_pipeline
from boathook.system.extras import suggest_packages

PLACE = "hooks.PreToolUse[0].hooks[0]"
EXIT_1 = ("exit 1 is a failure and does not block", "use exit 2 to block, with the reason on stderr")
PROGRAMS = ("jq", "npx", "npm", "node", "uv", "git", "python3", "bash", "sh", "curl", "timeout", "nohup", "env", "cat")
PROGRAMS += ("perl", "grep")


@pytest.fixture
def here(project, monkeypatch):
    """A project with a PATH that holds a few programs and nothing else."""
    folder = project.base / "bin"
    folder.mkdir()
    for name in PROGRAMS:
        write(folder / name, "#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(folder))
    return project


def write(path: Path, text: str = "#!/bin/sh\n", mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    path.chmod(mode)
    return path


def the_hook(project, entry: object, *, scope: str = "project", event: str = "PreToolUse", **group: object) -> Hook:
    entry = {"type": "command", "command": entry} if isinstance(entry, str) else {"type": "command", **entry}
    path = project.write_settings(scope, {"hooks": {event: [{**group, "hooks": [entry]}]}})
    (hook,) = read_settings(str(path), scope).hooks
    return hook


def remarks(project, entry: object, **how: object) -> list[tuple[str, str, str]]:
    """Check one entry; every remark must be on its place in its file."""
    hook = the_hook(project, entry, **how)
    found = check_settings_hook(hook)
    assert {(p.path, p.line, p.key) for p in found} <= {(hook.path, None, hook.place)}
    return [(p.level, p.message, p.fix) for p in found]


# What real hooks look like: no remark

FINE = [
    'jq -r \'.tool_input.file_path\' | { read f; case "$f" in *.ts) npx prettier --write "$f";; esac; }',
    "jq -r '.tool_input.file_path // empty' | xargs -I{} npx eslint --fix {}",
    'jq -r \'"\\(.tool_input.command) - \\(.tool_input.description // "none")"\' >> ~/.claude/bash-command-log.txt',
    'cd "$CLAUDE_PROJECT_DIR" && npm run lint',
    'cd "$CLAUDE_PROJECT_DIR" && ./scripts/gone.sh',
    'osascript -e \'display notification "done" with title "Claude"\'',
    "notify-send 'Claude Code' 'Awaiting your input' || true",
    "afplay /System/Library/Sounds/Glass.aiff &",
    'uv run "$CLAUDE_PROJECT_DIR"/.claude/hooks/here.py',
    'uv run --script "$CLAUDE_PROJECT_DIR"/.claude/hooks/here.py --verbose',
    "uv run ruff check",
    'npx prettier --write "$(jq -r .tool_input.file_path)"',
    "npx --yes ./tool",
    "bash -c 'input=$(cat); echo \"$input\" | ./gone.sh'",
    "bash -lc './gone.sh'",
    "python3 -I -c \"import json, sys; data = json.load(sys.stdin); sys.exit(2 if '.env' in str(data) else 0)\"",
    "python3 -I -m json.tool",
    "node -e 'a/b.js'",
    "perl -e 's/a/b/'",
    "perl -pe 's/a/b/'",
    'file=$(jq -r .tool_input.file_path)\nif [[ "$file" == *.py ]]; then\n  black "$file"\nfi',
    'f="$(cat)"; black "$f"',
    "if [ -f package.json ]; then npm test; fi",
    "[ -f package.json ] && npm test",
    "[[ -x ./gone.sh ]] && ./gone.sh",
    "test -x ./gone.sh && ./gone.sh",
    "! ./gone.sh",
    "{ ./gone.sh; }",
    "( ./gone.sh )",
    "lint() { npx eslint .; }; lint",
    "function lint { npx eslint .; }; lint",
    "command -v prettier >/dev/null && prettier --write .",
    "command -v black || exit 0; black .",
    "black . || true",
    "type black >/dev/null 2>&1 && black .",
    'for f in *.py; do black "$f"; done',
    'while read -r line; do echo "$line"; done',
    "set -e; ./gone.sh",
    "export A=1; ./gone.sh",
    "source ~/.gone; npm test",
    "PATH=/opt/bin:$PATH black .",
    "A=1 B='2 3' npm test",
    "env A=1 npm test",
    "exec npm test",
    "nohup npm test >/dev/null 2>&1 &",
    "timeout 30 npm test",
    "timeout 5s npm test",
    "2>/dev/null npm test",
    "npm test 2>&1 | cat",
    "cat <<'END' | npm test\nexit 1\nEND",
    'cat <<< "$X" | ./gone.sh',
    "# a comment\nnpm test",
    "\n\n  npm test \\\n    --all\n",
    "$HOME/../bin/unknown || true",
    "$UNKNOWN/x.sh",
    "${CLAUDE_PROJECT_DIR:-.}/x.sh",
    '"${CLAUDE_PLUGIN_ROOT}"/x.sh',
    "~other/x.sh",
    "/opt/gone.sh || true",
    '[ -x "$CLAUDE_PROJECT_DIR/gone.sh" ] && "$CLAUDE_PROJECT_DIR/gone.sh"',
    "scripts/*.sh",
    '\\"$CLAUDE_PROJECT_DIR\\"/gone.sh',
    "echo $CLAUDE_PROJECT_DIR",
    '"$CLAUDE_PROJECT_DIR"/.claude/hooks/here.sh',
    '"$CLAUDE_PROJECT_DIR/.claude/hooks/here.sh"',
    'python3 "$CLAUDE_PROJECT_DIR"/.claude/hooks/here.py',
    'python3 -u "$CLAUDE_PROJECT_DIR"/.claude/hooks/here.py',
    'bash "$CLAUDE_PROJECT_DIR"/.claude/hooks/plain.sh',
    "~/.claude/mine.sh",
    '"$HOME"/.claude/mine.sh',
    "$HOME/.claude/mine.sh",
    'cat | "$CLAUDE_PROJECT_DIR"/.claude/hooks/here.sh',
    "boathook-is-not-here || true",
    "true",
    ":",
    "echo done",
    "'unfinished",
    "npm 'unfinished",
    "`npm bin`/eslint",
    "curl -s -X POST http://localhost:1/ -d @- > /dev/null",
    "echo 'no' >&2; exit 2",
    'echo \'{"decision": "block"}\'; exit 1',
    'echo "{\\"decision\\": \\"block\\"}" >&2; exit 1',
    "bash -c 'echo no >&2; exit 1'",
    "npm test || exit 2",
    "npm test",
]


@pytest.mark.parametrize("command", FINE)
def test_no_remark_is_made_on(here, command):
    hooks = here.path / ".claude" / "hooks"
    for name in ("here.sh", "here.py"):
        write(hooks / name)
    write(hooks / "plain.sh", "exit 0\n", 0o644)
    write(here.home / ".claude" / "mine.sh")
    assert remarks(here, command) == []


@pytest.mark.parametrize("scope", ["user", "project", "local"])
def test_no_remark_is_made_on_a_program_with_arguments_that_is_all_there(here, scope):
    script = write(here.path / "a.js", "//\n", 0o644)
    assert remarks(here, {"command": "node", "args": [str(script), "./x"]}, scope=scope) == []
    assert remarks(here, {"command": "node", "args": ["${CLAUDE_PROJECT_DIR}/a.js"]}, scope=scope) == []
    assert remarks(here, {"command": "npx", "args": ["-y", "./x.sh"]}, scope=scope) == []


def test_an_entry_without_a_command_or_of_another_shell_has_no_diagnostic(here):
    assert remarks(here, {"type": "prompt", "prompt": "./x.sh"}, event="Stop") == []
    assert remarks(here, {"type": "http", "url": "https://example.org"}) == []
    assert remarks(here, {"command": "./x.ps1; exit 1", "shell": "powershell"}) == []


def test_an_invalid_entry_has_no_diagnostic_beyond_its_error(here):
    hook = the_hook(here, {"command": ""}, matcher="bash")
    assert (hook.state, check_settings_hook(hook)) == (INVALID, [])


# Relative paths


def relative(path: str) -> str:
    return f"'{path}' is a relative path: Claude Code finds it only while it is in the folder of the project"


RELATIVE = {
    "./x.sh": ("./x.sh", "x.sh"),
    ".claude/hooks/x.py": (".claude/hooks/x.py", ".claude/hooks/x.py"),
    "scripts/x.sh --all": ("scripts/x.sh", "scripts/x.sh"),
    "'scripts/x.sh'": ("scripts/x.sh", "scripts/x.sh"),
    "../x.sh": ("../x.sh", "../x.sh"),
    "python3 scripts/x.py": ("scripts/x.py", "scripts/x.py"),
    "python3 -u x.py < /dev/null": ("x.py", "x.py"),
    "bash ./x.sh": ("./x.sh", "x.sh"),
    "bash -eu scripts/x": ("scripts/x", "scripts/x"),
    "node x.mjs": ("x.mjs", "x.mjs"),
    "uv run scripts/x.py": ("scripts/x.py", "scripts/x.py"),
    "A=1 ./x.sh": ("./x.sh", "x.sh"),
    "exec ./x.sh": ("./x.sh", "x.sh"),
    "timeout 5 ./x.sh": ("./x.sh", "x.sh"),
    "cat | ./x.sh": ("./x.sh", "x.sh"),
    "echo hi |\n ./x.sh": ("./x.sh", "x.sh"),
    "./x.sh || true": ("./x.sh", "x.sh"),
    "./x.sh; npm test": ("./x.sh", "x.sh"),
    "./x.sh > log 2>&1": ("./x.sh", "x.sh"),
    "./x.sh &> log &": ("./x.sh", "x.sh"),
    './x.sh "$(cat)"': ("./x.sh", "x.sh"),
    "# first\n./x.sh": ("./x.sh", "x.sh"),
    '"$VENV"/bin/python3 scripts/x.py': ("scripts/x.py", "scripts/x.py"),
}


@pytest.mark.parametrize("command", RELATIVE)
@pytest.mark.parametrize("scope", ["project", "user"])
def test_a_relative_path_is_reported(here, command, scope):
    path, fixed = RELATIVE[command]
    write(here.path / fixed)
    assert remarks(here, command, scope=scope) == [(WARNING, relative(path), f'"$CLAUDE_PROJECT_DIR"/{fixed}')]


def test_a_relative_path_among_arguments_is_fixed_without_quotes(here):
    write(here.path / "scripts/x.py")
    found = remarks(here, {"command": "python3", "args": ["scripts/x.py"]})
    assert found == [(WARNING, relative("scripts/x.py"), "${CLAUDE_PROJECT_DIR}/scripts/x.py")]
    found = remarks(here, {"command": "./x y", "args": []})
    assert found == []  # it may be anything


def test_a_relative_path_of_a_plugin_is_fixed_with_its_folder(here):
    root = here.base / "plugin"
    write(root / "hooks" / "hooks.json", '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./x.sh"}]}]}}')
    (hook,) = read_settings(str(root / "hooks" / "hooks.json"), "user", root=str(root), source=PLUGIN).hooks
    assert [(p.message, p.fix) for p in check_settings_hook(hook)] == [
        (relative("./x.sh"), '"$CLAUDE_PLUGIN_ROOT"/x.sh')
    ]


# Scripts that cannot be started

UNQUOTED = (
    WARNING,
    "$CLAUDE_PROJECT_DIR is not quoted: the command fails in a project whose path contains a space",
    '"$CLAUDE_PROJECT_DIR"/…',
)
BLOCKS_ALL = "{} does not exist: {} exits with 2 then, which blocks every call"
NAMED = {
    '"$CLAUDE_PROJECT_DIR"/a/x.sh': "path",
    "$CLAUDE_PROJECT_DIR/a/x.sh": "path",
    "${CLAUDE_PROJECT_DIR}/a/x.sh": "path",
    '"${CLAUDE_PROJECT_DIR}/a/x.sh" --flag': "path",
    "A=1 exec $CLAUDE_PROJECT_DIR/a/x.sh": "path",
    "bash -e $CLAUDE_PROJECT_DIR/a/x.sh": "path",
    "cat | $CLAUDE_PROJECT_DIR/a/x.sh": "path",
    "~/a/x.sh": "home",
    "$HOME/a/x.sh": "home",
    '"$HOME/a"/x.sh': "home",
}


@pytest.mark.parametrize("command", NAMED)
def test_a_script_that_does_not_exist_is_an_error(here, command):
    path = getattr(here, NAMED[command]) / "a" / "x.sh"
    expected = (ERROR, f"{path} does not exist: the hook fails at every event", "create it, or fix the path")
    unquoted = [UNQUOTED] if " $" in f" {command}" and "HOME" not in command else []
    assert remarks(here, command) == [*unquoted, expected]
    write(path)
    assert remarks(here, command) == unquoted


def test_a_script_by_an_absolute_path_that_does_not_exist_is_an_error(here):
    path = here.base / "gone.py"
    expected = (ERROR, f"{path} does not exist: the hook fails at every event", "create it, or fix the path")
    assert remarks(here, str(path)) == [expected]
    assert remarks(here, {"command": str(path), "args": []}) == [expected]
    assert remarks(here, f"bash {path}") == [expected]
    below = write(here.base / "file") / "x.sh"
    assert [message for _, message, _ in remarks(here, str(below))] == [
        f"{below} does not exist: the hook fails at every event"
    ]


@pytest.mark.parametrize("program", ["python3", "python3.11", "pypy3", "perl", "uv run", "uv run --script"])
def test_a_program_that_exits_with_2_without_its_script_blocks_every_call(here, program):
    path = here.base / "gone.py"
    name = program.partition(" ")[0]
    # Not all of these programs are on the PATH.
    found = [one for one in remarks(here, f"{program} {path}", scope="user") if "PATH" not in one[1]]
    assert found == [(ERROR, BLOCKS_ALL.format(path, name), "create it, or fix the path")]
    for how in ({"event": "SessionStart"}, {"event": "Notification"}):
        messages = [message for _, message, _ in remarks(here, f"{program} {path}", scope="user", **how)]
        assert f"{path} does not exist: the hook fails at every event" in messages


def test_a_script_by_a_relative_path_that_is_not_in_the_project_is_an_error(here):
    messages = [message for _, message, _ in remarks(here, "python3 hooks/gone.py")]
    assert messages == [relative("hooks/gone.py"), BLOCKS_ALL.format(here.path / "hooks/gone.py", "python3")]
    assert [message for _, message, _ in remarks(here, "python3 hooks/gone.py || true")] == [relative("hooks/gone.py")]


def test_a_script_among_arguments_is_found_in_the_project(here):
    expected_message = BLOCKS_ALL.format(here.path / "x.py", "python3")
    entry = {"command": "python3", "args": ["${CLAUDE_PROJECT_DIR}/x.py"]}
    assert [message for _, message, _ in remarks(here, entry)] == [expected_message]
    assert remarks(here, {"command": "python3", "args": ["$CLAUDE_PROJECT_DIR/x.py"]}) == []  # nothing is certain


def test_the_user_s_file_knows_no_project(here):
    for command in ('"$CLAUDE_PROJECT_DIR"/x.sh', '"${CLAUDE_PROJECT_DIR}"/x.sh', 'bash "$CLAUDE_PROJECT_DIR/x.sh"'):
        assert remarks(here, command, scope="user") == []
        (hook,) = read_settings(str(here.claude_folder / "settings.json"), "project").hooks
        assert check_settings_hook(hook) == []  # for any source of the question


def test_a_file_outside_of_a_claude_folder_knows_no_project(here):
    path = write(
        here.path / "hooks.json",
        '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "\\"$CLAUDE_PROJECT_DIR\\"/x"}]}]}}',
    )
    assert [one.message for one in check_path(str(path))] == ["nothing loads this file, so none of its hooks runs"]


def test_a_script_of_a_plugin_is_looked_for_in_its_folder(here):
    root = here.base / "plugin"
    entry = '{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/x.sh; $CLAUDE_PROJECT_DIR/y.sh"}'
    write(root / "hooks" / "hooks.json", '{"hooks": {"Stop": [{"hooks": [' + entry + "]}]}}")
    (hook,) = read_settings(str(root / "hooks" / "hooks.json"), "project", root=str(root), source=PLUGIN).hooks
    message = f"{root}/x.sh does not exist: the hook fails at every event"
    assert [problem.message for problem in check_settings_hook(hook)] == [message]
    write(root / "x.sh")
    assert check_settings_hook(hook) == []


def test_a_script_that_is_run_itself_must_be_executable(here):
    path = write(here.path / "x.sh", mode=0o644)
    expected = (ERROR, f"{path} is not executable: the hook fails at every event", f"chmod +x {path}")
    assert remarks(here, '"$CLAUDE_PROJECT_DIR"/x.sh') == [expected]
    assert remarks(here, {"command": "${CLAUDE_PROJECT_DIR}/x.sh", "args": []}) == [expected]
    assert remarks(here, 'bash "$CLAUDE_PROJECT_DIR"/x.sh') == []
    assert remarks(here, '"$CLAUDE_PROJECT_DIR"/x.sh || true') == []


FIRST_LINES = {
    "#!/no/such/program\n": (
        "its interpreter /no/such/program does not exist here",
        "name an interpreter that is installed",
    ),
    "#!/usr/bin/env no-such-program\n": (
        "its interpreter no-such-program is not on the PATH",
        "name an interpreter that is installed",
    ),
    "#!/bin/sh\r\nexit 0\r\n": (
        "it has Windows line ends, so its interpreter reads as /bin/sh\\r (convert it to LF)",
        "convert the file to LF line ends",
    ),
    "#!\n": ("its interpreter line is empty", "name an interpreter that is installed"),
}


@pytest.mark.parametrize("text", FIRST_LINES)
def test_a_script_with_a_broken_first_line_is_an_error_if_it_is_run_itself(here, text):
    why, fix = FIRST_LINES[text]
    path = write(here.path / "x.sh", text)
    assert remarks(here, '"$CLAUDE_PROJECT_DIR"/x.sh') == [(ERROR, f"{path} cannot be started: {why}", fix)]
    assert remarks(here, 'python3 "$CLAUDE_PROJECT_DIR"/x.sh') == []


def test_windows_line_ends_are_reported_where_a_shell_reads_them(here):
    path = write(here.path / "x.sh", "#!/bin/sh\necho\r\n")
    reported = Diagnostic(str(path), 2, "", WARNING, "it has Windows line ends", "convert it to LF")
    for command in ('"$CLAUDE_PROJECT_DIR"/x.sh', 'bash "$CLAUDE_PROJECT_DIR"/x.sh'):
        assert check_settings_hook(the_hook(here, command)) == [reported]
    write(path, "#!/bin/sh\r\necho\r\n")
    assert check_settings_hook(the_hook(here, 'bash "$CLAUDE_PROJECT_DIR"/x.sh')) == [reported.replace(line=1)]
    assert check_settings_hook(the_hook(here, 'python3 "$CLAUDE_PROJECT_DIR"/x.sh')) == []


def test_folders_and_what_cannot_be_looked_at_are_left_alone(here):
    (here.path / "package").mkdir()
    assert remarks(here, 'node "$CLAUDE_PROJECT_DIR"/package') == []
    assert remarks(here, f"/{'x' * 5000}/y.sh") == []
    assert remarks(here, "/a/\ud800.sh") == []


# A project whose path has a space


@pytest.fixture
def spaced(here):
    folder = here.base / "my project"
    write(folder / "x.sh")

    def _spaced(command: str) -> list[tuple[str, str, str]]:
        entry = json.dumps({"type": "command", "command": command})
        path = write(folder / ".claude" / "settings.json", '{"hooks": {"Stop": [{"hooks": [' + entry + "]}]}}", 0o644)
        (hook,) = read_settings(str(path), "project").hooks
        return [(p.level, p.message, p.fix) for p in check_settings_hook(hook)]

    return _spaced


FALLS = "$CLAUDE_PROJECT_DIR is not quoted, and the path of the project contains a space: the command fails"


@pytest.mark.parametrize(
    "command",
    [
        "$CLAUDE_PROJECT_DIR/x.sh",
        "${CLAUDE_PROJECT_DIR}/x.sh",
        "bash $CLAUDE_PROJECT_DIR/x.sh",
        "cd $CLAUDE_PROJECT_DIR && npm test",
    ],
)
def test_a_project_dir_outside_of_quotes_falls_apart_at_a_space(spaced, command):
    assert spaced(command) == [(ERROR, FALLS, '"$CLAUDE_PROJECT_DIR"/…')]


@pytest.mark.parametrize(
    "command",
    [
        '"$CLAUDE_PROJECT_DIR"/x.sh',
        '"$CLAUDE_PROJECT_DIR/x.sh"',
        "A=$CLAUDE_PROJECT_DIR npm test",
        "echo $CLAUDE_PROJECT_DIR",
        "[[ -d $CLAUDE_PROJECT_DIR ]] && npm test",
        "npm test '$CLAUDE_PROJECT_DIR'",
        "npm test > $CLAUDE_PROJECT_DIR/log",
    ],
)
def test_a_project_dir_within_quotes_does_not(spaced, command):
    assert spaced(command) == []


# Programs that are not there


@pytest.mark.parametrize(
    "command",
    ["black .", "black", "A=1 black .", "exec black .", "black . | cat", "black . && npm test", "black .\nnpm test"],
)
def test_a_program_that_is_not_on_the_path_is_reported(here, command):
    assert remarks(here, command) == [(WARNING, "'black' is not on the PATH", "install it, or write its path")]
    write(here.base / "bin" / "black")
    assert remarks(here, command) == []


def test_a_program_with_arguments_that_is_not_on_the_path_is_reported(here):
    expected = [(WARNING, "'black' is not on the PATH", "install it, or write its path")]
    assert remarks(here, {"command": "black", "args": ["."]}) == expected
    assert (
        remarks(here, {"command": "boathook", "args": ["run", "--host", "claude"]})[0][1]
        == "'boathook' is not on the PATH"
    )


@pytest.mark.parametrize(("system", "foreign"), [("linux", "osascript -e x"), ("darwin", "notify-send x")])
def test_a_program_of_another_system_is_its_author_s_affair(here, monkeypatch, system, foreign):
    monkeypatch.setattr("sys.platform", system)
    assert remarks(here, foreign) == []
    monkeypatch.setattr("sys.platform", {"linux": "darwin", "darwin": "linux"}[system])
    name = foreign.partition(" ")[0]
    assert [message for _, message, _ in remarks(here, foreign)] == [f"'{name}' is not on the PATH"]


# exit 1

LINES = [
    "echo no >&2; exit 1",
    "if grep -q secret; then echo 'no \"secrets\"' >&2; exit 1; fi",
    "npm test >&2 || exit 1",
    "npm test ||\n{ echo 'tests fail' >&2\nexit 1; }",
]


@pytest.mark.parametrize("command", LINES)
def test_exit_1_that_is_meant_to_block_is_reported(here, command):
    assert remarks(here, command) == [(WARNING, *EXIT_1)]


@pytest.mark.parametrize("event", CLAUDE_EVENTS_BY_NAME)
def test_exit_1_is_reported_only_where_a_block_counts(here, event):
    expected = [(WARNING, *EXIT_1)] if CLAUDE_EVENTS_BY_NAME[event].refuses else []
    assert remarks(here, LINES[0], event=event) == expected


def test_exit_1_in_the_background_or_where_a_failure_blocks_is_fine(here):
    entry = {"command": LINES[0], "async": True}
    assert remarks(here, entry) == []
    assert check_settings_hook(the_hook(here, LINES[0]).replace(on_failure="block")) == []


SCRIPTS = {
    "#!/bin/sh\necho no >&2\nexit 1\n": 3,
    "#!/usr/bin/python3\nimport sys\nif bad:\n    print('no', file=sys.stderr)\n    sys.exit(1)\n": 5,
    "#!/bin/sh\necho no >&2\nexit 2\n": None,
    "#!/bin/sh\nexit 1\n": None,
    "#!/bin/sh\ncommand -v jq >/dev/null || {\n  echo 'jq is missing' >&2\n  exit 1\n}\n": None,
    "try:\n    json.load(sys.stdin)\nexcept ValueError as e:\n    print(e, file=sys.stderr)\n    sys.exit(1)\n": None,
    "try { go() } catch (e) {\n  console.error(e);\n  process.exit(1);\n}\n": None,
}


@pytest.mark.parametrize("text", SCRIPTS)
@pytest.mark.parametrize(
    "command", ['bash "$CLAUDE_PROJECT_DIR"/.claude/x.sh', 'cat | bash "$CLAUDE_PROJECT_DIR"/.claude/x.sh']
)
def test_exit_1_in_the_script_is_reported_with_its_line(here, text, command):
    path = write(here.path / ".claude" / "x.sh", text)
    line = SCRIPTS[text]
    expected = [] if line is None else [Diagnostic(str(path), line, "", WARNING, *EXIT_1)]
    assert check_settings_hook(the_hook(here, command)) == expected
    assert check_settings_hook(the_hook(here, command, event="SessionStart")) == []


def test_exit_1_is_found_in_a_script_by_a_relative_path_too(here):
    path = write(here.path / "x.sh", "#!/bin/sh\necho no >&2\nexit 1\n")
    hook = the_hook(here, "./x.sh")
    assert check_settings_hook(hook) == [
        Diagnostic(hook.path, None, PLACE, WARNING, relative("./x.sh"), '"$CLAUDE_PROJECT_DIR"/x.sh'),
        Diagnostic(f"{here.path}/./x.sh", 3, "", WARNING, *EXIT_1),
    ]
    assert path.exists()


@pytest.mark.parametrize("folder", ["node_modules/.bin", ".venv/bin", "bin", "lib/site-packages/x"])
def test_scripts_of_others_are_not_read(here, folder):
    path = write(here.path / folder / "x.sh", "#!/bin/sh\necho no >&2\nexit 1\n")
    assert remarks(here, str(path)) == []


# Matchers

TOOLS = {
    "bash": "did you mean 'Bash'?",
    "BASH": "did you mean 'Bash'?",
    "Wirte": "did you mean 'Write'?",
    "edit|write": "did you mean 'Edit'?",
    "^bash$": "did you mean 'Bash'?",
    "webfetch": "did you mean 'WebFetch'?",
    "Zebra": "names in use: Bash, Read, Write, Edit, Glob, Grep, Task",
    "Frob.*": "names in use: Bash, Read, Write, Edit, Glob, Grep, Task",
}


@pytest.mark.parametrize("matcher", TOOLS)
@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "PermissionRequest", "PostToolUseFailure"])
def test_a_matcher_that_no_tool_matches_is_reported(here, matcher, event):
    message = f"'{matcher}' matches no known tool; this hook may never run"
    assert remarks(here, "npm test", event=event, matcher=matcher) == [(WARNING, message, TOOLS[matcher])]


KNOWN = [
    "Bash",
    "Edit|Write|MultiEdit",
    "Bash|bash",
    "Shell",
    "run_shell_command",
    "*",
    "",
    ".*",
    "Notebook.*",
    "^Task",
    "Skill",
]
KNOWN += [
    "mcp__memory__.*",
    "mcp__.*__write.*",
    "mcp__github__get",
    "mcp__github|mcp__gitlab",
    "some__tool",
    "MCP:x",
    "[Bb]ash",
]


@pytest.mark.parametrize("matcher", KNOWN)
def test_a_matcher_that_a_tool_may_match_is_fine(here, matcher):
    assert remarks(here, "npm test", matcher=matcher) == []


def test_a_name_in_a_list_that_looks_like_a_slip_is_reported(here):
    expected = (WARNING, "'Writ' in the matcher is not a known tool", "did you mean 'Write'?")
    assert remarks(here, "npm test", matcher="Edit|Writ|Bash") == [expected]
    assert remarks(here, "npm test", matcher="Edit|SomethingElse") == []
    expected = (WARNING, "'startupp' in the matcher is not a known value of SessionStart", "did you mean 'startup'?")
    assert remarks(here, "npm test", matcher="startupp|resume", event="SessionStart") == [expected]


def test_a_matcher_of_a_server_alone_is_reported(here):
    message = "'mcp__my_memory' is a server, not one of its tools; this hook may never run"
    assert remarks(here, "npm test", matcher="mcp__my_memory") == [(WARNING, message, "mcp__my_memory__.*")]
    assert remarks(here, {"command": "npm test", "if": "mcp__my_memory"}) == []


def test_a_rule_about_a_tool_that_is_not_known_is_reported(here):
    message = "'bash' matches no known tool; this hook may never run"
    assert remarks(here, {"command": "npm test", "if": "bash(git *)"}) == [(WARNING, message, "did you mean 'Bash'?")]
    assert remarks(here, {"command": "npm test", "if": "Bash(git *)"}, matcher="Bash") == []
    assert remarks(here, {"command": "npm test", "if": "Edit(*.ts)"}) == []


def test_matchers_of_prompts_and_posts_are_looked_at_too(here):
    expected = [(WARNING, "'bash' matches no known tool; this hook may never run", "did you mean 'Bash'?")]
    assert remarks(here, {"type": "http", "url": "https://example.org"}, matcher="bash") == expected
    assert remarks(here, {"type": "prompt", "prompt": "x"}, matcher="bash") == expected


@pytest.mark.parametrize(
    ("event", "value"), [(event, value) for event, values in SETTINGS_FORM.matcher_values.items() for value in values]
)
def test_a_matcher_of_a_value_that_is_known_is_fine(here, event, value):
    assert remarks(here, "npm test", event=event, matcher=value) == []
    assert remarks(here, "npm test", event=event, matcher=f"{value}|something") == []
    assert remarks(here, "npm test", event=event, matcher=f"^{value[:3]}") == []


def known(event: str) -> str:
    return f"known: {', '.join(SETTINGS_FORM.matcher_values[event])}"


OTHER_VALUES = {
    ("SessionStart", "Startup"): "did you mean 'startup'?",
    ("SessionStart", "begin"): known("SessionStart"),
    ("PreCompact", "automatic"): known("PreCompact"),
    ("PostCompact", "Bash"): known("PostCompact"),
    ("SessionEnd", "exit"): known("SessionEnd"),
    ("Notification", "permission"): "did you mean 'permission_prompt'?",
    ("Notification", "^x.*"): known("Notification"),
}


@pytest.mark.parametrize(("event", "matcher"), OTHER_VALUES)
def test_a_matcher_of_a_value_that_is_not_known_is_reported(here, event, matcher):
    message = f"'{matcher}' matches no value of {event}; this hook may never run"
    assert remarks(here, "npm test", event=event, matcher=matcher) == [(WARNING, message, OTHER_VALUES[event, matcher])]


@pytest.mark.parametrize("event", ["SubagentStart", "SubagentStop", "StopFailure"])
def test_where_people_make_up_names_any_matcher_is_fine(here, event):
    assert remarks(here, "npm test", event=event, matcher="my-agent") == []


# Models and servers to be asked


@pytest.fixture
def libraries(monkeypatch):
    """What can be imported, by name; all at first."""
    found = {"pydantic_ai", "httpx"}
    monkeypatch.setattr(
        "boathook.sources.settings_json.settings_checker.find_spec", lambda name: name if name in found else None
    )
    return found


PROMPT, POST = {"type": "prompt", "prompt": "x"}, {"type": "http", "url": "https://example.org"}
NO_MODEL = ("no model is named for prompt hooks", 'model = "provider:name" under [hooks] in your hooks.toml')
NO_LIBRARY = ("a:b needs a library for models", suggest_packages("prompt"))
NO_HTTPX_TO_ASK = ("prompt hooks need httpx", suggest_packages("http"))
NO_HTTPX = ("http hooks need httpx", suggest_packages("http"))
ASKING = {
    "a prompt without model": (PROMPT, "", "", NO_MODEL),
    "a prompt whose model names no provider": ({**PROMPT, "model": "haiku"}, "", "", NO_MODEL),
    "a prompt without model and library": (PROMPT, "", "pydantic_ai", NO_MODEL),
    "a prompt without library": (PROMPT, "a:b", "pydantic_ai", NO_LIBRARY),
    "a prompt for openai without httpx": (PROMPT, "openai:o3", "httpx", NO_HTTPX_TO_ASK),
    "a prompt for Claude without httpx": ({**PROMPT, "model": "claude-haiku-4-5"}, "", "httpx", NO_HTTPX_TO_ASK),
    "a post without library": (POST, "", "httpx", NO_HTTPX),
}


@pytest.mark.parametrize(("entry", "model", "missing", "expected"), ASKING.values(), ids=ASKING)
def test_what_is_missing_to_ask_is_an_error(here, libraries, entry, model, missing, expected):
    libraries.discard(missing)
    hook = the_hook(here, entry)
    message, fix = expected
    problem = Diagnostic(hook.path, None, PLACE, ERROR, f"{message}: the hook fails at every event", fix)
    assert check_remote_hook(hook, model) == [problem]
    assert check_catalog(Catalog((hook,), Settings(model=model))) == [problem]
    assert check_remote_hook(hook.replace(state=DISABLED), model) == []


@pytest.mark.parametrize(
    ("entry", "model", "missing"),
    [
        (PROMPT, "a:b", "httpx"),
        ({**PROMPT, "model": "openai:o3"}, "", "pydantic_ai"),
        ({**PROMPT, "model": "claude-haiku-4-5"}, "", "pydantic_ai"),
        ({**PROMPT, "model": "haiku"}, "a:b", "httpx"),
        (POST, "", "pydantic_ai"),
        ({"command": "npm test"}, "", "pydantic_ai"),
    ],
)
def test_nothing_is_reported_where_nothing_is_missing_to_ask(here, libraries, entry, model, missing):
    libraries.discard(missing)
    hook = the_hook(here, entry)
    assert (hook.state, check_remote_hook(hook, model)) == (ARMED, [])


def test_a_type_that_claude_code_alone_has_is_reported_and_nothing_else(here):
    hook = the_hook(here, {"type": "agent", "prompt": "x"}, matcher="bash")
    message = "hooks of the type 'agent' run only in Claude Code"
    problem = Diagnostic(hook.path, None, f"{PLACE}.type", WARNING, message)
    assert check_path(hook.path) == [problem]
    assert check_catalog(Catalog((hook,))) == [problem]


# As `boathook check` prints it


def test_a_project_is_checked_with_its_settings(here):
    path = here.write_settings(
        "project", {"hooks": {"PreToolUse": [{"matcher": "bash", "hooks": [{"type": "command", "command": "./x.sh"}]}]}}
    )
    write(here.path / "x.sh")
    local = here.write_settings("local", {"hooks": {"Stop": [{"type": "command", "command": "x"}]}})
    message = "'bash' matches no known tool; this hook may never run"
    bare = "is a hook without a group: an event has groups, and a group has hooks"
    fix = '{"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}'
    found = [
        Diagnostic(str(path), None, PLACE, WARNING, message, "did you mean 'Bash'?"),
        Diagnostic(str(path), None, PLACE, WARNING, relative("./x.sh"), '"$CLAUDE_PROJECT_DIR"/x.sh'),
    ]
    assert check_path(str(here.path)) == [*found, Diagnostic(str(local), None, "hooks.Stop[0]", ERROR, bare, fix)]
    assert check_path(str(path)) == found


# Reading shell lines


def read(text: str) -> list[list[tuple[str, str | None]]]:
    found = read_first_pipeline(text, {"A": "/a b", "HOME": "/home/me"})
    return [[(word.raw, word.value) for word in words] for words in found]


WORDS = {
    "": [],
    "a b": [[("a", "a"), ("b", "b")]],
    "a\tb": [[("a", "a"), ("b", "b")]],
    "a 'b c'd": [[("a", "a"), ("'b c'd", "b cd")]],
    'a "b $A" $A/x': [[("a", "a"), ('"b $A"', "b /a b"), ("$A/x", "/a b/x")]],
    "${A}x '$A' \\$A": [[("${A}x", "/a bx"), ("'$A'", "$A"), ("\\$A", "$A")]],
    '"\\$A \\" \\x"': [[('"\\$A \\" \\x"', '$A " \\x')]],
    "$B $1 $@ $? x$ y": [[("$B", None), ("$1", None), ("$@", None), ("$?", None), ("x$", "x$"), ("y", "y")]],
    "~ ~/x x~ ~you": [[("~", "/home/me"), ("~/x", "/home/me/x"), ("x~", "x~"), ("~you", None)]],
    "*.py a[b] {x,y} ?": [[("*.py", None), ("a[b]", None), ("{x,y}", None), ("?", None)]],
    "a\\\nb c \\\n d": [[("a\\\nb", "ab"), ("c", "c"), ("d", "d")]],
    "a | b |& c": [[("a", "a")], [("b", "b")], [("c", "c")]],
    "a|b": [[("a", "a")], [("b", "b")]],
    "a |\n\n b": [[("a", "a")], [("b", "b")]],
    "a || b": [[("a", "a")]],
    "a && b": [[("a", "a")]],
    "a & b": [[("a", "a")]],
    "a; b": [[("a", "a")]],
    "\n\na\nb": [[("a", "a")]],
    "# x\na # y\nb": [[("a", "a")]],
    "a#b": [[("a#b", "a#b")]],
    "a > x 2>&1 <y &>> z b": [[("a", "a"), ("b", "b")]],
    "a >x>y 3<&- b": [[("a", "a"), ("b", "b")]],
    "a 2 > x": [[("a", "a"), ("2", "2")]],
    "2>x a": [[("a", "a")]],
    "a <<END b": [[("a", "a")]],
    "a <<< b": [[("a", "a")]],
    "a <(b) c": [[("a", "a")]],
    "a $(b) c": [[("a", "a")]],
    'a "x$(b)" c': [[("a", "a")]],
    "a `b` c": [[("a", "a")]],
    "a ${B:-c} d": [[("a", "a")]],
    "a $'b' c": [[("a", "a")]],
    "a 'b": [[("a", "a")]],
    'a "b': [[("a", "a")]],
    "a b\\": [[("a", "a"), ("b\\", "b")]],
    "f() { x; }": [],
    "(a)": [],
    "x=(1 2) a": [],
    "a | (b)": [[("a", "a")]],
    "a > ; b": [[("a", "a")]],
    "''": [[("''", "")]],
}


@pytest.mark.parametrize("text", WORDS, ids=ascii)
def test_the_first_commands_of_a_line_are_read(text):
    assert read(text) == WORDS[text]


def test_a_word_knows_the_variable_it_begins_with_outside_of_quotes():
    (words,) = read_first_pipeline('$A/x "$A"/x x$A ${A} $B', {"A": "/a"})
    assert [word.leading_variable for word in words] == ["A", "", "", "A", "B"]
    assert (words[0].raw, words[0].value, words[0].start) == ("$A/x", "/a/x", 0)


pieces = st.sampled_from(
    [*"ab $'\"\\`|&;()<>#~*{}\n=", "$A", "${A}", "$(", "./x.sh", "&&", "||", "bash ", "exit 1", ">&2"]
)


@given(st.lists(pieces, max_size=12).map("".join) | st.text(max_size=30))
def test_no_line_makes_checking_fail_and_its_words_are_part_of_it(project, text):
    for words in read_first_pipeline(text, {"A": "/a"}):
        assert all(word.raw in text for word in words)
    hook = the_hook(project, "x").replace(place="here")
    found = check_settings_hook(hook.replace(handler=hook.handler.replace(text=text)))
    assert all(problem.message and problem.fix for problem in found)


plain = st.text("abcXYZ019_./-", min_size=1, max_size=8).filter(lambda word: not word.startswith("-"))


@given(st.lists(plain, min_size=1, max_size=4))
def test_plain_words_are_read_however_they_are_quoted(words):
    for form in ("{}", "'{}'", '"{}"'):
        (found,) = read_first_pipeline(" ".join(map(form.format, words)), {})
        assert [word.value for word in found] == words
