"""`boathook new --from`: copies of the examples that come with boathook."""

from __future__ import annotations

from pathlib import Path

from tests.scratch_project import ScratchProject

EXAMPLES = Path(__file__).parents[2] / "examples/hooks"


def test_the_examples_are_listed_with_what_they_do(project: ScratchProject) -> None:
    lines = project.run("new", "--from", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == sorted(path.name for path in EXAMPLES.iterdir())
    assert "Blocks commits on main or master and pushes to them" in "\n".join(lines)


def test_a_copy_of_an_example_has_all_its_files_and_passes_the_check(project: ScratchProject) -> None:
    made = project.run("new", "--from", "branch-guard")
    assert made.returncode == 0
    assert made.stdout.startswith("created .agents/hooks/branch-guard: Blocks commits on main or master")
    folder = project.path / ".agents/hooks/branch-guard"
    original = EXAMPLES / "branch-guard"
    files = sorted(path.relative_to(original) for path in original.rglob("*") if path.is_file())
    assert [(folder / name).read_bytes() for name in files] == [(original / name).read_bytes() for name in files]
    assert (folder / "scripts/run.py").stat().st_mode & 0o100
    assert project.run("check", "--strict", str(folder)).returncode == 0


def test_a_copy_may_have_a_name_of_its_own_and_overwrites_nothing(project: ScratchProject) -> None:
    assert project.run("new", "mine", "--from", "branch-guard").returncode == 0
    manifest = project.path / ".agents/hooks/mine/HOOK.md"
    original = (EXAMPLES / "branch-guard/HOOK.md").read_text(encoding="utf-8")
    assert manifest.read_text(encoding="utf-8") == original.replace("name: branch-guard", "name: mine", 1)
    again = project.run("new", "mine", "--from", "safer-rm")
    assert again.returncode == 1
    assert "exists already" in again.stderr
    assert manifest.read_text(encoding="utf-8").startswith("---\nname: mine\n")


def test_what_cannot_be_copied_is_refused_with_a_way_out(project: ScratchProject) -> None:
    mistakes = {
        ("--from", "branch-gard"): "did you mean 'branch-guard'?",
        ("--from", "branch-guard", "--event", "pre-session"): "leave out --event",
        ("--from", "branch-guard", "--tool", "Shell"): "leave out --event and the options of a matcher",
        ("mine",): "--event pre-tool-call",
        (): "boathook new --from list",
    }
    answers = {words: project.run("new", *words) for words in mistakes}
    assert {words: answer.returncode for words, answer in answers.items()} == dict.fromkeys(mistakes, 1)
    assert [words for words, answer in answers.items() if mistakes[words] not in answer.stderr] == []
    assert not (project.path / ".agents/hooks/branch-guard").exists()
