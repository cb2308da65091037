"""The README, played word for word by somebody who has nothing but the wheel, one agent and a clean home."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest

from boathook.hosts.host import list_host_names, load_host
from e2e.terminal import run_at_terminal
from scripts.make_picture import PICTURE, draw_session, read_transcript, record_session
from tests.docs.test_docs import ROOT, as_pattern, blocks

# What a machine has beside boathook; without these, no command line works.
PROGRAMS = ("bash", "cat", "env", "git", "ln", "mkdir", "sh", "tail", "uname")
SETTINGS = '{\n  "model": "mine"\n}\n'
# Installs the wheel as pipx does, in an environment of its own; what it needs is that of the tests, so nothing is downloaded.
PIPX = """\
#!/bin/sh
set -eu
test "$*" = "install boathook"
folder="$HOME/.local/share/pipx/venvs/boathook"
{python} -m venv --without-pip "$folder"
{python} -m pip --python "$folder/bin/python" install --quiet --disable-pip-version-check --no-deps --no-index --no-compile {wheel}
for site in "$folder"/lib/python*/site-packages; do echo {libraries} > "$site/libraries.pth"; done
mkdir -p "$HOME/.local/bin"
ln -s "$folder/bin/boathook" "$HOME/.local/bin/boathook"
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture
def environment(wheel: Path, tmp_path: Path) -> dict[str, str]:
    """Return the variables of a clean home: a few programs, pipx, and Claude Code, which has settings already."""
    home, programs = tmp_path / "home", tmp_path / "programs"
    (home / ".claude").mkdir(parents=True)
    (home / ".claude/settings.json").write_text(SETTINGS, encoding="utf-8")
    programs.mkdir()
    for name in PROGRAMS:
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    pipx = PIPX.format(python=sys.executable, wheel=wheel, libraries=sysconfig.get_path("purelib"))
    for name, text in (("pipx", pipx), ("claude", "#!/bin/sh\necho 2.1.325\n")):
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    return {"HOME": str(home), "PATH": f"{home}/.local/bin{os.pathsep}{programs}", "LC_ALL": "C.UTF-8"}


def play_block(language: str, text: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Run a block as its reader would; return what it printed."""
    if language == "shell":
        # They are typed at a terminal; the questions are whether to go on, and where it can, whether to keep an engine in memory.
        code, printed = run_at_terminal(["bash", "-euc", text], ["y", "n"], cwd=folder, env=environment)
    else:
        python = str(Path(environment["HOME"], ".local/share/pipx/venvs/boathook/bin/python"))
        argv = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [python, "-c"]}[language]
        done = subprocess.run(
            [*argv, text], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        code, printed = done.returncode, done.stdout
    assert code == 0, f"{text}\n{printed}"
    return printed


# Continuous integration runs it, too: `make test-installed`.
@pytest.mark.installed
def test_the_readme_works_word_for_word_with_the_wheel_alone(environment: dict[str, str], tmp_path: Path) -> None:
    project = tmp_path / "home/app"
    project.mkdir()
    printed: str | None = None
    played = []
    for language, text in blocks(ROOT / "README.md"):
        if language == "text":
            assert printed is not None, f"no command prints this:\n{text}"
            matches = re.fullmatch(as_pattern(text), printed.rstrip("\n"), re.DOTALL)
            assert matches, f"expected:\n{text}\nprinted:\n{printed}"
            printed = None
        else:
            printed = play_block(language, text, project, environment)
            played.append(language)
    assert played.count("shell") == 1
    assert {*played} == {"shell", "sh", "python"}

    check_examples_and_vectors(project, environment)
    # Its hooks use more of the programs that every machine has.
    everything = {**environment, "PATH": f"{environment['PATH']}{os.pathsep}/usr/bin{os.pathsep}/bin"}
    assert "Shell did not run: " in play_block("sh", "boathook demo", project, everything)
    settings = tmp_path / "home/.claude/settings.json"
    assert "boathook" in settings.read_text(encoding="utf-8")
    # "takes all of it back"
    play_block("sh", "boathook setup --undo --yes", project, environment)
    assert settings.read_text(encoding="utf-8") == SETTINGS
    assert not [*(tmp_path / "home/.config").rglob("HOOK.md")]


def check_examples_and_vectors(project: Path, environment: Mapping[str, str]) -> None:
    """Check that the wheel brings the examples, which the README names, and the conformance vectors."""
    printed = play_block("sh", "boathook new --from list; boathook new --from branch-guard", project, environment)
    names = {path.name for path in (ROOT / "examples/hooks").iterdir()}
    assert {line.split()[0] for line in printed.splitlines()} >= names
    assert (project / ".agents/hooks/branch-guard/scripts/run.py").stat().st_mode & 0o100
    code = "from boathook.testing.vectors import load_vectors; print(len(load_vectors()))"
    assert int(play_block("python", code, project, environment)) > 1000


def test_the_first_command_is_on_the_first_screen_of_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before = re.sub(r"!\[.*?\)", "", text.partition("```shell\n")[0])
    assert len(before.split()) < 150
    # Who has no agent reads there what works without.
    start = text.partition("## In a clone")[0]
    assert "No agent on this machine? `boathook demo`" in start
    assert "(#from-python)" in start


def test_the_readme_counts_the_agents_and_names_those_that_were_never_run() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    hosts = [load_host(name) for name in list_host_names()]
    words = {9: "nine", 10: "ten", 11: "eleven", 12: "twelve", 13: "thirteen", 14: "fourteen", 15: "fifteen"}
    count, seen = words[len(hosts)], words[len([host for host in hosts if host.version])]
    sentence = next(line for line in text.splitlines() if "run for real" in line)
    assert sentence.startswith(f"This is version 0.1. {seen.capitalize()} of the {count} agents")
    assert [host.title for host in hosts if not host.version and host.title not in sentence] == []
    assert f"| works in | {count} agents |" in text


def test_the_picture_shows_what_the_commands_print_today() -> None:
    recorded = record_session()
    drawn = draw_session(recorded)
    saved = PICTURE.read_text(encoding="utf-8")
    assert read_transcript(saved) == read_transcript(drawn)
    assert "Shell did not run" in read_transcript(saved)
    assert saved == drawn, "run `make picture`"


def test_a_picture_loads_nothing_from_outside() -> None:
    text = PICTURE.read_text(encoding="utf-8")
    assert re.findall(r"https?://[^\s\"']+", text) == ["http://www.w3.org/2000/svg"]


def test_the_page_of_the_package_has_no_link_into_the_repository(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/METADATA"))
        page = message_from_bytes(archive.read(name)).get_payload()
    assert isinstance(page, str)
    assert "pipx install boathook" in page
    assert [link for link in re.findall(r"\]\(([^)]+)\)", page) if not link.startswith("https://")] == []
