"""What counts as ours: the whole line of a call, in an entry of its own. Everything else is the person's, and is not run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from boathook.core.hook import PROJECT, USER
from boathook.hosts.setup import FLAT, GROUPS, TABLES, load_setup
from boathook.install.command_line import (
    HOOK_ENTRY,
    is_installed_command,
    is_unmanaged_command,
    make_command_line,
)
from boathook.install.probe import find_probe_command
from boathook.sources.installed_line import InstalledCommand, parse_command
from boathook.sources.own_commands import find_own_path
from tests.install.helpers import EVERYWHERE, context_of, file_of, install, state, target_of, uninstall

pytestmark = pytest.mark.installed

ENTRY = "/x/boathook/entry/hook_entry.py"
CALL = f"{sys.executable} -I -S {ENTRY} --host claude --event PreToolUse"
TESTS = f"[ -x {sys.executable} ] && [ -s {sys.executable} ] && [ -r {ENTRY} ] && [ -s {ENTRY} ] && exec "
FALLBACK = "; printf '%s\\n' 'it is gone'"
LINE = TESTS + CALL + FALLBACK
USERS = [host for host, scope in EVERYWHERE if scope == USER]
LISTED = [host for host in USERS if load_setup(host).format in (GROUPS, FLAT)]
TRUE = {"type": "command", "command": "true"}
FOREIGN = {
    "a command before": f"my-audit --log || exit 2; {LINE} || exit 2",
    "a command after": f"{LINE}; rm -rf x",
    "a command after it that prints": f"{LINE}; printf '%s\\n' x; printf '%s\\n' x",
    "a command instead of the answer": f"{TESTS}{CALL}; rm -rf x",
    "a call without tests": f"{CALL}{FALLBACK}",
    "a call without an answer": f"{TESTS}{CALL}",
    "a plain call": CALL,
    "a call that is not the last one of its process": LINE.replace("exec ", ""),
    "a test of another file": LINE.replace(f"[ -r {ENTRY} ]", "[ -r /x/boathook ]"),
    "a line without a test for an empty file": LINE.replace(f"[ -s {ENTRY} ] && ", ""),
    "a test for another empty file": LINE.replace(f"[ -s {ENTRY} ]", "[ -s /x/boathook ]"),
    "a test of another program": LINE.replace(f"[ -x {sys.executable} ]", "[ -x /bin/sh ]"),
    "a test that runs something": LINE.replace(f"[ -x {sys.executable} ]", "[ -x $(touch x) ]"),
    "an answer that runs something": f"{TESTS}{CALL}; printf '%s\\n' \"$(touch x)\"",
    "an answer in a file": f"{LINE} >/x",
    "an exit code that is a command": f"{LINE}; exit $(touch x)",
    "a pipe": f"{TESTS}{CALL} | tee log{FALLBACK}",
    "a redirection": f"{TESTS}{CALL} 2>/dev/null{FALLBACK}",
    "something in the background": f"{LINE} &",
    "a substitution": f"{TESTS}{CALL} --state $(touch x){FALLBACK}",
    "a second line": f"{LINE}\ntouch x",
    "a variable": f"X=1 {LINE}",
    "another guard": f"test -n x || {LINE}",
    "a guard that does more": f'[ -n "$X" ] && touch x; {LINE}',
    "a wrapper": f"{TESTS}timeout 5 {CALL}{FALLBACK}",
    "an unknown wrapper": f"my-audit {LINE}",
    "a program that is not Python": LINE.replace(sys.executable, "/x/evil"),
    "code for Python": LINE.replace("-I -S", "-c evil"),
    "a module for Python": LINE.replace("-I -S", "-mevil"),
    "a word too many": f"{TESTS}{CALL} more{FALLBACK}",
}
OURS = {
    "a line": LINE,
    "a refusal by exit code": f"{LINE} >&2; exit 2",
    "a message beside the answer": f"{LINE} >&2; printf '%s\\n' '{{}}'",
    "a guard of another agent": f'[ -n "$COPILOT_HOOK_DIR" ] && exit 0; {LINE}',
    "an answer with a quote": f"{TESTS}{CALL}; printf '%s\\n' 'it'\"'\"'s gone; exit 2'",
}


@pytest.mark.parametrize("name", OURS)
def test_a_line_in_the_form_of_install_is_ours(name):
    assert parse_command(OURS[name]) == InstalledCommand(sys.executable, ENTRY, "claude", "PreToolUse")


@pytest.mark.parametrize("name", FOREIGN)
def test_a_line_that_does_more_than_call_us_is_not_ours(name):
    assert (parse_command(FOREIGN[name]), is_installed_command(FOREIGN[name], "claude")) == (None, False)


@pytest.mark.parametrize("name", [name for name in FOREIGN if "Python" not in name])
def test_a_line_that_calls_us_among_other_things_is_a_stranger(name):
    assert is_unmanaged_command(FOREIGN[name], "claude")


@pytest.mark.parametrize("host", USERS)
def test_what_is_installed_is_ours_and_no_stranger(project, host):
    setup = load_setup(host)
    text = make_command_line(setup, setup.events[0], context_of(project, host))
    assert (is_installed_command(text, host), is_unmanaged_command(text, host)) == (True, False)
    assert parse_command(text) == InstalledCommand(sys.executable, HOOK_ENTRY, host, setup.events[0])


def test_the_path_that_a_line_names_us_by_is_found():
    lines = (CALL, "sh -c 'exec /v/bin/boathook run'", '"/a b/bin/boathook" run', "boathook run", "echo /boathook-x")
    assert [find_own_path(text) for text in lines] == [
        *("/x/boathook/entry/hook_entry.py", "/v/bin/boathook", "/a b/bin/boathook", "", ""),
    ]


@pytest.mark.parametrize("host", LISTED)
def test_a_persons_line_with_our_call_in_it_is_reported_and_stays(project, host):
    setup, path = load_setup(host), file_of(project, host)
    event = setup.events[0]
    theirs = f"my-audit --log || exit 2; {make_command_line(setup, event, context_of(project, host))} || exit 2"
    handler = {**setup.entry_fields, setup.command_key: theirs}
    own = {"hooks": {event: [{"hooks": [handler]} if setup.format == GROUPS else handler]}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(own))
    message = f"another entry also calls boathook: {theirs}"
    assert state(project, host) == ("not installed", (message,))
    install(project, host)
    assert state(project, host) == ("altered", (message,))
    path.write_text(path.read_text() + "\n")
    uninstall(project, host)
    assert json.loads(path.read_text()) == own


@pytest.mark.parametrize("host", [host for host in USERS if load_setup(host).format == TABLES])
def test_a_persons_table_with_our_call_in_it_stays(project, host):
    path = file_of(project, host)
    theirs = f"my-audit; {make_command_line(load_setup(host), 'Stop', context_of(project, host))}"
    text = f'[[hooks]]\nevent = "Stop"\ncommand = {json.dumps(theirs)}\n'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    install(project, host)
    path.write_text(path.read_text() + "# mine\n")
    uninstall(project, host)
    assert path.read_text() == text + "# mine\n"


# Entries among others


@pytest.mark.parametrize("host", [host for host in LISTED if load_setup(host).format == GROUPS])
def test_an_entry_in_a_group_of_others_is_not_installed_and_gets_one_of_its_own(project, host):
    install(project, host)
    path, event = file_of(project, host), load_setup(host).events[0]
    value = json.loads(path.read_text())
    (own,) = value["hooks"][event]
    value["hooks"][event] = [{"matcher": "NoSuchTool", "hooks": [*own["hooks"], TRUE]}]
    path.write_text(json.dumps(value))
    found, why = state(project, host)
    assert (found, why[0]) == ("altered", "the entries are not what would be installed now")
    install(project, host)
    assert json.loads(path.read_text())["hooks"][event] == [{"matcher": "NoSuchTool", "hooks": [TRUE]}, own]
    assert state(project, host) == ("installed", ())
    path.write_text(path.read_text() + "\n")
    uninstall(project, host)
    assert json.loads(path.read_text())["hooks"] == {event: [{"matcher": "NoSuchTool", "hooks": [TRUE]}]}


@pytest.mark.parametrize("matcher", ["NoSuchTool", "*", ""])
def test_a_matcher_on_our_own_group_goes(project, matcher):
    install(project, "claude")
    path = file_of(project, "claude")
    whole = json.loads(path.read_text())
    narrowed = json.loads(path.read_text())
    narrowed["hooks"]["PreToolUse"][0]["matcher"] = matcher
    path.write_text(json.dumps(narrowed))
    assert state(project, "claude")[0] == "altered"
    install(project, "claude")
    assert (json.loads(path.read_text()), state(project, "claude")) == (whole, ("installed", ()))


# What the doctor fires


def _doctor(project):
    done = project.run("doctor", "--json")
    assert "Traceback" not in done.stderr, done.stderr
    found = [row for row in json.loads(done.stdout)["setup"] if row["subject"].startswith("installed in ")]
    return done.returncode, [row["text"] for row in found]


def _replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(("host", "scope"), [one for one in EVERYWHERE if one[1] == PROJECT])
def test_doctor_runs_nothing_that_a_project_put_where_ours_belongs(project, host, scope):
    install(project, host, scope)
    for change in install(project, host, scope).changes:
        path, pwned = Path(change.path), f"touch {project.base}/pwned; "
        if path.is_relative_to(project.path):
            text = path.read_text()
            for old, new in (("exec /", f"{pwned}exec /"), (f'"{sys.executable}', f'"{pwned}{sys.executable}')):
                text = text.replace(old, new)
            text = text.replace('"[ -n', f'"{pwned}[ -n')
            assert text != path.read_text()
            path.write_text(text)
    code, _ = _doctor(project)
    assert (code, (project.base / "pwned").exists()) == (1, False)


@pytest.mark.parametrize(
    ("what", "finding"),
    [
        ("interpreter", "altered: the entries are not what would be installed now"),
        ("hook_entry", "stale: it calls another boathook: "),
    ],
)
def test_doctor_runs_no_program_of_a_project_that_looks_like_ours(project, what, finding):
    evil = project.path / "boathook" / ("python" if what == "interpreter" else "entry/hook_entry.py")
    evil.parent.mkdir(parents=True)
    touch = f"open('{project.base}/pwned', 'w')" if what == "hook_entry" else f"#!/bin/sh\ntouch {project.base}/pwned"
    evil.write_text(touch)
    evil.chmod(0o755)
    install(project, "codex", PROJECT)
    _replace(file_of(project, "codex", PROJECT), sys.executable if what == "interpreter" else HOOK_ENTRY, str(evil))
    code, texts = _doctor(project)
    assert (code, texts[0].startswith(finding)) == (1, True)
    assert not (project.base / "pwned").exists()


@pytest.mark.parametrize("host", USERS)
def test_what_is_fired_is_what_would_be_installed(project, host):
    setup = load_setup(host)
    assert find_probe_command(setup, target_of(project), setup.events[0]) == ""
    install(project, host)
    event = setup.events[0]
    assert find_probe_command(setup, target_of(project), event)
    _replace(file_of(project, host), sys.executable, "/gone/python")
    assert find_probe_command(setup, target_of(project), event) is None
