"""Matchers of in-process hooks (S13): names, globs, patterns, events, callables, and these joined."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.event import KINDS
from boathook.core.outcome import NOTHING, Outcome
from boathook.errors import ConfigError, HookError, UnknownEvent
from boathook.inprocess.contexts import ToolContext
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.matching import Match, all_of, any_of, event_is, make_match, tool_kind, tool_name, where
from boathook.inprocess.stack import Stack
from tests.inprocess.builders import BEFORE, EVERY, WAYS, fresh, noting

NAMED = {
    "exact": ("bash", "bash", True),
    "a part": ("bash", "bash2", False),
    "another case": ("bash", "Bash", False),
    "all": ("*", "anything", True),
    "all, written twice": ("**", "anything", True),
    "a beginning": ("read_*", "read_file", True),
    "a beginning, of another": ("read_*", "bread_file", False),
    "an end": ("*_file", "read_file", True),
    "a middle": ("mcp__*__get*", "mcp__git__get_log", True),
    "a star for nothing": ("read_*", "read_", True),
    "a dot is a dot": ("a.b*", "acb.c", False),
    "one of several": ("bash|shell", "shell", True),
    "none of several": ("bash|shell", "bash|shell", False),
    "one of several, with a star": ("bash|mcp__*", "mcp__git", True),
    "several, and all": ("bash|*", "anything", True),
    "a glob over lines": ("ba*h", "ba\ns\nh", True),
    "a regex is searched": ("/read|write/", "overwrite", True),
    "a regex, anchored": ("/^(read|write)_.+$/", "write_file", True),
    "a regex, anchored, not": ("/^(read|write)_.+$/", "overwrite_file", False),
    "an empty regex": ("//", "anything", True),
    "an empty regex with a flag": ("//i", "anything", True),
    "a regex in any case": ("/^BASH$/i", "bash", True),
    "a regex in its own case": ("/^BASH$/", "bash", False),
    "a regex with flags over lines": ("/^b.sh$/ms", "x\nb\nsh", True),
    "a slash in a name": ("git/log", "git/log", True),
    "a name beyond ASCII": ("größe*", "größe²", True),
}


@pytest.mark.parametrize(("pattern", "name", "expected"), NAMED.values(), ids=NAMED)
def test_tools_are_matched_by_name(pattern, name, expected):
    context = ToolContext.before(name, {})
    assert tool_name(pattern)(context) is expected
    assert make_match(pattern)(context) is expected


def test_tools_are_matched_by_what_they_do():
    patch = "*** Begin Patch\n*** Add File: .env\n+A=1\n*** End Patch"
    write = ToolContext.before("save_note", {"path": ".env", "note": "x"})
    shell = ToolContext.before("bash", {"command": "ls"})
    in_shell = ToolContext.before("Shell", {"command": f"apply_patch <<E\n{patch}\nE"})
    calls = (write, shell, in_shell)
    assert [tool_kind("writes")(call) for call in calls] == [True, False, True]
    assert [tool_kind("shell", "mcp")(call) for call in calls] == [False, True, True]
    assert [(~tool_kind("writes") & "b*")(call) for call in calls] == [False, True, False]
    assert [[(one.path, one.text, one.change) for one in call.writes] for call in calls] == [
        [(".env", "x", "write")],
        [],
        [(".env", "A=1\n", "write")],
    ]
    assert not any(tool_kind("writes")(context) for context in EVERY.values() if not context.kind.has_tool)
    with pytest.raises(HookError, match="there is no kind of tools 'writing'"):
        tool_kind("writing")


NEVER = {
    "a sign of globs": "re?d",
    "a class of letters": "[rw]ead",
    "a list with commas": "bash, shell",
    "a regex without slashes": "^bash$",
    "a regex with anything": "write.*",
    "a regex with something": "bash|write.+",
    "a group": "(read|write)_file",
    "a wrong flag": "/bash/g",
    "a regex that does not end": "/bash",
    "one slash": "/",
    "nothing before a line": "|bash",
    "nothing between lines": "bash||shell",
    "spaces around a name": "bash | shell",
}


@pytest.mark.parametrize("pattern", NEVER.values(), ids=NEVER)
def test_a_name_that_can_never_match_is_refused_at_once(pattern):
    with pytest.raises(HookError) as raised:
        tool_name(pattern)
    assert repr(pattern) in str(raised.value)
    assert "regex/" in str(raised.value)


def test_a_regex_without_slashes_is_an_error_with_both_ways_to_write_it():
    for pattern in ("write.*", "write.+"):
        with pytest.raises(HookError, match=rf"did you mean 'write\*' or '/{re.escape(pattern)}/'\?"):
            tool_name(pattern)


LETTERS = st.text("ab.*:@-_/é ", max_size=6).map(lambda text: re.sub(r"\.+\*", "*", text).strip(" /"))


def glob(pattern: str, name: str) -> bool:
    """What a glob means, written in another way."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None


@given(LETTERS.filter(bool), LETTERS)
def test_a_glob_is_the_whole_name_with_stars_for_anything(pattern, name):
    assert tool_name(pattern)(ToolContext.before(name, {})) == glob(pattern, name)


@given(LETTERS.filter(bool))
def test_a_name_matches_itself_and_with_stars_put_in(name):
    context = ToolContext.before(name, {})
    for at in range(len(name) + 1):
        if not name[:at].endswith("."):
            assert tool_name(f"{name[:at]}*{name[at:]}")(context)
    assert tool_name(name)(context)


@pytest.mark.parametrize("kind", EVERY)
def test_the_name_of_a_tool_matches_only_where_there_is_one(kind):
    has_tool = EVERY[kind].kind.has_tool
    assert tool_name("*")(EVERY[kind]) is has_tool
    assert (~tool_name("*"))(EVERY[kind]) is not has_tool


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_events_are_matched_in_any_spelling(kind):
    for spelling in (kind, kind.name, *kind.spellings):
        match = event_is(spelling)
        assert [name for name, context in EVERY.items() if match(context)] == [kind.name]
    assert event_is(kind, "notification")(EVERY["notification"])
    assert not event_is()(EVERY[kind.name])


def test_an_unknown_event_cannot_be_matched():
    with pytest.raises(UnknownEvent, match="did you mean 'PreToolUse'"):
        event_is("PreTooluse")


@pytest.mark.parametrize("pattern", ["/(/", "/(?=a/", "/a{2000}/"])
def test_a_pattern_that_does_not_compile_is_refused_at_once(pattern):
    with pytest.raises(HookError, match=re.escape(f"match='{pattern}' cannot be used: ")) as raised:
        tool_name(pattern)
    assert isinstance(raised.value.__cause__, ConfigError)


def test_a_mistake_in_a_match_names_the_hook():
    def guard(context): ...

    with pytest.raises(HookError) as raised:
        Hooks().before_tool(match="/(ba/")(guard)
    [note] = raised.value.__notes__
    assert re.fullmatch(r"in match= of the hook '.*guard' \(.*test_matching\.py:\d+\)", note)


def test_a_list_of_names_is_an_error_with_the_text_to_write():
    with pytest.raises(HookError, match=r"not list: write 'bash\|Shell'"):
        Hooks().before_tool(match=["bash", "Shell"])(print)
    for value in ([], [1], {"bash": 1}):
        with pytest.raises(HookError, match=r"a matcher must be a name, a callable or a Match, not (list|dict)$"):
            make_match(value)


def test_callables_are_asked():
    asked = where(lambda context: context.args.get("n", 0) > 1)
    assert [asked(ToolContext.before("x", {"n": n})) for n in range(4)] == [False, False, True, True]
    assert make_match(lambda context: "yes")(BEFORE) is True
    assert make_match(lambda context: [])(BEFORE) is False


@pytest.mark.parametrize("given", [5, None, b"bash", [5]], ids=repr)
def test_something_else_is_not_a_matcher(given):
    with pytest.raises(HookError) as reported:
        make_match(given)
    assert str(reported.value) == f"a matcher must be a name, a callable or a Match, not {type(given).__name__}"


def test_a_callable_that_turns_out_to_be_async_is_an_error():
    async def later(context):
        return False

    def disguised(context):
        return later(context)

    with pytest.raises(HookError, match="a matcher cannot be async"):
        make_match(disguised)(BEFORE)


# Joined

LEAVES = {
    "bash": ("bash", lambda context: context.tool == "bash"),
    "r*": ("r*", lambda context: context.tool.startswith("r")),
    "pre": (event_is("pre-tool-call", "pre-step"), lambda context: context.event in ("pre-tool-call", "pre-step")),
    "marked": (where(lambda context: bool(context.get("mark"))), lambda context: bool(context.get("mark"))),
}
TREES = st.recursive(
    st.sampled_from(sorted(LEAVES)),
    lambda inner: st.tuples(st.just("not"), inner) | st.tuples(st.sampled_from(["and", "or"]), inner, inner),
    max_leaves=8,
)
CONTEXTS = st.one_of(
    st.builds(
        lambda kind, tool, mark: fresh(kind, name=tool, metadata={"mark": mark}),
        st.sampled_from(["pre-tool-call", "post-tool-call", "permission-request"]),
        st.sampled_from(["bash", "read", "rm", "x"]),
        st.booleans(),
    ),
    st.builds(fresh, st.sampled_from(["pre-step", "post-step", "notification"])),
)


def built(tree) -> Match:
    """The tree as matchers joined with operators."""
    if isinstance(tree, str):
        return make_match(LEAVES[tree][0])
    if tree[0] == "not":
        return ~built(tree[1])
    left, right = built(tree[1]), built(tree[2])
    return left & right if tree[0] == "and" else left | right


def named(tree) -> Match:
    """The tree as matchers joined by name; plain texts and callables are matchers there too."""
    if isinstance(tree, str):
        return LEAVES[tree][0]
    if tree[0] == "not":
        return ~make_match(named(tree[1]))
    return (all_of if tree[0] == "and" else any_of)(named(tree[1]), named(tree[2]))


def meant(tree, context) -> bool:
    """What the tree means."""
    if isinstance(tree, str):
        return bool(LEAVES[tree][1](context)) and (context.kind.has_tool or tree not in ("bash", "r*"))
    if tree[0] == "not":
        return not meant(tree[1], context)
    return (all if tree[0] == "and" else any)([meant(tree[1], context), meant(tree[2], context)])


@given(TREES, CONTEXTS)
def test_joined_matchers_mean_what_they_are_built_from(tree, context):
    assert built(tree)(context) == make_match(named(tree))(context) == meant(tree, context)


@given(TREES, TREES, CONTEXTS)
def test_the_laws_of_de_morgan(one, other, context):
    a, b = built(one), built(other)
    assert (~(a & b))(context) == (~a | ~b)(context)
    assert (~(a | b))(context) == (~a & ~b)(context)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@given(trees=st.lists(TREES, min_size=1, max_size=4), contexts=st.lists(CONTEXTS, min_size=1, max_size=4))
def test_hooks_of_a_stack_are_asked_exactly_if_they_match(way, trees, contexts):
    notes, stack = [], Stack()
    for tree in trees:
        stack = stack.with_(noting(notes, tree), match=built(tree))
    for context in contexts:
        notes.clear()
        assert way.process(stack, context) == NOTHING
        assert notes == [tree for tree in trees if meant(tree, context)]


def test_any_number_can_be_joined():
    assert (all_of()(BEFORE), any_of()(BEFORE)) == (True, False)
    assert all_of("bash", "b*", lambda context: True)(BEFORE)
    assert any_of("x", "y", "/sh$/")(BEFORE)


def test_matchers_show_what_they_are():
    def late(context): ...

    match = (tool_name("bash") | "read_*") & ~event_is("Stop") & late
    assert (
        repr(match)
        == "(((tool_name('bash') | tool_name('read_*')) & ~event_is('pre-agent-turn-stop')) & where('late'))"
    )


def test_a_matcher_of_ones_own_is_asked_each_time(way):
    class Every(Match):
        def __init__(self, n):
            self.n, self.count = n, 0

        def __call__(self, context):
            self.count += 1
            return self.count % self.n == 0

    notes = []
    stack = Stack().with_(noting(notes, "hook"), match=Every(3) & "bash")
    for _ in range(7):
        way.process(stack, BEFORE)
    assert notes == ["hook", "hook"]


# What can never match at an event

NEVER_AT = {
    "a tool at a stop": ("before_stop", tool_name("bash")),
    "any tool at a stop": ("before_stop", tool_name("*")),
    "a kind of tools at a stop": ("before_stop", tool_kind("shell")),
    "another event": ("before_tool", event_is("Stop")),
    "no event": ("before_tool", event_is()),
    "not this event": ("before_tool", ~event_is("PreToolUse")),
    "no tool at all": ("before_tool", ~tool_name("*")),
    "a tool and more at a stop": ("before_stop", tool_name("bash") & (lambda context: True)),
    "two tools at a stop": ("before_stop", tool_name("bash") | tool_kind("shell")),
    "two events at once": ("before_tool", event_is("Stop") & event_is("PreToolUse")),
    "nothing": ("before_tool", any_of()),
    "what is denied twice": ("before_stop", ~~tool_name("bash")),
}


@pytest.mark.parametrize(("decorator", "match"), NEVER_AT.values(), ids=NEVER_AT)
def test_a_matcher_that_can_never_match_at_its_event_is_refused(decorator, match):
    hooks = Hooks()
    add = getattr(hooks, decorator)
    with pytest.raises(HookError) as reported:
        add(match=match)(print)
    event = "pre-tool-call" if decorator == "before_tool" else "pre-agent-turn-stop, which has no tool"
    assert str(reported.value).startswith(f"{match!r} can never match at {event}: ")
    assert not len(hooks.stack)


SOMETIMES_AT = {
    "a tool": ("before_tool", tool_name("bash")),
    "not a tool": ("before_tool", ~tool_name("bash")),
    "not a tool, where there is none": ("before_stop", ~tool_name("bash")),
    "not a kind of tools": ("before_tool", ~tool_kind("shell")),
    "this event and another": ("before_tool", event_is("PreToolUse", "Stop")),
    "a tool, or anything else": ("before_stop", tool_name("bash") | (lambda context: True)),
    "a callable": ("before_stop", where(lambda context: True)),
    "everything": ("before_stop", all_of()),
}


@pytest.mark.parametrize(("decorator", "match"), SOMETIMES_AT.values(), ids=SOMETIMES_AT)
def test_a_matcher_that_may_match_at_its_event_is_taken(decorator, match):
    hooks = Hooks()
    getattr(hooks, decorator)(match=match)(print)
    assert len(hooks.stack) == 1


def test_a_matcher_of_a_hook_for_every_event_is_taken():
    assert len(Stack().with_(print, match=tool_name("bash") & event_is("PreToolUse"))) == 1


@given(TREES, CONTEXTS)
def test_what_a_matcher_knows_of_an_event_is_true(tree, context):
    match = built(tree)
    assert match.matches_event(context.kind) in (None, match(context))


# A matcher that raises


def broken(context):
    raise KeyError("mark")


@pytest.mark.parametrize("around", [False, True], ids=["plain", "around"])
@pytest.mark.parametrize("failure", ["raise", "allow", "block"])
def test_a_matcher_that_raises_is_a_failure_of_its_hook(way, around, failure):
    notes = []

    def guard(context):
        notes.append("asked")

    def middleware(context, go_on):
        notes.append("asked")

    hook = middleware if around else guard
    hook.__qualname__ = "guard"
    stack = Stack().with_(hook, match=broken, on_failure=failure).with_(noting(notes, "later"))
    message = "hook 'guard' failed: KeyError: 'mark'"
    if failure == "raise":
        with pytest.raises(KeyError):
            way.process(stack, BEFORE)
    else:
        blocked, allowed = Outcome.block(message), Outcome(context=BEFORE.add_message(message))
        assert way.process(stack, BEFORE) == (blocked if failure == "block" else allowed)
    assert notes == (["later"] if failure == "allow" else [])


def test_many_tools_do_not_make_a_stack_forget_who_is_meant(way):
    notes = []
    stack = Stack().with_(lambda context: notes.append(context.tool), match="tool1*")
    names = [f"tool{n}" for n in range(300)] * 2
    for name in names:
        way.process(stack, ToolContext.before(name, {}))
    assert notes == [name for name in names if name.startswith("tool1")]


def test_an_empty_name_is_an_error():
    for make in (lambda: tool_name(""), lambda: Hooks().before_tool(match="")(print)):
        with pytest.raises(HookError, match=r"the name of a tool is empty: write \* for every tool"):
            make()


def test_a_name_that_is_almost_one_of_file_hooks_is_reported(caplog):
    for name in ("Shell", "Bash", "She*", "shel", "SendMail", "/Shel/", "ReadFile|WriteFile", "bash2"):
        tool_name(name)
    assert not caplog.records
    for name, near in (("Shel", "Shell"), ("SHELL", "Shell"), ("Bash|ReadFil", "ReadFile")):
        tool_name(name)
        assert caplog.records[-1].getMessage().endswith(f"in file hooks; did you mean '{near}'?")


@pytest.mark.parametrize(("match", "other"), [("shell", "Shell"), ("BASH", "bash"), ("x|sHell", "Shell")])
def test_a_name_in_other_capital_letters_is_reported_once_when_the_tool_is_called(match, other, caplog):
    hooks = Hooks()
    hooks.before_tool(match=match)(noting([]))
    for name in ("note", "bash", "run_bash", "bash"):
        hooks.guard(lambda command: command, name=name)("ls")
    [message] = caplog.messages
    assert "(" in message.partition(" does not match the tool 'bash'")[0]
    assert message.endswith(f"match='{match}' has other capital letters; did you mean '{other}'?")


@pytest.mark.parametrize("match", ["shell", "Shell", "bash|shell", "/shell/i", "*", "note"])
def test_a_name_that_a_tool_has_is_not_reported_for_its_capital_letters(match, caplog):
    hooks = Hooks()
    hooks.before_tool(match=match)(noting([]))
    for name in ("shell", "bash"):
        hooks.guard(lambda command: command, name=name)("ls")
    assert caplog.messages == []
