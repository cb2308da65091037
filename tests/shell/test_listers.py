"""What programs print that list paths, and what filters behind them leave."""

from __future__ import annotations

import pytest

from boathook.shell.arguments import UNKNOWN
from boathook.shell.found_paths import FindFilters, FoundPath, ListedName, place_paths, surround_path
from boathook.shell.listers import list_printed_paths

LISTED = {
    "find a -name x": ["a"],
    "grep -rl x a b": ["a", "b"],
    "grep -r x": ["."],
    "grep -rle x a": ["a"],
    "grep x": [UNKNOWN],
    "rg -l x": ["."],
    "rg --files a": ["a"],
    "rg x a": ["a"],
    "git ls-files": ["."],
    "git -C a ls-files b": ["a/b"],
    "git grep -l x -- a": ["a"],
    "git diff --name-only": [UNKNOWN],
    "ls a": ["a/*"],
    "ls -d a": ["a"],
    "ls -A a": ["a/*", "a/.*"],
    "locate x": ["/"],
    "fd -H x a": ["a"],
    "cat list.txt": [UNKNOWN],
}


@pytest.mark.parametrize("text", LISTED)
def test_a_lister_prints_paths_below_its_starts(text: str) -> None:
    assert list_printed_paths(text.split(), ()) == LISTED[text]


def _find_filters(text: str) -> FindFilters:
    path = list_printed_paths(text.split(), ())[0]
    assert isinstance(path, FoundPath)
    return path.filters


def test_options_leave_paths_out() -> None:
    assert _find_filters("grep -rl --include=*.py x .").names == ("*.py",)
    assert _find_filters("rg -l -t py -g *.md x").names == ("*.md", "*.py")
    assert _find_filters("rg -l x").skips_hidden
    assert not _find_filters("rg -l --hidden x").skips_hidden
    assert _find_filters("git ls-files *.py").paths == ("*.py",)
    assert not _find_filters("find . -type f").finds_folders
    assert _find_filters("find . -type f -o -name x").finds_folders
    assert _find_filters("find . -name a -o -name b").names == ("a", "b")
    assert _find_filters("find . -name a -o -newer b").names == ()
    assert _find_filters("find . ! ( -name a )").names == ()


def test_a_filter_passes_on_what_it_reads_and_a_pattern_narrows_it() -> None:
    read = list_printed_paths(["find", "."], ())

    assert list_printed_paths(["sort", "-u"], read) == read
    narrowed = list_printed_paths(["grep", r"\.py$"], read)[0]
    assert isinstance(narrowed, FoundPath)
    assert narrowed.filters.narrowing == ("*.py",)
    inverted = list_printed_paths(["grep", "-v", r"\.py$"], read)[0]
    assert isinstance(inverted, FoundPath)
    assert inverted.filters.narrowing == ()


def test_a_program_that_is_not_known_prints_something_unknown() -> None:
    assert list_printed_paths(["sometool"], ["a"]) == [UNKNOWN]


def test_text_around_a_path_is_part_of_what_is_found() -> None:
    found = FoundPath.make("a", FindFilters(("*.py",)))

    longer = surround_path(found, "b/", ".bak")

    assert isinstance(longer, FoundPath)
    assert (longer, longer.filters.paths) == ("b/a", ("*/*.py.bak",))
    assert surround_path(ListedName("a/*"), "/h/", "") == "/h/*"
    assert surround_path("a", "b/", "/c") == "b/a/c"


def test_paths_go_to_the_place_that_a_command_marks() -> None:
    assert place_paths(["rm"], ["a", "b"]) == ("rm", "a", "b")
    assert place_paths(["rm"], ["a"], appends=False) == ("rm",)
    assert place_paths(["mv", "{}", "{}.bak"], ["a"]) == ("mv", "a", "a.bak")
    assert place_paths(["sh", "-c", "rm {}"], ["a", "b"]) == ("sh", "-c", "rm a\nrm b")
    assert place_paths(["sh", "-c", "rm {}"], [UNKNOWN]) == ("sh", "-c", "rm $_found_path")
