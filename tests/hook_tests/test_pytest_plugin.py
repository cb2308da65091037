from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from boathook.process.sandbox import ISOLATED, probe_sandbox_levels

CAN_ISOLATE = next(one.is_available for one in probe_sandbox_levels() if one.level == ISOLATED)
PLUGIN = "boathook.hook_tests.pytest_plugin"


def run_pytest(project, *options: str) -> str:
    argv = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", "-q", "-rA", *options]
    env = {**project.environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(argv, cwd=project.path, env=env, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_it_is_loaded_by_pytest_itself():
    assert [one.value for one in entry_points(group="pytest11", name="boathook")] == [PLUGIN]


def test_it_imports_nothing_of_boathook_before_it_finds_a_file():
    code = f"import sys, {PLUGIN}; print(sorted(name for name in sys.modules if name.startswith('boathook')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{['boathook', 'boathook.hook_tests', PLUGIN, 'boathook.version']}\n"


def test_every_case_is_a_test_and_nothing_else_in_the_folder_is(project):
    folder = project.write_hook("guard", "grep -q 'rm [xy]' && exit 2; exit 0", scope="project")
    (folder / "tests.txt").write_text("block rm x\npass rm y\ntodo-block ls\nskip @post-tool-call ls\n")
    for path in (folder / "test_other.py", project.path / ".agents/test_more.py"):
        path.write_text("def test_x(): assert 0\n")
    (project.path / "tests.txt").write_text("not ours\n")
    (project.path / "test_own.py").write_text("def test_own(): pass\n")
    output = run_pytest(project, "--hooks-no-sandbox")
    name = ".agents/hooks/guard/tests.txt::"
    assert "1 failed, 3 passed, 1 xfailed" in output
    assert f"FAILED {name}2: pass rm y - expected pass, got block" in output
    assert f"PASSED {name}1: block rm x" in output
    assert f"XFAIL {name}3: block ls - expected block, got pass" in output
    (folder / "tests.txt").write_text("blok x\n")
    assert "'blok' is not a word that a case begins with" in run_pytest(project, "--hooks-no-sandbox")


@pytest.mark.skipif(not CAN_ISOLATE, reason="no bubblewrap here")
def test_an_untrusted_hook_is_isolated(project):
    outside = project.base / "mark"
    folder = project.write_hook("guard", f"touch {outside}; exit 2", scope="project")
    (folder / "tests.txt").write_text("block ls\n")
    assert "1 passed" in run_pytest(project)
    assert not outside.exists()
