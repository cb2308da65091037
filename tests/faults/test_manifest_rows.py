"""Faults 48 to 69: manifests, names and folders that somebody prepared. One broken hook never disables its neighbours.

Nearly every project here has a guard that blocks; with any hook beside it, it must still block, and what was refused is named.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults.harness import HERE, LONG, LONG_MS, FaultProject, Result, assert_clean
from tests.scratch_project import make_manifest

LOADING = 2.0
NO = "echo no >&2; exit 2"


def fire(project: FaultProject, way: str = "in process") -> Result:
    """Fire an event at a project with a guard; it must load quickly, the guard must block, and nothing may be left."""
    project.write_hook("zz-guard", NO, timeout=LONG_MS)
    result = project.fire(way)
    assert (result.decision, result.reasons) == ("block", ["no"])
    assert result.notes.get("loading", 0.0) < LOADING
    assert_clean(project, result, LONG)
    return result


def in_manifest(text: str) -> str:
    return f"---\nname: bad\ndescription: A hook.\ntrigger: pre-tool-call\n{text}\n---\n"


BOMB = "metadata:\n  a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"  {chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
)
MERGE = "metadata:\n  a: &a {x: 1}\n" + "".join(
    f"  {chr(98 + n)}: &{chr(98 + n)} {{<<: [{', '.join([f'*{chr(97 + n)}'] * 30)}]}}\n" for n in range(9)
)
NO_ANCHORS = "anchors and aliases (& and *) are not allowed"
TOO_DEEP = "nested deeper than 6 levels"

REFUSED = {
    "row_48_an_alias_bomb": (in_manifest(BOMB), NO_ANCHORS),
    "row_49_a_merge_key_bomb": (in_manifest(MERGE), NO_ANCHORS),
    "row_50_brackets_40k_deep": (in_manifest("metadata: " + "[" * 40_000), TOO_DEEP),
    "row_50_dashes_30k_deep": (in_manifest("metadata:\n" + "- " * 30_000), TOO_DEEP),
    "row_50_braces_that_close": (in_manifest("metadata: " + "{a: " * 9000 + "1" + "}" * 9000), TOO_DEEP),
    "row_51_a_mapping_100_deep": (
        in_manifest("metadata:\n" + "".join(f"{' ' * n}a:\n" for n in range(1, 100))),
        TOO_DEEP,
    ),
    "row_52_a_scalar_beyond_the_limit": (
        in_manifest(f"metadata: {'x' * 70_000}"),
        "the frontmatter is longer than 64 KiB",
    ),
    "row_52_many_keys": (in_manifest("\n".join(f"k{n}: 1" for n in range(3000))), "more than 2000 values"),
    "row_53_an_object_of_python": (
        in_manifest("metadata: !!python/object/apply:os.system ['touch \"$SCRATCH/evil\"']"),
        "the tag tag:yaml.org,2002:python/object/apply:os.system is not allowed",
    ),
    "row_53_a_tag_of_somebody": (in_manifest("metadata: !mine x"), "the tag !mine is not allowed"),
    "row_54_a_key_that_is_there_twice": (in_manifest("async: false\nasync: true"), "the key 'async' is used twice"),
    "row_58_a_nul": (in_manifest("metadata: a\0b"), "HOOK.md contains a NUL character"),
    "row_58_no_frontmatter": ("# Only text\n", "no frontmatter"),
    "row_58_no_end": ("---\nname: bad\n", "the frontmatter has no end"),
    "row_58_an_empty_frontmatter": ("---\n---\n", "the frontmatter is empty"),
    "row_58_an_empty_file": ("", "no frontmatter"),
    "row_59_200_kb_of_newlines": ("---\n" + "\n" * 200_000, "the frontmatter has no end"),
    "row_59_200_kb_of_newlines_first": ("\n" * 200_000 + "x", "no frontmatter"),
    "row_61_a_file_beyond_the_limit": ("---\n" + "x" * (1 << 20), "HOOK.md is larger than 1024 KiB"),
}


@pytest.mark.parametrize(("text", "why"), REFUSED.values(), ids=REFUSED)
def test_a_manifest_that_could_do_harm_is_refused_with_the_reason(project: FaultProject, text: str, why: str) -> None:
    project.write_hook("bad", NO, manifest=text)
    result = fire(project)
    assert result.skipped == {"bad": why}
    assert list(project.scratch.iterdir()) == []


@pytest.mark.parametrize("text", [case[0] for case in REFUSED.values()], ids=REFUSED)
def test_a_refused_manifest_is_reported_to_a_plain_host(project: FaultProject, text: str) -> None:
    project.write_hook("bad", NO, manifest=text)
    project.write_hook("zz-guard", NO, timeout=LONG_MS)
    ended = project.run_plain()
    assert (ended.code, ended.stdout) == (2, b"")
    assert ended.stderr.startswith(b"no\nboathook: hook 'bad' did not run: ")


SLOW_TO_REPAIR = {
    "blank_lines": "x: [\n" + "\n" * 60_000,
    "spaces_and_quotes": "x: [\n" + "\"'" * 30_000,
    "words": "x: [\n" + "a: * #\n" * 9000,
    "spaces": "x: [\n" + " " * 60_000,
}


@pytest.mark.parametrize("text", SLOW_TO_REPAIR.values(), ids=SLOW_TO_REPAIR)
def test_row_59_text_that_is_not_yaml_is_given_up_quickly(project: FaultProject, text: str) -> None:
    project.write_hook("bad", NO, manifest=in_manifest(text))
    assert list(fire(project).skipped) == ["bad"]


# --- 55 to 58: what a slip means

NUMBERS = {
    "sexagesimal": "1:30",
    "octal": "0100",
    "infinity": ".inf",
    "exponent": "1e4",
    "flag": "true",
    "quoted": "'200'",
    "hex": "0x10",
    "plus": "+200",
    "fraction": "1.5",
    "list": "[200]",
    "enormous": "9" * 5000,
}


@pytest.mark.parametrize("written", NUMBERS.values(), ids=NUMBERS)
def test_row_55_anything_but_a_whole_number_leaves_the_default_and_the_guard_armed(
    project: FaultProject, written: str
) -> None:
    project.write_hook("guard", NO, manifest=in_manifest(f"timeout: {written}\npriority: {written}"))
    code = (
        "hook, = load().catalog.hooks\nreport({'h': [hook.state, hook.timeout, hook.priority, len(hook.diagnostics)]})"
    )
    state, timeout, priority, problems = project.probe(code)["h"]
    assert (state, timeout, priority) == ("armed", 30.0, 100)
    assert problems >= 2
    assert project.fire_in_process().reasons == ["no"]


def test_row_55_words_of_yaml_stay_names(project: FaultProject, way: str) -> None:
    for name in ("no", "on", "null", "2024-01-01"):
        project.write_hook(name, NO if name == "null" else "", priority=101, timeout=LONG_MS)
    result = project.fire(way)
    assert [run[0] for run in result.runs] == ["2024-01-01", "no", "null"]
    assert result.reasons == ["no"]


def test_row_55_a_trigger_that_yaml_takes_for_a_flag_is_an_unknown_event(project: FaultProject) -> None:
    project.write_hook("bad", NO, manifest=in_manifest("").replace("pre-tool-call", "on"))
    assert fire(project).skipped["bad"].startswith("unknown event 'on'")


FORGIVEN = {
    "row_56_a_dot_in_double_quotes": (r'matcher: {pattern: "\.py$"}', {"f": "x.py"}, {"f": "x.pyc"}),
    "row_56_a_word_boundary_in_double_quotes": (
        r'matcher: {pattern: "\bsudo\b"}',
        {"c": "sudo ls"},
        {"c": "pseudosudo"},
    ),
    "row_57_a_bare_star": ("matcher:\n  tool: *\n  pattern: x", {"c": "x"}, {"c": "y"}),
}


@pytest.mark.parametrize(("text", "hit", "miss"), FORGIVEN.values(), ids=FORGIVEN)
def test_a_slip_in_a_matcher_does_not_remove_the_guard(
    project: FaultProject, way: str, text: str, hit: dict[str, str], miss: dict[str, str]
) -> None:
    project.write_hook("guard", NO, manifest=in_manifest(text))
    assert project.fire(way, {"tool_input": hit}).reasons == ["no"]
    assert project.fire(way, {"tool_input": miss}).runs == []


GOOD = make_manifest("guard", timeout=LONG_MS)
ODD_BUT_GOOD = {
    "byte_order_mark": "\ufeff" + GOOD,
    "windows_line_ends": GOOD.replace("\n", "\r\n"),
    "leading_blank_lines": "\n \n\n" + GOOD,
    "no_newline_at_the_end": GOOD.partition("\n# ")[0].rstrip("\n"),
    "white_space_behind_the_dashes": GOOD.replace("---\n", "---  \t\n"),
    "dashes_in_a_block_scalar": GOOD.replace("timeout", "metadata:\n  text: |\n    ---\n    more\ntimeout"),
    "dashes_in_the_body": GOOD + "\n---\ntrigger: nonsense\n---\n",
}


@pytest.mark.parametrize("text", ODD_BUT_GOOD.values(), ids=ODD_BUT_GOOD)
def test_row_58_what_editors_do_to_a_file_does_not_remove_the_guard(project: FaultProject, text: str) -> None:
    project.write_hook("guard", NO, manifest=text.encode())
    result = project.fire_in_process()
    assert (result.reasons, result.skipped) == (["no"], {})


def test_row_58_a_tab_as_indent_is_refused_with_the_fix(project: FaultProject) -> None:
    project.write_hook("bad", NO, manifest=in_manifest("matcher:\n\ttool: Shell"))
    code = "report({'fix': [p.fix for p in load().catalog.hooks[0].diagnostics]})"
    assert project.probe(code) == {"fix": ["indent with spaces"]}
    assert list(fire(project).skipped) == ["bad"]


# --- 60 to 64: files that are not regular files


def bad_folder(project: FaultProject, name: str = "bad") -> Path:
    """Lay out a hook folder without manifest."""
    folder = project.write_hook(name, NO)
    (folder / "HOOK.md").unlink()
    return folder


def test_row_60_a_fifo_as_manifest_is_not_waited_for(project: FaultProject, way: str) -> None:
    os.mkfifo(bad_folder(project) / "HOOK.md")
    assert fire(project, way).skipped == {"bad": "HOOK.md is not a regular file"}


def test_row_60_a_fifo_as_script_is_not_an_entry_point(project: FaultProject, way: str) -> None:
    os.mkfifo(project.write_hook("bad", None) / "fifo")
    scripts = project.hooks / "bad" / "scripts"
    scripts.mkdir()
    (project.hooks / "bad" / "fifo").rename(scripts / "run")
    assert fire(project, way).skipped["bad"].startswith("no entry point")


@pytest.mark.parametrize("name", ["hooks.toml", "../config/agents/hooks.toml"])
def test_row_60_a_fifo_as_settings_is_not_waited_for(project: FaultProject, way: str, name: str) -> None:
    place = project.path / ".agents" / "hooks.toml" if name == "hooks.toml" else project.config / "hooks.toml"
    os.mkfifo(place)
    [why] = fire(project, way).skipped.values()
    assert why.endswith(f"{place}: hooks.toml is not a regular file")


def test_row_61_a_device_as_manifest_is_not_read(project: FaultProject, way: str) -> None:
    (bad_folder(project) / "HOOK.md").symlink_to("/dev/zero")
    [why] = fire(project, way).skipped.values()
    assert why == "HOOK.md is a link that leaves the project"


def test_row_61_nor_is_one_of_the_user(project: FaultProject, way: str) -> None:
    folder = project.write_hook("bad", NO, scope="user")
    (folder / "HOOK.md").unlink()
    (folder / "HOOK.md").symlink_to("/dev/zero")
    assert fire(project, way).skipped == {"bad": "HOOK.md is not a regular file"}


def test_row_61_a_sparse_file_of_50_gb_is_not_read(project: FaultProject, way: str) -> None:
    with (bad_folder(project) / "HOOK.md").open("wb") as file:
        file.truncate(50 << 30)
    assert fire(project, way).skipped == {"bad": "HOOK.md is larger than 1024 KiB"}


def test_row_62_loops_and_folders_do_not_end_the_scan(project: FaultProject, way: str) -> None:
    (bad_folder(project, "self") / "HOOK.md").symlink_to("HOOK.md")
    (bad_folder(project, "folder") / "HOOK.md").mkdir()
    (project.hooks / "loop").symlink_to("loop")
    (project.hooks / "dangling").symlink_to("nowhere")
    (project.hooks / "file").write_text("no folder")
    deep = project.hooks / "deep" / "deeper" / "HOOK.md"
    deep.parent.mkdir(parents=True)
    deep.write_text(make_manifest("deep"))
    skipped = fire(project, way).skipped
    assert set(skipped) == {"folder", "self", "loop"}
    assert skipped["folder"] == "HOOK.md is not a regular file"


@pytest.mark.ordinary_user
def test_row_62_a_folder_that_cannot_be_read_does_not_end_the_scan(project: FaultProject, way: str) -> None:
    folder = project.write_hook("closed", NO)
    folder.chmod(0)
    try:
        assert fire(project, way).skipped == {"closed": "closed cannot be read: permission denied"}
    finally:
        folder.chmod(0o755)


def test_row_63_a_link_out_of_the_project_is_refused_and_its_content_never_shown(project: FaultProject) -> None:
    secret = project.home / "secret"
    secret.write_text("top secret words")
    (bad_folder(project) / "HOOK.md").symlink_to(secret)
    project.write_hook("zz-guard", NO, timeout=LONG_MS)
    ended = project.run_event(None, "--debug")
    assert (ended.code, b"secret words" in ended.stderr + ended.stdout) == (2, False)
    assert b"is a link that leaves the project" in ended.stderr


def test_row_63_a_link_to_a_folder_out_of_the_project_is_refused(project: FaultProject, way: str) -> None:
    outside = project.write_hook("outside", NO, scope="user")
    moved = project.home / "outside"
    outside.rename(moved)
    (project.hooks / "outside").symlink_to(moved)
    assert fire(project, way).skipped == {"outside": "HOOK.md is a link that leaves the project"}


def test_row_64_a_folder_name_that_is_not_utf_8_can_be_named_and_run(project: FaultProject, way: str) -> None:
    folder = os.fsencode(project.hooks) + b"/caf\xe9"
    project.write_hook("cafe", "pwd >/dev/null", timeout=LONG_MS)
    os.rename(os.fsencode(project.hooks / "cafe"), folder)
    bad = os.fsencode(project.hooks) + b"/bad\xff"
    os.mkdir(bad)
    Path(os.fsdecode(bad), "HOOK.md").write_text("nothing")
    result = fire(project, way)
    assert result.skipped == {"bad\\udcff": "no frontmatter"}
    assert [run[:2] for run in result.runs] == [("cafe", "ok"), ("zz-guard", "ok")]


def test_row_64_a_plain_host_can_read_of_it(project: FaultProject) -> None:
    bad = os.fsencode(project.hooks) + b"/bad\xff"
    os.mkdir(bad)
    Path(os.fsdecode(bad), "HOOK.md").write_text("nothing")
    ended = project.run_plain()
    assert (ended.code, ended.stderr) == (0, b"boathook: hook 'bad\\udcff' did not run: no frontmatter\n")


# --- 65 to 69: names, numbers, owners

NAMES = {
    "upwards": "../../x",
    "absolute": "/etc/x",
    "nul": '"a\\0b"',
    "65_characters": "a" * 65,
    "zero_width": "a\u200bb",
    "a_space": "a b",
    "an_escape": '"\\e[31mred"',
    "a_newline": '"a\\nb"',
    "a_dot_first": ".hidden",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_row_65_a_name_that_could_be_more_than_a_name_yields_to_the_folder_name(
    project: FaultProject, name: str
) -> None:
    project.write_hook("folder", NO, manifest=make_manifest("folder").replace("name: folder", f"name: {name}"))
    assert project.fire_in_process().runs == [("folder", "ok", 2, "block")]


def test_row_65_composed_and_decomposed_names_are_one_name_or_none(project: FaultProject) -> None:
    for folder, name in (("one", "caf\u00e9"), ("two", "cafe\u0301")):
        project.write_hook(folder, "", manifest=make_manifest("x").replace("name: x", f"name: {name}"))
    names = {run[0] for run in fire(project).runs}
    assert names in ({"caf\u00e9", "zz-guard"}, {"one", "two", "zz-guard"})


def test_row_66_of_two_with_one_name_the_first_folder_counts_and_the_other_is_named(project: FaultProject) -> None:
    for folder in ("b", "a", "c"):
        project.write_hook(folder, f"echo {folder} >&2; exit 2", manifest=make_manifest("same"))
    result = project.fire_in_process()
    assert result.reasons == ["a"]
    code = "report({'s': [[h.state, len([p for p in h.diagnostics if 'same name' in p.message])] for h in HOOKS]})"
    found = project.probe(f"HOOKS = sorted(load().catalog.hooks, key=lambda h: h.path)\n{code}")
    assert found == {"s": [["armed", 0], ["shadowed", 1], ["shadowed", 1]]}


@pytest.mark.parametrize(("protected", "reasons"), [(False, []), (True, ["user"])])
def test_row_66_a_project_replaces_a_user_hook_only_if_that_is_not_protected(
    project: FaultProject, way: str, protected: bool, reasons: list[str]
) -> None:
    project.write_hook("security-check", "echo user >&2; exit 2", scope="user", protected=protected, timeout=LONG_MS)
    project.write_hook("security-check", "exit 0", timeout=LONG_MS)
    result = project.fire(way)
    assert result.reasons == reasons
    assert list(result.skipped) == ["security-check"]


def many_folders(project: FaultProject, count: int) -> None:
    """Lay out folders with manifests but without scripts."""
    text = make_manifest("x", trigger="post-session").encode()
    for number in range(count):
        folder = project.hooks / f"h{number:05}"
        folder.mkdir()
        (folder / "HOOK.md").write_bytes(text.replace(b"name: x", b"name: h%05d" % number))


@pytest.mark.parametrize(("user", "most"), [(True, 10_000), (False, 1000)], ids=["the user's", "a project's"])
def test_row_67_so_many_folders_are_the_most_and_the_guard_before_them_still_blocks(
    project: FaultProject, user: bool, most: int
) -> None:
    for number in range(most + 1):
        ((project.config / "hooks" if user else project.hooks) / f"h{number:05}").mkdir()
    project.write_hook("a-guard", NO, timeout=LONG_MS, scope="user" if user else "project")
    result = project.fire_in_process()
    assert (result.decision, result.reasons) == ("block", ["no"])
    [why] = result.skipped.values()
    assert f"more than {most} hook folders; the rest is not loaded" in why


def test_row_67_large_manifests_of_a_project_are_read_up_to_a_sum_and_the_guard_before_them_still_blocks(
    project: FaultProject,
) -> None:
    body = "x" * 61_000
    for number in range(600):
        project.write_hook(f"h{number:03}", NO, manifest=make_manifest(f"h{number:03}", trigger="post-session") + body)
    project.write_hook("a-guard", NO, timeout=LONG_MS)
    result = project.fire_in_process()
    assert (result.decision, result.reasons) == ("block", ["no"])
    assert result.notes["loading"] < LOADING
    [why] = result.skipped.values()
    assert "the manifests of its hooks are larger than 2 MiB together; h034 and the following are not loaded" in why


def test_row_67_the_hooks_of_a_large_project_are_read_once(project: FaultProject) -> None:
    """The second start does not read a thousand manifests again: it opens fewer files than there are hooks."""
    many_folders(project, 1000)
    long_ago = time.time() - 10
    for folder in project.hooks.iterdir():
        os.utime(folder / "HOOK.md", (long_ago, long_ago))
    assert wait_for_cache(project)
    code = "import sys, boathook.entry.fast_path as t; t.enter(sys.argv[1:])"
    counted = "import sys\nopened = []\nsys.addaudithook(lambda e, a: opened.append(a[0]) if e == 'open' else None)\n"
    script = (
        counted
        + "import os\nend = os._exit\n"
        + "def leave(code):\n"
        + "    os.write(2, str(sum(str(n).endswith('HOOK.md') for n in opened)).encode()); end(code)\n"
        + "os._exit = leave\nimport posix; posix._exit = leave\n"
        + code
    )
    argv = [sys.executable, "-c", script, "--trust-all", "--project", str(project.path)]
    ended = subprocess.run(argv, env=project.environment, input=project.make_stdin(), capture_output=True, timeout=30)
    assert (ended.returncode, ended.stderr) == (0, b"0")


def wait_for_cache(project: FaultProject) -> bool:
    """Run until the catalogue is kept: what changed in the last two seconds is not."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        project.run_plain()
        if list(project.cache.glob("*.catalogue")):
            return True
        time.sleep(0.2)
    return False


@pytest.mark.parametrize("level", ["user", "project"])
def test_row_68_a_folder_that_anybody_can_write_to_runs_nothing(project: FaultProject, way: str, level: str) -> None:
    open_to_all = project.config / "hooks" if level == "user" else project.hooks
    project.write_hook("planted", ': > "$SCRATCH/evil"', scope=level)
    project.write_hook("guard", NO, scope="project" if level == "user" else "user", timeout=LONG_MS)
    open_to_all.chmod(0o777)
    result = project.fire(way)
    assert (result.decision, result.reasons) == ("block", ["no"])
    [why] = result.skipped.values()
    assert why.endswith(f"{open_to_all}: no hook of this folder runs: it can be written by anybody (chmod o-w)")
    assert list(project.scratch.iterdir()) == []


def test_row_68_a_folder_of_somebody_else_runs_nothing(project: FaultProject, way: str) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a folder to somebody else")
    project.write_hook("planted", ': > "$SCRATCH/evil"')
    project.write_hook("guard", NO, scope="user", timeout=LONG_MS)
    os.chown(project.hooks, 12345, 12345)
    result = project.fire(way)
    assert result.reasons == ["no"]
    [why] = result.skipped.values()
    assert why.endswith(f"{project.hooks}: no hook of this folder runs: it belongs to another user (uid 12345)")
    assert list(project.scratch.iterdir()) == []


def test_row_69_a_script_changed_after_loading_runs_as_it_is_now(project: FaultProject) -> None:
    """Trust bound to content is not built yet; until then a change takes effect at the next event, and is not an error."""
    project.write_hook("guard", NO, timeout=LONG_MS)
    code = """
engine = load()
before = engine.dispatch(EVENT).reasons
script = Path(os.environ["PROBE_PROJECT_DIR"], ".agents/hooks/guard/scripts/run.sh")
script.write_text("#!/bin/sh\\necho changed >&2; exit 2\\n")
report({"reasons": [*before, *engine.dispatch(EVENT).reasons]})
"""
    assert project.probe(code) == {"reasons": ["no", "changed"]}


SETTINGS = {
    "no_toml": "[[[",
    "no_utf_8": b"\xff\xfe",
    "a_number_of_5000_digits": "x = " + "9" * 5000,
    "nested_deep": "x = " + "[" * 50_000,
    "a_wrong_shape": "hooks = 1",
    "larger_than_allowed": "#" * (2 << 20),
    "a_long_dotted_key": "a" + ".a" * 20_000 + " = 1",
}


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("level", ["user", "project"])
def test_broken_settings_disarm_no_guard_and_are_named(project: FaultProject, level: str, text: str | bytes) -> None:
    place = project.config / "hooks.toml" if level == "user" else project.path / ".agents" / "hooks.toml"
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    result = fire(project)
    assert [name for name in result.skipped if name != str(place)] == []
    assert json.dumps(result.verdict)


def test_the_code_of_these_tests_names_no_folder_of_this_machine() -> None:
    home = str(HERE.parents[1])
    assert [path.name for path in HERE.glob("*.py") if home in path.read_text()] == []
