"""Frequent mistakes in commands and scripts of hooks: what is reported, and what looks like it and is left alone."""

from __future__ import annotations

import json

import pytest

from boathook.core.hook import ERROR, WARNING
from boathook.dialects.dialect import HOOK_DIALECTS
from boathook.sources.agent_forms.hook_form import find_form
from boathook.sources.checker import check_path
from boathook.sources.hook_mistakes import (
    JAVASCRIPT,
    PYTHON,
    SHELL,
    HookCode,
    find_language,
    find_mistakes,
    find_parse_errors,
    find_unread_reasons,
    find_unset_variables,
    find_windows_paths,
)
from tests.core.builders import a_hook, a_settings_hook

HOOK = a_settings_hook()


def find(rule, text: str, language: str = SHELL, *, is_line: bool = True, can_block: bool = True) -> list[int]:
    """Return the lines that a rule reports."""
    return [one.line for one in rule(HookCode(HOOK, text, language, can_block, is_line=is_line))]


# Variables

UNSET = {
    "a template": 'echo "$STDIN_JSON" | jq -r .tool_input.command',
    "files": "npx prettier --write $CLAUDE_FILE_PATHS",
    "braces": 'black "${CLAUDE_FILE_PATH}"',
    "an empty default": 'f="${CLAUDE_TOOL_INPUT_FILE_PATH:-}"; case "$f" in *.py) black "$f";; esac',
    "a condition": 'if [[ "$CLAUDE_FILE_PATHS" == *.tf ]]; then terraform fmt; fi',
    "a case": "case \"$CLAUDE_TOOL_INPUT\" in *'rm -rf'*) exit 2 ;; esac",
    "a pipe to python": "echo $CLAUDE_TOOL_INPUT | python3 -c 'import json, sys; json.load(sys.stdin)'",
    "the tool": '[ "$TOOL_NAME" = Bash ] && date >> log',
}
SET = {
    "what the agent sets": 'cd "$CLAUDE_PROJECT_DIR" && echo "$CLAUDE_ENV_FILE $CLAUDE_PLUGIN_ROOT"',
    "an assignment": 'TOOL_NAME=$(jq -r .tool_name); echo "$TOOL_NAME"',
    "a loop": 'for CLAUDE_FILE_PATH in *.py; do black "$CLAUDE_FILE_PATH"; done',
    "a fallback": 'input="$CLAUDE_TOOL_INPUT"; [ -n "$input" ] || input=$(cat)',
    "a read": 'read -r HOOK_INPUT; echo "$HOOK_INPUT"',
    "a default": 'echo "${CLAUDE_FILE_PATHS:-none}"',
    "a variable of the user": 'echo "$CLAUDE_HOOKS_DEBUG $CLAUDE_MODEL $FOO"',
    "a comment": "# $CLAUDE_TOOL_INPUT is not set\nnpm test",
    "an escape": 'echo "\\$CLAUDE_TOOL_INPUT"',
}


@pytest.mark.parametrize("text", UNSET.values(), ids=UNSET)
def test_a_variable_that_no_agent_sets_is_reported(text):
    assert find(find_unset_variables, text) == [1]


@pytest.mark.parametrize("text", SET.values(), ids=SET)
def test_a_variable_that_may_be_set_is_left_alone(text):
    assert find(find_unset_variables, text) == []


def test_the_fix_names_the_place_in_the_event():
    texts = ("$CLAUDE_FILE_PATHS", "$CLAUDE_TOOL_NAME", "$CLAUDE_COMMAND", "$CLAUDE_USER_PROMPT", "$STDIN_JSON")
    codes = [HookCode(HOOK, f"echo {text}", SHELL, can_block=True, is_line=True) for text in texts]
    fixes = [one.fix for code in codes for one in find_unset_variables(code)]
    places = (".tool_input.file_path", ".tool_name", ".tool_input.command", ".prompt", ".tool_input")
    assert fixes == [f"for example $(jq -r '{place} // empty')" for place in places]


def test_a_script_may_get_variables_of_other_names_from_what_it_sources():
    assert find(find_unset_variables, '. ./lib.sh\necho "$TOOL_NAME"\n', is_line=False) == []
    assert find(find_unset_variables, '. ./lib.sh\necho "$CLAUDE_TOOL_NAME"\n', is_line=False) == [2]


PROGRAMS = {
    "get": (PYTHON, "import os\nraw = os.environ.get('CLAUDE_TOOL_INPUT', '{}')\n", [2]),
    "index": (PYTHON, 'raw = os.environ["CLAUDE_FILE_PATHS"]\n', [1]),
    "beside standard input": (PYTHON, "raw = os.getenv('CLAUDE_TOOL_INPUT') or sys.stdin.read()\n", []),
    "node": (JAVASCRIPT, "const raw = process.env.CLAUDE_TOOL_INPUT;\n", [1]),
    "node beside standard input": (JAVASCRIPT, "const a = process.env.CLAUDE_TOOL_INPUT ?? readFileSync(0)\n", []),
}


@pytest.mark.parametrize(("language", "text", "lines"), PROGRAMS.values(), ids=PROGRAMS)
def test_programs_ask_for_variables_in_their_own_way(language, text, lines):
    assert find(find_unset_variables, text, language, is_line=False) == lines


def test_which_variables_are_not_set_is_a_matter_of_the_dialect():
    dialect = HOOK.dialect.replace(unset_variables=())
    code = HookCode(HOOK.replace(dialect=dialect), "echo $CLAUDE_TOOL_INPUT", SHELL, can_block=True, is_line=True)
    assert list(find_unset_variables(code)) == []
    assert all("STDIN_JSON" in row.unset_variables for row in HOOK_DIALECTS.values())


def test_a_variable_that_the_manifest_names_is_the_user_s():
    code = HookCode(a_hook(env=("CLAUDE_PROMPT",)), "echo $CLAUDE_PROMPT", SHELL, can_block=True, is_line=True)
    assert list(find_unset_variables(code)) == []


# Reasons

UNREAD = {
    "in a line": "test -z \"$A\" && echo 'A is not set' && exit 2",
    "behind a condition": "if [ -f x ]; then echo 'no; (really)'; exit 2; fi",
    "in braces": "x || { echo bad; exit 2; }",
    "in a case": "case $f in *.env) echo no; exit 2;; esac",
    "with printf": "printf '%s\\n' no; exit 2",
}
READ = {
    "to stderr": "echo no >&2; exit 2",
    "the first of two": "echo no >&2; echo more; exit 2",
    "the whole block": "{ echo no; exit 2; } >&2",
    "everything": "exec >&2; echo no; exit 2",
    "JSON": 'echo \'{"decision": "block"}\'; exit 2',
    "to a log": "echo no >> log && exit 2",
    "to another program": "echo no | tee log; exit 2",
    "captured": "msg=$(echo no); exit 2",
    "of another branch": "if a; then echo x; fi; exit 2",
    "something between": "echo start; npm test || exit 2",
    "another code": "echo no; exit 1",
    "in quotes": "grep -q 'echo no; exit 2' x",
    "nothing": "exit 2",
}


@pytest.mark.parametrize("text", UNREAD.values(), ids=UNREAD)
def test_a_reason_on_stdout_before_exit_2_is_reported(text):
    assert find(find_unread_reasons, text) == [1]
    assert find(find_unread_reasons, text, can_block=False) == []


@pytest.mark.parametrize("text", READ.values(), ids=READ)
def test_a_reason_that_is_read_or_is_not_one_is_left_alone(text):
    assert find(find_unread_reasons, text) == []


REASONS = {
    "lines": (SHELL, "#!/bin/bash\nif x; then\n  echo no\n\n  # why\n  echo more\n  exit 2\nfi\n", [7]),
    "one of the lines": (SHELL, "if x; then\n  echo no >&2\n  echo more\n  exit 2\nfi\n", []),
    "print": (PYTHON, "if bad:\n    print('no')\n    sys.exit(2)\n", [3]),
    "print to stderr": (PYTHON, "if bad:\n    print('no', file=sys.stderr)\n    sys.exit(2)\n", []),
    "print of several lines": (PYTHON, "if bad:\n    print(\n        'no'\n    )\n    sys.exit(2)\n", [5]),
    "several lines to stderr": (PYTHON, "print(\n    'no',\n    file=sys.stderr,\n)\nsys.exit(2)\n", []),
    "print of JSON": (PYTHON, "print(json.dumps(answer))\nsys.exit(2)\n", []),
    "something else": (PYTHON, "report('no')\nsys.exit(2)\n", []),
    "node": (JAVASCRIPT, "  console.log(\n    `no ${x}`\n  );\n  process.exit(2);\n", [4]),
    "node to stderr": (JAVASCRIPT, "  console.error('no');\n  process.exit(2);\n", []),
    "an unknown language": ("", "echo no\nexit 2\n", []),
}


@pytest.mark.parametrize(("language", "text", "lines"), REASONS.values(), ids=REASONS)
def test_reasons_are_looked_for_in_scripts(language, text, lines):
    assert find(find_unread_reasons, text, language, is_line=False) == lines


# Syntax and paths


@pytest.mark.parametrize("text", ['if [ 1 = 1 ; then echo "x', "echo 'a", "for x in a; echo $x", "case a in"])
def test_a_text_that_bash_cannot_parse_is_an_error(text):
    (found,) = find_parse_errors(HookCode(HOOK, text, SHELL, can_block=True, is_line=True))
    assert (found.level, "it exits with 2, which blocks every call" in found.message) == (ERROR, True)
    (found,) = find_parse_errors(HookCode(HOOK, text, SHELL, can_block=False, is_line=True))
    assert "the hook fails at every event" in found.message


def test_nothing_is_executed_to_find_it(tmp_path, monkeypatch):
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "env"))
    (tmp_path / "env").write_text(f"touch {tmp_path}/ran\n")
    assert find(find_parse_errors, f"touch {tmp_path}/ran; $(touch {tmp_path}/ran)") == []
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "text", ["[[ a =~ ^b ]] && diff <(a) <(b)", "a() { b; }; a", "cat <<'X'\n'\nX\n", "x=(1 2); echo ${x[@]}"]
)
def test_a_text_that_bash_can_parse_is_fine(text):
    assert find(find_parse_errors, text) == []


def test_without_bash_nothing_is_known(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find(find_parse_errors, "echo 'a") == []


@pytest.mark.parametrize("text", ["python C:/Users/me/hook.py", r'node "C:\hooks\a.js"', "py d:/x.py"])
def test_a_path_of_windows_is_reported(text):
    assert find(find_windows_paths, text) == [1]


@pytest.mark.parametrize("text", ["sed 's:/a:b:' x", "curl http://x", "scp a:/b .", "echo c:d"])
def test_what_only_looks_like_a_path_of_windows_is_left_alone(text):
    assert find(find_windows_paths, text) == []


def test_the_language_of_a_script_is_that_of_its_interpreter_or_its_name():
    known = {("x.sh", ""): "", ("x.py", ""): PYTHON, ("x", "python3.12"): PYTHON, ("x", "uv"): PYTHON}
    known |= {("x.mjs", "node"): JAVASCRIPT, ("x.ts", ""): JAVASCRIPT, ("x.rb", "ruby"): ""}
    assert {one: find_language(*one, is_for_shell=False) for one in known} == known
    assert find_language("x", "", is_for_shell=True) == SHELL


# In every form of hooks


def test_a_script_of_a_hook_md_is_checked_as_well(project):
    script = '#!/bin/sh\nf="$CLAUDE_FILE_PATHS"\nif [ -z "$f" ]; then\n  echo no\n  exit 2\nfi\n'
    folder = project.write_hook("guard", script, scope="user")
    found = [(one.line, one.level, one.message.partition(":")[0]) for one in check_path(str(folder))]
    assert found == [
        (2, WARNING, "no agent sets $CLAUDE_FILE_PATHS"),
        (5, WARNING, "the reason of exit 2 is written to stdout, where the model does not read it"),
    ]


def test_all_rules_are_asked():
    text = "python C:/x.py $CLAUDE_FILE_PATHS; echo no; exit 2; '"
    levels = [one.level for one in find_mistakes(HookCode(HOOK, text, SHELL, can_block=True, is_line=True))]
    assert levels == [WARNING, WARNING, ERROR, WARNING]


# Files


def test_a_file_of_another_agent_is_reported_as_one(project):
    path = project.path / ".windsurf/hooks.json"
    path.parent.mkdir()
    path.write_text('{"hooks": {"beforeShellExecution": [{"command": "x"}]}}')
    (found,) = check_path(str(path))
    assert (found.level, "it belongs to Windsurf" in found.message) == (WARNING, True)
    assert found.fix == "boathook cannot read this form; write the hooks as HOOK.md: boathook new --help"


def test_check_of_a_file_whose_form_is_not_enabled_shows_how_to_enable_it(project):
    path = project.path / ".codex/hooks.json"
    path.parent.mkdir()
    path.write_text('{"hooks": {"PreToolUs": []}}')
    unloaded, mistake = check_path(str(path))
    assert (unloaded.level, "it belongs to Codex CLI" in unloaded.message) == (WARNING, True)
    line = f'write sources = ["hook-md", "settings", "codex"] under [hooks] in {project.config}/hooks.toml'
    assert unloaded.fix == f"to run them in every agent, {line}"
    project.write_hooks_toml("user", '[hooks]\nsources = ["hook-md", "settings", "codex"]\n')
    assert check_path(str(path)) == [mistake]


def test_a_file_that_nothing_loads_is_checked_and_reported_as_one(project):
    path = project.path / "settings.json"
    path.write_text('{"hooks": {"PreToolUs": []}}')
    assert [one.message for one in check_path(str(path))] == [
        "nothing loads this file, so none of its hooks runs",
        "there is no event 'PreToolUs': its hooks never run",
    ]


def test_files_that_are_loaded_are_not(project):
    (project.path / "plugin/.claude-plugin").mkdir(parents=True)
    (project.path / "plugin/hooks").mkdir()
    (project.path / "plugin/hooks/hooks.json").write_text("{}")
    paths = [project.write_settings(scope, {"hooks": {}}) for scope in ("user", "project", "local")]
    assert [check_path(str(path)) for path in (*paths, project.path / "plugin/hooks/hooks.json")] == [[]] * 4


# Matchers of other agents

MATCHERS = {
    ("gemini", "BeforeTool", "Bash"): "in Gemini CLI it is called 'run_shell_command'",
    ("gemini", "BeforeTool", "run_shell_command|write_file"): None,
    ("gemini", "BeforeTool", "my_own_tool"): "",
    ("gemini", "BeforeTool", "mcp_.*"): None,
    ("gemini", "Notification", "ToolPermission"): None,
    ("gemini", "SessionStart", "startup"): None,
    ("gemini", "SessionStart", "fork"): "known: startup, resume, clear",
    ("codex", "PreToolUse", "Bash"): None,
    ("codex", "PreToolUse", "Edit|Write"): None,
    ("codex", "PreToolUse", "run_shell_command"): "in Codex CLI it is called 'Bash'",
    ("codex", "SessionStart", "clear|compact"): None,
    ("qwen", "PreToolUse", "run_shell_command"): None,
    ("qwen", "SessionStart", "branch"): None,
}


@pytest.mark.parametrize(("name", "event", "matcher"), MATCHERS)
def test_a_matcher_is_checked_with_the_names_of_its_own_agent(project, name, event, matcher):
    form = find_form(name)
    path = project.path / form.source.markers[0][1:]
    path.parent.mkdir()
    group = {"matcher": matcher, "hooks": [{"type": "command", "command": "true"}]}
    path.write_text(json.dumps({"hooks": {event: [group]}}))
    project.write_hooks_toml("user", f'[hooks]\nsources = ["hook-md", "settings", "{name}"]\n')
    fix = MATCHERS[name, event, matcher]
    found = [one.fix for one in check_path(str(path))]
    assert found == [] if fix is None else len(found) == 1 and fix in found[0]
