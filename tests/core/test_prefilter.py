"""Words of patterns never rule out a text that an engine would match, and where they claim to be the whole truth they are."""

from __future__ import annotations

import re

import pytest
import re2
from hypothesis import example, given, settings
from hypothesis import strategies as st

from boathook.core.matcher import can_match
from boathook.core.pattern_search import compile_by_regex
from boathook.core.pattern_syntax import translate_pattern
from boathook.core.prefilter import CONTAINS, EQUALS, HINT, PrefilterWords, find_words
from boathook.errors import ConfigError
from tests.example_counts import count_examples
from tests.growth import grows_in_proportion

QUIET = re2.Options()
QUIET.log_errors = False


def compiled(source: str):
    try:
        return re2.compile(source, QUIET)
    except re2.error:
        pass
    try:
        return compile_by_regex(source, translate_pattern(source))
    except ConfigError:
        return None


def claims_hold(source: str, text: str) -> bool:
    """Whether what the words of a pattern claim about a text is true."""
    pattern, words = compiled(source), find_words(source)
    if pattern is None or words is None:
        return True  # nothing is claimed about patterns that no engine takes
    found = pattern.search(text) is not None
    answer = can_match(words, text)
    return (answer or not found) if words.proof == HINT else answer == found


LITERALS = "ab/- .$|"
chars = st.sampled_from(LITERALS)


def _joined(parts):
    return "".join(p for p, _ in parts), "".join(s for _, s in parts)


def _either(branches, chosen):
    return "|".join(p for p, _ in branches), branches[chosen % len(branches)][1]


def _repeated(inner, quantifier, times):
    pattern, sample = inner
    low, high = {"?": (0, 1), "*": (0, 3), "+": (1, 3), "{2}": (2, 2), "{1,3}": (1, 3), "+?": (1, 3)}[quantifier]
    return f"(?:{pattern}){quantifier}", sample * min(max(times, low), high)


atoms = (
    chars.map(lambda c: (re.escape(c), c))
    | chars.map(lambda c: (f"[{re.escape(c)}z]", c))
    | chars.map(lambda c: (".", c))
    | st.just(("\\b", ""))
    | st.just(("", ""))
)

quantifiers = st.sampled_from(["?", "*", "+", "{2}", "{1,3}", "+?"])


def _grown(inner):
    groups = st.tuples(st.lists(inner, min_size=1, max_size=3), st.integers(0, 2)).map(lambda x: _either(*x))
    return (
        st.lists(inner, max_size=4).map(_joined)
        | groups.map(lambda x: (f"({x[0]})", x[1]))
        | groups.map(lambda x: (f"(?:{x[0]})", x[1]))
        | st.builds(_repeated, inner, quantifiers, st.integers(0, 3))
        # What RE2 does not have: a text beside it may match or not.
        | st.tuples(st.sampled_from(["(?=", "(?!", "(?<=", "(?<!"]), inner).map(lambda x: (f"{x[0]}{x[1][0]})", ""))
        | inner.map(lambda x: (f"(?>{x[0]})", x[1]))
        | inner.map(lambda x: (f"({x[0]})\\1", x[1] * 2))
        | st.tuples(inner, st.sampled_from(["*+", "++", "?+", "{2}+"])).map(
            lambda x: (f"(?:{x[0][0]}){x[1]}", x[0][1] * 2)
        )
    )


grown = st.recursive(atoms, _grown, max_leaves=14)
wholes = st.tuples(st.lists(grown, min_size=1, max_size=3), st.integers(0, 2)).map(lambda x: _either(*x))
noise = st.text(alphabet=LITERALS + "\n", max_size=3)


@given(wholes, st.booleans(), st.booleans(), noise, noise)
@settings(max_examples=count_examples(400))
def test_a_text_made_from_a_pattern_is_never_ruled_out(whole, starts, ends, before, after):
    source, sample = whole
    source = f"{'^' if starts else ''}{source}{'$' if ends else ''}"
    assert claims_hold(source, f"{before}{sample}{after}")


@given(wholes, st.text(alphabet=LITERALS + "z\n", max_size=12))
@settings(max_examples=count_examples(300))
def test_words_agree_with_re2_on_unrelated_texts(whole, text):
    assert claims_hold(whole[0], text)


RAW = "ab|()[]^$.*+?{}\\:,12- zdwQEZ=!<>P\n"


@given(st.text(alphabet=RAW, max_size=10), st.text(alphabet="ab[]|:{},12\n", max_size=8))
@settings(max_examples=count_examples(600))
@example("[[:]a|]b", ":a")
@example("[]a]b|c", "]b")
@example("[^]a]b", "cb")
@example("a{,2}b", "a{,2}b")
@example("a{,2}|b", "a{,2}")
@example("^a$", "a\n")
@example("^a|b$", "ab")
@example("a\\|b", "a|b")
@example("(a|)b", "b")
@example("^(|a)$", "")
@example("", "")
@example("^$", "")
@example("a|", "b")
@example("\\Qa|b\\E", "a|b")
@example("(?i)a", "A")
@example("[[:alpha:]]b", "ab")
@example("(a)(b)|c", "c")
@example("a(?!b)", "a")
@example("(?!ab)", "c")
@example("(?=a|ab)b|c", "c")
@example("(?>a|ab)b", "ab")
@example("(a|)\\1b", "b")
@example("(?<=a)b\\Z", "ab")
@example("(?=)a", "a")
def test_words_agree_with_the_engines_on_any_pattern_that_they_accept(source, text):
    assert claims_hold(source, text)


@pytest.mark.parametrize("opening", ["(", "(?:"])
def test_a_branch_with_too_many_ways_to_read_it_is_not_forgotten(opening):
    many = "(a|b)" * 6
    assert claims_hold(f"{opening}{many}|zzz)", "aaaaaa")


@pytest.mark.parametrize("depth", [50, 400, 900])
def test_nested_groups_are_read(depth):
    source = "(" * depth + "ab" + ")" * depth
    assert compiled(source) is not None
    assert claims_hold(source, "xabx")


def test_a_long_pattern_takes_time_in_proportion_to_its_length():
    ways = f"({'|'.join('abcdefghijklmnopqrstuvwxyz012345')})"
    # Longer patterns are refused at once, so there would be nothing to measure.
    assert find_words(ways + "x" * 8 * 110) is not None
    assert grows_in_proportion(lambda length: find_words(ways + "x" * length), 110)


UNDERSTOOD = {
    "Shell": PrefilterWords(("Shell",), CONTAINS),
    "rm -rf /|mkfs": PrefilterWords(("rm -rf /", "mkfs"), CONTAINS),
    "^(Shell|Bash)$": PrefilterWords(("Shell", "Bash"), EQUALS),
    "^Shell$|^Bash$": PrefilterWords(("Shell", "Bash"), EQUALS),
    "(git|hg) (push|pull)": PrefilterWords(("git push", "git pull", "hg push", "hg pull"), CONTAINS),
    "a\\.py$": PrefilterWords(("a.py",), HINT),
    "rm\\s+-rf": PrefilterWords(("-rf",), HINT),
    "x(abc)+y": PrefilterWords(("abc",), HINT),
    "\\bmkfs\\b": PrefilterWords(("mkfs",), HINT),
    "^rm": PrefilterWords(("rm",), HINT),
    "naïve|—": PrefilterWords(("naïve", "—"), CONTAINS),
}


@pytest.mark.parametrize(("source", "expected"), UNDERSTOOD.items(), ids=UNDERSTOOD)
def test_a_simple_pattern_has_prefilter_words(source, expected):
    assert find_words(source) == expected


UNCLEAR = ["(?i)rm", "(?P<n>a)", "\\x41", "\\pN", "\\Qa\\E", "a*", ".*", "[ab]", "a|", "", "^$", "(", ")", "a{x}", "*"]


@pytest.mark.parametrize("source", UNCLEAR)
def test_a_pattern_that_is_not_simple_has_no_prefilter_words(source):
    assert find_words(source) is None


def test_a_pattern_with_too_many_words_has_no_prefilter_words():
    assert find_words("|".join(f"word{n}" for n in range(257))) is None
    assert find_words("|".join(f"word{n}" for n in range(256))) == PrefilterWords(
        tuple(f"word{n}" for n in range(256)), CONTAINS
    )


def test_equals_wants_the_whole_text_and_contains_any_part():
    assert [can_match(PrefilterWords(("ab", "c"), EQUALS), text) for text in ("ab", "c", "abc", "")] == [
        True,
        True,
        False,
        False,
    ]
    assert [can_match(PrefilterWords(("ab", "c"), CONTAINS), text) for text in ("xabx", "xcx", "axb")] == [
        True,
        True,
        False,
    ]
