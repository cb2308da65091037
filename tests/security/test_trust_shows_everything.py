"""What `boathook trust` shows is what it trusts: no line, file, byte or character of it is hidden."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
from hashlib import sha256

import pytest

from boathook.cli import pager, trust_review
from boathook.cli.trust import trust_hooks
from boathook.core.text import reveal_text
from tests.scratch_project import make_settings

PAYLOAD = 'touch "$AGENT_PROJECT_DIR/ran"'
SHEBANG = "#!/bin/sh\n"


def write_guard(project, script, **files):
    """Write a hook with a script, given whole, and other files of its folder."""
    data = script if isinstance(script, bytes) else script.encode()
    folder = project.write_hook("guard", scope="project", script=data)
    for name, content in files.items():
        path = folder / "scripts" / name.replace("__", ".")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def write_line_21(project):
    write_guard(project, SHEBANG + "# nothing\n" * 19 + f"{PAYLOAD}\n")


def write_far_right(project):
    write_guard(project, SHEBANG + " " * 1200 + f"{PAYLOAD}\n")


def write_helper(project):
    write_guard(project, SHEBANG + '. "$(dirname "$0")/lib.sh"\n', lib__sh=f"{PAYLOAD}\n")


def write_false_line_ends(project):
    comment = "#\x0b\x0c\x1c\x1d\x1e\x85\u2028 x\n"
    write_guard(project, SHEBANG + comment * 4 + f"{PAYLOAD}\n")


def write_nul(project):
    write_guard(project, f"{SHEBANG}{PAYLOAD}\n".encode() + b"\0")


def write_long_diff(project):
    write_guard(project, SHEBANG + "exit 0\n")
    project.trust()
    write_guard(project, SHEBANG + "# nothing\n" * 70 + f"{PAYLOAD}\nexit 0\n")


def write_many_files(project):
    folder = write_guard(project, SHEBANG + '. "$(dirname "$0")/z449"\n')
    for number in range(449):
        (folder / "scripts" / f"z{number:03}").write_text(f"# {number}\n")
    (folder / "scripts" / "z449").write_text(f"{PAYLOAD}\n")


TEXTS = (
    write_line_21,
    write_far_right,
    write_helper,
    write_false_line_ends,
    write_nul,
    write_long_diff,
    write_many_files,
)


@pytest.mark.parametrize("write", TEXTS)
def test_a_payload_in_a_text_is_shown(project, write):
    write(project)
    shown = project.trust().stdout
    assert PAYLOAD in shown
    assert "NOT SHOWN" not in shown
    project.dispatch()
    assert (project.path / "ran").exists()


def test_a_false_line_end_does_not_split_a_line(project):
    write_false_line_ends(project)
    shown = project.run("trust").stdout
    assert shown.count("    | #\\x0b\\x0c\\x1c\\x1d\\x1e\\x85\\u2028 x\n") == 4


def test_a_nul_is_shown_in_its_place(project):
    write_nul(project)
    assert f"    | {PAYLOAD}\n    | \\x00\n" in project.run("trust").stdout


def test_a_binary_is_shown_by_size_and_digest(project):
    source = project.base / "util.py"
    source.write_text(f"import os; os.system({PAYLOAD!r})\n")
    compiled = project.base / "util.pyc"
    py_compile.compile(str(source), str(compiled))
    data = compiled.read_bytes()
    folder = write_guard(project, f"#!{sys.executable}\nimport util\n", util__pyc=data)
    os.rename(folder / "scripts" / "run.sh", folder / "scripts" / "run.py")
    shown = project.trust().stdout
    assert f"scripts/util.pyc: binary, {len(data)} bytes, sha256 {sha256(data).hexdigest()}" in shown
    project.dispatch()
    assert (project.path / "ran").exists()


def test_a_changed_binary_is_shown_by_both_sizes_and_digests(project):
    old, new = b"\x7fELF\0\xff\xfe" * 9, b"\x7fELF\0\xff\xfd" * 10
    folder = write_guard(project, SHEBANG + "exit 0\n", tool=old)
    project.trust()
    (folder / "scripts" / "tool").write_bytes(new)
    shown = project.run("trust").stdout
    assert "changed: scripts/tool" in shown
    assert f"binary before: {len(old)} bytes, sha256 {sha256(old).hexdigest()}" in shown
    assert f"binary now:    {len(new)} bytes, sha256 {sha256(new).hexdigest()}" in shown


def test_a_binary_that_becomes_a_script_is_shown(project):
    folder = write_guard(project, SHEBANG + "exit 0\n", tool=b"\x7fELF\0\xff\xfe" * 9)
    project.trust()
    (folder / "scripts" / "tool").write_text(f"{PAYLOAD}\n")
    assert f"    +{PAYLOAD}\n" in project.run("trust").stdout


DISGUISES = {
    "a script of a shell": ("x.sh", b"\0\xff" * 99),
    "an interpreter line": ("tool", b"#!/bin/sh\n" + b"#\0\xff" * 99),
    "mostly text": ("data", b"# text text text text text text text text\n" * 9 + b"\0\xff"),
    "no NUL": ("data", b"\xff\xfe" * 99),
    "UTF-8": ("data", "\0é".encode() * 99),
}


@pytest.mark.parametrize("case", DISGUISES)
def test_a_text_is_not_hidden_by_a_few_odd_bytes(project, case):
    name, junk = DISGUISES[case]
    folder = write_guard(project, SHEBANG + "exit 0\n")
    (folder / "scripts" / name).write_bytes(junk + f"\n{PAYLOAD}\n".encode())
    shown = project.run("trust").stdout
    assert f"    | {PAYLOAD}\n" in shown
    assert "binary" not in shown


JUNK = b"\0\xff\xfe\x80" * 200


@pytest.mark.parametrize("path", ["scripts/run", "assets/logo.png"])
@pytest.mark.parametrize("start", [b"", b"\x7fELF\n"], ids=["plain", "false magic"])
def test_what_is_run_is_never_hidden_as_a_binary(project, path, start):
    folder = project.write_hook("guard", None, scope="project")
    for name in ("assets", "scripts"):
        (folder / name).mkdir()
    (folder / path).write_bytes(start + f"{PAYLOAD}\nexit 0\n".encode() + JUNK)
    if path != "scripts/run":
        (folder / "scripts" / "run").symlink_to(f"../{path}")
    shown = project.run("trust").stdout
    assert f"    | {PAYLOAD}\n" in shown
    assert "binary" not in shown


def test_a_binary_that_is_run_after_a_change_is_shown(project):
    folder = write_guard(project, SHEBANG + "exit 0\n", logo=f"{PAYLOAD}\n".encode() + JUNK)
    assert "scripts/logo: binary" in project.trust().stdout
    (folder / "scripts" / "run.sh").unlink()
    (folder / "scripts" / "run.sh").symlink_to("logo")
    assert f"    | {PAYLOAD}\n" in project.run("trust").stdout


def test_the_whole_manifest_is_shown(project):
    folder = write_guard(project, SHEBANG + "exit 0\n")
    with (folder / "HOOK.md").open("a") as file:
        file.write("last words\n")
    assert "    | last words\n" in project.run("trust").stdout


def test_the_files_of_a_settings_entry_are_shown_as_well(project):
    tools = project.path / "tools"
    tools.mkdir()
    (tools / "guard.sh").write_text("# nothing\n" * 30 + ". tools/lib.sh\n")
    (tools / "lib.sh").write_text(f"{PAYLOAD}\n")
    project.write_settings("project", make_settings("sh tools/guard.sh"))
    shown = project.run("trust").stdout
    assert shown.count("    | # nothing\n") == 30
    assert f"  lib.sh:\n    | {PAYLOAD}\n" in shown


def test_headers_and_commands_of_several_lines_are_shown_whole(project):
    entry = {"type": "http", "url": "http://127.0.0.1:9/x", "headers": {"X-A": "value-of-it"}}
    settings = make_settings("echo 1\n" + PAYLOAD)
    settings["hooks"]["PreToolUse"].append({"hooks": [entry]})
    project.write_settings("project", settings)
    shown = project.run("trust").stdout
    assert "  header    X-A: value-of-it\n" in shown
    assert f"  command   echo 1\n          | {PAYLOAD}\n" in shown


# What is too long


def test_what_is_cut_is_counted_and_only_yes_gets_past_it(project):
    line = "# " + "x" * 1000 + "\n"
    write_guard(project, SHEBANG + "exit 0\n", big=line * 3000, more=line * 7)
    done = project.run("trust")
    assert done.returncode == 1
    shown = len([text for text in done.stdout.split("\n") if "| # xxx" in text])
    assert f"  NOT SHOWN: {3007 - shown:,} lines, 2 files: scripts/big, scripts/more\n" in done.stdout
    assert "guard was not trusted, because not all of it was shown. Read its files" in done.stderr
    assert "guard is trusted" in project.run("trust", "--yes").stdout


def test_a_person_cannot_confirm_what_was_cut(project, monkeypatch, capsys):
    monkeypatch.setattr(trust_review, "_MAX_SHOWN_BYTES", 100)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.prompt", lambda *_, **__: pytest.fail("it asked"))
    write_guard(project, SHEBANG + "exit 0\n" * 99)
    assert trust_hooks.main([], standalone_mode=False) == 1
    printed = capsys.readouterr()
    assert "NOT SHOWN: " in printed.out
    assert "guard was not trusted, because not all of it was shown" in printed.err
    assert project.read_hook_state("guard") == "untrusted"


def test_a_long_file_that_changed_is_shown_whole_and_quickly(project):
    folder = write_guard(project, SHEBANG + "exit 0\n", data="a\nb\n" * 5000)
    project.trust()
    (folder / "scripts" / "data").write_text("b\na\n" * 5000 + PAYLOAD)
    shown = project.run("trust").stdout
    assert "too long to compare; these are its lines now:" in shown
    assert f"    | {PAYLOAD}\n" in shown


# Characters

INVISIBLE = (
    *(0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180E, 0x200B, 0x200D, 0x202E, 0x2060),
    *(0x2066, 0x2800, 0x3164, 0xFE00, 0xFE0F, 0xFEFF, 0xFFA0, 0xFFFB, 0x1D159, 0x1D173, 0xE0001, 0xE0041, 0xE0100),
    *(0x00A0, 0x1680, 0x2003, 0x202F, 0x3000, 0x2028, 0x2029, 0x85, 0x9B, 0x1B, 0x0D, 0x07, 0x7F, 0xE000, 0xD800),
)


@pytest.mark.parametrize("code", INVISIBLE, ids=hex)
def test_a_character_that_cannot_be_seen_is_made_visible(code):
    shown = reveal_text(f"a{chr(code)}b")
    assert shown == f"a{chr(code).encode('unicode_escape').decode()}b"
    assert shown.isascii()


def test_what_can_be_seen_stays_as_it_is():
    text = "if [ a ]; then\techo 'Grüße, 世界, 안녕, नमस्ते ✓ 🙂 e\u0301'; fi"
    assert reveal_text(text, keep="\t") == text


def test_every_part_of_a_review_is_made_visible(project):
    write_guard(project, f"{SHEBANG}echo \u2800 \u3164 \ufe0f\n")
    assert "| echo \\u2800 \\u3164 \\ufe0f" in project.run("trust").stdout


# The pager


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_pager_of_the_project_is_not_run(project, monkeypatch):
    inside = write_program(project.path / "bin" / "less", "exit 0")
    (project.base / "link").symlink_to(inside)
    outside = write_program(project.base / "outside" / "less", "exit 0")
    for value in (str(inside), "bin/less", f"{project.base}/link", "less"):
        monkeypatch.setenv("PAGER", value)
        monkeypatch.setenv("PATH", f"{inside.parent}:.:{outside.parent}")
        assert pager.find_pager([str(project.path)]) in ([str(outside)], [str(outside), "-R"])
    monkeypatch.setenv("PATH", f"{inside.parent}:bin:")
    assert pager.find_pager([str(project.path)]) is None


@pytest.mark.parametrize(
    ("value", "expected"), [("more -d", ["more", "-d"]), (None, ["less", "-R"]), ("'", ["less", "-R"])]
)
def test_the_person_chooses_the_pager(project, monkeypatch, value, expected):
    for name in ("less", "more"):
        write_program(project.base / "bin" / name, "exit 0")
    monkeypatch.setenv("PATH", str(project.base / "bin"))
    monkeypatch.setenv("PAGER", value) if value else monkeypatch.delenv("PAGER", raising=False)
    program, *arguments = expected
    assert pager.find_pager([str(project.path)]) == [f"{project.base}/bin/{program}", *arguments]
    monkeypatch.setenv("PAGER", "")
    assert pager.find_pager([str(project.path)]) is None


class Terminal(pager.Console):
    is_terminal = True


def test_a_pager_gets_the_whole_text_and_one_that_fails_is_made_up_for(project, monkeypatch, capsys):
    out = project.base / "out"
    program = write_program(project.base / "bin" / "page", f'cat > {out}; echo "$LESS $LESSSECURE" >> {out}')
    monkeypatch.setattr(pager, "make_console", lambda: Terminal(width=80, height=24, highlight=False))
    monkeypatch.setenv("PAGER", str(program))
    monkeypatch.setenv("LESS", "-S")
    lines = [(f"line {number}", "") for number in range(100)]
    pager.show_lines(lines, [str(project.path)])
    assert out.read_text().split("\n")[-4:] == ["line 98", "line 99", "R 1", ""]
    assert capsys.readouterr().out == ""
    write_program(program, "exit 3")
    pager.show_lines(lines, [str(project.path)])
    assert capsys.readouterr().out.endswith("line 99\n")
    pager.show_lines(lines[:3], [str(project.path)])
    assert capsys.readouterr().out == "line 0\nline 1\nline 2\n"


def test_no_pager_is_started_where_no_terminal_is(project):
    program = write_program(project.base / "bin" / "page", "exit 3")
    write_guard(project, SHEBANG + "exit 0\n" * 99)
    env = {**project.environment, "PAGER": str(program)}
    command = [sys.executable, "-m", "boathook", "trust", "--yes"]
    done = subprocess.run(command, cwd=project.path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.count("    | exit 0\n") == 99
