"""Which programs a shell text starts, with which words, in which folder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.shell.arguments import UNKNOWN
from boathook.shell.command_reading import read_command
from boathook.shell.found_paths import QuotedName
from boathook.shell.path_changes import list_path_changes, list_redirected_paths
from boathook.shell.scope import REPOSITORY_TOP, ShellScope, expand_braces
from boathook.shell.started import MAX_COMMAND_CHARS, StartedReader
from tests.growth import grows_in_proportion


def _read(text: str) -> StartedReader:
    reader = StartedReader()
    reader.read(text, ShellScope("/p", {"HOME": "/h"}))
    return reader


STARTED = {
    "ls -a": [("/p", "ls", "-a")],
    "cd x && ls": [("/p/x", "cd", "x"), ("/p/x", "ls")],
    "(cd x; ls); pwd": [("/p/x", "cd", "x"), ("/p/x", "ls"), ("/p", "pwd")],
    "A=b; echo $A": [("/p", "echo", "b")],
    "echo ${A:-b}": [("/p", "echo", "b")],
    "echo $(echo b)": [("/p", "echo", "b"), ("/p", "echo", "b")],
    "sudo -u x env A=1 timeout 5 rm y": [("/p", "rm", "y")],
    "sh -c 'rm $1' _ y": [("/p", "sh", "-c", "rm $1", "_", "y"), ("/p", "rm", "y")],
    "echo y | xargs rm": [("/p", "echo", "y"), ("/p", "xargs", "rm"), ("/p", "rm", "y")],
    "cat <<E | sh\nrm y\nE": [("/p", "cat"), ("/p", "sh"), ("/p", "rm", "y")],
    "uv run rm y": [("/p", "rm", "y")],
    "rm $UNKNOWN": [("/p", "rm", UNKNOWN)],
    "rm x{a,b}": [("/p", "rm", "xa", "xb")],
    "command -v rm": [("/p", ":")],
    "npm exec --yes -- rm y": [("/p", "rm", "y")],
    "pnpm --filter a dlx rimraf@5.0.1 y": [("/p", "rimraf", "y")],
    "npx -c 'rm y'": [("/p", "sh", "-c", "rm y"), ("/p", "rm", "y")],
    "npm install rimraf": [("/p", "npm", "install", "rimraf")],
    "ls a | entr -c cat /_": [("/p", "ls", "a"), ("/p", "entr", "-c", "cat", "/_"), ("/p", "cat", "a/*")],
    "rm 'a*' a*": [("/p", "rm", "a*", "a*")],
    "printf '%q' 'rm y' | sh": [("/p", "printf", "%q", "rm y"), ("/p", "sh"), ("/p", "rm y")],
    "printf '' | xargs -r rm y": [("/p", "printf", ""), ("/p", "xargs", "-r", "rm", "y")],
    "cat a | xargs -r rm y": [("/p", "cat", "a"), ("/p", "xargs", "-r", "rm", "y"), ("/p", "rm", "y", UNKNOWN)],
    "find a -exec rm {}": [("/p", "find", "a", "-exec", "rm", "{}")],
    "A=b; f() { local A=c; echo $A; }; echo $A": [
        *(("/p", "f"), ("/p", "local", "A=c")),
        *(("/p", "echo", "c"), ("/p", "echo", "b")),
    ],
    "A=b; local A=c; A=d; f() { :; }; echo $A": [("/p", "local", "A=c"), ("/p", "f"), ("/p", ":"), ("/p", "echo", "d")],
    "A=b; f() { local A; declare -g A=c; }; echo $A": [
        *(("/p", "f"), ("/p", "local", "A")),
        *(("/p", "declare", "-g", "A=c"), ("/p", "echo", "c")),
    ],
    "A=b; f() { local A=c; g; }; g() { rm $A; }; f": [
        *(("/p", "f"), ("/p", "local", "A=c"), ("/p", "g"), ("/p", "g"), ("/p", "rm", "b")),
        *(("/p", "f"), ("/p", "local", "A=c"), ("/p", "g"), ("/p", "rm", "c")),
    ],
    "f() { f; rm $A; }; A=y; f": [
        *(("/p", "f"), ("/p", "f"), ("/p", "rm", UNKNOWN)),
        *(("/p", "f"), ("/p", "f"), ("/p", "rm", "y")),
    ],
    "bash -c $'rm\\x20y'": [("/p", "bash", "-c", "rm y"), ("/p", "rm", "y")],
    "f() { rm $A; }; A=y; f": [("/p", "f"), ("/p", "rm", UNKNOWN), ("/p", "f"), ("/p", "rm", "y")],
    "bash -norc -c 'rm y'": [("/p", "bash", "-norc", "-c", "rm y"), ("/p", "rm", "y")],
    "bash -login -rcfile x -c 'rm y'": [("/p", "bash", "-login", "-rcfile", "x", "-c", "rm y"), ("/p", "rm", "y")],
    "bash -n -c 'rm y'": [("/p", "bash", "-n", "-c", "rm y")],
    "fish -c'rm y'": [("/p", "fish", "-crm y"), ("/p", "rm", "y")],
    "hash -p /bin/rm ls; ls y": [("/p", "hash", "-p", "/bin/rm", "ls"), ("/p", "ls", "y"), ("/p", "/bin/rm", "y")],
    "hash -p /bin/rm echo; echo y": [("/p", "hash", "-p", "/bin/rm", "echo"), ("/p", "echo", "y")],
    "git -c alias.status=push status": [("/p", "git", "-c", "alias.status=push", "status")],
    "git -c alias.st=push st": [("/p", "git", "-c", "alias.st=push", "st"), ("/p", "git", "push")],
    "hyperfine -w 3 'rm y'": [("/p", "hyperfine", "-w", "3", "rm y"), ("/p", "rm", "y")],
}


@pytest.mark.parametrize("text", STARTED)
def test_started_programs(text: str) -> None:
    assert [(one.folder, *one.words) for one in _read(text).started] == STARTED[text]


def test_a_pattern_in_quotes_is_known_as_a_name() -> None:
    words = _read("rm 'a*' \"b?\" c\\[ d* 'e'* \"$F\"* f").started[0].words
    assert [isinstance(word, QuotedName) for word in words] == [False, True, True, True, False, False, False, False]


def test_a_pattern_is_one_again_in_a_parameter_without_quotes() -> None:
    for text, is_name in {"rm $1": False, 'rm "$1"': True, "rm $@": False, 'rm "$@"': True}.items():
        words = _read(f"set -- 'a*'; {text}").started[-1].words
        assert (words[1], isinstance(words[1], QuotedName)) == ("a*", is_name), text


def test_a_descriptor_that_is_closed_or_opened_anew_leads_nowhere() -> None:
    for text, outputs in {
        "exec 3>a; echo x >&3": ("/p/a",),
        "exec 3>a; exec 3>&-; echo x >&3": (),
        "exec {n}>a; echo x >&$n": ("/p/a",),
        "exec {n}>a; exec {n}>&-; echo x >&$n": (),
        "exec {n}>a; exec {m}>b; exec {m}>&-; echo x >&$n": ("/p/a",),
        "exec -c 3>a; echo x >&3": ("/p/a",),
        "exec 3>a; exec 4>&3; exec 3>&-; echo x >&4": ("/p/a",),
        "exec 3>a; exec 4>&3-; echo x >&4": ("/p/a",),
        "exec 3>&1; echo x >&3": (),
        # Another shell closes its own descriptor, and what is perhaps not run closes none.
        "exec 3>a; (exec 3>&-); echo x >&3": ("/p/a",),
        "exec 3>a; sh -c 'exec 3>&-'; echo x >&3": ("/p/a",),
        "exec 3>a; y=$(exec 3>&-); echo x >&3": ("/p/a",),
        "exec 3>a; false && exec 3>&-; echo x >&3": ("/p/a",),
    }.items():
        assert _read(text).started[-1].outputs == outputs, text
    for text, count in {
        "exec {n}< <(curl a); sh <&$n": 1,
        "exec {n}< <(curl a); exec {n}</dev/null; sh <&$n": 0,
        "exec {n}< <(curl a); exec {m}</dev/null; sh <&$n": 1,
    }.items():
        assert len(_read(text).started[-1].code_sources) == count, text


def test_a_program_knows_the_files_that_descriptors_are_open_for() -> None:
    started = _read("exec 3>a; ls; sh -c 'ls'; exec 3>&-; ls").started
    assert [one.open_paths for one in started if one.name == "ls"] == [("/p/a",), ("/p/a",), ()]


def test_of_many_open_descriptors_some_are_known_and_the_rest_are_reported() -> None:
    reader = _read("".join(f"exec {{d{n}}}>f{n};" for n in range(200)) + "ls")
    assert len(reader.started[-1].open_paths) == 64
    assert not reader.is_complete


def test_an_environment_that_is_cleared_has_no_variables_of_the_text() -> None:
    for text, words in {
        "export X=rm; env -i sh -c '\"$X\" y'": ("", "y"),
        "export X=rm; env - sh -c '\"$X\" y'": ("", "y"),
        "export X=rm; env -u X sh -c '\"$X\" y'": ("", "y"),
        "export X=rm; env --unset=X sh -c '\"$X\" y'": ("", "y"),
        "export X=rm; exec -c sh -c '\"$X\" y'": ("", "y"),
        "export X=rm; exec -l sh -c '\"$X\" y'": ("rm", "y"),
        "export X=rm; env -u Y sh -c '\"$X\" y'": ("rm", "y"),
        "export X=rm; env -i X=cp sh -c '\"$X\" y'": ("cp", "y"),
        'X=rm; env -i "$X" y': ("rm", "y"),
        'export X=rm; env -i sh -c \'"$X" y\'; "$X" z': ("rm", "z"),
    }.items():
        assert _read(text).started[-1].words == words, text


def test_a_shell_forgets_programs_if_path_is_assigned() -> None:
    for text, words in {
        "hash -p /bin/rm z; z y": ("/bin/rm", "y"),
        "hash -p /bin/rm z; PATH=/bin; z y": ("z", "y"),
        "hash -p /bin/rm z; hash -r; z y": ("z", "y"),
        "hash -p /bin/rm z; PATH=/bin true; z y": ("/bin/rm", "y"),
        "hash -p /bin/rm z; (PATH=/bin); z y": ("/bin/rm", "y"),
        "hash -p /bin/rm z; false && PATH=/bin; z y": ("/bin/rm", "y"),
        "PATH=/bin; hash -p /bin/rm z; z y": ("/bin/rm", "y"),
        "alias z=rm; PATH=/bin; z y": ("rm", "y"),
    }.items():
        assert _read(text).started[-1].words == words, text


def test_a_script_that_starts_itself_is_read_once_for_each_way_to_start_it() -> None:
    for text, is_found in {
        "echo 'sh a' > a; sh a": False,
        "echo '$1 y; sh a rm' > a; sh a": True,
        "echo '$X y; export X=rm; sh a' > a; sh a": True,
        "echo 'sh b; echo rm y > b; sh a' > a; sh a": True,
    }.items():
        assert (("rm", "y") in [one.words for one in _read(text).started]) is is_found, text
    assert _read("echo 'sh a' > a; sh a").is_complete


CHANGED = {
    "rm -r a b": ["tree a", "tree b"],
    "mv a b": ["tree a", "exact b", "tree b/a"],
    "sed -i s/a/b/ c": ["exact s/a/b/", "exact c"],
    "sed s/a/b/ c": [],
    "cat a > b": ["exact b"],
    "ls 2>/dev/null >&2": [],
    "tee -a x": ["exact x"],
    "dd if=a of=b": ["exact b"],
    "tar xf a -C b": ["overlay b"],
    "git clean -fd": ["tree ."],
    "git clean -n": [],
    "git -C x rm y": ["exact x/y"],
    "mkdir x": ["create x"],
    "chmod +x a": [],
    "chmod -R 0 a": ["tree a"],
    "uniq -c a b": ["exact b"],
    "uniq -f 1 a": [],
    "xxd -c 4 a b": ["exact b"],
    "sort -uo a b": ["exact a"],
    "gawk -i inplace 1 a": ["exact inplace", "exact 1", "exact a"],
    "yq -i . a": ["exact .", "exact a"],
    "yq . a": [],
}


@pytest.mark.parametrize("text", CHANGED)
def test_changed_paths(text: str) -> None:
    changes = [
        change
        for one in _read(text).started
        for change in (*(list_path_changes(one) or ()), *list_redirected_paths(one))
    ]

    assert [f"{change.way} {change.path}" for change in changes] == CHANGED[text]


def test_a_program_that_is_not_known_has_no_list_of_changes() -> None:
    assert list_path_changes(_read("some-tool x").started[0]) is None


def test_what_is_too_long_or_too_deep_is_not_complete() -> None:
    deep = "rm x"
    for _ in range(9):
        deep = "eval '" + deep.replace("'", "'\\''") + "'"

    assert not _read(" " * (MAX_COMMAND_CHARS + 1)).is_complete
    assert not _read(deep).is_complete


def test_a_variable_that_doubles_itself_does_not_grow_without_end() -> None:
    assert _read("A=aaaaaaaa; " + "A=$A$A; " * 200 + "echo $A").started[-1].words == ("echo", UNKNOWN)


# The text and the files that `psql` reads.
HANDED_ON = {
    "docker exec -i db psql <<< x": ("x", ()),
    "docker exec db psql <<< x": ("", ()),
    "docker exec db psql -i <<< x": ("", ()),
    "docker run --rm -ti db psql < a": ("", ("/p/a",)),
    "docker run --interactive db sh -c psql < a": ("", ("/p/a",)),
    "docker run -w /in -i db psql < a": ("", ("/p/a",)),
    "cd b; kubectl exec pod -i -- psql < a": ("", ("/p/b/a",)),
    "kubectl exec pod -- psql -i < a": ("", ()),
    "ssh h psql < a": ("", ("/p/a",)),
    "ssh -Fn h psql <<< x": ("x", ()),
    "ssh -Tn h psql <<< x": ("", ()),
    "ssh h 'psql < b' < a": ("", ("\0/b",)),
    "ssh h 'psql 3< b' <<< x": ("x", ("\0/b",)),
    "echo x | ssh h psql": ("x", ()),
    "echo x | ssh h 'echo y | psql'": ("y", ()),
    "echo x | xargs psql": ("", ()),
    "bash -c 'psql <<< y' <<< x": ("y", ()),
    "bash <<< psql": ("", ()),
}


@pytest.mark.parametrize("text", HANDED_ON)
def test_a_program_hands_its_input_on_to_what_it_starts(text: str) -> None:
    psql = next(one for one in _read(text).started if one.name == "psql")

    assert (psql.input_text, tuple(map(psql.make_absolute, psql.input_paths))) == HANDED_ON[text]


def test_a_text_that_many_shells_read_does_not_take_long() -> None:
    def read(size: int) -> None:
        long = "# " + "a b " * size
        _read("bash -c '" + "bash;" * size + f"' <<E\n{long}\nE\n")
        _read(f"echo '{long}' | ssh h '" + "bash;" * size + "'")

    assert grows_in_proportion(read, 100)


REPOSITORY = {
    "cd $(git rev-parse --show-toplevel); ls": "/p",
    "cd a/b && cd `git rev-parse --show-toplevel`; ls": "/p",
    "cd a/.. && cd $(git rev-parse --show-toplevel)/x; ls": "/p/x",
    "cd /other && cd $(git rev-parse --show-toplevel); ls": UNKNOWN,
    "cd .. && cd $(git rev-parse --show-toplevel); ls": UNKNOWN,
    "bash -c 'cd a; cd $(git rev-parse --show-toplevel); ls'": "/p",
    "cd a; (cd $(git rev-parse --show-toplevel); ls)": "/p",
}


@pytest.mark.parametrize("text", REPOSITORY)
def test_the_top_of_the_repository_is_known_if_the_caller_knows_it(text: str) -> None:
    known = read_command(text, "/p", {"HOME": "/h", REPOSITORY_TOP: "/p"}).programs

    assert known[-1].folder == REPOSITORY[text]
    assert UNKNOWN in read_command(text, "/p", {"HOME": "/h"}).programs[-1].folder


def test_an_empty_substitution_is_read() -> None:
    for text in ("ls $()", 'ls "$()"', "ls ``", "A=$(); ls", "for x in $(); do ls; done"):
        assert _read(text).started[-1].name == "ls", text


def test_many_braces_do_not_grow_without_end() -> None:
    assert len(expand_braces("{a,b}" * 40)) < 200


@given(st.text(alphabet="ab$(){}'\"`\\|&;<>\n =~*?[],!-", max_size=200))
def test_no_text_raises(text: str) -> None:
    for one in _read(text).started:
        list_path_changes(one)
