"""Packs as a source: names, what is on, settings, what is missing, and what a project may say."""

from __future__ import annotations

import json
import shutil

import pytest

import boathook
from boathook.assembly import load_catalog
from boathook.core.hook import ARMED, DISABLED, INVALID, SHADOWED
from tests.packs.toy_packs import PACK, PASS, find_pack, make_script, write_pack
from tests.scratch_project import CALL, list_runs

SHOW_SETTINGS = "import json\nreturn ask(json.dumps(dict(call.settings), sort_keys=True))"
ANY_LANGUAGE = '#!/bin/sh\nprintf %s "$AGENT_HOOK_SETTINGS" >&2; exit 2\n'


@pytest.fixture
def pack(project, monkeypatch):
    """A project, its home, and how to load the catalogue there."""
    for name, value in project.variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(project.path)
    return project


def load_states(**flags):
    return {hook.name: hook.state for hook in load_catalog(trust_all=True, **flags).hooks}


def list_messages(level="error"):
    return [f"{one.message} | {one.fix}" for one in load_catalog(trust_all=True).diagnostics if one.level == level]


def test_its_hooks_are_named_after_it_and_off_unless_they_are_in_default(pack):
    write_pack(find_pack(pack), {"a": PASS, "b": PASS}, default=["a"])
    write_pack(find_pack(pack, "project", "acme/other"), {"a": PASS})
    assert load_states() == {"acme/guards:a": ARMED, "acme/guards:b": DISABLED, "acme/other:a": ARMED}
    assert load_states(without=("packs",)) == {}
    assert load_states(without=("project-packs",)) == {"acme/guards:a": ARMED, "acme/guards:b": DISABLED}
    hook = next(hook for hook in load_catalog().hooks if hook.name == "acme/guards:b")
    assert hook.state_reason == "off by default. Turn it on with: boathook pack on acme/guards:b"


def test_the_user_turns_hooks_on_and_off_and_a_project_only_those_of_its_own_packs(pack):
    write_pack(find_pack(pack), {"a": PASS, "b": PASS}, default=["a"])
    write_pack(find_pack(pack, "project", "acme/other"), {"a": PASS, "b": PASS, "c": PASS})
    pack.write_hooks_toml("user", f'[packs."{PACK}"]\non = ["b"]\n[packs."acme/other"]\noff = ["c"]\n')
    theirs = f'[packs."{PACK}"]\noff = ["a", "b"]\n[packs."acme/other"]\noff = ["a"]\non = ["c"]\n'
    pack.write_hooks_toml("project", theirs)
    on = {name for name, state in load_states().items() if state == ARMED}
    assert on == {"acme/guards:a", "acme/guards:b", "acme/other:b"}
    assert list_messages("warning") == [f"a project cannot configure your pack '{PACK}'; this is ignored | remove it"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'[packs."{PACK}"]\noff = ["zz"]\n', "the pack 'acme/guards' has no hook 'zz' | known: a, b"),
        (f'[packs."{PACK}".c]\nx = 1\n', "the pack 'acme/guards' has no hook 'c' | known: a, b"),
        ("[packs.guards]\non = []\n", "'guards' is not the name of a pack"),
        (f'[packs."{PACK}"]\non = ["b"]\noff = ["b"]\n', "'b' is in 'on' and in 'off'; it is on"),
        (f'[packs."{PACK}"]\na = 1\n', "'a' must be a table with the settings of the hook of this name; it is ignored"),
        (f'[packs."{PACK}".a]\nday = 2020-01-01\n', "the settings of 'a' must be texts, numbers, true, false"),
        (f'[packs."{PACK}".a]\nx = "{"y" * 17_000}"\n', "the settings of 'a' are larger than 16 KiB"),
        (f'[packs."{PACK}"]\non = "b"\n', "'on' must be a list of names"),
        ("packs = 1\n", "'packs' must be tables with the names of packs"),
    ],
)
def test_what_is_wrong_in_hooks_toml_is_an_error_and_the_hooks_stay(pack, text, message):
    write_pack(find_pack(pack), {"a": PASS, "b": PASS})
    pack.write_hooks_toml("user", text)
    assert load_states() == {"acme/guards:a": ARMED, "acme/guards:b": ARMED}
    assert [found for found in list_messages() if message in found] == list_messages() != []


@pytest.mark.parametrize("wrong", ["acme = 1", "guards = {}", '"acme/other" = ["a"]', '"acme/x" = { on = 3 }'])
def test_one_wrong_entry_below_packs_is_named_and_leaves_the_others(pack, wrong):
    write_pack(find_pack(pack), {"a": PASS, "b": PASS})
    pack.write_hooks_toml("user", f'[packs]\n{wrong}\n[packs."{PACK}"]\noff = ["b"]\n')
    assert load_states() == {"acme/guards:a": ARMED, "acme/guards:b": DISABLED}
    errors = [one for one in load_catalog(trust_all=True).diagnostics if one.level == "error"]
    assert [one.key.startswith(f'packs."{wrong.split(" =")[0].strip(chr(34))}"') for one in errors] == [True]


SETTINGS = f'''
[packs."{PACK}".a]
protectd = ["main"]
protected = ["main"]
[packs."{PACK}".none]
x = 1
[packs."{PACK}".free]
anything = 1
'''


def test_a_setting_that_a_hook_does_not_know_is_an_error_everywhere(pack):
    fields = {"a": {"settings": "[protected, free]"}, "none": {"settings": "[]"}}
    write_pack(find_pack(pack), {"a": PASS, "none": PASS, "free": PASS}, fields=fields)
    pack.write_hooks_toml("user", SETTINGS)
    first = "the hook 'acme/guards:a' has no setting 'protectd'"
    assert list_messages() == [
        f"{first} | did you mean 'protected'?",
        "the hook 'acme/guards:none' has no setting 'x' | remove it: the hook has no settings",
    ]
    for command in ("check", "doctor", "list"):
        done = pack.run(command)
        assert "has no setting 'protectd'" in done.stdout + done.stderr, command
    told = [skip["why"] for skip in pack.dispatch("by hook_entry")["skipped"]]
    assert sum(first in why and "did you mean 'protected'?" in why for why in told) == 1


def test_events_do_not_quote_the_settings_that_an_unreviewed_pack_knows(pack):
    fields = {"a": {"settings": "[protected-by-nobody]"}, "off": {"settings": "[protected-by-nobody]"}}
    write_pack(find_pack(pack, "project"), {"a": PASS, "off": PASS}, default=["a"], fields=fields)
    text = "".join(f'[packs."{PACK}".{name}]\nprotected-by-nobod = 1\n' for name in ("a", "off"))
    pack.write_hooks_toml("user", text)
    assert "protected-by-nobody" not in json.dumps(pack.dispatch())
    assert "did you mean 'protected-by-nobody'?" in pack.run("check").stdout
    pack.trust()
    assert "did you mean 'protected-by-nobody'?" in json.dumps(pack.dispatch())


def test_a_pack_that_is_not_here_is_a_warning_because_another_project_may_have_it(pack):
    write_pack(find_pack(pack), {"a": PASS})
    pack.write_hooks_toml("user", '[packs."acme/guard"]\noff = ["a"]\n')
    assert list_messages() == []
    assert list_messages("warning") == ["there is no pack 'acme/guard' here | did you mean 'acme/guards'?"]


def test_settings_reach_hooks_in_every_language(pack):
    fields = {"sh": {"process": "own", "priority": 1}}
    folder = write_pack(find_pack(pack), {"py": SHOW_SETTINGS, "sh": PASS}, fields=fields)
    (folder / "hooks/sh/scripts/run").write_text(ANY_LANGUAGE)
    (folder / "hooks/sh/scripts/run").chmod(0o755)
    pack.write_hooks_toml("user", f'[packs."{PACK}".py]\nn = [1, "ü"]\n[packs."{PACK}".sh]\nx = true\n')
    with boathook.load() as engine:
        verdict = engine.dispatch(CALL)
    # Of the reasons only those of the strictest decision count.
    texts = [reason for run in verdict.runs for reason in run.outcome.reasons]
    assert [json.loads(text) for text in texts] == [{"n": [1, "ü"]}, {"x": True}]


def test_one_hook_too_few_or_too_many_is_reported_and_its_neighbours_run(pack):
    folder = write_pack(
        find_pack(pack), {"a": 'return ask("a")', "extra": PASS, "bad": PASS}, listed=["a", "bad", "gone"]
    )
    (folder / "hooks/bad/HOOK.md").write_text("nothing")
    assert load_states() == {
        "acme/guards:a": ARMED,
        "acme/guards:bad": INVALID,
        "acme/guards:extra": INVALID,
        "acme/guards:gone": INVALID,
    }
    verdict = pack.dispatch(event=CALL)
    assert list_runs(verdict) == [("acme/guards:a", "ok", "ask")]
    skipped = {skip["hook"]: skip["why"] for skip in verdict["skipped"]}
    assert skipped["acme/guards:gone"] == (
        "HOOK.md is missing: 'hooks' of PACK.md names it. Add the pack again, or remove the name"
    )
    assert skipped["acme/guards:extra"] == "'hooks' of PACK.md does not name it, so it does not run"
    assert skipped.keys() >= {"acme/guards:bad"}
    checked = pack.run("check").stdout
    assert "PACK.md does not name it" in checked
    assert "HOOK.md is missing" in checked


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "PACK.md cannot be opened: No such file or directory; all its hooks count as on"),
        ("no frontmatter", ""),
        ("---\nname: guards\ndescription: x\nversion: 1\n---\n", "'hooks' is missing"),
        (
            "---\nname: guards\ndescription: x\nversion: 1\nhooks: [a/b]\n---\n",
            "'hooks' must be a list of names of hooks",
        ),
    ],
)
def test_without_a_readable_pack_md_all_hooks_are_on_and_that_is_an_error(pack, text, message):
    folder = write_pack(find_pack(pack), {"a": PASS, "b": PASS}, default=["a"])
    (folder / "PACK.md").unlink()
    if text is not None:
        (folder / "PACK.md").write_text(text)
    assert load_states() == {"acme/guards:a": ARMED, "acme/guards:b": ARMED}
    assert any(message in found for found in list_messages())


def test_default_names_only_hooks_of_the_pack(pack):
    write_pack(find_pack(pack), {"a": PASS}, default=["a", "b"])
    assert list_messages() == ["'default' names 'b', which is not in 'hooks' | known: a"]


def test_a_folder_that_cannot_be_a_pack_and_too_many_packs_are_reported(pack, monkeypatch):
    write_pack(find_pack(pack, name="ac me/guards"), {"a": PASS})
    monkeypatch.setattr("boathook.sources.pack_folders.MAX_PACKS", 1)
    for name in ("acme/one", "acme/two"):
        write_pack(find_pack(pack, name=name), {"a": PASS})
    assert load_states() == {"acme/one:a": ARMED}
    messages = list_messages()
    assert "ac me/guards is not a pack" in messages[0]
    assert "there are more than 1 packs; acme/two is not loaded" in messages[1]


def test_hooks_toml_disables_and_overrides_by_the_whole_name(pack):
    write_pack(find_pack(pack), {"a": PASS, "b": PASS})
    text = '[[hooks.disable]]\nname = "acme/guards:a"\n[[hooks.override]]\nname = "acme/guards:b"\ntimeout = 200\n'
    pack.write_hooks_toml("user", text)
    hooks = {hook.name: hook for hook in load_catalog().hooks}
    assert (hooks["acme/guards:a"].state, hooks["acme/guards:b"].timeout) == (DISABLED, 0.2)


def test_a_pack_of_a_project_replaces_a_hook_of_the_users_unless_it_is_protected(pack):
    fields = {"b": {"protected": True}}
    write_pack(find_pack(pack), {"a": PASS, "b": PASS}, fields=fields)
    write_pack(find_pack(pack, "project"), {"a": PASS, "b": PASS})
    states = [(hook.name, hook.scope, hook.state) for hook in load_catalog(trust_all=True).hooks]
    assert sorted(states) == [
        ("acme/guards:a", "project", ARMED),
        ("acme/guards:a", "user", SHADOWED),
        ("acme/guards:b", "project", SHADOWED),
        ("acme/guards:b", "user", ARMED),
    ]


def test_the_user_can_turn_a_protected_hook_of_a_pack_off_and_a_project_cannot(pack):
    write_pack(find_pack(pack), {"a": PASS, "b": PASS}, fields={"a": {"protected": True}, "b": {"protected": True}})
    # Neither by a pack of the same name nor by its hooks.toml.
    write_pack(find_pack(pack, "project"), {"a": PASS})
    lines = '[[hooks.disable]]\nname = "acme/guards:a"\n'
    pack.write_hooks_toml("project", f'[packs."{PACK}"]\noff = ["a", "b"]\n{lines}')
    states = {hook.name: hook.state for hook in load_catalog().hooks if hook.scope == "user"}
    assert states == {"acme/guards:a": ARMED, "acme/guards:b": ARMED}
    pack.write_hooks_toml("user", lines)
    messages = list_messages("warning")
    assert any("'acme/guards:a' is protected, so it is not disabled; run: boathook pack off" in one for one in messages)
    pack.write_hooks_toml("user", f'[packs."{PACK}"]\noff = ["a"]\n')
    states = {hook.name: hook.state for hook in load_catalog().hooks if hook.scope == "user"}
    assert states == {"acme/guards:a": DISABLED, "acme/guards:b": ARMED}


PROMPT = {"event_type": "pre-agent-turn", "session_id": "s", "user_input": "hello"}


def add_pack(project):
    source = write_pack(project.base / "guards", {"a": PASS, "b": PASS}, default=["a"])
    done = project.run("pack", "add", str(source), "--name", PACK, "--yes")
    assert done.returncode == 0, done.stderr
    return find_pack(project)


def remove_folder(folder):
    shutil.rmtree(folder)


def remove_hooks(folder):
    shutil.rmtree(folder / "hooks")


def open_to_others(folder):
    folder.chmod(0o777)


@pytest.mark.parametrize("spoil", [remove_folder, remove_hooks, open_to_others])
def test_a_pack_that_cannot_be_read_refuses_tool_calls_and_nothing_else(pack, spoil):
    folder = add_pack(pack)
    assert pack.dispatch("by hook_entry")["decision"] == "none"
    spoil(folder)
    for way in ("in process", "by hook_entry", "by hook_entry"):
        verdict = pack.dispatch(way)
        assert (verdict["decision"], list_runs(verdict)) == ("block", [(PACK, "refused", "block")])
        assert "the pack 'acme/guards' cannot be read" in verdict["reasons"][0]
        assert f"boathook pack remove {PACK}" in verdict["reasons"][0]
        turn = pack.dispatch(way, PROMPT)
        assert (turn["decision"], len(turn["skipped"])) == ("none", 1)
    assert [(row["name"], row["state"]) for row in pack.list_hooks()] == [(PACK, INVALID)]
    checked = pack.run("check")
    assert (checked.returncode, checked.stdout.count("error:")) == (1, 1)
    # The person decides: the setting of a broken boathook, or the pack is removed.
    pack.write_hooks_toml("user", '[hooks]\nbroken = "allow"\n')
    verdict = pack.dispatch("by hook_entry")
    assert (verdict["decision"], len(verdict["skipped"])) == ("none", 1)
    pack.write_hooks_toml("user", "")
    assert pack.dispatch("by hook_entry")["decision"] == "block"
    assert pack.run("pack", "remove", PACK, "--yes").returncode == 0
    verdict = pack.dispatch("by hook_entry")
    assert (verdict["decision"], verdict["skipped"]) == ("none", [])


def test_the_configuration_of_a_pack_that_cannot_be_read_is_not_a_mistake(pack):
    pack.write_hooks_toml("user", f'[packs."{PACK}"]\non = ["b"]\n[packs."{PACK}".a]\nx = 1\n')
    shutil.rmtree(add_pack(pack))
    assert ["cannot be read" in one for one in list_messages()] == [True]
    assert list_messages("warning") == []


def test_a_project_cannot_refuse_calls_by_a_lock_or_by_a_pack_that_cannot_be_read(pack):
    write_pack(find_pack(pack, "project"), {"a": PASS})
    shutil.rmtree(find_pack(pack, "project") / "hooks")
    lock = '[packs."acme/gone"]\norigin = "x"\nversion = "1"\n[packs."acme/gone".files]\n'
    (pack.path / ".agents/packs.lock").write_text(f"version = 1\n{lock}")
    verdict = pack.dispatch()
    assert (verdict["decision"], len(verdict["skipped"])) == ("none", 1)


def test_a_damaged_lock_is_an_error_and_the_packs_run(pack):
    add_pack(pack)
    (pack.config / "packs.lock").write_text("version = 9\n")
    verdict = pack.dispatch()
    assert (list_runs(verdict), len(verdict["skipped"])) == ([("acme/guards:a", "ok", "none")], 1)
    assert "packs.lock cannot be read" in verdict["skipped"][0]["why"]


def test_code_in_lib_is_importable_by_its_name_in_every_process(pack):
    lib = {"common.py": "WORD = 'from lib'\n"}
    own = "#!/usr/bin/env python3\nimport json, common\nprint(json.dumps({'decision': 'ask', 'reason': common.WORD}))\n"
    scripts = {"own": own, "shared": make_script("return ask(common.WORD)", "import common")}
    write_pack(find_pack(pack), scripts, lib=lib, fields={"own": {"process": "own"}})
    assert pack.dispatch(event=CALL)["reasons"] == ["from lib", "from lib"]


def test_list_explain_doctor_status_and_log_know_its_hooks(pack):
    write_pack(find_pack(pack), {"a": 'return block("no")', "b": PASS}, default=["a"])
    rows = {row["name"]: row["state"] for row in pack.list_hooks()}
    assert rows == {"acme/guards:a": "armed", "acme/guards:b": "disabled"}
    assert pack.dispatch("by hook_entry")["decision"] == "block"
    assert "acme/guards:a" in pack.run("log").stdout
    assert "acme/guards:a" in pack.run("explain", "pre-tool-call", "--tool", "Shell", "--all").stdout
    health = {row["hook"]: row["result"] for row in json.loads(pack.run("doctor", "--json").stdout)["hooks"]}
    assert health["acme/guards:a"] == "works"


def test_self_protection_guards_packs_their_lock_and_the_commands_that_change_them(pack):
    write_pack(find_pack(pack), {"a": PASS}, lib={"x.py": ""})
    commands = {
        f"rm -r {pack.config}/packs/acme": "ask",
        f"echo x >> {pack.config}/packs.lock": "ask",
        f"sed -i s/a/b/ {find_pack(pack)}/lib/x.py": "ask",
        "boathook pack off acme/guards:a --yes": "ask",
        "boathook pack add ./x": "ask",
        "boathook pack list": "none",
        f"cat {find_pack(pack)}/PACK.md": "none",
    }
    with boathook.load() as engine:
        found = {text: engine.dispatch({**CALL, "tool_input": {"command": text}}).decision.word for text in commands}
    assert found == commands
