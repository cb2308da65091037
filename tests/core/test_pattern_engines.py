"""Patterns mean the same in both engines, and the one that is not linear stays within a budget of time."""

from __future__ import annotations

import subprocess
import sys
import time
import unicodedata

import pytest
import re2
from hypothesis import example, given, settings
from hypothesis import strategies as st

from boathook.core import pattern_search
from boathook.core.matcher import compile_pattern, compute_weight
from boathook.core.pattern_search import (
    ALL_ENGINES,
    MAX_SEARCH_SECONDS,
    RE2,
    SearchBudget,
    compile_by_regex,
    make_search,
)
from boathook.core.pattern_syntax import translate_pattern
from boathook.errors import ConfigError
from tests.example_counts import count_examples
from tests.growth import costs_at_most

QUIET = re2.Options()
QUIET.log_errors = False
UNDECIDED = "undecided"


@pytest.fixture
def no_re2(monkeypatch):
    monkeypatch.setitem(pattern_search._libraries, RE2, None)


def search_by_re2(source: str, text: str) -> bool | None:
    """Return whether RE2 finds a pattern, None if it does not accept it."""
    try:
        return re2.compile(source, QUIET).search(text) is not None
    except re2.error:
        return None


def search_by_regex(source: str, text: str) -> bool | str | None:
    try:
        return compile_by_regex(source, translate_pattern(source)).search(text, timeout=1) is not None
    except ConfigError:
        return None
    except TimeoutError:
        return UNDECIDED


def agree(source: str, text: str) -> bool:
    expected = search_by_re2(source, text)
    return expected is None or search_by_regex(source, text) in (expected, UNDECIDED)


TEXT_CHARS = "abkKsSiIxX01_- .\n\r\v\t{}^$|,éÉ中😀\u017f\u212a\u0130\u0131"
texts = st.text(alphabet=TEXT_CHARS, max_size=8)
literals = st.sampled_from("abkKsSiI01_é中\u017f\u0130\u0131").map(str)
escapes = st.sampled_from(
    [
        r"\d",
        r"\D",
        r"\w",
        r"\W",
        r"\s",
        r"\S",
        r"\b",
        r"\B",
        r"\A",
        r"\z",
        r"\.",
        r"\$",
        r"\-",
        r"\n",
        r"\t",
        r"\v",
        r"\x41",
        r"\x{e9}",
        r"\07",
        r"\101",
        r"\pL",
        r"\PL",
        r"\p{Latin}",
        r"\p{^Latin}",
        r"\pC",
        r"\PC",
        r"\Qa.b\E",
    ]
)
inner_class = st.sampled_from(
    [
        "a",
        "k",
        "i",
        "I",
        "s",
        "é",
        "a-z",
        "A-Z",
        "0-9",
        "a-k",
        "é-ü",
        "-",
        ".",
        "^",
        r"\d",
        r"\W",
        r"\s",
        r"\]",
        r"\pL",
        "[:alpha:]",
        "[:^upper:]",
        "[:space:]",
        "[:word:]",
        "[:^word:]",
        "İ",
        "ı",
        r"\x{212a}",
        "&&",
        "--",
        "[",
        "|",
    ]
)
classes = st.builds(
    lambda caret, items: f"[{caret}{''.join(items)}]",
    st.sampled_from(["", "^"]),
    st.lists(inner_class, min_size=1, max_size=3),
)
flags = st.sampled_from(["(?i)", "(?s)", "(?m)", "(?-i)", "(?U)", "(?im)", "(?s-m)"])
atoms = literals | escapes | classes | flags | st.sampled_from([".", "^", "$", "", "{,2}", "{", "a{1", "}", "]"])
quantifiers = st.sampled_from(["?", "*", "+", "{2}", "{1,3}", "{0,2}?", "*?", "{2,}", "??", "+?"])


def grow(inner):
    return (
        st.lists(inner, max_size=4).map("".join)
        | st.lists(inner, min_size=1, max_size=3).map("|".join)
        | st.tuples(st.sampled_from(["(", "(?:", "(?i:", "(?P<n>", "(?<m>", "(?s-i:"]), inner).map(
            lambda x: f"{x[0]}{x[1]})"
        )
        | st.tuples(inner, quantifiers).map(lambda x: f"(?:{x[0]}){x[1]}")
        | st.tuples(literals | classes | escapes, quantifiers).map("".join)
    )


sources = st.recursive(atoms, grow, max_leaves=10)


def has_property_without_case(source: str) -> bool:
    # RE2 adds letters of the other case to such a class, of which `regex` has no table.
    return "i" in source and ("\\p" in source or "\\P" in source)


@given(sources, texts)
@settings(max_examples=count_examples(200))
@example("a$", "a\n")
@example("(?m)a$", "a\nb")
@example("(?m)^", "a\n")
@example(r"\s", "\v")
@example("[[:space:]]", "\v")
@example(r"\d", "٣")
@example(r"\w", "é")
@example(r"\bé", "aé")
@example("(?i)K", "\u212a")
@example("(?i)s", "\u017f")
@example("(?i)i", "\u0130")
@example("(?i)I", "\u0131")
@example("(?i)[a-z]", "\u0131")
@example("(?i)[^a-z]", "\u0131")
@example("(?i)[^\u0130]", "i")
@example("(?i)\\W", "\u017f")
@example("a(?i)b|c", "C")
@example("(a(?i)b)b", "aBB")
@example("x{,3}", "xx")
@example("x{,3}", "x{,3}")
@example("a{e<=1}", "b")
@example("[a&&b]", "&")
@example("[[a]b]", "ab]")
@example(r"\Qa.b", "axb")
@example("(?P<n>a)(?P<n>b)", "ab")
@example(r"\012", "\n")
@example("^*a", "ba")
@example("(|a)+$", "aa")
@example("(?:|a)*b", "aab")
def test_both_engines_agree_on_what_re2_has(source, text):
    if not has_property_without_case(source):
        assert agree(source, text), translate_pattern(source).text


RAW = "ab(?:|)[]^$.*+-{}\\1,2iskdwDbBzAQEpL="


@given(st.text(alphabet=RAW, max_size=10), texts)
@settings(max_examples=count_examples(200))
def test_both_engines_agree_on_any_pattern_that_re2_accepts(source, text):
    if not has_property_without_case(source) and "\\C" not in source:
        assert agree(source, text), translate_pattern(source).text


@pytest.mark.parametrize("flags", ["", "(?i)"])
def test_both_engines_agree_on_every_character(flags):
    known = [chr(code) for code in range(0x3000) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
    for char in "abiIkKsSßéµΣςσſ\u0130\u0131\u1e9e\u0345":
        pattern = compile_by_regex(char, translate_pattern(flags + char))
        text = "".join(known)
        assert set(pattern.findall(text)) == set(re2.compile(flags + char).findall(text)), char
    for source in (r"\d", r"\w", r"\s", ".", "[^a]", "[[:punct:]]", r"[^\W\d]"):
        pattern = compile_by_regex(source, translate_pattern(flags + source))
        assert set(pattern.findall(text)) == set(re2.compile(flags + source).findall(text)), source


INVALID = [
    "(",
    ")",
    "a**",
    "a{2}{3}",
    "a{1,0}",
    "a{1001}",
    r"\e",
    r"\cA",
    "(?x)a",
    r"[a-\d]",
    "[a",
    "[[:foo:]]",
    r"\E",
    r"[\b]",
]
INVALID += [
    r"\p{Letter}",
    r"\Pn",
    "(?i",
    "(?i:",
    "*a",
    "a|*",
    r"\x4",
    r"\x{}",
    "[b-a]",
    "{1}",
    r"\x{110000}",
    "(?",
    "\\",
]


@pytest.mark.parametrize("source", INVALID)
def test_what_re2_refuses_is_refused_without_it_too(no_re2, source):
    assert search_by_re2(source, "") is None
    with pytest.raises(ConfigError, match="does not compile"):
        compile_pattern(source)


@pytest.mark.parametrize(
    "source", ["rm -rf", r"\brm\b.*-rf", "^(Shell|Bash)$", "(?i)sudo", r"kubectl.*prod$", "git push(?!.*-n)"]
)
def test_patterns_work_without_re2(no_re2, source):
    pattern = compile_pattern(source)
    texts = ["rm -rf", "sudo", "SUDO", "Shell", "kubectl a prod", "kubectl prod\n", "git push", "git push -n", "x"]
    expected = [search_by_re2(source, text) for text in texts]
    found = [pattern.search(text) for text in texts]
    assert found == ([text == "git push" for text in texts] if expected[0] is None else expected)


def test_without_re2_no_pattern_of_an_untrusted_hook_is_searched(no_re2):
    assert compile_pattern("[rs]+m").limit_engines().search("m") is True


COSTLY = "^(?:a|aa)+$(?<!b)x?"
LONG = "a" * 5000 + "!"


def test_all_searches_of_an_event_share_one_budget_and_count_as_matches_beyond_it():
    first, second = compile_pattern(COSTLY), compile_pattern("(?<=b)c")
    budget = SearchBudget(time.thread_time)
    assert budget.call(first.search, LONG) is True
    assert budget.call(second.search, "xc") is True
    assert list(budget.unfinished) == [COSTLY, "(?<=b)c"]
    told = budget.describe_unfinished(["other", COSTLY])
    assert told.startswith(
        "this counts as a match only because its pattern was not searched to the end within the 250 ms"
    )
    assert budget.describe_unfinished(["other"]) == ""
    # Another event has a budget of its own, and so has a search outside of events.
    assert SearchBudget(time.thread_time).call(second.search, "xc") is False
    assert second.search("xc") is False


def test_a_text_is_searched_once_per_event_so_that_an_answer_does_not_change():
    seconds = iter([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    budget = SearchBudget(lambda: next(seconds))
    pattern, other = compile_pattern("(?<=b)c"), compile_pattern("(?<=d)c")
    assert [budget.call(pattern.search, "xc") for _ in range(3)] == [False] * 3
    assert budget.call(other.search, "xc") is False
    # The time is used up, but what was found stays.
    assert (budget.call(pattern.search, "xc"), budget.call(pattern.search, "yc")) == (False, True)


def test_a_catastrophic_search_costs_no_more_than_its_budget():
    patterns = [compile_pattern(f"{COSTLY}{number}?") for number in range(8)]

    def search_all() -> None:
        budget = SearchBudget(time.thread_time, 0.02)
        assert all(budget.call(pattern.search, LONG) for pattern in patterns)

    def search_one() -> None:
        assert SearchBudget(time.thread_time, 0.02).call(patterns[0].search, LONG)

    assert costs_at_most(3, search_all, search_one)


def test_a_pattern_that_turns_out_not_to_compile_counts_as_a_match():
    pattern = compile_pattern(r"(a)\1").replace(source=r"(a)\9")
    budget = SearchBudget(time.thread_time)
    assert budget.call(pattern.search, "xa") is True
    assert "does not compile" in budget.unfinished[r"(a)\9"]


LARGE = [
    "(?i)" + "k" * 4000,
    "(?!a)" + "[a-z]" * 800 + "(?i)[a-z]" * 200,
    "(?:" * 9 + "a" + ")+" * 9 + "(?!b)",
    "(" * 101 + ")" * 101 + "(?!b)",
]


@pytest.mark.parametrize("source", LARGE, ids=range(len(LARGE)))
def test_a_pattern_that_regex_would_compile_for_long_is_refused_before(no_re2, source):
    with pytest.raises(ConfigError, match=r"too large|nested repeats|groups are in each other"):
        compile_pattern(source)


def test_lone_surrogates_are_question_marks_in_both_engines():
    assert [compile_pattern(source).search("\ud800") for source in ("^[?]$", "^[?](?!x)$")] == [True, True]
    assert compute_weight(r"\p{Greek}{10}") == compute_weight(r"\pL{10}")
    assert MAX_SEARCH_SECONDS == 0.25


def search_by_extension(source: str, text: str) -> bool | None:
    try:
        return make_search(source, "", ALL_ENGINES)(text)
    except ConfigError:
        return None


@given(sources | st.text(alphabet=RAW, max_size=10), texts)
@settings(max_examples=count_examples(200))
@example("", "")
@example("a$", "a\n")
@example("(", "(")
@example("(a)|(b)", "b")
@example("\0", "a\0b")
@example("b", "a\0b")
def test_the_part_of_re2_in_c_finds_what_its_part_in_python_finds(source, text):
    assert search_by_extension(source, text) == search_by_re2(source, text)


ALONE = """
import sys
sys.path[:0] = {path!r}
from boathook.core.pattern_search import make_search
found = [make_search("a.c", "", "all")(text) for text in ("xabcx", "ac")]
own = sys.modules["re2._re2"]
import re2
print(found, re2._re2 is own, re2.search("a.c", "abc").span())
"""


def test_the_part_of_re2_in_c_is_loaded_once_even_if_its_part_in_python_is_imported_later():
    code = ALONE.format(path=[path for path in sys.path if path])
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[True, False] True (0, 3)\n", "")


@pytest.mark.parametrize("layout", ["no part in C", "no package", "not installed"])
def test_another_layout_of_re2_is_imported_as_a_whole_or_left_out(monkeypatch, tmp_path, layout):
    for name in ("re2", "re2._re2"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    if layout == "no package":
        (tmp_path / "re2.py").write_text("_re2 = 'elsewhere'\n")
    elif layout == "no part in C":
        (tmp_path / "re2").mkdir()
        (tmp_path / "re2/__init__.py").write_text("")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(pattern_search, "_libraries", {})
    assert pattern_search._load(RE2) == ("elsewhere" if layout == "no package" else None)
