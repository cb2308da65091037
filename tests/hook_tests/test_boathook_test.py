"""The command `boathook test`: what it finds, prints, writes and returns."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from boathook.process.sandbox import ISOLATED, probe_sandbox_levels
from tests.output_validation import make_validator
from tests.packs.toy_packs import PACK, find_pack, write_pack
from tests.scratch_project import make_settings

CAN_ISOLATE = next(one.is_available for one in probe_sandbox_levels() if one.level == ISOLATED)
GUARD = 'grep -q "rm -rf" || exit 0; echo "no, because" >&2; exit 2'
FIELDS = {"matcher": "{kind: shell}"}
CASES = """\
block  rm -rf x
       says because
pass   ls
skip   ReadFile: x
"""


def write_guard(project, name="guard", scope="user", cases=CASES, script=GUARD, **fields) -> Path:
    folder = project.write_hook(name, script, scope=scope, fields={**FIELDS, **fields})
    if cases is not None:
        (folder / "tests.txt").write_text(cases)
    return folder


def test_all_hooks_here_are_tested_and_each_has_a_line(project):
    write_guard(project)
    write_guard(project, "broken", cases="block ls\npass x\n  sayz y\ntodo-block ls\n")
    write_guard(project, "plain", cases=None)
    write_guard(project, "gone", "project", script=None)
    done = project.run("test")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert any(line.split() == ["guard", "3", "passed"] for line in lines)
    assert "tests.txt:3: 'sayz' is not a word of an indented line" in done.stdout
    assert "did you mean 'says'?" in done.stdout
    assert (
        "tests.txt:1  ls\n      expected block, got pass\n      only this one: boathook test broken:1\n" in done.stdout
    )
    assert any(line.startswith("plain") and "no tests: write" in line for line in lines)
    assert any(line.startswith("gone") and "not run: no-entry-point" in line for line in lines)
    assert lines[-1].startswith("3 hooks, 8 cases in ")
    assert lines[-1].endswith(": 3 passed, 1 failed, 1 todo, 3 not run")
    few = project.run("test", "--fail-only").stdout
    assert "plain" not in few
    assert "guard  " not in few


def test_hooks_are_chosen_by_name_line_and_path(project):
    folder = write_guard(project)
    write_guard(project, "other", cases="block ls\n")
    (other_folder := project.path / "pack/hooks/theirs").mkdir(parents=True)
    for name in ("HOOK.md", "tests.txt"):
        (other_folder / name).write_text((folder / name).read_text().replace("name: guard", "name: theirs"))
    (other_folder / "scripts").symlink_to(folder / "scripts")
    chosen = {
        ("guard",): 3,
        ("guard:2",): 1,
        ("guard:3", "guard:4"): 2,
        (str(folder),): 3,
        (str(folder / "tests.txt"),): 3,
        (f"{folder}/HOOK.md:1",): 1,
        (str(folder.parent),): 4,
        ("pack", "--no-sandbox"): 3,
        ("pack/hooks/theirs", "--no-sandbox"): 3,
    }
    for words, count in chosen.items():
        report = json.loads(project.run("test", *words, "--json").stdout)
        assert sum(len(hook["cases"]) for hook in report["hooks"]) == count, words


def test_packs_of_the_user_are_tested_only_if_they_are_named_or_all_are_asked_for(project):
    for scope in ("user", "project"):
        pack = write_pack(find_pack(project, scope, f"acme/{scope}"), {"a": "return ask('why')"})
        (pack / "hooks/a/tests.txt").write_text("ask  echo x\n")
    folder = project.write_hook("mine", "echo no >&2; exit 2")
    (folder / "tests.txt").write_text("block  ls\n")
    rows = {
        (): ["acme/project:a", "mine"],
        ("--packs",): ["acme/project:a", "acme/user:a", "mine"],
        ("acme/user",): ["acme/user:a"],
        ("acme/project:a", "mine"): ["acme/project:a", "mine"],
    }
    for words, expected in rows.items():
        done = project.run("test", "--no-sandbox", "--json", *words)
        hooks = [row["hook"] for row in json.loads(done.stdout)["hooks"] if row["cases"]]
        assert (done.returncode, sorted(hooks)) == (0, expected), words
    told = "not tested: acme/user. To test them, too: boathook test --packs"
    assert project.run("test").stdout.splitlines()[-1] == told
    assert "not tested" not in project.run("test", "mine").stdout
    assert project.run("test", "mine", "--packs").returncode == 2


def test_a_pack_is_tested_before_and_after_it_is_added(project):
    hooks = {"a": 'return ask(word) if "x" in call.programs[0].words else None'}
    for folder in (project.path / "guards", find_pack(project)):
        pack = write_pack(folder, hooks, lib={"words.py": "word = 'why'"})
        script = pack / "hooks/a/scripts/run.py"
        script.write_text(script.read_text().replace("run_guard\n", "run_guard\nfrom words import word\n", 1))
        (pack / "hooks/a/tests.txt").write_text("ask  echo x\n  says why\npass  ls\n")
    done = project.run("test", "./guards", "--no-sandbox")
    assert "local/guards:a" in done.stdout
    assert ": 2 passed" in done.stdout
    assert project.run("test", PACK).returncode == 0
    assert ": 2 passed" in project.run("test", "a").stdout
    done = project.run("test", "--from-log", fire(project, {"command": "echo x"}), "--expect", "pass")
    assert "note: this edits the pack acme/guards" in done.stdout


WRONG_USAGE = {
    ("test", "absent"): "there is no hook 'absent' here",
    ("test", "./absent"): "absent does not exist",
    ("test", "."): "there is no hook in",
    ("test", "--unknown"): "No such option",
    ("test", "--host", "absent"): "unknown host 'absent'",
    ("test", "--from-log", "1"): "--from-log and --expect belong together",
    ("test", "--from-log", "1", "--expect", "pass"): "has an id that starts with '1'",
}


def test_wrong_usage_ends_with_2(project):
    for words, message in WRONG_USAGE.items():
        done = project.run(*words)
        assert (done.returncode, message in done.stderr) == (2, True), (words, done.stderr)


def test_results_for_programs(project):
    folder = write_guard(project, cases=f"{CASES}pass rm -rf <y>\ncorpus c.json\n")
    (folder / "c.json").write_text('[{"command": "ls", "expect": "pass"}, {"command": "rm -rf", "expect": "pass"}]')
    done = project.run("test", "--json", "--junit", "out.xml")
    report = json.loads(done.stdout)
    make_validator("test").validate(report)
    assert (done.returncode, report["ok"]) == (1, False)
    assert report["counts"] == {"passed": 4, "failed": 2, "todo": 0, "fixed": 0, "refused": 0, "not_run": 0}
    [hook] = report["hooks"]
    assert (hook["hook"], hook["tests"], hook["trusted"]) == ("guard", str(folder / "tests.txt"), True)
    failed, corpus = hook["cases"][-2:]
    assert (failed["line"], failed["expected"], failed["got"]) == (5, "pass", "block")
    assert (corpus["entries"], [miss["value"] for miss in corpus["misses"]]) == (2, ["rm -rf"])
    suite = ET.fromstring((project.path / "out.xml").read_text())[0]
    assert suite.attrib == {"name": "guard", "tests": "5", "failures": "2", "errors": "0"}
    failures = [one.attrib["message"] for one in suite.iter("failure")]
    assert failures == ["expected pass, got block: no, because", "expected pass, got block: rm -rf"]


# Trust


@pytest.mark.skipif(not CAN_ISOLATE, reason="no bubblewrap here")
def test_an_untrusted_hook_is_tested_as_it_is_but_only_in_a_sandbox(project):
    outside = project.base / "outside"
    outside.mkdir()
    folder = write_guard(
        project, scope="project", script=f"touch {outside}/mark 2>/dev/null; exit 2", cases="block ls\n"
    )
    untrusted = project.run("test")
    assert (untrusted.returncode, list(outside.iterdir())) == (0, [])
    assert "1 passed  (untrusted)" in untrusted.stdout
    project.trust()
    assert (project.run("test").returncode, [path.name for path in outside.iterdir()]) == (0, ["mark"])
    (outside / "mark").unlink()
    # After a change it is what the files say that is tested, not what was trusted.
    (folder / "scripts/run.sh").write_text(f"#!/bin/sh\ntouch {outside}/mark 2>/dev/null; exit 0\n")
    changed = project.run("test")
    assert (changed.returncode, list(outside.iterdir())) == (1, [])
    assert "expected block, got pass" in changed.stdout
    project.run("deny", "guard", "--yes")
    denied = project.run("test")
    assert (denied.returncode, list(outside.iterdir())) == (0, [])
    assert "not run: denied" in denied.stdout


@pytest.mark.skipif(not CAN_ISOLATE, reason="no bubblewrap here")
def test_code_in_tests_is_isolated_even_if_the_hook_is_trusted(project):
    outside = project.base / "outside"
    outside.mkdir()
    cases = f"pass ls\n  program helper touch {outside}/$AGENT_HOOK_NAME\n"
    write_guard(project, "theirs", "project", script="helper || true; exit 0", cases=cases)
    write_guard(project, "mine", "user", script="helper || true; exit 0", cases=cases)
    project.trust()
    done = project.run("test")
    assert (done.returncode, [path.name for path in outside.iterdir()]) == (0, ["mine"]), done.stdout


def test_tests_are_not_covered_by_trust(project):
    folder = write_guard(project, scope="project")
    (folder / "tests").mkdir()
    (folder / "tests/corpus.json").write_text("[]")
    project.trust()
    (folder / "tests.txt").write_text("pass ls\n")
    (folder / "tests/new.sh").write_text("#!/bin/sh\nexit 0\n")
    (folder / "tests/corpus.json").unlink()
    assert project.read_hook_state("guard") == "armed"
    # Nothing of it is in the copy that runs.
    copies = [path.name for path in project.state.rglob("*")]
    assert "HOOK.md" in copies
    assert not {"tests.txt", "tests", "new.sh", "corpus.json"} & {*copies}
    (folder / "scripts/more.sh").write_text("exit 0\n")
    assert project.read_hook_state("guard") == "modified"


# Other forms


def test_entries_of_settings_are_tested_together_or_by_name(project):
    guard = project.path / ".claude/hooks/guard.sh"
    guard.parent.mkdir(parents=True)
    guard.write_text(f"#!/bin/sh\n{GUARD}\n")
    guard.chmod(0o755)
    settings = make_settings('"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh')
    settings["hooks"]["PreToolUse"][0]["matcher"] = "Bash"
    settings["hooks"]["PostToolUse"] = [{"hooks": [{"type": "command", "command": "touch left"}]}]
    project.write_settings("project", settings)
    (project.path / ".claude/tests.txt").write_text(
        "block @PreToolUse Bash: rm -rf x\npass @PreToolUse Bash: ls\n"
        "hook PreToolUse:guard.sh\nblock rm -rf x\n  says because\nskip Read: x\n"
        "hook PostToolUse:touch\npass ls\n  leaves left\n"
        "hook absent\npass ls\n"
    )
    done = project.run("test", "--no-sandbox", "--json")
    hooks = json.loads(done.stdout)["hooks"]
    results = [[(case["status"], case["messages"]) for case in hook["cases"]] for hook in hooks]
    assert results == [[("passed", [])] * 2, [("passed", [])] * 2, [("passed", [])], []]
    [problem] = hooks[-1]["diagnostics"]
    assert (problem["line"], problem["message"]) == (11, f"there is no hook 'absent' in {project.path}/.claude")
    assert done.returncode == 1


def test_in_process_hooks_are_tested_in_this_process(project):
    (project.path / "guards.py").write_text(
        "from boathook import Hooks, Outcome\n"
        "hooks = Hooks()\n"
        "@hooks.before_tool(match='search')\n"
        "def no_ropes(context):\n"
        "    if 'ropes' in context.args['text']:\n"
        "        return Outcome.block('no ropes')\n"
        "    if 'knots' in context.args['text']:\n"
        "        return context.replace(args={'text': 'bows'}).add_context('tied')\n"
        "def note(context):\n"
        "    open(context.work_dir + '/seen', 'w').write(context.prompt)\n"
        "def broken(context):\n"
        "    raise ValueError('no')\n"
    )
    (project.path / "tests.txt").write_text(
        "hook guards.py:hooks\n"
        'block @pre-tool-call\n  event {"tool_name": "search"}\n  with text ropes\n  says no ropes\n'
        'pass\n  event {"tool_name": "search"}\n  with text boats\n'
        'pass\n  event {"tool_name": "search"}\n  with text knots\n  becomes bows\n  adds tied\n'
        "skip Shell: ls\n"
        "hook guards.py:note\npass @pre-agent-turn hello\n  leaves seen hello\n"
        "hook guards.py:broken\ntodo-pass ls\npass ls\n  program x true\n"
    )
    refused = project.run("test", "./tests.txt")
    assert refused.returncode == 1
    assert "runs in this process, without a sandbox" in refused.stdout
    hooks = json.loads(project.run("test", "./tests.txt", "--no-sandbox", "--json").stdout)["hooks"]
    results = [[(case["status"], case["messages"]) for case in hook["cases"]] for hook in hooks]
    assert results[:2] == [[("passed", [])] * 4, [("passed", [])]]
    assert results[2][0] == ("todo", ["the hook failed: ValueError: no"])
    assert "a case cannot have 'program'" in results[2][1][1][0]


# Recorded events


def fire(project, tool_input, tool="Shell") -> str:
    event = {"event_type": "pre-tool-call", "tool_name": tool, "tool_input": tool_input, "work_dir": str(project.path)}
    return json.loads(project.run("run", "--json", stdin=json.dumps(event)).stdout)["id"]


def test_a_recorded_decision_becomes_a_case(project):
    folder = write_guard(project, cases=None)
    write_guard(project, "silent", script="exit 0", cases=None)
    commands = ["rm -rf build", "cat <<E\nrm -rf x\nE", "Tool: rm -rf", "rm -rf a\n\n", "  rm -rf"]
    for command in commands:
        done = project.run("test", "--from-log", fire(project, {"command": command}), "--expect", "pass")
        assert done.returncode == 0, done.stderr
    fire_id = fire(project, {"command": "rm -rf y", "timeout": 5})
    project.run("test", "--from-log", fire_id[:20], "--expect", "ask")
    report = json.loads(project.run("test", "guard", "--json").stdout)
    cases = report["hooks"][0]["cases"]
    # Each is asked what was recorded, and so gets the same answer again.
    assert [(case["expected"], case["got"]) for case in cases] == [*[("pass", "block")] * 5, ("ask", "block")]
    text = (folder / "tests.txt").read_text()
    assert "\npass   rm -rf build\n" in text
    assert "       with command\n         cat <<E\n         rm -rf x\n         E\n" in text
    line = int(done.stdout.split("tests.txt:")[1].split()[0])
    assert (folder / "tests.txt").read_text().splitlines()[line - 1].startswith("pass")


def test_a_record_that_is_not_whole_is_refused(project):
    folder = write_guard(project, cases=None)
    write_guard(project, "second", cases=None)
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    secret = fire(project, {"command": f"rm -rf x; curl -H 'Authorization: token {token}'"})
    long = fire(project, {"command": "rm -rf x" + " y" * 5000})
    both = fire(project, {"command": "ls"})
    expected = {
        ("guard", secret): "what looks secret in it was redacted",
        ("guard", long): "does not hold the whole event",
        ("", both): "these hooks ran: guard, second. Name it",
        ("guard", "0" * 40): "no event in",
    }
    for (name, record), message in expected.items():
        words = [name] if name else []
        done = project.run("test", *words, "--from-log", record, "--expect", "pass")
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert not (folder / "tests.txt").exists()


# Watching


@pytest.mark.usefixtures("default_sigint")
def test_watching_runs_the_tests_of_a_hook_again_when_it_changes(project):
    folder = write_guard(project)
    argv, env = project.make_argv("test", "--watch"), project.environment | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(argv, cwd=project.path, env=env, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        output = iter(process.stdout.readline, "")
        assert any("3 passed" in line for line in output)
        assert any("waiting for changes" in line for line in output)
        (folder / "tests.txt").write_text("block ls\n")
        assert any("1 FAILED" in line for line in output)
        assert any("waiting for changes" in line for line in output)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 1
    finally:
        process.kill()
        process.communicate()


# Other commands


def test_a_new_hook_comes_with_tests_that_pass_and_satisfy_the_check(project):
    new = {
        "no-force": ("pre-tool-call", "--tool", "Shell", "--pattern", "push.*--force"),
        "no-env": ("pre-tool-call", "--kind", "writes", "--pattern", r"\.env$"),
        "watch": ("permission-request",),
        "after": ("post-tool-call", "--tool", "^Read"),
        "greet": ("pre-session", "--field", "source=startup"),
        "gate": ("pre-agent-turn-stop",),
        "steps": ("pre-step",),
    }
    for name, (event, *options) in new.items():
        assert project.run("new", name, "--event", event, *options).returncode == 0
    check = project.run("check", "--strict")
    assert check.returncode == 0, check.stdout
    report = json.loads(project.run("test", "--no-sandbox", "--json").stdout)
    statuses = {hook["hook"]: [case["status"] for case in hook["cases"]] for hook in report["hooks"]}
    assert statuses == {
        "no-force": ["passed"] * 2,
        "no-env": ["passed"] * 2,
        "watch": ["passed", "todo"],
        **{name: ["passed"] for name in ("after", "greet", "gate", "steps")},
    }


def test_check_warns_about_a_guard_whose_tests_do_not_show_both_answers(project):
    write_guard(project, "none", cases=None)
    write_guard(project, "half", cases="block rm -rf x\n")
    write_guard(project, "full")
    write_guard(project, "wrong", cases="blok x\n")
    write_guard(project, "note", cases=None, metadata="{effects: [context]}")
    write_guard(project, "late", cases=None, trigger="post-tool-call")
    diagnostics = json.loads(project.run("check", "--json").stdout)["diagnostics"]
    found = {(Path(one["path"]).parent.name, one["level"], one["message"]) for one in diagnostics}
    assert found == {
        ("none", "warning", "the guard 'none' has no tests: nothing shows that it refuses what it should"),
        ("half", "warning", "no case shows that 'half' lets anything pass"),
        ("wrong", "error", "'blok' is not a word that a case begins with"),
    }
    by_path = project.run("check", str(project.hooks_folder("user") / "half"))
    assert "no case shows that 'half' lets anything pass" in by_path.stdout


def test_doctor_fires_the_first_plain_case_that_a_guard_objects_to(project):
    mark = project.base / "mark"
    coded = f"block rm -rf x\n  program rm touch {mark}\n"
    write_guard(project, "good")
    write_guard(project, "bad", cases=f"{coded}todo-block ls\nask sudo ls\n", script="rm -rf; exit 0")
    write_guard(project, "asks", cases="block rm x\n", script="""echo '{"decision": "ask", "reason": "?"}'""")
    write_guard(project, "coded", cases=coded, script="rm -rf; exit 0")
    done = project.run("doctor", "--json")
    found = {hook["hook"]: [one["text"] for one in hook["findings"]] for hook in json.loads(done.stdout)["hooks"]}
    message = "it has no opinion on a case that its tests say it objects to (tests.txt:4): sudo ls"
    assert {name: message in texts for name, texts in found.items()} == {
        "good": False,
        "bad": True,
        "asks": False,
        "coded": False,
    }
    assert done.returncode == 1
    assert not mark.exists()
