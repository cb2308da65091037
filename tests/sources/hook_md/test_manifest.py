"""HOOK.md: every field, its limits, and what the loader gets along with (S5, S6, S7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core import matcher as matchers
from boathook.core.event import KINDS, SPELLINGS
from boathook.core.hook import ARMED, ERROR, INVALID, WARNING, Diagnostic, Hook, Needs, Script
from boathook.core.matcher import ALL, compile_pattern
from boathook.dialects.dialect import HOOK_DIALECTS, find_hook_dialect
from boathook.sources.fields import HOOK_MD_FIELDS, MAX_DIAGNOSTICS, is_hook_name, join_words
from boathook.sources.hook_md.frontmatter import Scalar
from boathook.sources.hook_md.manifest import parse_manifest, read_whole_number

FIELDS = tuple(field.key for field in HOOK_MD_FIELDS)
PATH, FOLDER = "/h/guard/HOOK.md", "/h/guard"
LINES = {"name": "guard", "description": "a test", "trigger": "pre-tool-call"}
NAME_LINE, DESCRIPTION_LINE, TRIGGER_LINE, NEXT_LINE = 2, 3, 4, 5


# A tool in HOOK.md may be named as one agent names it.
def Matcher(tool=None, *more, **fields):  # noqa: N802
    return matchers.Matcher(tool, *more, takes_other_name=tool is not None, **fields)


def parse(scope: str = "user", folder: str = FOLDER, **fields) -> Hook:
    lines = [f"{key}: {value}" for key, value in {**LINES, **fields}.items() if value is not None]
    return parse_text("\n".join(["---", *lines, "---", ""]), scope, folder)[0]


def parse_text(text: str, scope: str = "user", folder: str = FOLDER) -> tuple[Hook, frozenset[str]]:
    return parse_manifest(text, path=PATH, folder=folder, scope=scope)


def problem(line: int | None, key: str, level: str, message: str, fix: str = "") -> Diagnostic:
    return Diagnostic(PATH, line, key, level, message, fix)


KINDS_EXPECTED = "'kind' must be writes, reads, shell, network or mcp, or a list of them"
RENAME = "rename the folder, or change 'name'"
PLAIN = Hook(
    "guard",
    SPELLINGS["pre-tool-call"],
    "pre-tool-call",
    "user",
    Script(FOLDER),
    PATH,
    find_hook_dialect("native"),
    "a test",
)


def test_a_manifest_with_nothing_but_the_required_fields_has_the_defaults():
    assert parse() == PLAIN
    assert (PLAIN.timeout, PLAIN.priority, PLAIN.background, PLAIN.on_failure) == (30.0, 100, False, "allow")
    assert (PLAIN.protected, PLAIN.needs, PLAIN.env, PLAIN.metadata) == (False, Needs(), (), None)
    assert (PLAIN.matcher, PLAIN.state, PLAIN.diagnostics) == (ALL, ARMED, ())


def test_every_field_is_read_and_those_written_are_named():
    text = """---
name: guard
description: a test
trigger: PreToolUse
matcher:
  tool: Shell
  pattern: 'rm -rf'
timeout: 1500
async: true
priority: 7
on_failure: block
protected: true
requires:
  bins: [git, sh]
  env: HOME
  os:
    - linux
env: [TOKEN]
sandbox: restricted
network: true
imports: project
process: shared
ask: strong
dialect: claude
settings: [word, limit]
metadata:
  author: me
  tags: [a, 1, true, ~, '2']
---
"""
    assert parse_text(text) == (
        PLAIN.replace(
            trigger="PreToolUse",
            matcher=Matcher(compile_pattern("Shell"), compile_pattern("rm -rf")),
            known_settings=("word", "limit"),
            timeout=1.5,
            background=True,
            priority=7,
            on_failure="block",
            protected=True,
            needs=Needs(("git", "sh"), ("HOME",), ("linux",)),
            env=("TOKEN",),
            sandbox="restricted",
            network=True,
            imports="project",
            process="shared",
            ask="strong",
            dialect=find_hook_dialect("claude"),
            metadata={"author": "me", "tags": ["a", 1, True, None, "2"]},
        ),
        frozenset(FIELDS),
    )


@pytest.mark.parametrize(("spelling", "kind"), SPELLINGS.items())
def test_every_spelling_is_a_trigger_and_kept_as_written(spelling, kind):
    assert parse(trigger=spelling) == PLAIN.replace(kind=kind, trigger=spelling)


# What the loader gets along with: the error, what is used instead, and what is reported

TIMEOUT = "'timeout' must be a whole number of milliseconds from 100 to 600000, not {}; {} is used"
PRIORITY = "'priority' must be a whole number from 0 to 1000, not {}; {} is used"
FLAG = "'{}' must be true or false, not {}; false is used"
ON_FAILURE = "'on_failure' must be allow or block, not {}; allow is used"
LEVEL = "'sandbox' must be basic, restricted or isolated, not {}; isolated is used"
EXAMPLES = {
    "timeout": "for example timeout: 30000",
    "priority": "for example priority: 100",
    "on_failure": "for example on_failure: block",
    "sandbox": "for example sandbox: isolated",
    "imports": "for example imports: project",
    **{key: f"for example {key}: false" for key in ("async", "protected", "network")},
}
SLIPS = {
    "on_failure: BLOCK": "did you mean on_failure: block?",
    "sandbox: Restricted": "did you mean sandbox: restricted?",
}
NUMBERS = {
    "timeout: 99": ({"timeout": 0.1}, TIMEOUT.format(99, 100)),
    "timeout: 600001": ({"timeout": 600.0}, TIMEOUT.format(600001, 600000)),
    "timeout: -5": ({"timeout": 0.1}, TIMEOUT.format(-5, 100)),
    **{
        f"timeout: {text}": ({}, TIMEOUT.format(f"'{text}'", 30000))
        for text in ("5s", "1:30", "0500", "1e4", "500.0", "5_000", "0x100", "٥٠٠", "true")
    },
    "timeout: '500'": ({}, TIMEOUT.format("'500'", 30000)),
    "timeout:": ({}, TIMEOUT.format("empty text", 30000)),
    "timeout: [500]": ({}, TIMEOUT.format("a list", 30000)),
    "priority: -1": ({"priority": 0}, PRIORITY.format(-1, 0)),
    "priority: 1001": ({"priority": 1000}, PRIORITY.format(1001, 1000)),
    "priority: high": ({}, PRIORITY.format("'high'", 100)),
    "async: 1": ({}, FLAG.format("async", "'1'")),
    "async: maybe": ({}, FLAG.format("async", "'maybe'")),
    "async: 'true'": ({}, FLAG.format("async", "'true'")),
    "async: []": ({}, FLAG.format("async", "a list")),
    "protected: 1": ({}, FLAG.format("protected", "'1'")),
    "on_failure: deny": ({}, ON_FAILURE.format("'deny'")),
    "on_failure: BLOCK": ({}, ON_FAILURE.format("'BLOCK'")),
    "on_failure:": ({}, ON_FAILURE.format("empty text")),
    "network: 1": ({}, FLAG.format("network", "'1'")),
    "imports: all": ({}, "'imports' must be own or project, not 'all'; own is used"),
    "sandbox: none": ({"sandbox": "isolated"}, LEVEL.format("'none'")),
    "sandbox: Restricted": ({"sandbox": "isolated"}, LEVEL.format("'Restricted'")),
    "sandbox:": ({"sandbox": "isolated"}, LEVEL.format("empty text")),
    "requires: git": ({}, "'requires' must be a mapping, not 'git'; it is ignored"),
    "metadata: [a]": ({}, "'metadata' must be a mapping, not a list; it is ignored"),
}


@pytest.mark.parametrize(("line", "expected"), NUMBERS.items(), ids=NUMBERS)
def test_a_wrong_value_is_replaced_and_reported(line, expected):
    changes, message = expected
    key, _, value = line.partition(":")
    fix = (
        "if you mean seconds, write timeout: 99000"
        if "not 99;" in message
        else SLIPS.get(line) or EXAMPLES.get(key, "")
    )
    reported = problem(NEXT_LINE, key, ERROR, message, fix)
    assert parse(**{key: value.strip()}) == PLAIN.replace(**changes, diagnostics=(reported,))


LIMITS = {"timeout": [(100, 0.1), (600_000, 600.0)], "priority": [(0, 0), (1000, 1000), (5, 5)]}


@pytest.mark.parametrize(("key", "number", "remaining"), [(k, *pair) for k, pairs in LIMITS.items() for pair in pairs])
def test_the_limits_themselves_are_allowed(key, number, remaining):
    assert parse(**{key: number}) == PLAIN.replace(**{key: remaining})


WORDS = {"true": True, "yes": True, "on": True, "True": True, "false": False, "no": False, "off": False, "FALSE": False}


@pytest.mark.parametrize(("word", "expected"), WORDS.items())
def test_a_flag_is_any_word_of_yaml_for_it(word, expected):
    assert parse(**{"async": word}) == PLAIN.replace(background=expected)


MISSING = problem(
    None, "description", ERROR, "'description' is missing", "for example description: Blocks force pushes"
)
DESCRIPTIONS = {
    "missing": (None, "", MISSING),
    "empty": ("''", "", MISSING.replace(line=DESCRIPTION_LINE)),
    "null": ("~", "", MISSING.replace(line=DESCRIPTION_LINE)),
    "too long": (
        "x" * 1025,
        "x" * 1025,
        MISSING.replace(
            line=DESCRIPTION_LINE,
            message="'description' must be text of at most 1024 characters, not text of 1025 characters; it is used as it is",
        ),
    ),
}


@pytest.mark.parametrize(("value", "remaining", "message"), DESCRIPTIONS.values(), ids=DESCRIPTIONS)
def test_a_hook_without_a_good_description_runs_all_the_same(value, remaining, message):
    assert parse(description=value) == PLAIN.replace(description=remaining, diagnostics=(message,))


def test_the_longest_description_is_allowed():
    assert parse(description="x" * 1024) == PLAIN.replace(description="x" * 1024)


def test_a_description_that_is_not_text_is_reported():
    hook = parse(description="[a]")
    assert (hook.state, hook.description) == (ARMED, "")
    message = "'description' must be text of at most 1024 characters, not a list; it is ignored"
    assert hook.diagnostics == (MISSING.replace(line=DESCRIPTION_LINE, message=message),)


NO_NAME = problem(None, "name", ERROR, "'name' is missing; guard is used", "for example name: guard")
LETTERS = "1 to 64 letters, digits, '-', '_' or '.', and start with a letter or digit"
NAMES = {
    "missing": (None, NO_NAME),
    "empty": ("''", NO_NAME.replace(line=2)),
    "null": ("null", NO_NAME.replace(line=2)),
    "too long": (
        "x" * 65,
        NO_NAME.replace(line=2, message=f"'name' must be {LETTERS}, not text of 65 characters; guard is used"),
    ),
    "a slash": ("a/b", NO_NAME.replace(line=2, message=f"'name' must be {LETTERS}, not 'a/b'; guard is used")),
}


@pytest.mark.parametrize(("value", "message"), NAMES.values(), ids=NAMES)
def test_a_name_that_is_missing_or_not_allowed_is_that_of_the_folder(value, message):
    assert parse(name=value) == PLAIN.replace(diagnostics=(message,))


def test_a_name_that_differs_from_its_folder_is_kept_with_a_warning():
    reported = problem(2, "name", WARNING, "name 'other' differs from its folder 'guard'", RENAME)
    assert parse(name="other") == PLAIN.replace(name="other", diagnostics=(reported,))


@pytest.mark.parametrize("name", ["a", "no", "0", "1.5", "a-b_c.d", "A" * 64, "on", "123"])
def test_allowed_names_stay_text_as_written(name):
    hook = parse(name=name, folder=f"/h/{name}")
    assert (hook.name, hook.diagnostics) == (name, ())


@pytest.mark.parametrize("name", [".a", "-a", "_a", "a b", "a/b", "é", "a\n", "x" * 65, "a\u200b", "٣"])
def test_names_that_are_not_allowed(name):
    assert not is_hook_name(name)


def test_an_unknown_field_is_a_warning_that_suggests_the_nearest():
    assert parse(time_out=5, zzz=1) == PLAIN.replace(
        diagnostics=(
            problem(5, "time_out", WARNING, "unknown key 'time_out'", "did you mean 'timeout'?"),
            problem(6, "zzz", WARNING, "unknown key 'zzz'", f"known: {', '.join(FIELDS)}"),
        )
    )


def test_protected_belongs_to_the_user_alone():
    assert parse(protected="true") == PLAIN.replace(protected=True)
    reported = problem(5, "protected", ERROR, "only a user hook can be protected; it is ignored here", "remove it")
    assert parse("project", protected="true") == PLAIN.replace(scope="project", diagnostics=(reported,))
    assert parse("project", protected="false") == PLAIN.replace(scope="project")


CANNOT_ASK = "a matcher of {} cannot ask about '{}'; it is ignored, so the hook runs more often"
FOREIGN_KEYS = {
    "a tool where there is none": ("Stop", "tool", "remove it"),
    "a tool where there is another field": ("SessionStart", "tool", "known: source, model"),
    "a field that is nearly one": ("SessionStart", "sorce", "did you mean 'source'?"),
    "the name in another agent": ("SubagentStop", "agent_type", "did you mean 'subagent_type'?"),
    "a field of another event": ("PreToolUse", "source", "known: tool, pattern, kind"),
    "a field that cannot be matched": ("SessionEnd", "total_steps", "known: exit_reason"),
}


@pytest.mark.parametrize(("event", "key", "fix"), FOREIGN_KEYS.values(), ids=FOREIGN_KEYS)
def test_a_key_of_a_matcher_that_its_event_does_not_have_is_an_error_and_ignored(event, key, fix):
    hook = parse(trigger=event, matcher=f"{{{key}: Shell}}")
    message = CANNOT_ASK.format(SPELLINGS[event].name, key)
    assert (hook.state, hook.matcher.is_all) == (ARMED, True)
    assert hook.diagnostics == (problem(5, f"matcher.{key}", ERROR, message, fix),)


ASKED_FIELDS = [(kind, name) for kind in KINDS for name in kind.matched_fields]


@pytest.mark.parametrize(("kind", "name"), ASKED_FIELDS, ids=lambda one: getattr(one, "name", one))
def test_a_matcher_asks_about_the_fields_of_its_event(kind, name):
    hook = parse(trigger=kind.name, matcher=f"{{{name}: 'a|b'}}")
    assert (hook.diagnostics, hook.matcher) == ((), Matcher(fields=((name, compile_pattern("a|b")),)))
    assert parse(trigger=kind.name, matcher=f"{{{name}: '*'}}").matcher.is_all


def test_a_pattern_for_a_field_that_does_not_compile_makes_the_hook_invalid():
    hook = parse(trigger="SessionStart", matcher="{source: '('}")
    message = "the pattern '(' does not compile: a parenthesis is not closed"
    assert (hook.state, hook.state_reason) == (INVALID, message)


def test_a_field_beside_the_matcher_is_read_as_part_of_it_and_the_trigger_of_the_hook_is_not():
    hook = parse(trigger="SessionStart", source="startup")
    assert [name for name, _ in hook.matcher.fields] == ["source"]
    assert [one.message for one in hook.diagnostics] == [
        "'source' is beside 'matcher', not below it; it is read as part of the matcher"
    ]
    assert parse(trigger="PreCompact").matcher.is_all
    assert [one.message for one in parse(source="startup").diagnostics] == ["unknown key 'source'"]


# What makes a hook invalid

INVALIDS = {
    "no trigger": (
        {"trigger": None},
        None,
        problem(None, "trigger", ERROR, "'trigger' is missing", "for example trigger: pre-tool-call"),
    ),
    "an empty trigger": (
        {"trigger": "''"},
        None,
        problem(4, "trigger", ERROR, "'trigger' is missing", "for example trigger: pre-tool-call"),
    ),
    "an unknown trigger": (
        {"trigger": "pre-tool"},
        None,
        problem(4, "trigger", ERROR, "unknown event 'pre-tool' (did you mean 'pre-tool-use'?)", "write 'pre-tool-use'"),
    ),
    "a trigger like none": (
        {"trigger": "qqq"},
        None,
        problem(4, "trigger", ERROR, "unknown event 'qqq'", "boathook events lists the known ones"),
    ),
    "a pattern that does not compile": (
        {"matcher": "{pattern: '('}"},
        "pre-tool-call",
        problem(5, "matcher.pattern", ERROR, "the pattern '(' does not compile: a parenthesis is not closed"),
    ),
    "a matcher that is a word": (
        {"matcher": "Shell"},
        "pre-tool-call",
        problem(
            5, "matcher", ERROR, "'matcher' must be a mapping, not 'Shell'", 'for example matcher: {"tool": "Shell"}'
        ),
    ),
    "a matcher that is a list": (
        {"matcher": "[Shell]"},
        "pre-tool-call",
        problem(
            5, "matcher", ERROR, "'matcher' must be a mapping, not a list", 'for example matcher: {"tool": "Shell"}'
        ),
    ),
    "a kind that is nearly one": (
        {"matcher": "{kind: [writes, shel]}"},
        "pre-tool-call",
        problem(5, "matcher.kind", ERROR, f"{KINDS_EXPECTED}, not 'shel'", "did you mean 'shell'?"),
    ),
    "a kind that is none": (
        {"matcher": "{kind: everything}"},
        "pre-tool-call",
        problem(5, "matcher.kind", ERROR, f"{KINDS_EXPECTED}, not 'everything'", "for example kind: writes"),
    ),
    "a list for a pattern": (
        {"matcher": "{tool: [a, b]}"},
        "pre-tool-call",
        problem(5, "matcher.tool", ERROR, "'tool' must be text, not a list"),
    ),
}


@pytest.mark.parametrize(("fields", "kind", "message"), INVALIDS.values(), ids=INVALIDS)
def test_an_error_that_leaves_open_what_was_meant_makes_the_hook_invalid(fields, kind, message):
    hook = parse(**fields)
    assert (hook.state, hook.state_reason, hook.diagnostics) == (INVALID, message.message, (message,))
    assert hook.kind is (SPELLINGS[kind] if kind else None)


def test_an_invalid_hook_keeps_what_could_be_read():
    hook = parse(trigger="qqq", on_failure="block", priority=7, matcher="{tool: Shell}")
    assert (hook.trigger, hook.on_failure, hook.priority) == ("qqq", "block", 7)
    assert hook.matcher == Matcher(compile_pattern("Shell"))


UNREADABLES = {
    "no frontmatter": ("# Guard\n", 1, "no frontmatter", "begin the file with a line '---'"),
    "no end": ("---\nname: guard\n", 1, "the frontmatter has no end", "close it with a line '---'"),
    "empty": ("---\n---\n", 2, "the frontmatter is empty", "write name, description and trigger"),
    "a repeated key": ("---\nname: a\nname: b\n---\n", 3, "the key 'name' is used twice", "keep one of them"),
}


@pytest.mark.parametrize(("text", "line", "message", "fix"), UNREADABLES.values(), ids=UNREADABLES)
def test_a_frontmatter_that_cannot_be_read_makes_an_invalid_hook_with_the_folder_s_name(text, line, message, fix):
    reported = problem(line, "", ERROR, message, fix)
    expected = PLAIN.replace(
        kind=None, trigger="", description="", state=INVALID, state_reason=message, diagnostics=(reported,)
    )
    assert parse_text(text) == (expected, frozenset())


def test_a_mapping_without_entries_is_an_invalid_hook():
    hook, _ = parse_text("---\n{}\n---\n")
    assert (hook.state, hook.kind) == (INVALID, None)
    assert hook.diagnostics != ()


# Matchers

MATCHERS = {
    "a tool": ("{tool: Shell}", ("Shell", "")),
    "a pattern": ("{pattern: 'rm -rf'}", ("", "rm -rf")),
    "both": ("{tool: a, pattern: b}", ("a", "b")),
    "stars": ("{tool: '*', pattern: '*'}", ("", "")),
    "empty texts": ("{tool: '', pattern: ''}", ("", "")),
    "nulls": ("{tool: ~, pattern: null}", ("", "")),
    "quoted nulls": ("{tool: '~', pattern: 'null'}", ("~", "null")),
    "nothing": ("", ("", "")),
    "null": ("~", ("", "")),
    "no entries": ("{}", ("", "")),
    "words of YAML": ("{tool: no, pattern: 12}", ("no", "12")),
}


@pytest.mark.parametrize(("value", "sources"), MATCHERS.values(), ids=MATCHERS)
def test_matchers_are_text_even_if_yaml_would_read_another_type(value, sources):
    tool, pattern = map(compile_pattern, sources)
    assert parse(matcher=value) == PLAIN.replace(matcher=Matcher(tool, pattern))


def test_what_is_right_in_a_matcher_counts_beside_a_wrong_key():
    message = CANNOT_ASK.format("pre-tool-call", "tols")
    reported = problem(5, "matcher.tols", ERROR, message, "did you mean 'tool'?")
    assert parse(matcher="{tols: x, pattern: y}") == PLAIN.replace(
        matcher=Matcher(None, compile_pattern("y")), diagnostics=(reported,)
    )


CONTROLS = {'"\\brm\\b"': "\\brm\\b", '"a\\fb"': "a\\fb", '"a\\vb"': "a\\vb", '"\\x08"': "\\b"}


@pytest.mark.parametrize(("written", "meant"), CONTROLS.items())
def test_a_control_character_in_a_pattern_is_read_back_as_its_escape(written, meant):
    hook = parse(matcher=f"{{pattern: {written}}}")
    message = f"a control character was read as the escape it came from: {meant}"
    assert hook.matcher == Matcher(None, compile_pattern(meant))
    assert hook.diagnostics == (problem(5, "matcher.pattern", WARNING, message, "use single quotes"),)


def test_a_backslash_in_double_quotes_is_forgiven_with_a_warning():
    hook = parse(matcher='{pattern: "\\.py$"}')
    message = "YAML treats a backslash in double quotes as an escape; boathook kept it"
    assert hook == PLAIN.replace(
        matcher=Matcher(None, compile_pattern("\\.py$")),
        diagnostics=(problem(5, "", WARNING, message, "use single quotes"),),
    )


def test_a_bare_star_is_forgiven_with_a_warning():
    hook = parse(matcher="\n  tool: *")
    assert (hook.state, hook.matcher) == (ARMED, ALL)
    assert hook.diagnostics == (problem(6, "", WARNING, 'a bare * was read as "*"', "quote it"),)


# Needs

NEEDS = {
    "lists": ("{bins: [a, b], os: [linux]}", Needs(("a", "b"), (), ("linux",)), ()),
    "one name": ("{bins: git}", Needs(("git",)), ()),
    "nothing": ("{}", Needs(), ()),
    "a mapping for names": (
        "{bins: {a: b}}",
        Needs(),
        (
            problem(
                5,
                "requires.bins",
                ERROR,
                "'bins' must be a list of names, not an object; it is ignored",
                'for example bins: ["git"]',
            ),
        ),
    ),
    "an empty name": (
        "{env: [A, '']}",
        Needs((), ("A",)),
        (
            problem(
                5,
                "requires.env",
                ERROR,
                "'env' must be a list of names; only its valid items are used",
                'for example env: ["TOKEN"]',
            ),
        ),
    ),
    "an unknown field": (
        "{bin: git}",
        Needs(),
        (problem(5, "requires.bin", WARNING, "unknown key 'bin'", "did you mean 'bins'?"),),
    ),
}


@pytest.mark.parametrize(("value", "needs", "message"), NEEDS.values(), ids=NEEDS)
def test_needs_are_lists_of_names(value, needs, message):
    assert parse(requires=value) == PLAIN.replace(needs=needs, diagnostics=message)


def test_env_is_a_list_of_names():
    assert parse(env="TOKEN") == PLAIN.replace(env=("TOKEN",))
    reported = problem(
        5,
        "env",
        ERROR,
        "'env' must be a list of names; only its valid items are used",
        'for example env: ["TOKEN"]',
    )
    assert parse(env="[A, [B]]") == PLAIN.replace(env=("A",), diagnostics=(reported,))


def test_problems_are_reported_in_the_order_of_their_lines():
    hook = parse(timeout="x", zzz=1, priority="y")
    assert [(p.line, p.key) for p in hook.diagnostics] == [(5, "timeout"), (6, "zzz"), (7, "priority")]


def test_a_pattern_of_groups_in_groups_does_not_keep_the_others_from_loading():
    source = "(" * 500 + "ab" + ")" * 500
    assert parse(matcher=f"{{pattern: '{source}'}}").state == ARMED


# Folder names and numbers


def test_a_folder_name_that_is_not_text_is_reported_in_escapes():
    hook = parse(folder="/h/\udcff")
    assert (hook.name, hook.handler) == ("guard", Script("/h/\udcff"))
    message = "name 'guard' differs from its folder '\\udcff'"
    assert hook.diagnostics == (problem(2, "name", WARNING, message, RENAME),)
    assert parse(folder="/h/\udcff", name=None).name == "\\udcff"


@given(st.integers(-(10**18) + 1, 10**18 - 1))
def test_a_whole_number_is_plain_decimal(number):
    assert read_whole_number(Scalar(str(number), 1, quoted=False)) == number
    assert read_whole_number(Scalar(str(number), 1, quoted=True)) is None


@pytest.mark.parametrize(
    "text", ["", "-", "+1", "1_0", "01", "-01", "0x1", "1.0", "1e3", "1:30", "²", "٣", "9" * 19, " 1"]
)
def test_anything_else_is_not_a_whole_number(text):
    assert read_whole_number(Scalar(text, 1, quoted=False)) is None


VALUES = [
    "",
    "x",
    "~",
    "[]",
    "{}",
    "[a, {b: c}]",
    "{a: b}",
    "true",
    "'x'",
    '"\\d"',
    "-1",
    "|",
    "*",
    "(",
    "&a 1",
    "!x y",
]
any_fields = st.dictionaries(st.sampled_from([*FIELDS, "other"]), st.sampled_from(VALUES), max_size=6)


@given(any_fields, st.sampled_from(["user", "project"]))
def test_any_fields_make_a_hook_that_reports_what_is_wrong(fields, scope):
    text = "\n".join(["---", *(f"{key}: {value}" for key, value in fields.items()), "---", ""])
    hook, _ = parse_text(text, scope)
    assert (hook.state == INVALID) == (hook.state_reason != "")
    assert hook.state == ARMED or any(p.level == ERROR and p.message == hook.state_reason for p in hook.diagnostics)
    assert hook.state == INVALID or hook.kind is not None


@given(st.text(max_size=80))
def test_any_text_of_a_file_makes_a_hook(text):
    hook, _ = parse_text(text)
    assert hook.state == INVALID or hook.kind is not None


@pytest.mark.parametrize(
    ("trigger", "dialect", "message", "fix"),
    [
        (
            "Stop",
            "cline",
            f"'dialect' must be {join_words(HOOK_DIALECTS)}, not 'cline'; native is used",
            "for example dialect: native",
        ),
        ("pre-step", "claude", "the dialect 'claude' has no event like pre-step; native is used", "remove it"),
    ],
    ids=["unknown", "no such event there"],
)
def test_a_dialect_that_cannot_be_spoken_is_reported_and_the_own_one_used(trigger, dialect, message, fix):
    text = f"---\nname: guard\ndescription: d\ntrigger: {trigger}\ndialect: {dialect}\n---\n"
    hook, _ = parse_manifest(text, path="/h/guard/HOOK.md", folder="/h/guard", scope="user")
    problem = Diagnostic("/h/guard/HOOK.md", 5, "dialect", ERROR, message, fix)
    assert (hook.state, hook.dialect.name, hook.diagnostics) == ("armed", "native", (problem,))


# Limits on what a text may cost (found by fuzzing)


def test_what_unknown_fields_might_have_meant_is_guessed_for_the_first_of_them():
    fixes = [
        p.fix
        for p in parse_text("---\n" + "".join(f"priorit{n}: 1\n" for n in range(100)) + "---\n")[0].diagnostics
        if "unknown" in p.message
    ]
    assert len(fixes) == MAX_DIAGNOSTICS
    assert fixes[0] == "did you mean 'priority'?"
    assert fixes[-1] == ""
