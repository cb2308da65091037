"""Installing in every host, and taking that back: nothing else changes, and in the end nothing at all."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boathook.core.hook import PROJECT, USER
from boathook.errors import ConfigError
from boathook.hosts.setup import FLAT, GROUPS, PLUGIN, TABLES, list_setups, load_setup
from boathook.install import command_line as lines
from boathook.install.codex import compute_trust_hash
from boathook.install.host_files import make_entry
from boathook.install.json_edit import parse_nodes
from boathook.sources.installed_line import InstalledCommand, parse_command
from boathook.sources.source import SOURCES
from boathook.system.locations import list_without_names
from tests.example_counts import count_examples
from tests.install.helpers import (
    EVERYWHERE,
    context_of,
    everything,
    file_of,
    install,
    plan,
    registry_of,
    state,
    uninstall,
)
from tests.install.test_json_edit import OBJECTS
from tests.scratch_project import make_project

pytestmark = pytest.mark.installed

ROOT = Path(__file__).parents[2]
THEIRS = {"type": "command", "command": "echo theirs", "timeout": 5}
JSON_HOSTS = [(host, scope) for host, scope in EVERYWHERE if load_setup(host).format in (GROUPS, FLAT)]
TOML_HOSTS = [(host, scope) for host, scope in EVERYWHERE if load_setup(host).format == TABLES]


def _others(host):
    """Return a configuration with hooks of somebody else on the same events."""
    setup = load_setup(host)
    theirs = {"matcher": "Bash", "hooks": [THEIRS]} if setup.format == GROUPS else THEIRS
    return {"theme": "dark", "hooks": {setup.events[0]: [theirs, theirs], setup.events[-1]: []}, "z": [1, 2.50]}


def _spread(host, indent, newline="\n"):
    return json.dumps(_others(host), indent=indent).replace("\n", newline).encode()


JSON_FILES = {
    "no file": lambda host: None,
    "an empty file": lambda host: b"",
    "an empty object": lambda host: b"{}",
    "an empty object with space": lambda host: b"{\n\n}\n",
    "an object without hooks": lambda host: b'{\n  "theme": "dark"\n}\n',
    "no hooks yet": lambda host: b'{\n  "hooks": {}\n}\n',
    "other hooks": lambda host: _spread(host, 2) + b"\n",
    "odd indentation": lambda host: _spread(host, 3) + b"\n\n",
    "tabs": lambda host: _spread(host, "\t") + b"\n",
    "Windows lines": lambda host: _spread(host, 4, "\r\n") + b"\r\n",
    "no final newline": lambda host: _spread(host, 2),
    "one line": lambda host: _spread(host, None),
    "a mark at its start": lambda host: b"\xef\xbb\xbf" + _spread(host, 2),
}
TOML_FILES = {
    "no file": None,
    "an empty file": b"",
    "comments": b'# mine\nmodel = "k2" # the best\n\n[models.k2]\n# about\nx = 1\n',
    "other hooks": b'a = 1\n[[hooks]]\nevent = "Stop"\ncommand = "echo theirs"\n\n# later\n[b]\n',
    "an empty list": b"hooks = []\n[b]\nc = 1\n",
    "Windows lines": b"a = 1\r\n\r\n[b]\r\n# end\r\n",
    "no final newline": b"a = 1",
    "a mark at its start": b"\xef\xbb\xbfa = 1\n",
    "a text that ends like a comment": b"[t]\ntext = \"\"\"\nhello\n# not a comment\"\"\"\n\n[u]\nx = '''\n\n# no''' # yes\n",
}


def _write(path: Path, data: bytes | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if data is not None:
        path.write_bytes(data)


def _wanted(project, host, scope):
    setup = load_setup(host)
    return {event: make_entry(setup, event, context_of(project, host, scope)) for event in setup.events}


@pytest.mark.parametrize(("host", "scope"), EVERYWHERE)
def test_where_nothing_was_nothing_is_left(project, host, scope):
    before = everything(project)
    made = install(project, host, scope)
    assert not made.is_empty
    assert everything(project).items() >= {change.path: change.after for change in made.changes}.items()
    assert state(project, host, scope)[0] == ("shadowed" if (host, scope) in NOT_TRUSTED else "installed")
    after = everything(project)
    assert plan(project, host, scope).is_empty
    install(project, host, scope)
    assert everything(project) == after
    uninstall(project, host, scope)
    assert everything(project) == before
    assert state(project, host, scope) == ("not installed", ())
    assert registry_of(project).read() == []


NOT_TRUSTED = (("codex", PROJECT), ("copilot", PROJECT))


@pytest.mark.parametrize(
    ("host", "scope", "name"),
    [(*one, name) for one in JSON_HOSTS for name in JSON_FILES if one[1] == USER or name == "other hooks"],
)
def test_a_json_file_keeps_what_is_there_and_comes_back_byte_for_byte(project, host, scope, name):
    path, data = file_of(project, host, scope), JSON_FILES[name](host)
    _write(path, data)
    before = everything(project)
    install(project, host, scope)
    setup, old = load_setup(host), parse_nodes((data or b"").decode()).value
    expected = {**old, "hooks": dict(old.get("hooks", {}))}
    for place, value in setup.extra_values.items():
        expected = {**expected, place[0]: value if len(place) == 1 else {place[1]: value}}
    for event, one in _wanted(project, host, scope).items():
        mine = {"hooks": [one]} if setup.format == GROUPS else one
        expected["hooks"][event] = [*expected["hooks"].get(event, []), mine]
    assert parse_nodes(path.read_bytes().decode()).value == expected
    again = everything(project)
    assert plan(project, host, scope).is_empty
    assert everything(project) == again
    uninstall(project, host, scope)
    assert everything(project) == before


@pytest.mark.parametrize("name", TOML_FILES)
@pytest.mark.parametrize(("host", "scope"), TOML_HOSTS)
def test_a_toml_file_keeps_what_is_there_and_comes_back_byte_for_byte(project, host, scope, name):
    path, data = file_of(project, host, scope), TOML_FILES[name]
    _write(path, data)
    before = everything(project)
    install(project, host, scope)
    old = tomllib.loads((data or b"").decode("utf-8-sig"))
    mine = [*old.get("hooks", []), *_wanted(project, host, scope).values()]
    assert tomllib.loads(path.read_bytes().decode("utf-8-sig")) == {**old, "hooks": mine}
    if name == "comments":
        assert path.read_bytes().startswith(data)
    assert plan(project, host, scope).is_empty
    uninstall(project, host, scope)
    assert everything(project) == before


@given(value=OBJECTS, indent=st.sampled_from([None, 1, 2, 4, "\t"]), end=st.sampled_from(["", "\n", "\r\n"]))
@settings(max_examples=count_examples(40))
def test_any_json_file_comes_back(tmp_path_factory, monkeypatch, value, indent, end):
    value.pop("hooks", None)
    project = make_project(tmp_path_factory.mktemp("project"))
    for name, folder in project.variables.items():
        monkeypatch.setenv(name, folder)
    path = file_of(project, "claude")
    _write(path, json.dumps(value, indent=indent, ensure_ascii=False).encode("utf-8", "replace") + end.encode())
    before = everything(project)
    install(project, "claude")
    assert {key: one for key, one in json.loads(path.read_bytes()).items() if key != "hooks"} == json.loads(
        before[str(path)]
    )
    assert plan(project, "claude").is_empty
    uninstall(project, "claude")
    assert everything(project) == before


@pytest.mark.parametrize("host", ["gemini", "qwen"])
def test_comments_stay_where_the_host_reads_them(project, host):
    path = file_of(project, host)
    text = '// mine\n{\n  "theme": "dark", // as I like it\n  /* none yet */ "hooks": {\n  }\n}\n'
    _write(path, text.encode())
    install(project, host)
    for comment in ("// mine\n", "// as I like it\n", "/* none yet */"):
        assert comment in path.read_text()
    assert state(project, host) == ("installed", ())
    uninstall(project, host)
    assert path.read_text() == text


# What the person changed meanwhile stays


@pytest.mark.parametrize(("host", "scope"), JSON_HOSTS)
def test_after_a_change_by_hand_only_ours_goes(project, host, scope):
    path = file_of(project, host, scope)
    _write(path, _spread(host, 2))
    install(project, host, scope)
    text = path.read_text().replace('"dark"', '"light"')
    path.write_text(text)
    uninstall(project, host, scope)
    assert path.read_bytes() == _spread(host, 2).replace(b'"dark"', b'"light"')


@pytest.mark.parametrize(("host", "scope"), JSON_HOSTS)
def test_a_file_that_was_made_for_us_stays_if_something_was_added(project, host, scope):
    path = file_of(project, host, scope)
    install(project, host, scope)
    value = json.loads(path.read_text())
    path.write_text(json.dumps({**value, "theme": "dark"}))
    uninstall(project, host, scope)
    assert json.loads(path.read_text()) == {"theme": "dark"}


@pytest.mark.parametrize(("host", "scope"), TOML_HOSTS)
def test_after_a_change_by_hand_only_our_tables_go(project, host, scope):
    path = file_of(project, host, scope)
    _write(path, b"# mine\na = 1\n")
    install(project, host, scope)
    path.write_text(path.read_text().replace("a = 1", "a = 2") + '\n[[hooks]]\nevent = "Stop"\ncommand = "x"\n')
    uninstall(project, host, scope)
    assert path.read_text() == '# mine\na = 2\n\n[[hooks]]\nevent = "Stop"\ncommand = "x"\n'


def test_a_handler_that_was_moved_into_another_group_is_found(project):
    path = file_of(project, "claude")
    install(project, "claude")
    value = json.loads(path.read_text())
    value["hooks"] = {"PreToolUse": [{"matcher": "Bash", "hooks": [THEIRS, *value["hooks"]["PreToolUse"][0]["hooks"]]}]}
    path.write_text(json.dumps(value))
    uninstall(project, "claude")
    assert json.loads(path.read_text()) == {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [THEIRS]}]}}


def test_installing_again_after_a_change_by_hand_keeps_it(project):
    path = file_of(project, "claude")
    install(project, "claude")
    whole = path.read_text()
    path.write_text(
        whole.replace('"hooks": {', '"theme": "dark",\n  "hooks": {', 1).replace('"timeout": 600', '"timeout": 1', 1)
    )
    assert state(project, "claude")[0] == "altered"
    install(project, "claude")
    assert json.loads(path.read_text()) == {"theme": "dark", **json.loads(whole)}
    uninstall(project, "claude")
    assert json.loads(path.read_text()) == {"theme": "dark"}


def test_without_the_record_ours_goes_all_the_same(project):
    path = file_of(project, "codex")
    _write(path, b'{"hooks": {"Stop": []}, "description": "x"}')
    install(project, "codex")
    Path(registry_of(project).path).unlink()
    uninstall(project, "codex")
    assert json.loads(path.read_text())["description"] == "x"
    assert "hook_entry.py" not in path.read_text()
    assert "trusted_hash" not in (path.parent / "config.toml").read_text()


def test_without_the_record_nothing_goes_that_may_be_the_persons_own(project):
    path = file_of(project, "cursor")
    theirs = {"version": 1, "hooks": {"stop": [{"command": "echo"}]}}
    _write(path, json.dumps(theirs).encode())
    install(project, "cursor")
    Path(registry_of(project).path).unlink()
    uninstall(project, "cursor")
    assert json.loads(path.read_text()) == theirs


def test_tables_that_the_host_wrote_as_a_list_are_an_error_and_not_forgotten(project):
    install(project, "kimi-cli")
    path = file_of(project, "kimi-cli")
    (first, *_) = tomllib.loads(path.read_text())["hooks"]
    path.write_text(f"hooks = [{{event = {json.dumps(first['event'])}, command = {json.dumps(first['command'])}}}]\n")
    assert state(project, "kimi-cli")[0] == "altered"
    with pytest.raises(ConfigError, match="is a list in brackets, from which nothing can be removed"):
        uninstall(project, "kimi-cli")


def test_a_host_whose_folder_moved_is_uninstalled_where_it_was(project, monkeypatch):
    before = everything(project)
    monkeypatch.setenv("CODEX_HOME", str(project.base / "elsewhere"))
    install(project, "codex")
    monkeypatch.delenv("CODEX_HOME")
    uninstall(project, "codex")
    assert everything(project) == before


# How files are written


@pytest.mark.parametrize("what", ["file", "folder"])
@pytest.mark.parametrize(("host", "scope"), [one for one in EVERYWHERE if one[1] == PROJECT])
def test_a_project_cannot_have_files_elsewhere_changed(project, host, scope, what):
    path, outside = file_of(project, host, scope), project.base / "outside"
    outside.mkdir()
    target = path if what == "file" else project.path / path.relative_to(project.path).parts[0]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(outside / "precious.json" if what == "file" else outside)
    with pytest.raises(ConfigError, match="leads out of the project"):
        install(project, host, scope)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("remembered", [True, False])
@pytest.mark.parametrize(("host", "scope"), [one for one in EVERYWHERE if one[1] == PROJECT])
def test_a_project_cannot_have_entries_elsewhere_taken_out(project, host, scope, remembered):
    install(project, host, scope)
    path, outside = file_of(project, host, scope), project.base / "outside"
    path.rename(outside)
    path.symlink_to(outside)
    if not remembered:
        Path(registry_of(project).path).unlink()
    before = everything(project)
    with pytest.raises(ConfigError, match="leads out of the project"):
        uninstall(project, host, scope)
    assert everything(project) == before


def test_a_link_is_followed_and_stays_a_link(project):
    real = project.base / "dotfiles" / "claude.json"
    _write(real, b'{"a": 1}\n')
    path = file_of(project, "claude")
    path.parent.mkdir(parents=True)
    path.symlink_to(real)
    install(project, "claude")
    assert path.is_symlink()
    assert "hook_entry.py" in real.read_text()
    uninstall(project, "claude")
    assert (path.is_symlink(), real.read_bytes()) == (True, b'{"a": 1}\n')


def test_the_mode_of_a_file_is_kept(project):
    path = file_of(project, "claude")
    _write(path, b"{}")
    path.chmod(0o640)
    install(project, "claude")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    uninstall(project, "claude")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_copy_of_every_file_is_kept_before_it_is_changed(project):
    path = file_of(project, "gemini")
    _write(path, b'{"a": 1}')
    install(project, "gemini")
    (one,) = registry_of(project).read()
    (written,) = one.files
    assert registry_of(project).read_copy(written.before) == b'{"a": 1}'
    assert (one.host, one.scope, one.project, one.folders) == ("gemini", USER, "", ())
    assert (written.path, one.command) == (
        str(path),
        lines.make_command_line(load_setup("gemini"), "SessionStart", context_of(project, "gemini")),
    )


def test_a_file_that_changed_since_the_diff_is_not_overwritten(project):
    from boathook.install.apply import apply_plan

    path = file_of(project, "claude")
    _write(path, b"{}")
    made = plan(project, "claude")
    path.write_bytes(b'{"new": 1}')
    with pytest.raises(ConfigError, match="was changed meanwhile"):
        apply_plan(made, registry_of(project), is_install=True)
    assert path.read_bytes() == b'{"new": 1}'


WRONG = {
    "claude": (b'{\n  "a": 1,\n}', "line 3: a key in double quotes is expected"),
    "codex": (b'{\n// mine\n"hooks": {}}', "line 2: comments are not JSON"),
    "gemini": (b'{"hooks": []}', "line 1: 'hooks' is not an object"),
    "copilot": (b'{"hooks": {"preToolUse": {}}}', "line 1: hooks.preToolUse is not a list"),
    "cursor": (b"[]", "line 1: it is not an object"),
    "qwen": (b'{"a": "\xff"}', "line 1: it is not UTF-8"),
    "kimi-code": (b"a = 1\nb = = 1\n", "line 2: "),
    "kimi-cli": (b'hooks = [{event = "Stop", command = "x"}]\n', "'hooks' is a list in brackets"),
    "vscode": (b'{\n"a": ' + b"9" * 5000 + b"}", "line 2: the number has too many digits"),
}


@pytest.mark.parametrize("host", WRONG)
def test_a_file_that_cannot_be_read_is_an_error_with_its_line_and_nothing_is_written(project, host):
    path = file_of(project, host)
    _write(path, WRONG[host][0])
    before = everything(project)
    with pytest.raises(ConfigError) as caught:
        plan(project, host)
    assert str(path) in str(caught.value)
    assert WRONG[host][1] in str(caught.value)
    assert "Nothing was written" in str(caught.value)
    assert everything(project) == before


CONFIGS = {
    "no TOML": (b"a = 1\nb = = 1\n", "line 2: "),
    "a number that is too long": (b"a = " + b"9" * 5000, "line 1: "),
    "too deep": (b"a = " + b"[" * 5000, "it is nested too deep"),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_config_of_codex_that_cannot_be_read_is_an_error_with_its_line(project, name):
    path = project.home / ".codex" / "config.toml"
    _write(path, CONFIGS[name][0])
    with pytest.raises(ConfigError) as caught:
        plan(project, "codex")
    assert (str(path) in str(caught.value), CONFIGS[name][1] in str(caught.value)) == (True, True)


@pytest.mark.parametrize(
    "text", ['{"hooks": {"Stop": ["x", {"hooks": ["y"]}]}}', '{"hooks": {"Stop": [{"hooks": 1}]}}']
)
def test_what_codex_would_not_read_either_is_left_alone(project, text):
    path = file_of(project, "codex")
    _write(path, text.encode())
    install(project, "codex")
    uninstall(project, "codex")
    assert path.read_text() == text


def test_a_file_of_codex_that_cannot_be_read_is_an_error_also_without_the_record(project):
    _write(file_of(project, "codex"), b"{\n,")
    with pytest.raises(ConfigError, match="line 2: a key in double quotes is expected"):
        uninstall(project, "codex")


def test_a_hook_of_the_same_name_that_is_not_ours_is_left_alone(project):
    path = file_of(project, "cline")
    _write(path, b"#!/bin/sh\necho mine\n")
    with pytest.raises(ConfigError, match="it exists already, and boathook did not make it"):
        plan(project, "cline")
    assert path.read_bytes() == b"#!/bin/sh\necho mine\n"


def test_a_folder_that_cannot_be_made_raises_an_error(project):
    _write(project.home / ".claude", b"a file")
    with pytest.raises(ConfigError, match=r"\.claude is not a folder"):
        install(project, "claude")


@pytest.mark.ordinary_user
def test_a_read_only_folder_is_an_error_and_nothing_is_written(project):
    folder = file_of(project, "claude").parent
    folder.mkdir(parents=True)
    folder.chmod(0o500)
    with pytest.raises(ConfigError, match="is read-only"):
        install(project, "claude")
    folder.chmod(0o700)
    assert list(folder.iterdir()) == []


def test_what_may_not_be_written_is_found_before_anything_is(project, monkeypatch):
    file_of(project, "codex").parent.mkdir(parents=True)
    before = everything(project)
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith(".codex"))
    with pytest.raises(
        ConfigError, match=r"\.codex is read-only: .*hooks\.json cannot be written\. Nothing was written"
    ):
        install(project, "codex")
    assert (everything(project), registry_of(project).read()) == (before, [])


def test_if_the_second_file_cannot_be_written_the_first_is_as_it_was(project, monkeypatch):
    before = everything(project)
    real = os.replace

    def fail(source, target):
        if str(target).endswith("config.toml"):
            raise OSError(30, "Read-only file system", target)
        real(source, target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(ConfigError, match=r"config\.toml cannot be written: Read-only file system"):
        install(project, "codex")
    assert everything(project) == before


@pytest.mark.parametrize("host", ["claude", "codex"])
def test_a_file_that_cannot_be_replaced_is_not_remembered_as_installed(project, monkeypatch, host):
    path = file_of(project, host)
    _write(path, b"{}")
    before = everything(project)
    real = os.replace

    def fail(source, target):
        if str(target) == str(path):
            raise OSError(16, "Device or resource busy", source)
        real(source, target)

    monkeypatch.setattr(os, "replace", fail)
    message = f"{path} cannot be written: Device or resource busy. Nothing was changed"
    with pytest.raises(ConfigError) as caught:
        install(project, host)
    assert (str(caught.value), everything(project), registry_of(project).read()) == (message, before, [])
    assert state(project, host) == ("not installed", ())


@pytest.mark.parametrize("what", ["install", "uninstall"])
def test_if_the_record_cannot_be_written_the_files_are_as_they_were(project, monkeypatch, what):
    path = file_of(project, "codex")
    _write(path, b"{}")
    path.chmod(0o640)
    if what == "uninstall":
        install(project, "codex")
    before, records = everything(project), registry_of(project).read()
    real = os.replace

    def fail(source, target):
        if str(target).endswith("installed.json"):
            raise OSError(28, "No space left on device", target)
        real(source, target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(ConfigError, match=r"installed\.json cannot be written: No space left on device"):
        (install if what == "install" else uninstall)(project, "codex")
    assert (everything(project), registry_of(project).read()) == (before, records)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_until_it_is_whole_no_other_user_can_read_a_file(project, monkeypatch):
    path, seen = file_of(project, "claude"), []
    _write(path, b'{"secret": 1}')
    path.chmod(0o600)
    real = os.open

    def watch(name, flags, mode=0o777, **more):
        handle = real(name, flags, mode, **more)
        if os.path.basename(str(name)).startswith(".boathook-"):
            seen.append(stat.S_IMODE(os.fstat(handle).st_mode))
        return handle

    monkeypatch.setattr(os, "open", watch)
    install(project, "claude")
    assert (seen, stat.S_IMODE(path.stat().st_mode)) == ([0o600], 0o600)


@pytest.mark.parametrize(("mask", "modes"), [(0o022, (0o644, 0o755)), (0o077, (0o600, 0o700))])
def test_a_new_file_has_the_mode_of_the_umask(project, mask, modes):
    old = os.umask(mask)
    try:
        install(project, "claude")
        install(project, "cline")
    finally:
        os.umask(old)
    assert tuple(stat.S_IMODE(file_of(project, host).stat().st_mode) for host in ("claude", "cline")) == modes


def _copies(project):
    return {path.read_bytes() for path in (project.state / "backups").glob("*")}


def test_copies_go_once_nothing_refers_to_them(project):
    for host in ("claude", "gemini", "qwen"):
        _write(file_of(project, host), b'{"a": 1}' if host != "qwen" else b'{"b": 2}')
        install(project, host)
    install(project, "claude")
    assert _copies(project) == {b'{"a": 1}', b'{"b": 2}'}
    uninstall(project, "claude")
    assert _copies(project) == {b'{"a": 1}', b'{"b": 2}'}
    uninstall(project, "gemini")
    assert _copies(project) == {b'{"b": 2}'}
    uninstall(project, "qwen")
    assert not (project.state / "backups").exists()


def test_copies_stay_where_a_file_was_changed_by_hand(project):
    path = file_of(project, "claude")
    _write(path, b'{"a": 1}')
    install(project, "claude")
    path.write_bytes(changed := path.read_bytes() + b"\n")
    uninstall(project, "claude")
    assert _copies(project) == {b'{"a": 1}', changed}


def test_many_installs_at_once_leave_one_of_each(project):
    hosts = [host for host, scope in EVERYWHERE if scope == USER]
    code = (
        "import sys; from tests.install.helpers import *; from tests.scratch_project import ScratchProject;"
        "from pathlib import Path\n"
        "for host in sys.argv[2:]:\n"
        "    while True:\n"
        "        try: install(ScratchProject(Path(sys.argv[1])), host)\n"
        "        except Exception as fault:\n"
        "            if 'meanwhile' in str(fault): continue\n"
        "            raise\n"
        "        break\n"
    )

    def run(chosen):
        argv = [sys.executable, "-c", code, str(project.base), *chosen]
        return subprocess.run(argv, env=project.environment, cwd=ROOT, capture_output=True, text=True, timeout=60)

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(run, [hosts, hosts[::-1], hosts, hosts[5:] + hosts[:5]]))
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * 4
    assert {host: state(project, host)[0] for host in hosts} == dict.fromkeys(hosts, "installed")
    assert sorted(one.host for one in registry_of(project).read()) == sorted(hosts)


# What is written


def test_the_command_names_everything_absolutely(project):
    file = file_of(project, "claude")
    repair = f"install boathook again and run: boathook install claude. Or remove its entries from {file}"
    cause = f"{sys.executable} or its package is missing"
    message = f"boathook cannot start ({cause}), so no hook was asked. Fix: {repair}"
    assert lines.make_command_line(load_setup("claude"), "Stop", context_of(project, "claude")) == (
        f"[ -x {sys.executable} ] && [ -s {sys.executable} ] && "
        f"[ -r {lines.HOOK_ENTRY} ] && [ -s {lines.HOOK_ENTRY} ] && "
        f"exec {sys.executable} -I -S {lines.HOOK_ENTRY} --host claude --event Stop --config {project.config} "
        f"--claude {project.claude_folder} --state {project.state} --without settings "
        f"--repair '{repair}' --broken '{{\"systemMessage\": \"REASON\"}}'; "
        f"printf '%s\\n' '{{\"systemMessage\": \"{message}\"}}'"
    )
    codex = lines.make_command(load_setup("codex"), "Stop", context_of(project, "codex"))
    assert codex[codex.index("--state") :][:5] == ["--state", str(project.state), "--without", "codex", "--repair"]


def test_paths_with_spaces_and_quotes_are_quoted(project):
    context = context_of(project, "gemini")
    odd = context.replace(folders={**context.folders, "config": "/a b/it's"})
    text = lines.make_command_line(load_setup("gemini"), "BeforeTool", odd)
    assert "--config '/a b/it'\"'\"'s'" in text
    assert parse_command(text) == InstalledCommand(sys.executable, lines.HOOK_ENTRY, "gemini", "BeforeTool")


@pytest.mark.parametrize("setup", list_setups(), ids=lambda setup: setup.name)
def test_hooks_that_an_agent_runs_itself_are_left_out(project, setup):
    words = lines.make_command(setup, setup.events[0], context_of(project, setup.name))
    assert [words[at + 1] for at, word in enumerate(words) if word == "--without"] == [*setup.runs_itself]
    assert {*setup.runs_itself} <= {*list_without_names(SOURCES)}
    assert setup.evidence


def test_the_sources_that_an_agent_runs_itself_are_known():
    own_sources = {name: load_setup(name).runs_itself for name in ("claude", "codex", "copilot", "cursor")}
    assert own_sources == {
        "claude": ("settings",),
        "codex": ("codex",),
        "copilot": ("copilot",),
        "cursor": ("settings", "cursor"),
    }


@pytest.mark.parametrize("setup", list_setups(), ids=lambda setup: setup.name)
def test_timeouts_are_in_the_unit_of_the_host_and_within_its_limits(setup):
    limits = {event: setup.max_seconds.get(event, 600) for event in (*setup.events, "SessionEnd")}
    assert {event: setup.compute_timeout(event) / setup.units_per_second for event in limits} == limits


@pytest.mark.parametrize(("host", "timeout"), [("claude", 60), ("codex", 3), ("gemini", 600_000), ("kimi-code", 600)])
def test_a_timeout_is_written_as_the_host_reads_it(host, timeout):
    assert load_setup(host).compute_timeout("SessionEnd") == timeout


def test_one_tool_call_of_cursor_is_registered_once_and_copilot_in_one_spelling():
    assert load_setup("cursor").events == (
        *("sessionStart", "beforeSubmitPrompt", "preToolUse", "postToolUse", "postToolUseFailure"),
        *("subagentStart", "subagentStop", "stop", "preCompact", "sessionEnd"),
    )
    assert [event for event in load_setup("copilot").events if event[0].isupper()] == []


def test_codex_gets_the_hash_of_each_entry(project):
    # Both were tried with codex 0.166.0: matchers, quotes, umlauts and all.
    assert compute_trust_hash(
        "Stop", {"type": "command", "command": "echo", "timeout": 600}, "ignored"
    ) == compute_trust_hash("Stop", {"timeout": 600, "command": "echo", "type": "command", "async": False})
    assert compute_trust_hash("PreToolUse", {"type": "command", "command": "a 'b' ü <&>", "timeout": 600}) == (
        "sha256:8f0f1ccf6afa92e1c252fd7f9c0dee3553d4130f1b5c98d9d73c629813f66835"
    )
    path = file_of(project, "codex")
    _write(path, json.dumps(_others("codex")).encode())
    install(project, "codex")
    config = tomllib.loads((path.parent / "config.toml").read_text())
    hooks = json.loads(path.read_text())["hooks"]
    assert config["hooks"]["state"] == {
        f"{path}:{key}:{2 if event == 'SessionStart' else 0}:0": {
            "trusted_hash": compute_trust_hash(event, hooks[event][-1]["hooks"][0])
        }
        for event, key in zip(load_setup("codex").events, CODEX_LABELS, strict=True)
    }


CODEX_LABELS = (
    *("session_start", "user_prompt_submit", "pre_tool_use", "permission_request", "post_tool_use", "pre_compact"),
    *("post_compact", "subagent_start", "subagent_stop", "stop", "session_end"),
)


def test_a_codex_home_that_is_a_link_is_trusted_by_both_its_names(project, monkeypatch):
    real, link = project.base / "real", project.base / "link"
    real.mkdir()
    link.symlink_to(real)
    monkeypatch.setenv("CODEX_HOME", str(link))
    install(project, "codex")
    keys = tomllib.loads((real / "config.toml").read_text())["hooks"]["state"]
    assert {key.partition(":")[0] for key in keys} == {f"{link}/hooks.json", f"{real}/hooks.json"}


def test_two_scopes_in_one_file_can_be_taken_out_in_any_order(project):
    config = project.home / ".codex" / "config.toml"
    _write(config, b'# mine\nmodel = "x"\n')
    before = everything(project)
    for first, second in ((USER, PROJECT), (PROJECT, USER)):
        install(project, "codex", USER)
        install(project, "codex", PROJECT)
        uninstall(project, "codex", first)
        uninstall(project, "codex", second)
        assert everything(project) == before


@pytest.mark.parametrize("host", ["codex", "copilot", "gemini", "qwen"])
def test_a_folder_is_trusted_only_if_that_is_asked_for(project, host):
    before = everything(project)
    install(project, host, PROJECT)
    assert state(project, host, PROJECT)[0] == ("shadowed" if host in ("codex", "copilot") else "installed")
    install(project, host, PROJECT, trusting=True)
    assert state(project, host, PROJECT) == ("installed", ())
    uninstall(project, host, PROJECT)
    assert everything(project) == before


@pytest.mark.parametrize("host", ["codex", "copilot", "gemini"])
def test_trust_of_a_folder_outlives_another_install_and_goes_with_the_rest(project, host):
    before = everything(project)
    install(project, host, PROJECT, trusting=True)
    file_of(project, host, PROJECT).unlink()
    install(project, host, PROJECT)
    assert state(project, host, PROJECT) == ("installed", ())
    uninstall(project, host, PROJECT)
    assert everything(project) == before


def test_a_place_in_codex_that_somebody_else_has_by_now_stays_theirs(project):
    path, config = file_of(project, "codex"), project.home / ".codex" / "config.toml"
    install(project, "codex")
    value = json.loads(path.read_text())
    value["hooks"]["Stop"].insert(0, {"hooks": [THEIRS]})
    path.write_text(json.dumps(value))
    ours = compute_trust_hash("Stop", value["hooks"]["Stop"][1]["hooks"][0])
    theirs = compute_trust_hash("Stop", THEIRS)
    config.write_text(config.read_text().replace(ours, theirs))
    install(project, "codex")
    assert state(project, "codex") == ("installed", ())
    trusted = tomllib.loads(config.read_text())["hooks"]["state"]
    assert [trusted[f"{path}:stop:{at}:0"]["trusted_hash"] for at in (0, 1)] == [theirs, ours]
    uninstall(project, "codex")
    assert json.loads(path.read_text()) == {"hooks": {"Stop": [{"hooks": [THEIRS]}]}}
    assert tomllib.loads(config.read_text()) == {
        "hooks": {"state": {f"{path}:stop:0:0": {"trusted_hash": theirs}}},
    }


FOLDERS = {
    "gemini": (".gemini/trustedFolders.json", "DO_NOT_TRUST"),
    "qwen": (".qwen/trustedFolders.json", "TRUST_PARENT"),
}


@pytest.mark.parametrize("host", FOLDERS)
def test_uninstall_restores_the_earlier_trust_level_of_a_folder(project, host):
    name, word = FOLDERS[host]
    config, own = project.home / name, {str(project.path): word, "/other": "TRUST_FOLDER"}
    _write(config, json.dumps(own).encode())
    install(project, host, PROJECT, trusting=True)
    assert json.loads(config.read_text()) == {**own, str(project.path): "TRUST_FOLDER"}
    config.write_text(config.read_text() + "\n")
    uninstall(project, host, PROJECT)
    assert json.loads(config.read_text()) == own


@pytest.mark.parametrize("host", FOLDERS)
@pytest.mark.parametrize("before", [None, "TRUST_PARENT"])
def test_a_trust_level_that_a_person_sets_after_install_stays(project, host, before):
    config, folder = project.home / FOLDERS[host][0], str(project.path)
    _write(config, None if before is None else json.dumps({folder: before}).encode())
    install(project, host, PROJECT, trusting=True)
    config.write_text(json.dumps({folder: "DO_NOT_TRUST"}))
    uninstall(project, host, PROJECT)
    assert json.loads(config.read_text()) == {folder: "DO_NOT_TRUST"}


def test_where_copilot_keeps_its_trust_other_folders_stay(project):
    config = project.home / ".copilot" / "config.json"
    text = '// User settings belong in settings.json.\n{\n  "trustedFolders": [\n    "/other"\n  ]\n}\n'
    _write(config, text.encode())
    install(project, "copilot", PROJECT, trusting=True)
    assert f'"/other",\n    "{project.path}"\n' in config.read_text()
    config.write_text(config.read_text().replace("User settings", "Your settings"))
    uninstall(project, "copilot", PROJECT)
    assert config.read_text() == text.replace("User settings", "Your settings")


@pytest.mark.parametrize("host", ["kimi-code", "kimi-cli"])
def test_a_host_without_projects_raises_an_error_with_a_fix(project, host):
    with pytest.raises(ConfigError, match=f"run `boathook install {host} --user`"):
        plan(project, host, PROJECT)


HOMES = {
    "claude": ("CLAUDE_CONFIG_DIR", "settings.json"),
    "codex": ("CODEX_HOME", "hooks.json"),
    "copilot": ("COPILOT_HOME", "hooks/boathook.json"),
    "gemini": ("GEMINI_CLI_HOME", ".gemini/settings.json"),
    "kimi-code": ("KIMI_CODE_HOME", "config.toml"),
    "kimi-cli": ("KIMI_SHARE_DIR", "config.toml"),
    "qwen": ("QWEN_HOME", "settings.json"),
    "opencode": ("XDG_CONFIG_HOME", "opencode/plugin/boathook.js"),
}


@pytest.mark.parametrize("host", HOMES)
def test_the_variable_that_moves_a_host_is_followed(project, monkeypatch, host):
    variable, below = HOMES[host]
    monkeypatch.setenv(variable, str(project.base / "moved"))
    assert file_of(project, host) == project.base / "moved" / below


def test_the_plugin_holds_the_command_without_its_event(project):
    install(project, "opencode")
    text = file_of(project, "opencode").read_text()
    assert load_setup("opencode").format == PLUGIN
    command = json.loads(text.partition("COMMAND = ")[2].partition("\n")[0])
    assert command == [
        *(sys.executable, "-I", "-S", lines.HOOK_ENTRY, "--host", "opencode", "--config", str(project.config)),
        *("--claude", str(project.claude_folder), "--state", str(project.state)),
        *("--repair", context_of(project, "opencode").repair),
    ]
