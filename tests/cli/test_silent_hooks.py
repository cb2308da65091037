"""Why a hook is silent: every cause is named, with its place and its fix, by the commands that people ask.

Each row is set up for real in a project whose agent (Claude Code) calls boathook. The texts are the cause, the place and the fix
that a command must print; "" means that a command does not look for that cause. Paths begin with {hooks} (the project's folder of
hooks), {project}, {config} or {home}.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.scratch_project import CALL, ScratchProject, make_project

Says = tuple[str, ...]


@dataclass(frozen=True)
class Cause:
    """A cause: how it comes about, and what each command says; `exits` are the exit codes of `check --strict` and `doctor`.

    `doctor` looks at the hooks `named`, at everything if none is named, which takes longer.
    """

    write: Callable[[ScratchProject], object]
    check: Says
    doctor: Says
    explain: Says
    exits: tuple[int, int] = (1, 0)
    named: Says = ("guard",)


def _guard(
    script: str | bytes | None = "exit 2", *, trusted: bool = True, **options
) -> Callable[[ScratchProject], object]:
    """Return what writes the project's hook 'guard' and trusts it."""

    def write(project: ScratchProject) -> None:
        project.write_hook("guard", script, scope="project", **options)
        if trusted:
            project.trust()

    return write


def _write_in(place: str, *, keep_name: bool = True) -> Callable[[ScratchProject], object]:
    """Return what writes the hook to a folder of the project that is not one of hooks."""

    def write(project: ScratchProject) -> None:
        folder = project.write_hook("guard", "exit 2", scope="project")
        wanted = project.path / place
        shutil.move(folder, project.base / "moved")
        shutil.rmtree(project.path / ".agents")
        wanted.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(project.base / "moved", wanted)
        if not keep_name:
            os.rename(wanted / "HOOK.md", wanted / "hook.txt")

    return write


def _write_disabled(project: ScratchProject) -> None:
    _guard()(project)
    project.write_hooks_toml("user", "# mine\n[[hooks.disable]]\nname = 'guard'\n")


def _write_broken_after_review(project: ScratchProject) -> None:
    _guard()(project)
    (project.hooks_folder("project") / "guard/HOOK.md").write_text(TAB)


def _write_gone(project: ScratchProject) -> None:
    _guard()(project)
    shutil.rmtree(project.hooks_folder("project") / "guard")


def _write_replaced(project: ScratchProject) -> None:
    project.write_hook("guard", "exit 2")
    project.write_hook("guard", "exit 0", scope="project")
    project.trust(flags=("--yes", "--override"))


def _write_unmatched(project: ScratchProject) -> None:
    project.write_hook("other", "exit 0", scope="project")
    _guard(fields={"matcher": "{tool: Shell, pattern: 'rm -fr'}"})(project)
    for command in ("ls", "rm -rf build"):
        event = {**CALL, "tool_input": {"command": command}, "work_dir": str(project.path)}
        assert project.run("run", stdin=json.dumps(event)).returncode == 0


def _write_entry(event: str, command: str) -> Callable[[ScratchProject], object]:
    """Return what adds a hook to the settings that Claude Code has."""

    def write(project: ScratchProject) -> None:
        path = project.claude_folder / "settings.json"
        settings = json.loads(path.read_text())
        settings["hooks"].setdefault(event, []).append({"hooks": [{"type": "command", "command": command}]})
        path.write_text(json.dumps(settings, indent=2))

    return write


def _write_twice(project: ScratchProject) -> None:
    _write_entry("PreToolUse", "exit 2")(project)
    assert project.run("convert", "to-hookmd", "--user", "--yes").returncode in (0, 1)


MANIFEST = "{hooks}/guard/HOOK.md"
SCRIPT = "{hooks}/guard/scripts/run.sh"
TAB = "---\nname: guard\ndescription: x\ntrigger: pre-tool-call\nmatcher:\n\ttool: Shell\n---\n"
MISNAMED = ("unknown event 'pre-tool-cal'", f"{MANIFEST}:4", "fix: write 'pre-tool-call'")
SMALL = ("small and capital letters count", f"{MANIFEST}:5", "fix: did you mean 'Shell'? It holds in every agent")
NOT_ASKED = ("Claude Code never asks hook 'guard'", "there it would be Bash", "fix: add Shell to its matcher")
NOT_EXECUTABLE = ("scripts/run.sh is not executable", SCRIPT, f"fix: chmod +x {SCRIPT}")
WINDOWS = ("it has Windows line ends", f"{SCRIPT}:1", "fix: convert the file to LF line ends")
NO_INTERPRETER = ("scripts/run.sh has no interpreter line", f"{SCRIPT}:1", "fix: begin it with #!/bin/sh")
IN_SINGULAR = ("its name must be 'hooks'", "{project}/.agents/hook", "fix: mv {project}/.agents/hook {hooks}")
IN_CLAUDE = ("this hook is not read", "{project}/.claude/hooks/guard", "mv {project}/.claude/hooks/guard {hooks}/")
IN_ROOT = (
    "each hook is a folder with a HOOK.md in it",
    "{hooks}/HOOK.md",
    "fix: mkdir {hooks}/my-hook && mv {hooks}/HOOK.md",
)
TOO_DEEP = ("one folder too deep", "{hooks}/git/guard", "fix: mv {hooks}/git/guard {hooks}/")
WRONG_NAME = (
    "the manifest of a hook is called HOOK.md",
    "{hooks}/guard/hook.txt",
    f"fix: mv {{hooks}}/guard/hook.txt {MANIFEST}",
)
DISABLED = ("{config}/hooks.toml:2", 'fix: remove the [[hooks.disable]] table with name = "guard"')
REPLACED = (
    "replaced by the project's hook in {hooks}/guard",
    "write 'protected: true' into {config}/hooks/guard/HOOK.md",
    "boathook untrust guard",
)
INDENTED = ("not valid YAML: a line is indented with a tab", f"{MANIFEST}:6", "fix: indent with spaces")
BROKEN_AFTER_REVIEW = (*INDENTED, f"fix: correct {MANIFEST}, then boathook trust guard")
IS_GONE = ("you trusted it, and it is gone", "boathook untrust guard")
UNKNOWN_KEY = ("unknown key 'macher'", f"{MANIFEST}:5", "fix: did you mean 'matcher'?")
NO_FRONTMATTER = ("no frontmatter", f"{MANIFEST}:1", "fix: begin the file with a line '---'")
EXIT_1 = (
    "exit 1 is a failure and does not block",
    f"{SCRIPT}:3",
    "fix: use exit 2 to block, with the reason on stderr",
)
NO_PROGRAM = (
    "'no-such-program' is not on the PATH",
    "{home}/.claude/settings.json:",
    "fix: install it, or write its path",
)
NO_SCRIPT = ("no entry point", MANIFEST, f"fix: add {SCRIPT}")
SINGULAR = ("no entry point", MANIFEST, "fix: rename the folder script to scripts")
TWICE = (
    "runs twice: {home}/.claude/settings.json has the same command",
    "{config}/hooks/",
    "fix: remove that entry, or the folder",
)
UNMATCHED = (
    "0 of the last 2 Shell calls in your ledger match 'rm -fr'",
    "the nearest one: rm -rf build",
    MANIFEST,
    "change the pattern",
)

CAUSES: dict[str, Cause] = {
    # the twelve causes of the audit
    "a misspelled event": Cause(
        _guard(trusted=False, fields={"trigger": "pre-tool-cal"}), MISNAMED, MISNAMED, MISNAMED, (1, 1)
    ),
    "small letters in the name of a tool": Cause(
        _guard(fields={"matcher": "{tool: shell}"}), (*SMALL, *NOT_ASKED), (*SMALL, *NOT_ASKED, "1 not asked"), SMALL
    ),
    "a pattern that matches no call": Cause(_write_unmatched, (), UNMATCHED, UNMATCHED),
    "a script that is not executable": Cause(_guard(mode=0o644), NOT_EXECUTABLE, NOT_EXECUTABLE, NOT_EXECUTABLE),
    "Windows line ends": Cause(_guard(b"#!/bin/sh\r\nexit 2\r\n"), WINDOWS, WINDOWS, WINDOWS, (1, 1)),
    "a script without an interpreter line": Cause(
        lambda project: (
            _guard(trusted=False)(project),
            (project.hooks_folder("project") / "guard/scripts/run.sh").write_text("exit 2\n"),
            project.trust(),
        ),
        NO_INTERPRETER,
        NO_INTERPRETER,
        NO_INTERPRETER,
    ),
    "a folder of hooks in the singular": Cause(_write_in(".agents/hook/guard"), IN_SINGULAR, IN_SINGULAR, IN_SINGULAR, named=()),
    "a hook that waits for a review": Cause(
        _guard(trusted=False), (), ("it is not trusted yet", MANIFEST, "fix: boathook trust guard"),
        ("it is not trusted yet. Review it with: boathook trust guard",), (1, 1),
    ),
    "a hook that hooks.toml disables": Cause(_write_disabled, DISABLED, DISABLED, DISABLED, (0, 0)),
    "a hook that the project replaces": Cause(_write_replaced, REPLACED, REPLACED, REPLACED),
    "a tab in the YAML": Cause(_guard(trusted=False, manifest=TAB), INDENTED, INDENTED, INDENTED, (1, 1)),
    "exit 1 instead of 2": Cause(_guard("echo no >&2\nexit 1"), EXIT_1, (*EXIT_1, "fails: exit code 1"), EXIT_1, (1, 1)),
    # more forms of these
    "the folder of Claude Code": Cause(_write_in(".claude/hooks/guard"), IN_CLAUDE, IN_CLAUDE, IN_CLAUDE, named=()),
    "a manifest beside the folders": Cause(_write_in(".agents/hooks"), IN_ROOT, IN_ROOT, IN_ROOT, named=()),
    "a folder too deep": Cause(_write_in(".agents/hooks/git/guard"), TOO_DEEP, TOO_DEEP, TOO_DEEP, named=()),
    "a manifest of another name": Cause(
        _write_in(".agents/hooks/guard", keep_name=False), WRONG_NAME, WRONG_NAME, WRONG_NAME, named=()
    ),
    "a tab in the YAML of a hook that was trusted": Cause(
        _write_broken_after_review, INDENTED, BROKEN_AFTER_REVIEW, BROKEN_AFTER_REVIEW, (1, 1)
    ),
    "a trusted hook that is gone": Cause(_write_gone, IS_GONE, IS_GONE, IS_GONE),
    "a misspelled key": Cause(_guard(fields={"macher": "{tool: Shell}"}), UNKNOWN_KEY, UNKNOWN_KEY, UNKNOWN_KEY),
    "no frontmatter": Cause(
        _guard(trusted=False, manifest="name: guard\n"), NO_FRONTMATTER, NO_FRONTMATTER, NO_FRONTMATTER, (1, 1)
    ),
    "no script": Cause(_guard(None), NO_SCRIPT, NO_SCRIPT, NO_SCRIPT, (1, 1)),
    "a folder of scripts in the singular": Cause(
        lambda project: (
            (project.hooks_folder("project") / "guard/script").mkdir(parents=True), _guard(None)(project),
        ),
        SINGULAR, SINGULAR, SINGULAR, (1, 1),
    ),
    "the name of a tool in another agent": Cause(
        _guard(fields={"matcher": "{tool: run_in_terminal}"}), NOT_ASKED, NOT_ASKED, NOT_ASKED
    ),
    "a program that is missing": Cause(
        _write_entry("PreToolUse", "no-such-program x"), NO_PROGRAM, (*NO_PROGRAM, "fix: install no-such-program"),
        NO_PROGRAM, (1, 1), ("PreToolUse:no-such-program",),
    ),
    "an event that is another one": Cause(
        _guard(fields={"trigger": "post-tool-call"}), (), (),
        ("guard is for post-tool-call, not for pre-tool-call", f"change its event in {MANIFEST}:4"), (0, 0),
    ),
    "a converted hook and its original": Cause(_write_twice, TWICE, TWICE, TWICE, named=()),
}  # fmt: skip
EXPLAIN = ("explain", "pre-tool-call", "--tool", "Shell", "--input", '{"command": "rm -rf /"}')


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> ScratchProject:
    """A project whose agent calls boathook; it is made once, because installing takes long."""
    project = make_project(tmp_path_factory.mktemp("silent"))
    assert project.run("install", "claude", "--yes").returncode == 0
    return project


@pytest.fixture
def project(installed: ScratchProject) -> Iterator[ScratchProject]:
    """The installed project, without the hooks of other tests."""
    settings = installed.claude_folder / "settings.json"
    before = settings.read_bytes()
    yield installed
    settings.write_bytes(before)
    (installed.state / "trust.json").unlink(missing_ok=True)
    for folder in (installed.path / ".agents", installed.path / ".claude", installed.config):
        shutil.rmtree(folder, ignore_errors=True)


def _fill(text: str, project: ScratchProject) -> str:
    return text.format(
        hooks=project.hooks_folder("project"), project=project.path, config=project.config, home=project.home
    )


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_is_named_with_its_place_and_its_fix(project: ScratchProject, name: str) -> None:
    cause = CAUSES[name]
    cause.write(project)
    commands = (
        (("check", "--strict"), cause.check, cause.exits[0]),
        (("doctor", *cause.named), cause.doctor, cause.exits[1]),
        (EXPLAIN, cause.explain, 0),
    )
    for words, texts, code in commands:
        done = project.run(*words)
        printed = done.stdout + done.stderr
        assert done.returncode == code, printed
        for text in texts:
            assert _fill(text, project) in printed, printed
        # What is not there has no files with mistakes.
        assert "no entry point" not in printed or cause.check is not IS_GONE
        # What is in a private copy is nothing to edit.
        assert "/copies/" not in printed


def test_list_reports_hooks_that_run_twice(project: ScratchProject) -> None:
    assert "runs twice" not in project.run("list").stderr
    _write_twice(project)
    assert _fill(TWICE[0], project) in project.run("list").stderr


def test_every_cause_is_named_by_explain_and_by_check_or_doctor() -> None:
    another_event = CAUSES["an event that is another one"]
    for name, cause in CAUSES.items():
        assert cause.explain, name
        # No file says for which event a hook was meant.
        assert cause.check or cause.doctor or cause is another_event, name


def test_a_project_without_these_causes_has_nothing_to_report(project: ScratchProject) -> None:
    _guard(trusted=False, fields={"matcher": "{tool: Shell, pattern: 'rm -rf'}"})(project)
    (project.hooks_folder("project") / "guard/tests.txt").write_text("block  rm -rf x\nskip  ls\n")
    project.trust()
    assert project.run("check", "--strict").stdout.startswith("all good\n")
    done = project.run("doctor", "guard", "--strict")
    assert (done.returncode, "warning" in done.stdout, "note " in done.stdout) == (0, False, False), done.stdout
    assert "runs  guard" in project.run(*EXPLAIN).stdout
