"""hooks.toml: every key at both levels, and a project that may only tighten (S9)."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.catalog import Settings
from boathook.core.hook import DISABLED, ERROR, WARNING, Diagnostic
from boathook.sources.fields import MAX_DIAGNOSTICS
from boathook.sources.hooks_toml import (
    MAX_DOTS_PER_LINE,
    HooksConfig,
    build_settings,
    check_configs,
    disable_hook,
    read_hooks_toml,
    tune_hook,
)
from tests.core.builders import a_hook

KNOWN = (
    "enabled, debug, strict_exit_codes, max_stop_blocks, max_timeout, model, untrusted, record, degraded, broken, "
    "warm, ask, ask_timeout, approvals, sandbox, defaults, sources, projects, disable, override"
)
TUNABLE = "timeout, priority, async, on_failure, sandbox"


@pytest.fixture
def read(tmp_path):
    def _read(text: str | bytes, scope: str = "user") -> HooksConfig:
        path = tmp_path / "hooks.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_hooks_toml(str(path), scope).replace(path="toml")

    return _read


def list_diagnostics(config: HooksConfig) -> list[tuple[str, str, str, str]]:
    return [(p.level, p.key, p.message, p.fix) for p in config.diagnostics]


def test_every_key_of_the_user_is_read(read):
    text = """
[hooks]
enabled = false
debug = true
strict_exit_codes = true
max_stop_blocks = 7

[hooks.defaults]
timeout = 1000
priority = 5
async = true
on_failure = "block"

[[hooks.disable]]
name = "noisy"

[[hooks.disable]]
name = "slow"

[[hooks.override]]
name = "guard"
timeout = 200
on_failure = "allow"
"""
    assert read(text) == HooksConfig(
        "toml",
        "user",
        enabled=False,
        settings={"debug": True, "strict_exit_codes": True, "max_stop_blocks": 7},
        defaults={"timeout": 1000, "priority": 5, "async": True, "on_failure": "block"},
        disable=("noisy", "slow"),
        override=(("guard", {"timeout": 200, "on_failure": "allow"}),),
    )


def test_a_file_that_is_missing_or_empty_sets_nothing(read, tmp_path):
    assert read_hooks_toml(str(tmp_path / "gone.toml"), "user") == HooksConfig(str(tmp_path / "gone.toml"), "user")
    below = str(tmp_path / "hooks.toml" / "below")
    assert read("") == HooksConfig("toml", "user")
    assert read_hooks_toml(below, "user") == HooksConfig(below, "user")


def test_settings_of_the_engine_are_the_user_s(read):
    assert build_settings(read("")) == Settings()
    found = read("[hooks]\ndebug = true\nstrict_exit_codes = true\nmax_stop_blocks = 0\n")
    assert build_settings(found) == Settings(debug=True, strict_exit_codes=True, max_stop_blocks=0)


@pytest.mark.parametrize("line", ["debug = true", "strict_exit_codes = true", "max_stop_blocks = 100"])
def test_settings_of_a_project_are_ignored_with_a_warning(read, line):
    key = line.partition(" ")[0]
    config = read(f"[hooks]\n{line}\n", "project")
    message = f"'{key}' can only be set by the user; it is ignored here"
    assert (config.settings, list_diagnostics(config)) == ({}, [(WARNING, f"hooks.{key}", message, "")])


NAMED = "'{}' must be a list of tables that each have a name{}; it is ignored"
WRONG = {
    "an unknown table": (
        "[other]\nx = 1",
        WARNING,
        "other",
        "unknown key 'other'",
        "known: hooks, packs",
    ),
    "an unknown key": ("[hooks]\nzzz = true", WARNING, "hooks.zzz", "unknown key 'zzz'", f"known: {KNOWN}"),
    "a slip in a key": (
        "[hooks]\nenable = true",
        WARNING,
        "hooks.enable",
        "unknown key 'enable'",
        "did you mean 'enabled'?",
    ),
    "hooks that are not a table": ("hooks = 1", ERROR, "hooks", "'hooks' must be a table, not 1; it is ignored", ""),
    "a word for a flag": (
        '[hooks]\nenabled = "no"',
        ERROR,
        "hooks.enabled",
        "'enabled' must be true or false, not 'no'; true is used",
        "for example enabled = true",
    ),
    "a slip in who asks": (
        '[hooks]\nask = "waitt"',
        ERROR,
        "hooks.ask",
        "'ask' must be host, wait or deny, not 'waitt'; questions are denied",
        'did you mean ask = "wait"?',
    ),
    "a slip in the warm engine": (
        '[hooks]\nwarm = "onn"',
        ERROR,
        "hooks.warm",
        "'warm' must be off or on, not 'onn'; off is used",
        'did you mean warm = "on"?',
    ),
    "a flag for the warm engine": (
        "[hooks]\nwarm = true",
        ERROR,
        "hooks.warm",
        "'warm' must be off or on, not true; off is used",
        'did you mean warm = "on"?',
    ),
    "a flag for who asks": (
        "[hooks]\nask = true",
        ERROR,
        "hooks.ask",
        "'ask' must be host, wait or deny, not true; questions are denied",
        'for example ask = "wait"',
    ),
    "a slip in the second factor": (
        '[hooks.approvals]\nfactor = "totpp"',
        ERROR,
        "hooks.approvals.factor",
        "'factor' must be none, totp or askpass, not 'totpp'; no answer that needs a second factor counts, and none on the page",
        'did you mean factor = "totp"?',
    ),
    "a number for a flag": (
        "[hooks]\ndebug = 1",
        ERROR,
        "hooks.debug",
        "'debug' must be true or false, not 1; false is used",
        "for example debug = false",
    ),
    "a flag for a number": (
        "[hooks]\nmax_stop_blocks = true",
        ERROR,
        "hooks.max_stop_blocks",
        "'max_stop_blocks' must be a whole number from 0 to 100, not true; 3 is used",
        "for example max_stop_blocks = 3",
    ),
    "a number too high": (
        "[hooks]\nmax_stop_blocks = 101",
        ERROR,
        "hooks.max_stop_blocks",
        "'max_stop_blocks' must be a whole number from 0 to 100, not 101; 3 is used",
        "for example max_stop_blocks = 3",
    ),
    "defaults that are not a table": (
        "[hooks]\ndefaults = 1",
        ERROR,
        "hooks.defaults",
        "'defaults' must be a table, not 1; it is ignored",
        "",
    ),
    "an unknown default": (
        "[hooks.defaults]\nmatcher = 1",
        WARNING,
        "hooks.defaults.matcher",
        "unknown key 'matcher'",
        f"known: {TUNABLE}",
    ),
    "a default of a wrong type": (
        '[hooks.defaults]\ntimeout = "5s"',
        ERROR,
        "hooks.defaults.timeout",
        "'timeout' must be a whole number of milliseconds from 100 to 600000, not '5s'; it is ignored",
        "",
    ),
    "a flag for a timeout": (
        "[hooks.defaults]\ntimeout = true",
        ERROR,
        "hooks.defaults.timeout",
        "'timeout' must be a whole number of milliseconds from 100 to 600000, not true; it is ignored",
        "",
    ),
    "a number for async": (
        "[hooks.defaults]\nasync = 1",
        ERROR,
        "hooks.defaults.async",
        "'async' must be true or false, not 1; it is ignored",
        "",
    ),
    "another word for on_failure": (
        '[hooks.defaults]\non_failure = "deny"',
        ERROR,
        "hooks.defaults.on_failure",
        "'on_failure' must be allow or block, not 'deny'; it is ignored",
        'for example on_failure = "block"',
    ),
    "a list for on_failure": (
        "[hooks.defaults]\non_failure = []",
        ERROR,
        "hooks.defaults.on_failure",
        "'on_failure' must be allow or block, not a list; it is ignored",
        'for example on_failure = "block"',
    ),
    "disable without a name": (
        "[[hooks.disable]]\nhook = 'x'",
        ERROR,
        "hooks.disable",
        NAMED.format("disable", ""),
        'for example disable = [{"name": "…"}]',
    ),
    "disable that is not a list": (
        "[hooks]\ndisable = 'x'",
        ERROR,
        "hooks.disable",
        NAMED.format("disable", ", not 'x'"),
        'for example disable = [{"name": "…"}]',
    ),
    "disable with names only": (
        "[hooks]\ndisable = ['x']",
        ERROR,
        "hooks.disable",
        NAMED.format("disable", ""),
        'for example disable = [{"name": "…"}]',
    ),
    "override without a name": (
        "[[hooks.override]]\ntimeout = 200",
        ERROR,
        "hooks.override",
        NAMED.format("override", ""),
        'for example override = [{"name": "…"}]',
    ),
    "an unknown override": (
        "[[hooks.override]]\nname = 'x'\ntrigger = 'Stop'",
        WARNING,
        "hooks.override.trigger",
        "unknown key 'trigger'",
        f"known: name, {TUNABLE}, network, env, imports, project",
    ),
}


@pytest.mark.parametrize(("text", "level", "key", "message", "fix"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_reported_and_left_out(read, text, level, key, message, fix):
    config = read(text)
    assert list_diagnostics(config) == [(level, key, message, fix)]
    assert (config.enabled, config.settings.get("max_stop_blocks"), config.defaults) == (True, None, {})


def test_a_number_out_of_range_is_kept_at_its_limit(read):
    config = read("[hooks.defaults]\ntimeout = 1\npriority = 2000\n")
    assert config.defaults == {"timeout": 100, "priority": 1000}
    assert list_diagnostics(config) == [
        (
            ERROR,
            "hooks.defaults.timeout",
            "'timeout' must be a whole number of milliseconds from 100 to 600000, not 1; 100 is used",
            "if you mean seconds, write timeout = 1000",
        ),
        (
            ERROR,
            "hooks.defaults.priority",
            "'priority' must be a whole number from 0 to 1000, not 2000; 1000 is used",
            "",
        ),
    ]


def test_what_is_right_beside_what_is_wrong_still_counts(read):
    config = read("[[hooks.disable]]\nname = 'x'\n[[hooks.disable]]\n[hooks.defaults]\nasync = 1\npriority = 7\n")
    assert (config.disable, config.defaults) == (("x",), {"priority": 7})


BROKEN = {
    "no TOML": ("[hooks", "not valid TOML: "),
    "a repeated key": ("a = 1\na = 2", "not valid TOML: "),
    "an impossible date": ("a = 2024-13-45", "not valid TOML: "),
    "bytes": (b"a = '\xff'", "hooks.toml is not UTF-8 at byte 5"),
    "a NUL": (b"a = 1\0", "hooks.toml contains a NUL character"),
    "nesting": ("a = " + "[" * 50_000, ""),
    "too large": ("#" * (1 << 20) + "##", "hooks.toml is larger than 32 KiB"),
    "a number of five thousand digits": ("a = 1" + "0" * 5000, ""),
}


@pytest.mark.parametrize(("text", "start"), BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_file_that_cannot_be_read_is_an_error_and_counts_as_empty(read, text, start, scope):
    config = read(text, scope)
    assert config.replace(diagnostics=()) == HooksConfig("toml", scope)
    assert [(p.level, p.message[: len(start)]) for p in config.diagnostics] == [(ERROR, start)]


def test_a_fifo_or_folder_is_an_error_without_a_wait(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", tmp_path):
        reported = Diagnostic(str(path), None, "", ERROR, "hooks.toml is not a regular file")
        assert read_hooks_toml(str(path), "user") == HooksConfig(str(path), "user", diagnostics=(reported,))


tomlish = st.text(alphabet="hoks.=[]{}\"'\n0123456789truefalsnmd_,-: #", max_size=60)
snippets = st.lists(
    st.sampled_from(
        ["[hooks]\n", "[[hooks.disable]]\n", "[hooks.defaults]\n", "name = 'x'\n", "timeout = ", "1\n", "async = "]
    ),
    max_size=8,
).map("".join)


@given(tomlish | snippets | st.text(max_size=40))
def test_any_text_is_read_as_a_config(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("toml") / "hooks.toml"
    path.write_bytes(text.encode())
    config = read_hooks_toml(str(path), "user")
    assert (config.path, config.scope) == (str(path), "user")


# What a config does to hooks

EMPTY = HooksConfig("", "project")
MINE, THEIRS = a_hook(), a_hook(scope="project")


def user(**fields) -> HooksConfig:
    return HooksConfig("u.toml", "user", **fields)


def project(**fields) -> HooksConfig:
    return HooksConfig("p.toml", "project", **fields)


ALL_FOUR = {"timeout": 500, "priority": 9, "async": True, "on_failure": "block"}
CHANGED = {"timeout": 0.5, "priority": 9, "background": True, "on_failure": "block"}


def test_defaults_are_for_fields_that_a_hook_does_not_set():
    config = user(defaults=ALL_FOUR)
    assert tune_hook(MINE, frozenset(), EMPTY, config) == MINE.replace(**CHANGED)
    assert tune_hook(MINE, frozenset({"timeout", "async"}), EMPTY, config) == MINE.replace(
        priority=9, on_failure="block"
    )
    assert tune_hook(THEIRS, frozenset(), EMPTY, config) == THEIRS.replace(**CHANGED)


def test_defaults_of_a_project_are_for_its_own_hooks_and_go_before_the_user_s():
    config = project(defaults={"timeout": 200, "priority": 1})
    assert tune_hook(MINE, frozenset(), config, user()) == MINE
    assert tune_hook(THEIRS, frozenset(), config, user(defaults=ALL_FOUR)) == THEIRS.replace(
        **{**CHANGED, "timeout": 0.2, "priority": 1}
    )


def test_defaults_of_a_project_cannot_turn_the_user_s_block_into_allow():
    config = project(defaults={"on_failure": "allow"})
    blocking = user(defaults={"on_failure": "block"})
    assert tune_hook(THEIRS, frozenset(), config, blocking) == THEIRS.replace(on_failure="block")
    assert tune_hook(THEIRS, frozenset(), config, user()) == THEIRS
    assert [d.message for d in check_configs((THEIRS,), config, blocking)] == [
        "a project cannot turn your on_failure = block into allow"
    ]


def test_overrides_of_the_user_are_for_any_hook_and_have_the_last_word():
    config = user(override=(("guard", ALL_FOUR), ("other", {"priority": 1})))
    assert tune_hook(MINE, frozenset({"timeout", "priority"}), EMPTY, config) == MINE.replace(**CHANGED)
    assert tune_hook(THEIRS, frozenset(), project(override=(("guard", {"timeout": 900}),)), config) == THEIRS.replace(
        **CHANGED
    )


def test_overrides_of_a_project_are_for_its_own_hooks():
    config = project(override=(("guard", ALL_FOUR),))
    assert tune_hook(THEIRS, frozenset(), config, user()) == THEIRS.replace(**CHANGED)


def test_overrides_of_a_project_can_only_make_a_user_s_hook_block_on_failure():
    assert tune_hook(MINE, frozenset(), project(override=(("guard", ALL_FOUR),)), user()) == MINE.replace(
        on_failure="block"
    )
    strict = MINE.replace(on_failure="block")
    loosening = project(override=(("guard", {"on_failure": "allow", "async": True}),))
    assert tune_hook(strict, frozenset({"on_failure"}), loosening, user()) == strict


tunings = st.dictionaries(st.sampled_from(["timeout", "priority", "async", "on_failure"]), st.none(), max_size=4).map(
    lambda found: {key: ALL_FOUR[key] for key in found}
) | st.just({"on_failure": "allow", "priority": 0})


@given(tunings, tunings, st.booleans(), st.booleans(), st.sampled_from(["allow", "block"]))
def test_a_project_can_at_most_tighten_a_hook_of_the_user(defaults, override, enabled, named, on_failure):
    config = project(
        defaults=defaults, override=(("guard", override),), enabled=enabled, disable=("guard",) if named else ()
    )
    hook = MINE.replace(on_failure=on_failure)
    tuned = disable_hook(tune_hook(hook, frozenset(), config, user()), config, user())
    assert tuned in (hook, hook.replace(on_failure="block"))


def test_the_user_disables_any_hook():
    config = user(disable=("guard",))
    for hook in (MINE, THEIRS):
        assert disable_hook(hook, EMPTY, config) == hook.replace(state=DISABLED, state_reason="disabled by u.toml")
    assert disable_hook(a_hook("other"), EMPTY, config) == a_hook("other")


def test_a_project_disables_its_own_hooks_only():
    config = project(disable=("guard",))
    assert disable_hook(MINE, config, user()) == MINE
    assert disable_hook(THEIRS, config, user()) == THEIRS.replace(state=DISABLED, state_reason="disabled by p.toml")


def test_enabled_false_disables_all_hooks_or_those_of_the_project():
    off = "(enabled = false)"
    assert disable_hook(MINE, EMPTY, user(enabled=False)) == MINE.replace(
        state=DISABLED, state_reason=f"disabled by u.toml {off}"
    )
    assert disable_hook(THEIRS, EMPTY, user(enabled=False)).state_reason == f"disabled by u.toml {off}"
    assert disable_hook(MINE, project(enabled=False), user()) == MINE
    assert disable_hook(THEIRS, project(enabled=False), user()).state_reason == f"disabled by p.toml {off}"


def test_a_protected_hook_is_not_disabled_by_name_but_with_all_the_others():
    hook = MINE.replace(protected=True)
    named = user(disable=("guard",))
    assert disable_hook(hook, EMPTY, named) == hook
    assert disable_hook(hook, EMPTY, named.replace(enabled=False)).state == DISABLED
    assert [(d.path, d.level, d.message) for d in check_configs((hook,), EMPTY, named)] == [
        ("u.toml", WARNING, "'guard' is protected, so it is not disabled; remove 'protected' from its HOOK.md first")
    ]


def list_messages(hooks, config: HooksConfig, other: HooksConfig | None = None) -> list[str]:
    return [d.message for d in check_configs(hooks, config, other or user())]


def test_what_a_project_may_not_have_is_reported():
    assert list_messages((MINE,), project(disable=("guard",))) == ["a project cannot disable your hook 'guard'"]
    only = "a project can only set on_failure = block for your hook 'guard'"
    assert list_messages((MINE,), project(override=(("guard", {"timeout": 200}),))) == [only]
    assert list_messages((MINE,), project(override=(("guard", {"on_failure": "block", "timeout": 200}),))) == [only]
    assert list_messages((MINE,), project(override=(("guard", {"on_failure": "block"}),))) == []
    assert list_messages((MINE, THEIRS), project(disable=("guard",), override=(("guard", {"timeout": 200}),))) == []


def test_a_name_that_no_hook_has_is_reported():
    none = "there is no hook named 'gone'"
    assert list_messages((MINE,), project(disable=("gone",)), user(override=(("gone", {}),))) == [none, none]
    (found,) = check_configs((MINE,), project(disable=("gone",)), user())
    assert found.fix == "boathook list shows the names; correct it, or remove the entry"


# Limits on what a file may cost (found by fuzzing)


def test_a_number_that_python_does_not_write_is_reported_all_the_same(read):
    found = read("[hooks.defaults]\ntimeout = 0x" + "f" * 4000)
    assert found.defaults == {"timeout": 600_000}
    assert found.diagnostics[0].message == (
        "'timeout' must be a whole number of milliseconds from 100 to 600000, not a number that large; 600000 is used"
    )


@pytest.mark.parametrize("end", ["\u2028", "\x85", "\u2029"])
def test_a_line_end_that_toml_does_not_know_hides_no_dots(read, end):
    found = read(("a." * (MAX_DOTS_PER_LINE - 2) + f'"{end}".') * 20 + "a = 1\n")
    assert [problem.message for problem in found.diagnostics] == [
        f"hooks.toml has a line with more than {MAX_DOTS_PER_LINE} dots"
    ]


def test_no_more_problems_of_a_file_are_reported_than_anybody_reads(read):
    assert len(read("".join(f"k{n} = 1\n" for n in range(1000))).diagnostics) == MAX_DIAGNOSTICS
    wrong = "[[hooks.override]]\nname = 'a'\ntimeout = 1\n" * 500
    assert len(read(wrong).diagnostics) == MAX_DIAGNOSTICS
