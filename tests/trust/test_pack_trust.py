"""Packs of a project: each hook is trusted by itself, with the code that it shares and with PACK.md."""

from __future__ import annotations

import json

import pytest

from boathook.sources.pack_folders import find_pack_name
from tests.packs.toy_packs import PACK, PASS, find_pack, make_script, write_pack
from tests.scratch_project import list_runs

NAMES = ("a", "b")
WORD = make_script("return ask(common.WORD)", "import common")


@pytest.fixture
def pack(project):
    write_pack(find_pack(project, "project"), dict.fromkeys(NAMES, WORD), lib={"common.py": "WORD = 'reviewed'\n"})
    return project


def list_states(project):
    return {row["name"].rpartition(":")[2]: row["state"] for row in project.list_hooks()}


def test_nothing_runs_until_it_is_trusted_and_then_what_was_reviewed_runs_in_one_process(pack):
    assert list_states(pack) == {"a": "untrusted", "b": "untrusted"}
    assert pack.dispatch("by hook_entry")["runs"] == []
    pack.trust(f"{PACK}:a")
    assert list_states(pack) == {"a": "trusted", "b": "untrusted"} or list_states(pack)["a"] == "armed"
    assert list_runs(pack.dispatch("by hook_entry")) == [(f"{PACK}:a", "ok", "ask")]
    pack.trust()
    verdict = pack.dispatch("by hook_entry")
    assert [(run["hook"], run["reason"]) for run in verdict["runs"]] == [(f"{PACK}:{n}", "reviewed") for n in NAMES]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("lib/common.py", "WORD = 'another'\n"),
        ("lib/new.py", ""),
        ("PACK.md", "---\nname: guards\ndescription: Other\nversion: 2\nhooks: [a, b]\n---\n"),
        ("PACK.md", "---\nname: guards\ndescription: Other\nversion: 2\nhooks: [a, b]\ndefault: []\n---\n"),
    ],
)
def test_a_change_of_what_the_hooks_share_is_a_change_of_every_hook(pack, path, text):
    pack.trust()
    (find_pack(pack, "project") / path).write_text(text)
    assert list_states(pack) == {"a": "modified", "b": "modified"}
    verdict = pack.dispatch("by hook_entry")
    assert verdict["runs"] == []
    assert len(verdict["skipped"]) == 2


def test_shared_code_that_appears_later_is_a_change(project):
    folder = write_pack(find_pack(project, "project"), {"a": 'return ask("x")'})
    project.trust()
    assert project.dispatch("by hook_entry")["decision"] == "ask"
    (folder / "lib").mkdir()
    assert list_states(project) == {"a": "modified"}


def test_a_change_of_one_hook_leaves_the_others_trusted(pack):
    pack.trust()
    script = find_pack(pack, "project") / "hooks/a/scripts/run.py"
    script.write_text(script.read_text() + "# changed\n")
    assert [run["hook"] for run in pack.dispatch("by hook_entry")["runs"]] == [f"{PACK}:b"]


def test_the_projects_hooks_toml_is_trusted_with_the_hook(pack):
    pack.trust()
    pack.write_hooks_toml("project", f'[packs."{PACK}"]\noff = ["a"]\n')
    assert list_states(pack) == {"a": "modified", "b": "armed"}
    pack.write_hooks_toml("project", f'[packs."{PACK}".b]\nx = 1\n')
    assert list_states(pack) == {"a": "armed", "b": "modified"}


def test_the_user_turns_a_trusted_hook_off_and_on_without_a_new_review(pack):
    pack.trust()
    pack.write_hooks_toml("user", f'[packs."{PACK}"]\noff = ["a"]\n[packs."{PACK}".b]\nx = 1\n')
    assert list_states(pack) == {"a": "disabled", "b": "armed"}


def test_a_hook_that_is_off_by_default_is_not_reported_as_untrusted_and_runs_only_after_a_review(project):
    write_pack(find_pack(project, "project"), {"a": PASS, "b": 'return ask("x")'}, default=["a"])
    project.trust(f"{PACK}:a")
    assert list_states(project) == {"a": "armed", "b": "disabled"}
    assert project.dispatch("by hook_entry")["skipped"] == [] or project.dispatch("by hook_entry")["runs"]
    project.write_hooks_toml("user", f'[packs."{PACK}"]\non = ["b"]\n')
    assert list_states(project) == {"a": "armed", "b": "untrusted"}
    assert [run["hook"] for run in project.dispatch("by hook_entry")["runs"]] == [f"{PACK}:a"]


def test_a_trusted_hook_that_is_gone_is_reported(pack):
    import shutil

    pack.trust()
    shutil.rmtree(find_pack(pack, "project"))
    verdict = pack.dispatch("by hook_entry")
    assert [skip["hook"] for skip in verdict["skipped"]] == [f"{PACK}:a", f"{PACK}:b"]


def test_a_pack_that_a_link_leads_to_is_not_read(project):
    outside = write_pack(project.base / "outside/guards", {"a": PASS})
    place = find_pack(project, "project")
    place.parent.mkdir(parents=True)
    place.symlink_to(outside)
    states = {row["name"]: row["state"] for row in json.loads(project.run("list", "--json").stdout)["hooks"]}
    assert states == {f"{PACK}:a": "invalid"}


def test_the_pack_of_a_folder_is_known_by_its_path():
    assert find_pack_name("/p/.agents/packs/acme/guards/hooks/a") == PACK
    assert find_pack_name("/p/.agents/hooks/a") == ""
    assert find_pack_name("packs/a/b/hooks/c") == ""
