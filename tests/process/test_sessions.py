"""Variables that a session's first hooks leave for its later ones (S17)."""

from __future__ import annotations

import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.process.sessions import MAX_EXPORTS_BYTES, Sessions


@pytest.fixture
def sessions(tmp_path):
    return Sessions(str(tmp_path / "sessions"))


def exported(sessions: Sessions, text: str | bytes) -> dict[bytes, bytes]:
    path = sessions.make_env_file("s")
    assert path is not None
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return sessions.load_variables("s")


LINES = {
    "export NAME=value": {b"NAME": b"value"},
    "NAME=value": {b"NAME": b"value"},
    "export NAME='two words'": {b"NAME": b"two words"},
    'export NAME="a \\"b\\""': {b"NAME": b'a "b"'},
    "export NAME=": {b"NAME": b""},
    "export NAME=a=b": {b"NAME": b"a=b"},
    "export NAME=é": {b"NAME": "é".encode()},
    "export NAME=value # why": {b"NAME": b"value"},
    "  export   NAME=value  ": {b"NAME": b"value"},
    "export A=1\nexport B=2\nexport A=3": {b"A": b"3", b"B": b"2"},
    "# export NAME=value": {},
    "": {},
    "export": {},
    "export NAME": {},
    "export A=1 B=2": {b"A": b"1", b"B": b"2"},
    "echo NAME=value": {},
    "export 1A=x": {},
    "export A-B=x": {},
    "export É=x": {},
    "export NAME='open": {},
    "NAME = value": {},
    "export BOATHOOK_DEPTH=0": {},
    "export A=$(rm -rf /)": {},
    "export A='$HOME'": {b"A": b"$HOME"},
    "export A=1\nexport B=$A:2": {b"A": b"1", b"B": b"1:2"},
    'declare -x A="x y"': {b"A": b"x y"},
}


@pytest.mark.parametrize(("text", "expected"), LINES.items())
def test_lines_are_read_as_a_shell_would_quote_them_and_nothing_is_run(sessions, text, expected):
    assert exported(sessions, text) == expected


def test_what_is_added_to_the_path_is_added(sessions, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    text = 'export PATH="$PATH:./node_modules/.bin"\n'
    assert exported(sessions, text) == {b"PATH": b"/usr/bin:/bin:./node_modules/.bin"}


@given(st.text(max_size=60))
def test_any_text_yields_only_variables_that_an_environment_takes(tmp_path_factory, text):
    found = exported(Sessions(str(tmp_path_factory.mktemp("s"))), text.encode("utf-8", "replace"))
    assert all(name and b"=" not in name and b"\0" not in name + value for name, value in found.items())


@pytest.mark.parametrize(
    "data", [b"export A=\xff", b"export A=1\0", b"export A=1\n" * MAX_EXPORTS_BYTES], ids=["bytes", "NUL", "long"]
)
def test_a_file_that_cannot_be_read_exports_nothing(sessions, data):
    assert exported(sessions, data) == {}


def test_a_session_without_a_file_has_no_variables(sessions):
    assert sessions.load_variables("unknown") == {}


def test_the_file_is_private_and_kept_when_asked_for_again(sessions):
    path = sessions.make_env_file("s")
    assert [stat.S_IMODE(os.stat(p).st_mode) for p in (os.path.dirname(path), path)] == [0o700, 0o600]
    assert exported(sessions, "A=1") == {b"A": b"1"}
    assert sessions.make_env_file("s") == path
    assert sessions.load_variables("s") == {b"A": b"1"}


def test_sessions_do_not_see_each_other(sessions):
    exported(sessions, "A=1")
    assert sessions.make_env_file("other") != sessions.make_env_file("s")
    assert sessions.load_variables("other") == {}


ids = st.text(alphabet=st.characters(codec="ascii"), min_size=1, max_size=20)


@given(ids, ids)
def test_every_session_has_a_file_of_its_own_directly_in_the_folder(one, other):
    sessions = Sessions("/folder")
    paths = [sessions._find_path(one), sessions._find_path(other)]
    assert [os.path.dirname(os.path.normpath(path)) for path in paths] == ["/folder"] * 2
    assert (paths[0] == paths[1]) == (one == other)


@pytest.mark.parametrize("session", ["é", "s" * 400, "\ud800", "/" * 128, "../up"])
def test_an_odd_session_has_a_file_of_its_own_below_the_folder(sessions, session, tmp_path):
    path = sessions.make_env_file(session)
    assert path is not None
    assert os.path.dirname(os.path.realpath(path)) == os.path.realpath(tmp_path / "sessions")
    sessions.forget(session)
    assert not os.path.exists(path)


def test_a_session_without_a_name_has_counts_but_no_variables(sessions):
    sessions.count_stop("", blocked=True)
    assert (sessions.make_env_file(""), sessions.load_variables(""), sessions.stop_blocks("")) == (None, {}, 1)


def test_a_link_in_place_of_the_file_is_refused(sessions, tmp_path):
    path = sessions.make_env_file("s")
    os.unlink(path)
    os.symlink(tmp_path / "target", path)
    assert (sessions.make_env_file("s"), (tmp_path / "target").exists()) == (None, False)


def test_a_folder_that_cannot_be_made_has_no_env_file(tmp_path):
    (tmp_path / "file").write_text("")
    assert Sessions(str(tmp_path / "file")).make_env_file("s") is None


def test_a_session_that_ended_is_forgotten(sessions):
    exported(sessions, "A=1")
    sessions.forget("s")
    sessions.forget("s")
    assert sessions.load_variables("s") == {}


# Refused stops


def test_refused_stops_are_counted_in_a_row_and_each_session_for_itself(sessions):
    assert sessions.stop_blocks("s") == 0
    for count in (1, 2, 3):
        sessions.count_stop("s", blocked=True)
        assert (sessions.stop_blocks("s"), sessions.stop_blocks("other")) == (count, 0)
    sessions.count_stop("s", blocked=False)
    sessions.count_stop("s", blocked=False)
    assert sessions.stop_blocks("s") == 0


def test_another_process_goes_on_counting(sessions, tmp_path):
    sessions.count_stop("s", blocked=True)
    again = Sessions(str(tmp_path / "sessions"))
    again.count_stop("s", blocked=True)
    assert (sessions.stop_blocks("s"), exported(sessions, "A=1")) == (2, {b"A": b"1"})


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "٣", "9" * 17, "1\n", "\0"])
def test_a_count_that_cannot_be_read_is_none(sessions, text):
    sessions.count_stop("s", blocked=True)
    (path,) = [entry.path for entry in os.scandir(os.path.dirname(sessions._find_path("s")))]
    with open(path, "w") as file:
        file.write(text)
    assert sessions.stop_blocks("s") == 0


def test_a_count_that_cannot_be_written_is_not_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    nowhere = Sessions(str(tmp_path / "file"))
    for session in ("s", "", "é"):
        nowhere.count_stop(session, blocked=True)
        nowhere.count_stop(session, blocked=False)
        assert nowhere.stop_blocks(session) == 0


def test_a_session_that_ended_has_no_count(sessions):
    sessions.count_stop("s", blocked=True)
    sessions.forget("s")
    assert (sessions.stop_blocks("s"), os.listdir(os.path.dirname(sessions._find_path("s")))) == (0, [])


def test_a_session_knows_the_trusted_hooks_that_it_has_or_had(sessions):
    assert sessions.has_trusted_note("s", "one") is False
    sessions.note_trusted_hooks("s", "one", ("a", "b"))
    sessions.note_trusted_hooks("s", "two", ("b", "c"))
    sessions.note_trusted_hooks("s2", "one", ("d",))
    assert [sessions.has_trusted_note("s", digest) for digest in ("one", "two", "three")] == [True, True, False]
    assert (sessions.read_trusted_keys("s"), sessions.read_trusted_keys("s2")) == ({"a", "b", "c"}, {"d"})
    # The end of a session may be false.
    sessions.forget("s")
    assert (sessions.read_trusted_keys("s"), sessions.read_trusted_keys("s2")) == ({"a", "b", "c"}, {"d"})


def test_one_without_a_name_knows_none(sessions):
    sessions.note_trusted_hooks("", "one", ("a",))
    sessions.note_gone("", frozenset({"a"}))
    assert (sessions.has_trusted_note("", "one"), sessions.read_trusted_keys(""), sessions.read_gone("")) == (
        False,
        frozenset(),
        frozenset(),
    )


def test_what_was_reported_as_gone_is_kept_until_the_session_ends(sessions):
    sessions.note_gone("s", frozenset({"a"}))
    sessions.note_gone("s", frozenset({"b"}))
    assert sessions.read_gone("s") == {"a", "b"}
    sessions.forget("s")
    assert sessions.read_gone("s") == frozenset()


def test_notes_of_sessions_that_never_ended_are_removed_after_a_week(sessions, tmp_path):
    sessions.note_trusted_hooks("old", "one", ("a",))
    (path,) = tmp_path.rglob("old.trusted-one")
    os.utime(path, (0, 0))
    sessions.note_trusted_hooks("new", "one", ("a",))
    assert not path.exists()
    assert sessions.has_trusted_note("new", "one")
