"""Frontmatter: found by a line scan, read within limits, forgiving where that is safe (S5, S7)."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from boathook.sources.hook_md.frontmatter import (
    MAX_FRONTMATTER_BYTES,
    MAX_YAML_DEPTH,
    MAX_YAML_NODES,
    Frontmatter,
    FrontmatterError,
    Mapping,
    Scalar,
    Sequence,
    read_frontmatter,
)
from tests.growth import costs_at_most, grows_in_proportion


def plain(node):
    if isinstance(node, Mapping):
        return {key: plain(value) for key, (_, value) in node.entries.items()}
    return [plain(item) for item in node.items] if isinstance(node, Sequence) else node.text


def read(*lines: str):
    return plain(read_frontmatter("\n".join(lines)).top)


def find_error(text: str) -> tuple[str, int | None, str]:
    with pytest.raises(FrontmatterError) as error:
        read_frontmatter(text)
    return error.value.message, error.value.line, error.value.fix


def test_nodes_keep_their_text_their_line_and_whether_they_were_quoted():
    text = "\n\n---\nname: no\nlist: [1, '2']\nmap:\n  a: \"b\"\n---\n"
    assert read_frontmatter(text) == Frontmatter(
        Mapping(
            4,
            {
                "name": (4, Scalar("no", 4, quoted=False)),
                "list": (5, Sequence(5, (Scalar("1", 5, quoted=False), Scalar("2", 5, quoted=True)))),
                "map": (6, Mapping(7, {"a": (7, Scalar("b", 7, quoted=True))})),
            },
        )
    )


FOUND = {
    "plain": "---\na: 1\n---\nbody",
    "a mark": "\ufeff---\na: 1\n---\n",
    "blank lines before": "\n  \n\t\n---\na: 1\n---\n",
    "a mark and blank lines": "\ufeff\n---\na: 1\n---\n",
    "windows line ends": "---\r\na: 1\r\n---\r\nbody\r\n",
    "white space behind the marks": "--- \t\na: 1\n---  \n",
    "no newline at the end": "---\na: 1\n---",
    "a body with a line of dashes": "---\na: 1\n---\nb: 2\n---\n",
    "a comment": "---\n# why\na: 1 # because\n---\n",
    "blank lines inside": "---\n\na: 1\n\n---\n",
}


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_the_frontmatter_is_between_the_first_two_lines_of_dashes(text):
    assert plain(read_frontmatter(text).top) == {"a": "1"}


def test_dashes_inside_a_block_scalar_do_not_end_it_when_indented():
    assert read("---", "a: |", "  x", "  ---", "  y", "b: 1", "---") == {"a": "x\n---\ny\n", "b": "1"}


def test_dashes_at_the_start_of_any_line_end_it():
    assert read("---", "a: |", "  x", "---", "b: 1", "---") == {"a": "x\n"}


NOT_FOUND = {
    "nothing": ("", ("no frontmatter", 1, "begin the file with a line '---'")),
    "blanks": (" \n\n", ("no frontmatter", 1, "begin the file with a line '---'")),
    "text first": ("\nhello\n---\na: 1\n---\n", ("no frontmatter", 2, "begin the file with a line '---'")),
    "indented dashes": (" ---\na: 1\n---\n", ("no frontmatter", 1, "begin the file with a line '---'")),
    "four dashes": ("----\na: 1\n---\n", ("no frontmatter", 1, "begin the file with a line '---'")),
    "no end": ("\n---\na: 1\n", ("the frontmatter has no end", 2, "close it with a line '---'")),
    "an indented end": ("---\na: 1\n ---\n", ("the frontmatter has no end", 1, "close it with a line '---'")),
    "empty": ("---\n---\n", ("the frontmatter is empty", 2, "write name, description and trigger")),
    "only a comment": ("---\n# x\n---\n", ("the frontmatter is empty", 2, "write name, description and trigger")),
    "a list": ("---\n- a\n- b\n---\n", ("the frontmatter is not a list of 'key: value' lines", 2, "")),
    "a word": ("---\n\nhello\n---\n", ("the frontmatter is not a list of 'key: value' lines", 3, "")),
}


@pytest.mark.parametrize(("text", "expected"), NOT_FOUND.values(), ids=NOT_FOUND)
def test_text_that_is_not_frontmatter_is_reported_with_its_line(text, expected):
    assert find_error(text) == expected


STARS = ("anchors and aliases (& and *) are not allowed", 2, "quote a text that starts with * or &")
REFUSED = {
    "an anchor": ("a: &x 1", STARS),
    "an alias": ("a: &x 1\nb: *x", STARS),
    "a tag": (
        "a: !!python/object:os.system x",
        ("the tag tag:yaml.org,2002:python/object:os.system is not allowed", 2, "remove it"),
    ),
    "a tag of our own": ("a: !mine x", ("the tag !mine is not allowed", 2, "remove it")),
    "a harmless tag": ("a: !!str 1", ("the tag tag:yaml.org,2002:str is not allowed", 2, "remove it")),
    "a repeated key": ("a: 1\nb: 2\na: 3", ("the key 'a' is used twice", 4, "keep one of them")),
    "a repeated key below": ("m:\n  a: 1\n  a: 2", ("the key 'a' is used twice", 4, "keep one of them")),
    "a repeated key in braces": ("m: {a: 1, a: 2}", ("the key 'a' is used twice", 2, "keep one of them")),
    "a list for a key": ("[a]: 1", ("a key must be a plain word", 2, "")),
    "a mapping for a key": ("? {a: 1}\n: 2", ("a key must be a plain word", 2, "")),
    "a second document": ("a: 1\n--- b", ("more than one YAML document", 3, "")),
}


@pytest.mark.parametrize(("source", "expected"), REFUSED.values(), ids=REFUSED)
def test_what_yaml_allows_and_a_manifest_does_not(source, expected):
    assert find_error(f"---\n{source}\n---\n") == expected


BROKEN = {
    "an open bracket": "a: [1",
    "an open quote": 'a: "x',
    "a tab": "m:\n\ta: 1",
    "two colons": "a: b: c",
    "a control character": "a: \x01",
    "an end of document": "a: 1\n...\nb: 2",
    "a merge": "<<: *x",
    "a percent": "a: 1\n%YAML 1.1",
}


@pytest.mark.parametrize("source", BROKEN.values(), ids=BROKEN)
def test_text_that_is_not_yaml_is_unreadable_and_its_line_is_named(source):
    message, line, _ = find_error(f"---\n{source}\n---\n")
    assert (message != "", line is None or line >= 2) == (True, True)


def test_the_error_about_a_tab_shows_how_to_fix_it():
    assert find_error("---\nm:\n\ta: 1\n---\n")[2] == "indent with spaces"


def test_the_size_is_limited():
    fill = "x" * (MAX_FRONTMATTER_BYTES - len("a: \n"))
    assert read("---", f"a: {fill}", "---") == {"a": fill}
    assert find_error(f"---\na: {fill}x\n---\n") == ("the frontmatter is longer than 64 KiB", 1, "")


def test_the_limit_is_one_of_bytes():
    assert (
        find_error(f"---\na: {'é' * (MAX_FRONTMATTER_BYTES - 10)}\n---\n")[0] == "the frontmatter is longer than 64 KiB"
    )


def test_the_depth_is_limited():
    def nested(levels: int) -> str:
        return f"---\na: {'[' * (levels - 1)}{']' * (levels - 1)}\n---\n"

    assert read_frontmatter(nested(MAX_YAML_DEPTH)).top.entries.keys() == {"a"}
    assert find_error(nested(MAX_YAML_DEPTH + 1)) == ("nested deeper than 6 levels", 2, "")
    assert find_error(nested(30_000)) == ("nested deeper than 6 levels", 2, "")


def test_the_number_of_values_is_limited():
    def many(count: int) -> str:
        return f"---\na: [{', '.join('1' * count)}]\n---\n"

    own = 3  # the mapping, the key, the list
    assert len(read_frontmatter(many(MAX_YAML_NODES - own)).top.entries["a"][1].items) == MAX_YAML_NODES - own
    assert find_error(many(MAX_YAML_NODES - own + 1)) == ("more than 2000 values", 2, "")


SLASH = "YAML treats a backslash in double quotes as an escape; boathook kept it", "use single quotes"
STAR = 'a bare * was read as "*"', "quote it"
REPAIRED = {
    "a dot": ('p: "\\.py$"', {"p": "\\.py$"}, [(2, *SLASH)]),
    "digits": ('a: 1\np: "\\d+\\s"', {"a": "1", "p": "\\d+\\s"}, [(3, *SLASH)]),
    "in braces": ('m: {tool: "a\\.b", pattern: "\\w"}', {"m": {"tool": "a\\.b", "pattern": "\\w"}}, [(2, *SLASH)] * 2),
    "in a list": ('l: ["\\.", x]\n', {"l": ["\\.", "x"]}, [(2, *SLASH)]),
    "in a list of lines": ("l:\n  - \"\\.\"\n  - '\\.'", {"l": ["\\.", "\\."]}, [(3, *SLASH)]),
    "an escaped quote": ('p: "\\.\\"x"', {"p": '\\."x'}, [(2, *SLASH)]),
    "a backslash before the end": ('p: "\\d\\\\"', {"p": "\\d\\\\"}, [(2, *SLASH)]),
    "single quotes stay": ("p: \"\\.\"\nq: 'it''s \\d'", {"p": "\\.", "q": "it's \\d"}, [(2, *SLASH)]),
    "a comment with quotes": ('# say "\\x"\np: "\\."', {"p": "\\."}, [(3, *SLASH)]),
    "an apostrophe in a text": ('d: it\'s "\\." here\np: "\\."', {"d": 'it\'s "\\." here', "p": "\\."}, [(3, *SLASH)]),
    "a bare star": ("tool: *", {"tool": "*"}, [(2, *STAR)]),
    "a bare star below": ("m:\n  tool: *  # all\n  pattern: x", {"m": {"tool": "*", "pattern": "x"}}, [(3, *STAR)]),
    "a star and a backslash": ('tool: *\np: "\\."', {"tool": "*", "p": "\\."}, [(2, *STAR), (3, *SLASH)]),
    "a bare star in braces": ("m: {tool: *}", {"m": {"tool": "*"}}, [(2, *STAR)]),
    "a bare star before a comma": ("m: {tool: *, pattern: x}", {"m": {"tool": "*", "pattern": "x"}}, [(2, *STAR)]),
}


@pytest.mark.parametrize(("source", "expected", "forgiven"), REPAIRED.values(), ids=REPAIRED)
def test_a_slip_that_is_not_yaml_is_repaired_and_reported(source, expected, forgiven):
    found = read_frontmatter(f"---\n{source}\n---\n")
    assert (plain(found.top), found.forgiven) == (expected, tuple(forgiven))


UNTOUCHED = {
    "a valid escape": ('p: "\\\\.py\\n"', {"p": "\\.py\n"}),
    "single quotes": ("p: '\\.py$'", {"p": "\\.py$"}),
    "no quotes": ("p: \\.py$", {"p": "\\.py$"}),
    "a quoted star": ("tool: '*'", {"tool": "*"}),
    "a star inside": ("tool: a*", {"tool": "a*"}),
    "a flow mapping": ("m: {tool: Shell, pattern: 'a{2}'}", {"m": {"tool": "Shell", "pattern": "a{2}"}}),
    "a nested flow": ("m: {a: {b: [c, {d: e}]}}", {"m": {"a": {"b": ["c", {"d": "e"}]}}}),
    "a block scalar": ("p: |-\n  a\\.b", {"p": "a\\.b"}),
    "a folded scalar": ("p: >-\n  a\n  b", {"p": "a b"}),
    "an empty value": ("p:", {"p": ""}),
}


@pytest.mark.parametrize(("source", "expected"), UNTOUCHED.values(), ids=UNTOUCHED)
def test_what_is_yaml_is_read_as_yaml(source, expected):
    found = read_frontmatter(f"---\n{source}\n---\n")
    assert (plain(found.top), found.forgiven) == (expected, ())


def test_a_frontmatter_that_repair_does_not_help_keeps_its_first_error():
    first = find_error('---\nx: [1\np: "\\."\n---\n')
    assert first[0].startswith("not valid YAML: ")
    assert find_error('---\np: "\\."\nx: &y 1\n---\n') == (
        "not valid YAML: found unknown escape character",
        2,
        "put patterns with backslashes in single quotes",
    )


@pytest.mark.parametrize("lead", ["a:", "", "a: x"])
def test_repair_takes_no_longer_for_white_space_than_for_words(lead):
    blank, words = (f"---\n{lead}{fill * 30_000}\nb: [\n---\n" for fill in (" ", "x"))
    assert costs_at_most(20, lambda: find_error(blank), lambda: find_error(words))


yamlish = st.text(alphabet="abc:-#*&!|>'\"\\[]{},? \t\n\r%@`~0\ufeff\x85\u2028\x07", max_size=60)


@given(yamlish | st.text(max_size=60), st.booleans())
@example("a: \x00", True)
def test_any_text_is_read_or_unreadable(text, inside):
    try:
        found = read_frontmatter(f"---\n{text}\n---\n" if inside else text)
    except FrontmatterError:
        return
    assert isinstance(found.top, Mapping)


# Limits on what a text may cost (found by fuzzing)


@pytest.mark.parametrize("unit", ["a: *\n", "a: *#", 'a: "\\."\n', 'k: "\\d"\n'])
def test_a_frontmatter_that_needs_much_forgiving_takes_time_by_its_length(unit):
    def read(count):
        with suppress(FrontmatterError):
            read_frontmatter(f"---\n{unit * count}\n---\n")

    assert grows_in_proportion(read, 1000)


def test_a_star_before_a_comment_is_still_forgiven():
    found = read_frontmatter("---\nmatcher: {tool: *} # all\nother: * # of them\n---\n")
    assert [reported for _, *reported in found.forgiven] == [[*STAR]] * 2
