"""`boathook show`: everything about one hook, of every form and in every state."""

from __future__ import annotations

import json

import pytest

from tests import forked
from tests.packs.toy_packs import write_pack
from tests.scratch_project import CALL, make_settings
from tests.terminal import read_screen

BODY = "# Guard\n\nAsk `ops` first.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"


def write_guard(project, scope="user", *, body=BODY, **fields):
    known = {"matcher": "{tool: Shell, pattern: rm}", "priority": 900, "on_failure": "block", **fields}
    folder = project.write_hook("guard", "echo no >&2; exit 2", scope=scope, fields=known)
    manifest = folder / "HOOK.md"
    manifest.write_text(manifest.read_text().replace("A test.\n", body))
    (folder / "tests.txt").write_text("block rm x\npass ls\n")
    return folder


def show(project, *words):
    done = project.run("show", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_show_prints_everything_about_a_hook(project):
    folder = write_guard(project)
    project.dispatch(event={**CALL, "tool_input": {"command": "rm x"}})
    project.run("install", "claude", "--yes")
    project.run("install", "gemini", "--yes")
    printed = show(project, "guard")
    lines = printed.splitlines()
    assert lines[:2] == ["guard  armed", "a test"]
    for expected in (
        "  from      HOOK.md, your own",
        f"  file      {folder}/HOOK.md",
        "  runs at   pre-tool-call, tool Shell, input rm",
        "            sync, priority 900, at most 30 s, if it fails, the call is blocked",
        "  runs      scripts/run.sh",
        "  trust     not needed: it is your own",
        "  tests     2 cases: boathook test guard",
        f"  HOOK.md         {(folder / 'HOOK.md').stat().st_size:>9,} bytes",
        "# Guard",
        "Ask `ops` first.",
    ):
        assert expected in lines, expected
    assert "  past      1 run, 1 block, 0 failures, 0 timeouts; half within " in printed
    can = "it can block, ask a person, allow without asking, end the run, rewrite the input, add context for the model"
    assert f"  claude    {can}" in lines
    at = lines.index("Last runs")
    assert lines[at + 1].split() == ["TIME", "ID", "DECISION", "AGENT", "PROJECT", "REASON"]
    assert lines[at + 2].split()[3:] == ["block", "python", "project", "no"]
    # What the newest record is about is in `why`.
    assert lines[at + 2].split()[2] in project.run("why").stdout


def test_show_counts_the_runs_of_this_hook_and_not_of_others_of_its_name(project):
    write_guard(project)
    project.dispatch(event={**CALL, "tool_input": {"command": "rm x"}})
    (project.hooks_folder("user") / "guard").rename(project.base / "old")
    write_guard(project, "project")
    assert "past      the ledger has no run of it" in show(project, "guard", "--trust-all")


def test_show_prints_the_decision_about_a_hook_of_the_project(project):
    write_guard(project, "project")
    untrusted = show(project, "guard")
    assert untrusted.startswith("guard  untrusted\n")
    assert "  trust     it does not run until you review it: boathook trust guard\n" in untrusted
    project.trust("guard")
    record = json.loads(project.run("trust", "--list", "--json").stdout)["hooks"][0]
    assert f"  trust     trusted as {record['digest'][:12]} since {record['when']}\n" in show(project, "guard")
    facts = json.loads(show(project, "guard", "--json"))
    assert facts["trust"] == {
        "needed": True,
        "state": "trusted",
        "since": record["when"],
        "digest": record["digest"],
        "holds_in": "project",
        "reviewed_in": str(project.path),
    }
    assert (facts["body"], facts["tests"]["cases"], facts["cost"]) == (BODY.strip("\n"), 2, None)
    project.run("deny", "guard", "--yes")
    assert "  trust     denied since 20" in show(project, "guard")


def test_text_of_an_untrusted_hook_cannot_change_what_a_terminal_shows(project):
    write_guard(project, "project", body="clear \x1b[2J [red]x[/red] [a](http://b) \u202e\n", description='"\\e[31m x"')
    for has_color in (True, False):
        printed = read_screen(project, 80, "show", "guard", has_color=has_color)
        assert "\x1b[2J" not in printed
        assert "\x1b]8" not in printed
        assert "\u202e" not in printed
        assert r"clear \x1b[2J [red]x[/red]" in printed


def test_show_renders_the_description_at_a_terminal_within_its_width(project):
    write_guard(project, body="# Guard\n\n" + "Ask `ops` " * 40)
    plain = show(project, "guard")
    for width in (80, 120):
        rendered = read_screen(project, width, "show", "guard").partition("HOOK.md says")[2].splitlines()
        assert max(map(len, rendered)) <= width
        assert "`ops`" not in "\n".join(rendered)
    assert "`ops`" in plain


STATES = {
    "disabled": {"toml": '[[hooks.disable]]\nname = "guard"\n'},
    "invalid": {"manifest": "---\nname: [\n---\nbody\n"},
    "no-entry-point": {"script": None},
}


@pytest.mark.parametrize("state", STATES)
def test_a_hook_that_cannot_run_is_shown_with_the_reason(project, state):
    about = STATES[state]
    project.write_hook("guard", about.get("script", "exit 0"), manifest=about.get("manifest"))
    project.write_hooks_toml("user", about.get("toml", ""))
    printed = show(project, "guard")
    assert printed.startswith(f"guard  {state}\n")
    assert f"  state     {state}: " in printed
    assert json.loads(show(project, "guard", "--json"))["hook"]["state"] == state


def test_an_entry_of_settings_is_shown_without_its_digest_in_the_name(project):
    path = project.write_settings("user", make_settings("scripts/check.sh --all"))
    printed = show(project, "PreToolUse:check.sh")
    assert printed.startswith("PreToolUse:check.sh#")
    assert f"  file      {path} (hooks.PreToolUse[0].hooks[0])".replace(str(project.home), "~") in printed
    assert "  runs      scripts/check.sh --all\n" in printed
    project.run("install", "claude", "--yes")
    assert "  claude    runs it itself, without boathook\n" in show(project, "PreToolUse:check.sh")


def test_a_hook_of_a_pack_is_found_without_its_pack_and_shows_its_settings(project):
    write_pack(project.path / "toys", {"first": "return None", "second": "return None"})
    project.run("pack", "add", "./toys", "--name", "acme/toys", "--yes")
    config = project.config / "hooks.toml"
    text = config.read_text() if config.exists() else ""
    config.write_text(text + '[packs."acme/toys".first]\nlevels = ["a"]\n')
    whole, short = show(project, "acme/toys:first"), show(project, "first")
    assert whole == short
    assert "  from      the pack acme/toys, your own\n" in whole
    assert '  settings  levels = ["a"]\n' in whole
    assert json.loads(show(project, "first", "--json"))["pack"]["settings"] == {"levels": ["a"]}
    place = '; set them under [packs."acme/toys".second] in hooks.toml'
    assert f"  settings  none{place}\n" in show(project, "second")
    manifest = project.config / "packs/acme/toys/hooks/second/HOOK.md"
    for known, shown in (("[a, b]", f"a, b (not set){place}"), ("[]", "it has none")):
        text = manifest.read_text().replace("---\n", f"---\nsettings: {known}\n", 1)
        manifest.write_text(text.replace("settings: [a, b]\n", "") if known == "[]" else text)
        assert f"  settings  {shown}\n" in show(project, "second")
    project.write_hook("first")
    assert show(project, "first").startswith("first  armed")


def test_a_name_that_no_hook_has_is_corrected(project):
    write_guard(project)
    done = project.run("show", "gaurd")
    assert (done.returncode, done.stderr) == (1, "boathook: there is no hook 'gaurd' here: did you mean 'guard'?\n")
    assert "boathook list --all shows the names" in project.run("show", "zzz").stderr


def test_show_names_a_hook_of_the_same_name_that_it_replaces(project):
    mine = write_guard(project)
    write_guard(project, "project")
    project.trust("guard", flags=("--yes", "--override"))
    printed = show(project, "guard")
    assert "from      HOOK.md, of this project" in printed
    assert f"also in {mine}/HOOK.md (user, shadowed)" in printed


def test_self_protection_is_shown_as_a_part_of_boathook(project):
    printed = show(project, "self-protection")
    assert "  from      boathook itself\n" in printed
    assert "Files" not in printed


def test_show_prints_the_same_in_a_folder_below_the_project(project):
    write_guard(project, "project")
    project.trust("guard")
    assert project.run("install", "claude", "--project", str(project.path), "--yes").returncode == 0
    project.dispatch(event={**CALL, "tool_input": {"command": "rm x"}})
    below = project.path / "src/deep"
    below.mkdir(parents=True)
    argv = project.make_argv("show", "guard", "--json")
    shown = [
        json.loads(forked.run(argv, cwd=folder, env=project.environment, text=True, check=True).stdout)
        for folder in (project.path, below)
    ]
    assert shown[0] == shown[1]
    assert [row["agent"] for row in shown[1]["agents"]] == ["claude"]
    assert (shown[1]["cost"]["runs"], shown[1]["trust"]["state"]) == (1, "trusted")
