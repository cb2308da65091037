"""What `check` says about Python in shell text that looks for modules in the project."""

from __future__ import annotations

import pytest

from boathook.sources.python_starts import find_python_starts
from tests.scratch_project import make_settings

UNSAFE = {
    'python3 -c "import json, sys"': ("json", "sys"),
    "CMD=$(echo x | python3 -c 'from mine.rules import a; import os.path')": ("mine", "os"),
    'x="$(printf %s "$i" | /usr/bin/python3.9 -c "import json")"': ("json",),
    "if ! python -m mypkg.check; then exit 2; fi": ("mypkg",),
    "python3 -E -c 'import json'": ("json",),
    "python3 - <<'END'\nimport json\nimport mine as m\nEND\n": ("json", "mine"),
    "python3 <<END\nfrom rules import x\nEND\n": ("rules",),
    "cat x | python3 -": (),
    "MODE=1 exec python3 -um json.tool": ("json",),
    "env python3 -c 'import json'": ("json",),
    "nohup python3 - <x": (),
    "timeout 3 python3 -c 'import json'": ("json",),
    "timeout 0.5s env A=1 python3 -mrules": ("rules",),
    "python3 -X dev -c 'import json'": ("json",),
    "python3 -Wignore -X importtime -W error -m rules": ("rules",),
    "pypy3 -c 'import json'": ("json",),
    "uv run python -m rules": ("rules",),
    "uv run --quiet python3 - <<< 'import json'": ("json",),
    "case $x in a) python3 -c 'import json' ;; esac": ("json",),
    "check() { python3 -c 'import json'; }": ("json",),
    "x=`printf %s y | python3 -c 'import json'`": ("json",),
    "exec env python3 \\\n  -c 'import json'": ("json",),
}
SAFE = [
    'python3 -I -c "import json"',
    "python3 -P -m json.tool",
    "python3 -Ic 'import json'",
    "python3 -SI - <x",
    "python3 scripts/guard.py -c x",
    'python3 "$DIR/guard.py" - <x',
    "# run it | python3 -c 'import json'",
    "echo 'try python3 -c x'",
    'echo "use: python3 -m pip install x"',
    "pip install python3 -m",
    "grep -c python3 x",
    "env python3 -I -c 'import json'",
    "timeout 3 python3 -IP -",
    "nohup python3 -X dev -P -m rules",
    "python3 -W error -IX dev -c 'import json'",
    "uv run python -I -m rules",
    "uv run guard.py -c x",
    "uv run python guard.py -m x",
    "pypy3 guard.py - <x",
    "command -v python3 <x",
    "case $x in python|python3) true ;; esac",
    "python3 --version",
    "cat <<END\npython3 -c 'import json'\nEND\n",
]


@pytest.mark.parametrize("text", UNSAFE)
def test_python_without_a_script_is_found_with_what_it_imports(text):
    assert [start.modules for start in find_python_starts(f"#!/bin/sh\n{text}")] == [UNSAFE[text]]


@pytest.mark.parametrize("text", SAFE)
def test_what_does_not_look_in_the_work_dir_is_left_alone(text):
    assert find_python_starts(f"#!/bin/sh\n{text}\nexit 0") == []


def test_the_line_of_a_start_is_found():
    text = "a\nb $(\npython3 -c x)\n`\npython -c x`\n"
    assert [(start.line, start.words) for start in find_python_starts(text)] == [(3, "python3 -c"), (5, "python -c")]


def check(project, *words: str) -> str:
    return project.run("check", *words).stdout


@pytest.mark.parametrize("form", ["HOOK.md", "settings.json", "script of settings.json"])
def test_check_warns_and_names_the_fix(project, form):
    command = "python3 -c 'import json'"
    if form == "HOOK.md":
        folder = project.write_hook("guard", command, scope="project")
        (folder / "tests.txt").write_text("block rm\npass ls\n")
    elif form == "settings.json":
        project.write_settings("project", make_settings(command))
    else:
        (project.path / "guard.sh").write_text(command)
        project.write_settings("project", make_settings('bash "$CLAUDE_PROJECT_DIR/guard.sh"'))
    printed = check(project)
    assert "'python3 -c' looks for modules in the project first" in printed
    assert "fix: python3 -I -c" in printed
    assert "0 errors, 1 warning" in printed


def test_check_names_hooks_that_import_from_the_project(project):
    (project.path / "rules.py").write_text("")
    project.write_hook("guard", "python3 -m rules", scope="project")
    project.write_settings("project", make_settings("python3 -c 'import rules'"))
    printed = check(project)
    assert "'python3 -m' imports 'rules' from the project, which hooks cannot do by default" in printed
    assert "imports: project (in HOOK.md)" in printed
    assert "imports: project (under [[hooks.override]] in your hooks.toml)" in printed
    project.write_hook("guard", "python3 -m rules", scope="project", fields={"imports": "project"})
    assert "in HOOK.md" not in check(project)


def test_an_unquoted_folder_of_the_project_in_the_user_s_settings_is_a_warning(project):
    project.write_settings("user", make_settings("$CLAUDE_PROJECT_DIR/guard.sh"))
    assert "$CLAUDE_PROJECT_DIR is not quoted: the command fails in a project whose path contains a space" in check(
        project
    )
    project.write_settings("user", make_settings('"$CLAUDE_PROJECT_DIR"/guard.sh'))
    assert "not quoted" not in check(project)
