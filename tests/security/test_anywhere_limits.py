"""A decision for any folder gives a hostile repository nothing: not time, not an older review, and no silence."""

from __future__ import annotations

import os
import shutil

import boathook
from boathook.assembly import locate
from boathook.loader import load_hooks
from boathook.trust import judge
from boathook.trust.store import TrustStore
from tests.scratch_project import CALL, list_runs, list_skipped

BLOCKS = "echo no >&2; exit 2"


def dispatch(folder):
    with boathook.load(folder) as engine:
        return engine.dispatch({**CALL, "work_dir": str(folder)}).to_json()


def trust_anywhere(project, name="foo"):
    folder = project.write_hook(name, scope="project", script=BLOCKS)
    project.trust(name, flags=("--yes", "--anywhere"))
    return folder


def load_other(project, folder):
    return load_hooks(locate(folder), TrustStore(str(project.state)))


def test_a_folder_is_read_once_however_many_links_lead_to_it(project, monkeypatch):
    trusted = trust_anywhere(project)
    other = project.base / "other"
    shutil.copytree(trusted, other / "x" / "foo")
    (other / "x" / "foo" / "large").write_bytes(b"x" * 100_000)
    shutil.copytree(trusted, other / "y" / "foo")
    os.symlink("/etc", other / "y" / "foo" / "out")
    hooks = other / ".agents" / "hooks"
    hooks.mkdir(parents=True)
    for number in range(20):
        (hooks / f"h{number:02}").symlink_to("../../x/foo")
    (hooks / "z").symlink_to("../../y/foo")
    read = []
    monkeypatch.setattr(judge, "read_snapshot", lambda root, real=judge.read_snapshot: read.append(root) or real(root))
    loaded = load_other(project, other)
    assert sorted(read) == [str(other / "x" / "foo"), str(other / "y" / "foo")]
    # The error is about what is in the folder, so the result lasts until that changes.
    assert loaded.lasting
    assert str(other / "y" / "foo") in loaded.watch
    assert {hook.state for hook in loaded.catalog.hooks} == {"untrusted"}
    (other / "y" / "foo" / "out").unlink()
    assert "armed" in {hook.state for hook in load_other(project, other).catalog.hooks}


def test_no_more_is_read_than_the_limit(project, monkeypatch):
    trusted = trust_anywhere(project)
    other = project.base / "other"
    for name in ("a", "b", "c"):
        shutil.copytree(trusted, other / ".agents" / "hooks" / name / "foo")
        (other / ".agents" / "hooks" / f"h{name}").symlink_to(f"{name}/foo")
    monkeypatch.setattr(judge, "_MAX_ANYWHERE_BYTES", 1)
    states = [hook.state for hook in load_other(project, other).catalog.hooks if hook.name == "foo"]
    assert sorted(states) == ["armed", "untrusted", "untrusted"]


def test_an_older_review_does_not_count_again_where_a_newer_one_replaced_it(project):
    folder = trust_anywhere(project)
    other = project.base / "other"
    shutil.copytree(project.path / ".agents", other / ".agents")
    script = folder / "scripts" / "run.sh"
    old = script.read_bytes()
    script.write_bytes(old + b"# better\n")
    project.trust("foo")
    assert list_runs(dispatch(project.path)) == [("foo", "ok", "block")]
    script.write_bytes(old)
    assert (list_runs(dispatch(project.path)), list_skipped(dispatch(project.path))) == ([], ["foo"])
    # Elsewhere it still counts.
    assert list_runs(dispatch(other)) == [("foo", "ok", "block")]


def test_a_project_cannot_disable_it_in_silence(project):
    trust_anywhere(project)
    other = project.base / "other"
    shutil.copytree(project.path / ".agents", other / ".agents")
    for text in ("[hooks]\nenabled = false\n", '[[hooks.disable]]\nname = "foo"\n'):
        (other / ".agents" / "hooks.toml").write_text(text)
        found = dispatch(other)
        assert (list_runs(found), list_skipped(found)) == ([], ["foo"])
        assert "boathook trust" in "".join(found["system_message"]) + found["skipped"][0]["why"]
        assert load_other(project, other).catalog.hooks[0].state == "modified"
