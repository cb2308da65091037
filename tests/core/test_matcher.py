"""Matchers (S11), their patterns in linear time (S12), and the lists of names of settings.json (S13)."""

from __future__ import annotations

import json
import re
import string

import pytest
import re2
from hypothesis import example, given
from hypothesis import strategies as st

from boathook.core.event import KINDS, Event
from boathook.core.json_text import iter_leaves
from boathook.core.matcher import (
    ALL,
    MAX_PATTERN_WEIGHT,
    MAX_TEXT_CHARS,
    InputTexts,
    Matcher,
    Pattern,
    PatternAllowance,
    compile_names,
    compile_pattern,
    compute_weight,
    list_matcher_keys,
)
from boathook.core.pattern_search import ALL_ENGINES, LINEAR_ENGINE, NO_ENGINE
from boathook.core.prefilter import CONTAINS, PrefilterWords
from boathook.errors import ConfigError
from tests.core.builders import a_call, json_values, patterns, tool_events, tool_patterns


def matches(event: Event, tool: str = "", pattern: str = "") -> bool:
    return Matcher(compile_pattern(tool), compile_pattern(pattern)).explain_mismatch(event) == ""


def found(pattern: str, text: str) -> bool:
    return pattern in ("", "*") or re2.search(pattern, text) is not None


@given(tool_events, tool_patterns, patterns)
def test_a_matcher_is_both_of_its_patterns_searched_where_they_belong(event, tool, pattern):
    texts = [*iter_leaves(event.tool_input), json.dumps(event.tool_input, ensure_ascii=False)]
    expected = found(tool, event.tool_name) and any(found(pattern, text) for text in texts)
    assert matches(event, tool, pattern) == expected


@given(json_values)
def test_the_texts_of_an_input_are_its_strings_and_its_json(value):
    assert InputTexts(value).texts == (*iter_leaves(value), json.dumps(value, ensure_ascii=False))


SEARCHED = {
    "a part of the tool's name": ({"tool": "hel"}, True),
    "another case": ({"tool": "shell"}, False),
    "the whole name": ({"tool": "^Shell$"}, True),
    "a star": ({"tool": "*", "pattern": "*"}, True),
    "nothing": ({"tool": "", "pattern": ""}, True),
    "a leaf": ({"pattern": "^rm -rf"}, True),
    "a leaf in a list": ({"pattern": "^deep é$"}, True),
    "the JSON text": ({"pattern": '"n": 1, "list"'}, True),
    "a key, through the JSON text": ({"pattern": '"command": "rm'}, True),
    "a key is not a leaf": ({"pattern": "^command$"}, False),
    "non-ASCII as it is": ({"pattern": "é"}, True),
    "both match": ({"tool": "Shell", "pattern": "rm"}, True),
    "only the tool matches": ({"tool": "Shell", "pattern": "mkfs"}, False),
    "only the pattern matches": ({"tool": "Write", "pattern": "rm"}, False),
}


@pytest.mark.parametrize(("matcher", "expected"), SEARCHED.values(), ids=SEARCHED)
def test_where_patterns_are_searched(matcher, expected):
    tool_input = {"command": "rm -rf /", "n": 1, "list": [{"x": ["deep é"]}]}
    assert matches(Event.of("pre-tool-call", tool_name="Shell", tool_input=tool_input), **matcher) is expected


def test_an_event_without_input_is_matched_as_an_empty_object():
    event = Event.of("pre-tool-call", tool_name="Shell")
    assert matches(event, pattern=r"^\{\}$")
    assert not matches(event, pattern="rm")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.has_tool], ids=lambda kind: kind.name)
def test_events_without_a_tool_ignore_the_matcher(kind):
    assert matches(Event.of(kind, prompt="x"), tool="^Nothing$", pattern="nothing")


def test_a_matcher_explains_why_it_does_not_match():
    matcher = Matcher(compile_pattern("^Write$"), compile_pattern("mkfs"))
    assert matcher.explain_mismatch(a_call()) == "tool 'Shell' does not match '^Write$'"
    assert matcher.explain_mismatch(a_call(tool="Write")) == "input does not match 'mkfs'"
    assert matcher.explain_mismatch(a_call("mkfs /dev", tool="Write")) == ""


def test_a_pattern_for_everything_is_none():
    assert [compile_pattern(""), compile_pattern("*")] == [None, None]
    assert (ALL.is_all, Matcher(None, compile_pattern("a")).is_all) == (True, False)


def test_a_pattern_is_its_source_with_its_words():
    assert compile_pattern("rm -rf") == Pattern("rm -rf", PrefilterWords(("rm -rf",), CONTAINS))


# What RE2 does not have, with a text that matches and one that does not.
CONSTRUCTS = {
    "a(?=b)": ("lookahead (?=…)", "ab", "ac"),
    "git push(?!.*--dry-run)": ("negative lookahead (?!…)", "git push -f", "git push --dry-run"),
    "(?<=a)b": ("lookbehind (?<=…)", "ab", "cb"),
    "(?<!sudo )rm": ("negative lookbehind (?<!…)", "rm", "sudo rm"),
    "(?>a|ab)c": ("atomic group (?>…)", "ac", "abc"),
    "(?P<n>[ab])(?P=n)": ("backreference (?P=…)", "bb", "ab"),
    "(?<n>[ab])\\k<n>": ("backreference (?P=…)", "bb", "ab"),
    "^(a)?(?(1)b|c)$": ("conditional group (?(…)…)", "ab", "ac"),
    "a(?#note)b": ("comment group (?#…)", "ab", "a"),
    "a*+b": ("possessive quantifier *+", "aab", "aa"),
    "^a++ab": ("possessive quantifier ++", "", "aab"),
    "^a?+ab": ("possessive quantifier ?+", "aab", "ab"),
    "^a{1,2}+ab": ("possessive quantifier {1,2}+", "aaab", "aab"),
    "a\\Z": ("\\Z (write \\z)", "ba", "a\n"),
    "(a|b)\\1": ("backreference \\1", "aa", "ab"),
    "(?i)(a)b\\1": ("backreference \\1", "AbA", "Ab"),
}


@pytest.mark.parametrize(("source", "construct", "hit", "miss"), [(source, *row) for source, row in CONSTRUCTS.items()])
def test_what_re2_lacks_is_named_and_searched_all_the_same(source, construct, hit, miss):
    pattern = compile_pattern(source)
    assert pattern.construct == construct
    assert (pattern.search(hit) if hit else True, pattern.search(miss)) == (True, False)


@pytest.mark.parametrize(
    "source", ["(?R)(?=a)", "(?1)(a)", "(?|a)", "\\K(?=a)", "(?=\\C)", "(?(DEFINE)a)", "(?x)(?=a)", "\\h(?!a)"]
)
def test_what_neither_engine_is_used_for_is_an_error(source):
    with pytest.raises(ConfigError, match="does not compile"):
        compile_pattern(source)


def test_without_trust_a_pattern_is_searched_in_linear_time_or_counts_as_a_match():
    untrusted = compile_pattern("git push(?!.*--dry-run)", PatternAllowance())
    assert untrusted.construct == "negative lookahead (?!…)"
    limited = untrusted.limit_engines()
    # Only the words decide.
    assert (limited.search("git push --dry-run"), limited.search("git pull")) == (True, False)
    plain = compile_pattern("rm +-rf").limit_engines()
    assert (plain.search("rm  -rf"), plain.search("rm -r")) == (True, False)


def test_patterns_beyond_the_allowance_are_not_compiled_and_count_as_a_match():
    allowance = PatternAllowance(1250)
    first, second, third = (compile_pattern(source, allowance) for source in ("a{900}", "b+x{900}", "c+"))
    assert [one.engines for one in (first, second, third)] == [ALL_ENGINES, NO_ENGINE, ALL_ENGINES]
    assert (second.search("b"), second.search("c"), second.limit_engines().search("b")) == (True, False, True)


@pytest.mark.parametrize("source", ["(", "a)", "[", "a{2,1}", "a**", "\\", "(?", "\ud800", "x{1001}"])
def test_a_pattern_that_does_not_compile_is_an_error_that_shows_it(source):
    with pytest.raises(ConfigError) as error:
        compile_pattern(source)
    assert str(error.value).startswith(f"the pattern {source!r} does not compile: ")


@given(st.text(max_size=12))
@example("\x00")
def test_any_source_compiles_or_is_a_config_error(source):
    try:
        pattern = compile_pattern(source)
    except ConfigError:
        return
    assert pattern is None or pattern.source == source


def test_a_pattern_that_ruins_a_backtracking_engine_is_searched_in_linear_time():
    pattern = compile_pattern("^(a+)+(b?b?b?b?b?b?)*$")
    assert pattern is not None
    assert pattern.search("a" * 200_000 + "!") is False


def test_an_input_longer_than_is_searched_matches_every_pattern():
    at_limit = "x" * (MAX_TEXT_CHARS - len('{"command": ""}'))
    assert not matches(a_call(at_limit), pattern="^never$")
    assert matches(a_call(at_limit + "x"), pattern="^never$")
    assert not matches(a_call(at_limit + "x"), tool="^Write$", pattern="^never$")


def test_the_length_is_that_of_the_json_text_and_not_of_any_leaf():
    assert matches(a_call([0] * 400_000), pattern="^never$")


LONE = {"rm": True, "^x.*y$": True, "(?i)RM": True, "mkfs": False, "q[ab]": False}


@pytest.mark.parametrize(("pattern", "expected"), LONE.items())
def test_a_text_with_a_lone_surrogate_is_searched_all_the_same(pattern, expected):
    assert matches(a_call("x\ud800 rm y"), pattern=pattern) is expected


# Matchers of settings.json

NAMED = {
    "one name": ("Bash", ["Bash"], ["bash", "BashOutput", "xBash", "Bash\n", "", "Ba"]),
    "a list": ("Edit|Write", ["Edit", "Write"], ["MultiEdit", "Edit|Write", "WriteFile", "|"]),
    "commas and spaces": (" Edit ,Write, Read ", ["Edit", "Write", "Read"], [" Edit", "Edit ,Write", "Write, Read"]),
    "empty places": ("|Edit,,|", ["Edit"], ["", "|", ","]),
    "a name with a space": ("my tool|x", ["my tool", "x"], ["my", "tool", "mytool"]),
    "dashes and digits": ("a-b_2", ["a-b_2"], ["a", "a-b_", "a-b_22"]),
    "no name at all": (",|", [], ["Bash", ",", "|"]),
    "a pattern": ("Notebook.*", ["Notebook", "NotebookEdit", "xNotebook"], ["notebook", "Note"]),
    "a pattern in a list": ("Edit|mcp__.*", ["Edit", "MultiEdit", "mcp__x", "x mcp__"], ["Write"]),
    "an anchored pattern": ("^Bash$", ["Bash"], ["BashOutput", "bash"]),
    "a letter beyond ASCII is a pattern": ("é", ["é", "née"], ["e"]),
    "a tab is a pattern": ("a\tb", ["a\tb", "xa\tby"], ["a b"]),
}


@pytest.mark.parametrize(("source", "named", "others"), NAMED.values(), ids=NAMED)
def test_a_matcher_of_settings_is_a_list_of_exact_names_or_a_searched_pattern(source, named, others):
    pattern = compile_names(source)
    assert [name for name in (*named, *others) if pattern.search(name)] == named
    assert pattern.display_text == source


@pytest.mark.parametrize("source", ["", "*", " ", " * ", "\t*\n"], ids=repr)
def test_an_empty_matcher_of_settings_and_a_star_match_all(source):
    assert compile_names(source) is None


@pytest.mark.parametrize("source", ["(", "Edit|(", "**", "a(?=b"])
def test_a_matcher_of_settings_that_does_not_compile_is_a_config_error_that_shows_it(source):
    with pytest.raises(ConfigError, match=re.escape(repr(source))):
        compile_names(source)


LETTERS = string.ascii_letters + string.digits + "_-,| "
changes = st.sampled_from(
    [
        str,
        str.swapcase,
        str.title,
        lambda n: n[1:],
        lambda n: n[:-1],
        lambda n: n + "\n",
        lambda n: f" {n}",
        lambda n: n * 2,
    ]
)


@given(st.text(LETTERS, max_size=30), st.data())
@example("a b|a", None)
@example("-|_", None)
def test_of_the_letters_of_names_exactly_the_listed_names_match(source, data):
    listed = {name.strip() for name in re.split("[,|]", source)} - {""}
    pattern = compile_names(source)
    if not source.strip():
        assert pattern is None
        return
    near = st.builds(lambda name, change: change(name), st.sampled_from(sorted(listed) or ["x"]), changes)
    drawn = data.draw(st.lists(near | st.text(LETTERS), max_size=8)) if data else ["a", "b", "a b", "-", "_", "b|a"]
    asked = {*listed, *re.split("[,| ]", source), source, *drawn} - {""}
    assert {name for name in asked if pattern.search(name)} == listed


@given(st.text(max_size=12))
def test_any_matcher_of_settings_compiles_or_is_a_config_error(source):
    try:
        pattern = compile_names(source)
    except ConfigError:
        return
    assert (pattern is None) == (source.strip() in ("", "*"))
    assert pattern is None or pattern.display_text == source


def test_a_pattern_is_shown_as_its_author_wrote_it():
    assert compile_pattern("^a$").display_text == "^a$"
    assert (compile_names("a, b").source, compile_names("a, b").display_text) == ("^(?:a|b)$", "a, b")
    assert (
        Matcher(compile_names("Edit, Write")).explain_mismatch(a_call()) == "tool 'Shell' does not match 'Edit, Write'"
    )


STARTUP = Matcher(fields=(("source", compile_names("startup|clear")),))
ASKED = {
    "the value": ({"source": "startup"}, ""),
    "another value": ({"source": "resume"}, "source 'resume' does not match 'startup|clear'"),
    "an empty value": ({"source": ""}, "source '' does not match 'startup|clear'"),
    "a part of it": ({"source": "startups"}, "source 'startups' does not match 'startup|clear'"),
    "nothing sent": ({}, ""),
    "null": ({"source": None}, ""),
    "no text": ({"source": ["resume"]}, ""),
    "another field": ({"trigger": "resume"}, ""),
}


@pytest.mark.parametrize(("fields", "why"), ASKED.values(), ids=ASKED)
def test_a_matcher_asks_its_field_and_a_field_that_was_not_sent_cannot_speak_against_it(fields, why):
    assert STARTUP.explain_mismatch(Event.of("SessionStart", **fields)) == why


def test_a_matcher_of_a_field_does_not_look_at_the_tool():
    event = a_call(tool="resume").with_data(source="clear")
    assert STARTUP.explain_mismatch(event) == ""
    assert Matcher(compile_names("startup")).explain_mismatch(event) == "tool 'resume' does not match 'startup'"


def test_only_a_matcher_without_any_pattern_matches_all():
    assert [one.is_all for one in (Matcher(), STARTUP, Matcher(compile_names("a")))] == [True, False, False]


BOTH_FIELDS = Matcher(fields=(("source", compile_pattern("start")), ("model", compile_pattern("^big"))))


def test_every_field_of_a_matcher_must_match():
    models = ("big-1", "small")
    events = [Event.of("SessionStart", source=source, model=model) for source in ("startup", "x") for model in models]
    assert [bool(BOTH_FIELDS.explain_mismatch(event)) for event in events] == [False, True, True, True]


def test_a_field_and_the_tool_must_both_match():
    matcher = Matcher(compile_names("Shell"), fields=(("error", compile_pattern("denied")),))
    call = {"tool_input": {}, "error": "permission denied"}
    assert matcher.explain_mismatch(Event.of("PostToolUseFailure", tool_name="Shell", **call)) == ""
    assert "tool 'Read'" in matcher.explain_mismatch(Event.of("PostToolUseFailure", tool_name="Read", **call))
    other = Event.of("PostToolUseFailure", tool_name="Shell", tool_input={}, error="not found")
    assert matcher.explain_mismatch(other) == "error 'not found' does not match 'denied'"


def test_a_field_that_is_too_long_to_be_searched_matches_and_its_hook_may_not_allow():
    matcher = Matcher(fields=(("prompt", compile_pattern("never")),))
    event = Event.of("pre-agent-turn", prompt="x" * (MAX_TEXT_CHARS + 1))
    assert (matcher.explain_mismatch(event), matcher.is_sure(event)) == ("", False)
    assert matcher.is_sure(Event.of("pre-agent-turn", prompt="never"))


def test_a_long_value_is_shortened_in_the_reason():
    matcher = Matcher(fields=(("prompt", compile_pattern("never")),))
    assert len(matcher.explain_mismatch(Event.of("pre-agent-turn", prompt="x" * 9999))) < 300


OUTPUT = Matcher(fields=(("tool_output", compile_pattern("ghp_")),))


def test_the_texts_in_an_output_are_searched_in_any_shape():
    for output, is_matched in (
        ("a ghp_1", True),
        ("plain", False),
        ("", False),
        ({"stdout": "ghp_1", "code": 0}, True),
        ({"stdout": "plain"}, False),
        ([{"type": "text", "text": "ghp_1"}], True),
        ([], False),
        (None, True),
        (7, True),
    ):
        event = Event.of("post-tool-call", tool_name="Shell", tool_input={}, tool_output=output)
        assert (OUTPUT.explain_mismatch(event) == "") is is_matched, output
    assert OUTPUT.explain_mismatch(Event.of("post-tool-call", tool_name="Shell", tool_input={})) == ""


def test_trust_changes_how_the_patterns_of_fields_are_searched():
    limited = STARTUP.limit_engines()
    assert limited.fields[0][1].engines == LINEAR_ENGINE
    assert STARTUP.allow_engines() is STARTUP


def test_the_fields_that_can_be_matched_are_fields_of_the_event_or_known_to_hosts():
    named = {(kind.name, name) for kind in KINDS for name in kind.matched_fields if name not in kind.fields}
    assert named == {("notification", "notification_type")}
    assert all(list_matcher_keys(kind)[:3] == ("tool", "pattern", "kind") for kind in KINDS if kind.has_tool)


# Patterns that cost too much (found by fuzzing)


@pytest.mark.parametrize(
    "source",
    [
        "\\pL{200}N",
        "\\p{Greek}{200}",
        "\\pL" * 20,
        "[^x]{3000}",
        "((a{50}){50}){50}",
        "(\\pL{30}){30}",
        "a?" * 3000,
        "[[:" * 2000,
    ],
)
def test_a_pattern_that_would_take_re2_long_is_refused_before(source):
    with pytest.raises(ConfigError, match="is too large"):
        compile_pattern(source)


@pytest.mark.parametrize(
    "source", ["|".join(f"command-{n}" for n in range(300)), "(?i)\\bsudo\\b", "[^;]{1,200}rm", "\\pL+", "x{999}"]
)
def test_patterns_that_people_write_are_light_enough(source):
    assert compute_weight(source) <= MAX_PATTERN_WEIGHT
    assert compile_pattern(source) is not None


@pytest.mark.parametrize(
    "source", ["{", "a{", "a{x}", "a{,}", "{5}", ")", "[", "[]", "\\", "a{99999999999}", "(" * 50, "a{٣}"]
)
def test_every_pattern_can_be_weighed(source):
    assert compute_weight(source) >= 0
