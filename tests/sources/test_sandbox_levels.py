"""Who decides on the sandbox of a hook: a project may only raise what the user demands (S9)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.hook import ERROR, ISOLATED, SANDBOX_LEVELS, WARNING
from boathook.sources.hooks_toml import HooksConfig, check_configs, read_hooks_toml, tune_hook
from boathook.sources.sandbox_levels import find_strictest
from tests.core.builders import a_hook, a_settings_hook

NOTHING, LEVEL_IS_SET = frozenset[str](), frozenset({"sandbox"})
B, R, I = SANDBOX_LEVELS  # noqa: E741


def config(scope: str, sandbox: str = "", default: str = "", override: str = "", **more) -> HooksConfig:
    tuning = ({"sandbox": override} if override else {}) | more
    return HooksConfig(
        f"/{scope}.toml",
        scope,
        sandbox=sandbox,
        defaults={"sandbox": default} if default else {},
        override=(("guard", tuning),) if tuning else (),
    )


def user(*args: str, **more) -> HooksConfig:
    return config("user", *args, **more)


def project(*args: str, **more) -> HooksConfig:
    return config("project", *args, **more)


# scope, what its HOOK.md sets, the user's file, the project's file: the level
RULES = {
    "no level is set": ("user", "", user(), project(), B),
    "the hook sets it": ("user", R, user(), project(), R),
    "the user's floor": ("user", "", user(R), project(), R),
    "the floor is a floor": ("user", I, user(R), project(), I),
    "a user hook cannot go below the floor": ("user", B, user(R), project(), R),
    "the user's default": ("user", "", user("", R), project(), R),
    "a user hook's word counts before the default": ("user", B, user("", R), project(), B),
    "the user's override is the last word, lower": ("user", I, user(R, R, B), project(), B),
    "the user's override is the last word, higher": ("user", "", user("", "", I), project(), I),
    "a project's file is not for user hooks": ("user", "", user(), project(I, I, I), B),
    "a project hook under the user's floor": ("project", "", user(R), project(), R),
    "a project hook cannot go below the floor": ("project", B, user(R), project(B, B, B), R),
    "a project hook cannot go below the user's default": ("project", B, user("", R), project(), R),
    "a project hook may raise itself": ("project", I, user(R), project(), I),
    "a project's floor": ("project", "", user(), project(R), R),
    "a project's default": ("project", "", user(), project("", R), R),
    "a project's override": ("project", "", user(), project("", "", R), R),
    "a project's override cannot lower": ("project", R, user(), project("", "", B), R),
    "the user's override raises a project hook": ("project", "", user("", "", R), project(), R),
    "the user's override does not lower a project hook": ("project", "", user(I, "", B), project(), I),
}


@pytest.mark.parametrize(("scope", "own", "users", "projects", "level"), RULES.values(), ids=RULES)
def test_the_level_of_a_hook_is_settled_by_rank(scope, own, users, projects, level):
    hook = a_hook(scope=scope, sandbox=own or B)
    assert tune_hook(hook, LEVEL_IS_SET if own else NOTHING, projects, users) == hook.replace(sandbox=level)


levels = st.sampled_from(["", *SANDBOX_LEVELS])
files = st.builds(config, st.just("project"), levels, levels, levels)
users = st.builds(config, st.just("user"), levels, levels, levels)


@given(levels, files, users, st.sampled_from(["user", "project"]))
def test_nothing_of_a_project_ever_lowers_a_level(own, projects, user_file, scope):
    written = LEVEL_IS_SET if own else NOTHING
    hook = a_hook(scope=scope, sandbox=own or B)
    found = tune_hook(hook, written, projects, user_file).sandbox
    alone = tune_hook(hook, written, project(), user_file).sandbox
    assert SANDBOX_LEVELS.index(found) >= SANDBOX_LEVELS.index(alone)
    assert scope == "project" or found == alone


@given(levels, users)
def test_a_project_hook_has_at_least_what_the_user_demands(own, user_file):
    hook = tune_hook(a_hook(scope="project", sandbox=own or B), LEVEL_IS_SET if own else NOTHING, project(), user_file)
    demands = [user_file.sandbox, user_file.defaults.get("sandbox", "")]
    assert find_strictest([hook.sandbox, *demands]) == hook.sandbox


def test_levels_are_ranked():
    assert [find_strictest(pair) for pair in itertools.product(SANDBOX_LEVELS, SANDBOX_LEVELS)] == [
        B,
        R,
        I,
        R,
        R,
        I,
        I,
        I,
        I,
    ]
    assert (find_strictest([]), find_strictest([""])) == (B, B)


# What an override opens

GRANT = {"network": True, "env": ["API_TOKEN", "MINE"], "imports": "project"}
OPENED = {"network": True, "imports": "project"}
GRANTED = {
    "the user's": (a_hook(env=("MINE",)), {**OPENED, "env": ("MINE", "API_TOKEN")}),
    "settings of the user": (a_settings_hook(), {**OPENED, "env": ("API_TOKEN", "MINE")}),
    "settings of the project": (a_settings_hook(scope="project"), {}),
    "local settings": (a_settings_hook(scope="local"), {}),
    "a project's": (a_hook(scope="project", env=("MINE",)), {}),
}


@pytest.mark.parametrize(("hook", "changes"), GRANTED.values(), ids=GRANTED)
def test_network_variables_and_imports_are_opened_to_hooks_of_the_user(hook, changes):
    assert tune_hook(hook, NOTHING, project(), user(**GRANT)) == hook.replace(**changes)


@pytest.mark.parametrize("scope", ["user", "project", "local"])
def test_an_override_that_names_a_project_is_for_the_hooks_of_that_project_alone(tmp_path, scope):
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to("here")
    here = project().replace(path=f"{tmp_path}/here/.agents/hooks.toml")
    there = project().replace(path=f"{tmp_path}/there/.agents/hooks.toml")
    users = user(project=f"{tmp_path}/link", timeout=5000, override=R, **GRANT)
    hook = a_settings_hook(scope=scope)
    granted = hook.replace(**OPENED, env=("API_TOKEN", "MINE"), timeout=5.0, sandbox=R)
    found = [tune_hook(hook, NOTHING, config, users) for config in (here, there, project().replace(path=""))]
    assert found == [granted, hook, hook]
    assert [check_configs((a_hook("other"),), config, users) == () for config in (here, there)] == [False, True]


def test_an_override_for_a_wrong_project_is_for_none(read):
    text = f'{GUARD}timeout = 5000\nproject = "here"'
    found = read(text)
    expected = (
        "'project' must be an absolute path, not 'here'; the override is for no project",
        'for example project = "/path/to/project"',
    )
    assert list_diagnostics(found) == [(ERROR, "hooks.override.project", *expected)]
    assert tune_hook(a_hook(), NOTHING, project(), found) == a_hook()


def test_a_network_may_be_closed_by_the_user():
    assert not tune_hook(a_hook(network=True), NOTHING, project(), user(network=False)).network


# What is reported


@pytest.fixture
def read(tmp_path):
    def _read(text: str, scope: str = "user") -> HooksConfig:
        path = tmp_path / "hooks.toml"
        path.write_text(text)
        return read_hooks_toml(str(path), scope).replace(path="toml")

    return _read


def list_diagnostics(found: HooksConfig) -> list[tuple[str, str, str, str]]:
    return [(p.level, p.key, p.message, p.fix) for p in found.diagnostics]


def test_every_place_of_a_level_is_read(read):
    text = """
[hooks]
sandbox = "restricted"
[hooks.defaults]
sandbox = "basic"
[[hooks.override]]
name = "guard"
sandbox = "isolated"
network = true
env = ["API_TOKEN"]
"""
    assert read(text) == HooksConfig(
        "toml",
        "user",
        sandbox="restricted",
        defaults={"sandbox": "basic"},
        override=(("guard", {"sandbox": "isolated", "network": True, "env": ["API_TOKEN"]}),),
    )


MUST = "'sandbox' must be basic, restricted or isolated, not {}; isolated is used"
LEVEL = 'for example sandbox = "isolated"'
GUARD = '[[hooks.override]]\nname = "guard"\n'
WRONG = {
    "an unknown level": (
        '[hooks]\nsandbox = "airtight"',
        ERROR,
        "hooks.sandbox",
        MUST.format("'airtight'"),
        LEVEL,
    ),
    "a flag for a level": ("[hooks]\nsandbox = true", ERROR, "hooks.sandbox", MUST.format("true"), LEVEL),
    "a wrong default": (
        '[hooks.defaults]\nsandbox = "none"',
        ERROR,
        "hooks.defaults.sandbox",
        MUST.format("'none'"),
        LEVEL,
    ),
    "a wrong override": (f"{GUARD}sandbox = []", ERROR, "hooks.override.sandbox", MUST.format("a list"), LEVEL),
    "a word for the network": (
        f'{GUARD}network = "yes"',
        ERROR,
        "hooks.override.network",
        "'network' must be true or false, not 'yes'; it is ignored",
        "",
    ),
    "a word for names": (
        f'{GUARD}env = "X"',
        ERROR,
        "hooks.override.env",
        "'env' must be a list of names, not 'X'; it is ignored",
        'for example env = ["TOKEN"]',
    ),
    "a default network": (
        "[hooks.defaults]\nnetwork = true",
        WARNING,
        "hooks.defaults.network",
        "unknown key 'network'",
        "known: timeout, priority, async, on_failure, sandbox",
    ),
}


@pytest.mark.parametrize(("text", "level", "key", "message", "fix"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_reported(read, text, level, key, message, fix):
    assert list_diagnostics(read(text)) == [(level, key, message, fix)]


def test_of_a_wrong_level_the_strictest_counts(read):
    assert read('[hooks]\nsandbox = "airtight"').sandbox == ISOLATED


@pytest.mark.parametrize("line", ["network = true", 'env = ["X"]', 'env = "X"', 'project = "/x"'])
def test_a_project_opens_nothing_by_an_override(read, line):
    key = line.partition(" ")[0]
    found = read(f"{GUARD}{line}", "project")
    message = f"'{key}' can only be set by the user; it is ignored here"
    assert (found.override, list_diagnostics(found)) == (
        (("guard", {}),),
        [(WARNING, f"hooks.override.{key}", message, "")],
    )


LOWERS = "a project cannot lower your sandbox = restricted"
VAIN = {
    "a floor": (user(R), project(B), [("/project.toml", "hooks.sandbox", LOWERS)]),
    "a default": (user("", R), project("", B), [("/project.toml", "hooks.defaults", LOWERS)]),
    "an override": (user(R), project("", "", B), [("/project.toml", "hooks.override", LOWERS)]),
    "as much as the user": (user(R), project(R, I, R), []),
    "the user's for a project's hook": (
        user("", "", B),
        project(R),
        [("/user.toml", "hooks.override", "the sandbox of the project's hook 'guard' can only be raised")],
    ),
    "a grant for a project's hook": (
        user(network=True),
        project(),
        [
            (
                "/user.toml",
                "hooks.override",
                "network, env and imports need project = \"/its/path\" here, because 'guard' is a project's hook",
            )
        ],
    ),
}


@pytest.mark.parametrize(("users", "projects", "message"), VAIN.values(), ids=VAIN)
def test_what_has_no_effect_is_reported(users, projects, message):
    hooks = (tune_hook(a_hook(scope="project"), NOTHING, projects, users),)
    assert [(d.path, d.key, d.message) for d in check_configs(hooks, projects, users)] == message
