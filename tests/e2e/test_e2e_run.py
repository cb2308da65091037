"""The pins, the cache, the page and the exit code of `make e2e`, without any agent."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from boathook.hosts.host import load_host
from e2e import install, run, stage
from e2e.hosts import AGENTS
from e2e.install import Cache, InstallError, pins
from e2e.matrix import COLUMNS, GUARDS, matrix_page, tables


def test_every_package_is_pinned_to_the_version_that_the_tables_know():
    found = pins()
    assert {name for one in AGENTS for name in one.packages} == set(found)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", pin.version) for pin in found.values())
    for one in AGENTS:
        known = load_host(one.name).version
        assert found[one.package].version == known or not known


def test_the_markers_of_the_hooks_are_those_that_the_judge_looks_for():
    from e2e.judge import BLOCKED, CONTEXTS, STOPPED

    scripts = [path.read_text() for path in stage.HOOKS.glob("*/scripts/*")]
    for marker in (BLOCKED, STOPPED, *CONTEXTS.values()):
        assert sum(marker in text for text in scripts) == 1


def test_the_markers_of_the_guards_are_those_that_their_attempts_look_for():
    from e2e import attempts

    folders = (stage.HERE / "guard_hooks", stage.HERE / "guard_settings")
    scripts = [path.read_text() for top in folders for path in top.rglob("*") if path.suffix in (".py", ".sh")]
    for marker in (value for name, value in vars(attempts).items() if name.startswith("BY_")):
        # the reason of self-protection is not that of a script
        assert sum(marker in text for text in scripts) == (marker != attempts.BY_SELF_PROTECTION)


def test_the_cache_is_keyed_by_version_and_installs_once(tmp_path, monkeypatch):
    store = Cache(tmp_path, pins("npm some-tool 1.2.3\n# a comment\n"))
    ran = []
    monkeypatch.setattr(install, "_run", lambda command, wanted: ran.append(wanted))
    assert (store.install("some-tool"), store.install("some-tool"), ran) == (True, False, ["some-tool@1.2.3"])
    assert Cache(tmp_path, pins("npm some-tool 1.2.4")).install("some-tool")


def test_a_failed_install_is_loud_and_is_tried_again(tmp_path, monkeypatch):
    store = Cache(tmp_path, pins("npm some-tool 1.2.3"))

    def fails(command, wanted):
        raise InstallError("no network")

    monkeypatch.setattr(install, "_run", fails)
    for _ in range(2):
        with pytest.raises(InstallError, match="no network"):
            store.install("some-tool")
    monkeypatch.setattr(run, "load_host", load_host)
    monkeypatch.setattr(Cache, "install", lambda self, name: fails(None, None))
    rows = run._try(AGENTS[0], store, [])
    assert {one["state"] for one in rows[0]["results"].values()} == {"FAILED"}
    assert run._conclude(rows, write=False) == 1


def row(host: str = "claude", **states: str) -> dict:
    results = {name: {"state": states.get(name, "seen"), "note": ""} for name in COLUMNS}
    return {"host": host, "title": "T", "variant": "hooks", "version": "1", "seconds": 1.0, "results": results}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(run, "PAGE", tmp_path / "matrix.md")
    return tmp_path


def test_a_failure_makes_the_exit_code_1_and_is_never_written(files):
    assert run._conclude([row(stop="FAILED")], write=True) == 1
    assert not list(files.iterdir())


def test_what_is_otherwise_than_written_makes_it_1_too(files):
    assert run._conclude([row()], write=False) == 0
    assert run._conclude([row()], write=True) == 0
    assert run._conclude([row()], write=False) == 0
    assert run._conclude([row(rewrite="not possible")], write=False) == 1


def test_writing_keeps_the_agents_that_did_not_run(files):
    assert run._conclude([row("claude"), row("qwen")], write=True) == 0
    assert run._conclude([row("qwen", **dict.fromkeys(COLUMNS, run.NOT_HERE))], write=True) == 0
    rows = json.loads((files / "results.json").read_text())["rows"]
    assert [(one["host"], one["results"]["stop"]["state"]) for one in rows] == [("claude", "seen"), ("qwen", "seen")]


def test_page_and_table_are_made_of_the_results():
    one = row(rewrite="not possible")
    one["results"]["rewrite"]["note"] = "T cannot"
    one["results"]["context"]["note"] = "pre-session"
    page = matrix_page({"rows": [one]})
    assert "| T | 1 | seen | not possible* | seen: pre-session | seen | seen |" in page
    assert "- **T**, rewrites a command: T cannot." in page
    (shown,) = tables([one])
    assert shown.splitlines()[1].split()[:2] == ["claude", "1"]


def test_guards_are_a_table_of_their_own():
    results = {name: {"state": "seen", "note": ""} for name in GUARDS}
    results["files"]["note"] = "create, edit"
    results["variables"] = {"state": "not possible", "note": "T has no file"}
    first = {**row("copilot"), "variant": "guards", "results": results}
    second = {**first, "variant": "guards-gpt-5.5", "results": {"files": {"state": "seen", "note": "apply_patch"}}}
    page = matrix_page({"rows": [row(), first, second]})
    assert "| T | 1 | seen: create, edit | seen | seen | seen | seen | seen | not possible* |" in page
    assert "| T, gpt-5.5 | 1 | seen: apply_patch | – | – | – | – | – | – |" in page
    assert "- **T**, exports a variable: T has no file." in page
    assert [one.splitlines()[-1].split()[0] for one in tables([row(), first, second])] == ["claude", "copilot"]
    assert "Also:" not in page


def test_the_page_in_the_tree_is_that_of_the_results():
    if not run.RESULTS.exists():
        pytest.skip("no results yet")
    assert run.PAGE.read_text() == matrix_page(json.loads(run.RESULTS.read_text()))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_only_processes_with_the_mark_are_ended():
    mark = "test-mark-of-its-own"
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    marked = subprocess.Popen(sleep, env={**os.environ, stage.MARK: mark}, start_new_session=True)
    other = subprocess.Popen(sleep, env={**os.environ, stage.MARK: "another"})
    try:
        stage._end_all(mark)
        assert marked.wait(5) == -9
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
        marked.poll()


def test_a_network_that_is_not_empty_is_refused(monkeypatch):
    monkeypatch.setattr(stage.socket, "if_nameindex", lambda: [(1, "lo"), (2, "eth0")])
    with pytest.raises(stage.StageError, match="eth0"):
        stage.only_loopback()
