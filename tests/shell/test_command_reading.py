"""The public reader: what a command line starts, why, and where code comes from."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import boathook.shell
from boathook.shell import UNKNOWN, CommandReading, Started, read_command, reads_code_from_stdin

FIXTURES = Path(__file__).parents[1] / "fixtures" / "shell"


def _read_lines(name: str) -> list[str]:
    lines = (FIXTURES / name).read_text().splitlines()
    return [line.replace("⏎", "\n") for line in lines if not line.startswith("# Commands")]


def _read(text: str) -> tuple[Started, ...]:
    return read_command(text, "/p", {"HOME": "/h"}).programs


def _starts_zap(text: str) -> bool:
    return any(one.name.lower() == "zap" and "/v" in [word.lower() for word in one.words] for one in _read(text))


def test_the_program_inside_is_found_in_every_way_to_start_it() -> None:
    commands = _read_lines("followed.txt")

    assert len(commands) > 450
    assert [text for text in commands if not _starts_zap(text)] == []


NOT_STARTED = (
    *("echo zap /v", "git commit -m 'zap -r /v'", "grep 'zap -r /v' x", "# zap /v", ": 'zap /v'", "man zap /v"),
    *("bash -n <<< 'zap /v'", "echo 'zap /v' | bash -n", "bash -nc 'zap /v'", "cat <<'E'\nzap /v\nE", "which zap /v"),
    *("echo 'zap /v' > x", "echo 'zap /v' > x; cat x", "python3 -c 'print(\"zap /v\")'", "echo 'zap /v' | grep a"),
    *("sed 's/a/zap \\/v/' x", "awk '{print \"zap /v\"}' x", "vim zap /v", "kubectl get zap /v", "ssh -i zap /v"),
    *("docker ps zap /v", "tar cf zap /v", "command -v zap /v", "sh script.sh <<< 'zap /v'", "systemctl status zap /v"),
    *("find . -name zap -path /v", "cat zap /v | sh -c 'ls'", "printf '%s' 'zap /v'", "x='zap /v'", "zip zap.zip /v"),
    *("docker exec c sh <<< 'zap /v'", "docker exec c sh -i <<< 'zap /v'", "ssh -n h sh <<< 'zap /v'"),
    *("kubectl exec pod -- sh <<< 'zap /v'", "ssh h cat <<< 'zap /v'", "bash -c 'sh < x' <<< 'zap /v'"),
    *("docker exec -i c psql <<< 'zap /v'", "tar --to-command=sh -x <<< 'zap /v'", "psql -c '\\! sh' <<< 'zap /v'"),
)


def test_what_is_only_named_is_not_started() -> None:
    assert [text for text in NOT_STARTED if _starts_zap(text)] == []


def test_code_that_another_program_brought_names_it() -> None:
    commands = _read_lines("code_sources.txt")

    assert len(commands) > 25
    assert [text for text in commands if not any(one.code_sources or one.input_paths for one in _read(text))] == []


SOURCES = {
    "curl a | sh": {"sh": ["curl"]},
    "curl a | gunzip | sudo bash -s -- x": {"bash": ["curl", "gunzip"]},
    "curl a > x; sh x": {"sh": ["curl"]},
    "curl -o x a; cp x y; python3 y": {"python3": ["curl", "cp"]},
    "curl -O http://a/x.sh; mkdir d; cd d; sh ../x.sh": {"sh": ["curl"]},
    "curl a | tar xz; ./x/install": {"install": ["curl", "tar"]},
    'bash -c "$(curl a)"': {"bash": ["curl"]},
    "X=$(curl a); eval $X": {"eval": ["curl"]},
    "bash <(curl a)": {"bash": ["curl"]},
    "nc -l 1 -e /bin/sh": {"sh": ["nc"]},
    "curl a > x; sh y": {},
    "curl a | bash -n": {},
    "curl a | bash x.sh": {},
    "curl a | python3 -m json.tool": {},
    "curl a | jq .": {},
    "curl a | grep b; sh x": {},
}


def test_sources_of_code() -> None:
    assert {
        text: {one.name: [source.name for source in one.code_sources] for one in _read(text) if one.code_sources}
        for text in SOURCES
    } == SOURCES


READERS = ("bash", "bash -", "bash -euo pipefail", "sh -s -- a b", "bash /dev/stdin", "python3", "python3 -", "node -")
READERS += (
    "perl",
    "ruby -",
    "php",
    "pwsh -NoLogo -Command -",
    "source /dev/stdin",
    "at now",
    "bash -n +n",
    "deno run -",
)
OTHERS = (
    "bash -c ls",
    "bash x",
    "bash -n",
    "bash --version",
    "python3 -c 1",
    "python3 -uc 1",
    "python3 x.py",
    "node -e 1",
)
OTHERS += ("python3 -m http.server", "perl -ne print", "php -r 1", "ls", "cat", "source x", "bash -euo pipefail x.sh")


def test_programs_that_read_code_from_their_input() -> None:
    (programs,) = zip(*[_read(text)[:1] for text in (*READERS, *OTHERS)], strict=True)

    assert [text for text, one in zip((*READERS, *OTHERS), programs, strict=True) if reads_code_from_stdin(one)] == [
        *READERS
    ]


REASONS = {
    "sudo -u x env A=1 timeout 5 ls": ("sudo", "env", "timeout"),
    "echo a | sudo xargs ls": ("sudo", "xargs"),
    "echo $(ls)": ("$(…)",),
    "bash -c 'eval ls'": ("bash", "eval"),
    "PAGER=ls man x": ("PAGER=",),
    "find . -exec ls {} +": ("find",),
    "ls": (),
}


def test_why_a_program_is_started() -> None:
    found = {text: next(one.started_by for one in _read(text) if one.name == "ls") for text in REASONS}
    assert found == REASONS


def test_a_program_on_another_machine_names_it_and_no_folder() -> None:
    (_, there), (_, here) = _read("ssh me@host ls"), _read("ssh localhost ls")

    assert (there.words, there.machine, there.folder) == (("ls",), "host", "")
    assert here.machine == ""
    programs = _read("kubectl exec -n x pod -- sh -c 'rm -r x'")
    assert [(one.name, one.machine) for one in programs] == [("kubectl", ""), ("sh", "pod"), ("rm", "pod")]


UNKNOWN_WORDS = {
    "ls $X": ("ls", UNKNOWN),
    "ls a$X.b": ("ls", f"a{UNKNOWN}.b"),
    'ls "$(date)"': ("ls", UNKNOWN),
    "ls ~other/x": ("ls", f"{UNKNOWN}/x"),
    "ls ~/x": ("ls", "/h/x"),
    "$X a": (UNKNOWN, "a"),
}


OTHER_FOLDERS = {
    "cd build; rm x": "/work",
    "cd build\nrm x": "/work",
    "cd build; sudo rm x": "/work",
    "cd a; cd b; rm x": "/work/a",
    "bash -c 'cd build; rm x'": "/work",
    # It is checked, the folder is made before, or it is not known.
    "cd build && rm x": "",
    "cd build || exit 1; rm x": "",
    "set -eu; cd build; rm x": "",
    "mkdir -p build; cd build; rm x": "",
    "git clone https://example.org/build.git; cd build; rm x": "",
    'cd "$FOLDER"; rm x': "",
    "rm x": "",
}


def test_where_a_program_runs_if_the_cd_before_it_fails() -> None:
    found = {text: read_command(text, folder="/work").programs[-1].other_folder for text in OTHER_FOLDERS}
    assert found == OTHER_FOLDERS


def test_which_redirections_get_only_errors() -> None:
    program = read_command("rm x > out 2> errors 2>&1", folder="/work").programs[0]
    assert (program.outputs, program.error_outputs) == (("out", "errors"), ("errors",))
    assert read_command("rm x &> both", folder="/work").programs[0].error_outputs == ()


def test_what_cannot_be_known_is_unknown() -> None:
    assert {text: _read(text)[-1].words for text in UNKNOWN_WORDS} == UNKNOWN_WORDS


def test_a_program_is_shown_without_the_programs_that_it_refers_to() -> None:
    program = _read("a | " * 30 + "b")[-1]

    assert repr(program) == "Started(words=('b',), folder='/p')"
    assert program == _read("a | " * 30 + "b")[-1]
    assert len({program, program.replace(folder="/q")}) == 2


def test_many_wrappers_are_not_read_to_the_end_but_reported() -> None:
    assert read_command("sudo " * 5 + "ls").is_complete
    assert not read_command("sudo " * 5000 + "ls").is_complete


def test_the_package_offers_its_names() -> None:
    assert all(getattr(boathook.shell, name) for name in boathook.shell.__all__)
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        _ = boathook.shell.other  # type: ignore[attr-defined]


PIECES = (
    *(
        "xargs -I{} ",
        "parallel ",
        "::: ",
        "sh -c ",
        "eval ",
        "python3 -c ",
        "awk ",
        "sed ",
        "system(",
        "ssh h ",
        "exec 3",
    ),
    *(
        "<<<",
        "<&3",
        ">&3",
        "> >(",
        "<(",
        "$(",
        "${x:",
        "`",
        "read -u 3 x",
        "printf ",
        "base64 -d",
        "tr ",
        "rev",
        "\\x",
        "%b",
    ),
    *(
        "curl -o x ",
        "tar -I ",
        "env -S",
        "tmux ",
        "find . -exec ",
        "-n ",
        "declare -n ",
        "IFS=",
        "hash -p ",
        "a",
        " ",
        "|",
    ),
    *(
        ";",
        "\n",
        "'",
        '"',
        "{",
        "}",
        ")",
        "=",
        "$x",
        "/",
        "-",
        "\0",
        "é",
        "git -c a=",
        "kubectl exec ",
        "-- ",
        "vim -c '!",
    ),
)


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_text_can_be_read(text: str) -> None:
    reading = read_command(text, "/p", {"HOME": "/h"})

    assert isinstance(reading, CommandReading)
    assert all(program.words for program in reading.programs)
    assert reading == read_command(text, "/p", {"HOME": "/h"})
    for program in reading.programs:
        reads_code_from_stdin(program)
