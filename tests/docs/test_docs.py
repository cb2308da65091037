"""Every code block in the documentation is run: shell blocks in one shell each, Python blocks as programs.

A reader types all blocks of a page into one terminal, so each block begins in the folder that the one before it ended in.

The README of the repository is played in `test_readme.py`. Other README files use the installed command; the others one that
is quicker (`tests/forked.py`).

A ```text block that follows is what the block before it prints, to the letter; `…` in it matches anything.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked

ROOT = Path(__file__).parent.parent.parent
FIRST = ROOT / "README.md"
DOCUMENTS = sorted(
    path
    for path in [FIRST, *(ROOT / "docs").rglob("*.md"), ROOT / "examples/README.md"]
    if "adr" not in path.parts and path.name not in ("specification.md", "cli.md", "benchmarks.md")
)
# The pages of frameworks are played where their frameworks are installed: tests/bridges/test_framework_pages.py.
FRAMEWORKS = ROOT / "docs/how-to/frameworks"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = "import sys; sys.argv[0] = {command!r}; from boathook.cli.main import main; sys.exit(main())"
RUN = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}


def blocks(path: Path) -> list[tuple[str, str]]:
    return [(found[1], found[2]) for found in BLOCK.finditer(path.read_text(encoding="utf-8"))]


def environment(folder: Path) -> dict[str, str]:
    scratch = {"HOME": str(folder / "home")}  # as most people have it: no XDG variables
    path = f"{folder / 'bin'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "REPO": str(ROOT), "LC_ALL": "C.UTF-8", **scratch}


def make_quick_command(folder: Path) -> None:
    """Put a `boathook` before the installed one whose work is done by a fork of a warm process."""
    server = forked.server_for(environment(folder))
    # There are as many warm processes as may be, for other environments: then the installed command is used.
    if server is None:
        return
    command = Path(sys.executable).parent / "boathook"
    (folder / "bin").mkdir()
    server.stand_in(folder / "bin/boathook", COMMAND.format(command=str(command)))


def as_pattern(expected: str) -> str:
    return ".*".join(re.escape(part) for part in expected.rstrip("\n").split("…"))


@pytest.mark.document
@pytest.mark.parametrize(
    "path",
    [path for path in DOCUMENTS if path != FIRST and path.parent != FRAMEWORKS],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_the_code_in_a_document_does_what_the_document_shows(path: Path, tmp_path: Path) -> None:
    play_document(path, tmp_path)


def play_document(path: Path, tmp_path: Path) -> None:
    """Run the blocks of a page, and compare what they print."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "examples").symlink_to(ROOT / "examples")
    if path.name != "README.md" and not forked.goes_apart():
        make_quick_command(tmp_path)
    printed: str | None = None
    for language, text in blocks(path):
        if language in RUN:
            done = subprocess.run(
                [*RUN[language], text if language != "sh" else f"trap 'pwd > {tmp_path}/folder' EXIT\n{text}"],
                cwd=work,
                env=environment(tmp_path),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=60,
            )
            printed = done.stdout
            assert done.returncode == 0, f"{text}\n{printed}"
            work = Path((tmp_path / "folder").read_text().strip()) if language == "sh" else work
        elif language == "text" and printed is not None:
            assert re.fullmatch(as_pattern(text), printed.rstrip("\n"), re.DOTALL), (
                f"expected:\n{text}\nprinted:\n{printed}"
            )
            printed = None


def test_the_documents_hold_code_to_run() -> None:
    counted = sum(language in RUN for path in DOCUMENTS for language, _ in blocks(path))
    assert counted >= 25


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    missing = [link for link in links if not (path.parent / link).exists()]
    assert missing == []


def test_every_picture_is_shown_by_a_document() -> None:
    texts = "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    names = {path.name for path in (ROOT / "docs/images").iterdir()}
    assert names == {name for name in names if f"images/{name})" in texts}
