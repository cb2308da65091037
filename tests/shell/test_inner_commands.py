"""Commands that programs run: git, make, containers, ssh, and scripts that the same text writes."""

from __future__ import annotations

import pytest

from boathook.shell.containers import list_contained_commands, list_shared_folders
from boathook.shell.git_commands import list_git_commands, list_git_texts
from boathook.shell.scope import ShellScope
from boathook.shell.started import StartedReader

GIT_TEXTS = {
    ("-c", "alias.x=!rm y", "x"): ["rm y"],
    ("-c", "core.pager=rm y", "log"): ["rm y"],
    ("-c", "core.pager=cat", "log"): [],
    ("rebase", "--exec", "make test", "HEAD"): ["make test"],
    ("rebase", "-x", "make test"): ["make test"],
    ("submodule", "--quiet", "foreach", "rm y"): ["rm y"],
    ("filter-branch", "--tree-filter", "rm y", "HEAD"): ["rm y"],
    ("config", "--global", "alias.x", "!rm y"): ["rm y"],
    ("clone", "ext::rm y"): ["rm y"],
    ("commit", "-m", "rm y"): [],
}


@pytest.mark.parametrize("arguments", GIT_TEXTS)
def test_texts_that_git_runs(arguments: tuple[str, ...]) -> None:
    assert list_git_texts(list(arguments)) == GIT_TEXTS[arguments]


def test_commands_that_git_starts() -> None:
    assert list_git_commands(["bisect", "run", "rm", "y"]) == [("rm", "y")]
    assert list_git_commands(["-c", "alias.x=rm -r", "x", "y"]) == [("git", "rm", "-r", "y")]
    assert list_git_commands(["status"]) == []


SHARED = {
    "docker run -v /a:/x i": [("/a", "/x")],
    "docker run -v /a:/x:ro i": [],
    "docker run -v /a:/x:z,ro i": [],
    "docker run --volume=/a:/x i": [("/a", "/x")],
    "podman run --mount type=bind,source=/a,target=/x i": [("/a", "/x")],
    "podman run --mount type=bind,source=/a,target=/x,readonly i": [],
    "bwrap --ro-bind /u /u --bind /a /x rm": [("/a", "/x")],
}


@pytest.mark.parametrize("text", SHARED)
def test_folders_that_a_container_can_change(text: str) -> None:
    name, *arguments = text.split()
    assert list_shared_folders(name, arguments) == SHARED[text]


def test_the_command_inside_a_container() -> None:
    assert list_contained_commands("docker", ["run", "--rm", "-w", "/x", "-e", "A=1", "image", "rm", "y"]) == [
        ("rm", "y")
    ]
    assert list_contained_commands("docker", ["run", "--entrypoint", "rm", "image", "y"]) == [("rm", "y")]
    assert list_contained_commands("bwrap", ["--bind", "/", "/", "--proc", "/proc", "--", "rm", "y"]) == [("rm", "y")]
    assert list_contained_commands("docker", ["ps"]) == []


STARTED = {
    "ssh host 'rm y'": [],
    "ssh -p 22 me@host rm y": [],
    "ssh localhost 'rm y'": ["rm y"],
    "ssh me@127.0.0.1 rm y": ["rm y"],
    "ssh -o ProxyCommand='rm y' host": ["rm y"],
    "make -f - <<E\nall:\n\t@rm y\nE": ["rm y"],
    "make --eval='x: ; rm y' x": ["rm y"],
    "bash <(echo rm y)": ["rm y"],
    "source <(echo 'rm y')": ["rm y"],
    "bash < <(echo rm y)": ["rm y"],
    "echo 'rm y' > x.sh; sh x.sh": ["rm y"],
    "printf 'rm y' > /t/x; chmod +x /t/x; /t/x": ["rm y"],
    "cat > Makefile <<E\nall:\n\trm y\nE\nmake": ["rm y"],
    "echo 'rm y' > x.sh": [],
    "GIT_EDITOR='rm y' git commit": ["rm y"],
    "env GIT_EDITOR='rm y' git commit": ["rm y"],
    "export PAGER='rm y'": ["rm y"],
    "sometool --exec 'rm y'": ["rm y"],
    "sometool -m 'rm y'": [],
    "for f in y z; do rm $f; done": ["rm y z"],
    "while read f; do rm $f; done < <(echo y)": ["rm y"],
    "a=(y z); rm ${a[@]}": ["rm y z"],
    "echo y | (xargs rm)": ["rm y"],
    "(echo y) | xargs rm": ["rm y"],
    "{ echo y; } | xargs rm": ["rm y"],
    "echo y | xargs -I@ rm @": ["rm y"],
}


@pytest.mark.parametrize("text", STARTED)
def test_the_reader_lists_programs_that_others_start(text: str) -> None:
    reader = StartedReader()
    reader.read(text, ShellScope("/p", {"HOME": "/h"}))

    assert [" ".join(one.words) for one in reader.started if one.name == "rm" and not one.machine] == STARTED[text]


def test_a_folder_of_a_container_is_followed_like_a_link() -> None:
    scope = ShellScope("/p", {"HOME": "/h"})

    StartedReader().read("docker run -v $HOME:/x image rm -rf /x/.config", scope)

    assert scope.links == {"/x": "/h"}
