"""Commands that run a file of the project without naming it as a script: it is bound, or reported as not bound."""

from __future__ import annotations

import sys

import pytest

import boathook
from tests.scratch_project import make_settings

BOUND = {
    "standard input": "bash <tools/s.sh",
    "standard input, spaced": "bash < tools/s.sh",
    "standard input by number": "sh 0<tools/s.sh",
    "standard input with -s": "bash -s < tools/s.sh",
    "standard input with options": "bash -eu -s arg < tools/s.sh",
    "standard input of Python": "python3 - < tools/s.sh",
    "the last of two": "bash </dev/null <tools/s.sh",
}


def write_tool(project, text, name="tools/s.sh"):
    path = project.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("case", BOUND)
def test_a_script_on_standard_input_is_bound(project, case):
    write_tool(project, "exit(2)\n" if "Python" in case else "exit 2\n")
    project.write_settings("project", make_settings(BOUND[case]))
    shown = project.trust().stdout
    assert "s.sh:\n    | exit" in shown
    assert "not bound" not in shown
    assert project.dispatch()["decision"] == "block"
    write_tool(project, "exit(0)\n" if "Python" in case else "exit 0\n")
    assert len(project.dispatch()["skipped"]) == 1


def test_a_script_on_standard_input_runs_from_its_private_copy(project):
    write_tool(project, "readlink /proc/self/fd/0 >/dev/null; ls -l /proc/$$/fd/0 >&2; exit 2\n")
    project.write_settings("project", make_settings("sh < tools/s.sh"))
    project.trust()
    if sys.platform == "linux":
        assert str(project.state / "copies") in project.dispatch()["reasons"][0]


@pytest.mark.parametrize("name", ["s.py", "s/__main__.py"])
@pytest.mark.parametrize("command", ["python3 -m s", "env python3 -X dev -ums", "python3 -I -m s x"])
def test_a_module_of_the_project_is_named_as_not_covered(project, name, command):
    module = write_tool(project, "exit(0)\n", name)
    project.write_settings("project", make_settings(command))
    assert f"uncovered {module}" in project.trust().stdout


def test_a_module_that_python_does_not_import_does_not_disarm_a_guard(project):
    project.write_settings("project", make_settings("python3 -m json.tool >/dev/null"))
    project.trust()
    write_tool(project, "", "json/tool.py")
    assert project.dispatch()["skipped"] == []


def test_a_package_of_the_project_is_bound_else_not(project):
    project.write_settings("project", make_settings("npx s"))
    assert "not bound: boathook cannot tell what this runs: npx s" in project.trust().stdout
    program = write_tool(project, "exit 0\n", "node_modules/s/cli.js")
    (project.path / "node_modules" / ".bin").mkdir()
    (project.path / "node_modules" / ".bin" / "s").symlink_to("../s/cli.js")
    with boathook.load(project.path) as engine:
        assert [hook.state for hook in engine.catalog.hooks] == ["modified"]
    shown = project.trust().stdout
    assert "+exit 0\n" in shown
    assert "not bound" not in shown
    program.write_text("exit 2\n")
    with boathook.load(project.path) as engine:
        assert [hook.state for hook in engine.catalog.hooks] == ["modified"]


OPEN = {
    "npx -p other s": "npx -p other",
    "npx ./s": "npx ./s",
    "npm test": "npm test",
    "make lint": "make lint",
    'cd "$X"; python3 -m s': "python3 -m s",
    'python3 -m "$X"': 'python3 -m "$X"',
}


@pytest.mark.parametrize("command", OPEN)
def test_what_cannot_be_found_out_is_reported_as_not_bound(project, command):
    project.write_settings("project", make_settings(command))
    assert f"not bound: boathook cannot tell what this runs: {OPEN[command]}" in project.run("trust").stdout


@pytest.mark.parametrize(
    "command", ["jq -e .x < data.json", "bash -c true < data.json", "sh tools/other.sh < data.json"]
)
def test_an_input_that_is_not_a_script_is_named(project, command):
    write_tool(project, "{}", "data.json")
    project.write_settings("project", make_settings(command))
    assert f"{project.path}/data.json: not bound: named" in project.run("trust").stdout
