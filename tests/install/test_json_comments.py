"""Files with comments in odd places: the person's own text is restored once ours is removed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boathook.hosts.setup import GROUPS, load_setup
from boathook.install import json_edit as jsonedit
from boathook.install.command_line import CallContext
from boathook.install.formats import FORMATS, HostFile
from boathook.install.host_files import make_entry
from boathook.install.json_edit import EditError, JsonEditor, parse_nodes
from tests.example_counts import count_examples
from tests.install.helpers import file_of, install, state, uninstall
from tests.install.test_json_edit import VALUES

GUARD = {"hooks": [{"type": "command", "command": "my-own-guard"}]}
SETUP = load_setup("gemini")
CONTEXT = CallContext({"config": "/c/agents", "claude": "/c/claude", "state": "/c/state"}, "install it again")
PART = HostFile("f", GROUPS, SETUP, {event: make_entry(SETUP, event, CONTEXT) for event in SETUP.events})
GAPS = st.sampled_from(
    [
        *("", "", "", " ", "\n", "\r\n  ", "\t", "// c\n", ' // , ] } "\r\n  ', "/* c */", "/* // */ ", "\n  // d\n\n"),
        *("// e /* \n", "/* a */ // b\n", "/* ,\n */"),
    ]
)
GROUP = st.sampled_from([GUARD, {"matcher": "x", **GUARD}, {"hooks": []}])
HOOKS = st.dictionaries(st.sampled_from(SETUP.events[:3]), st.lists(GROUP, max_size=2), max_size=3)
OWN = st.builds(
    lambda value, hooks: {**value, **({"hooks": hooks} if hooks is not None else {})},
    st.dictionaries(st.text("ab/*,", max_size=3), VALUES, max_size=2),
    st.none() | HOOKS,
)


def _rendered(value, gap):
    """Write a value with something drawn between any two signs of it."""
    if isinstance(value, dict):
        items = [f"{gap()}{json.dumps(key)}{gap()}:{gap()}{_rendered(one, gap)}{gap()}" for key, one in value.items()]
        return "{" + (",".join(items) or gap()) + "}"
    if isinstance(value, list):
        return "[" + (",".join(f"{gap()}{_rendered(one, gap)}{gap()}" for one in value) or gap()) + "]"
    return json.dumps(value)


@given(st.data(), OWN)
@settings(max_examples=count_examples(100), deadline=None)
def test_the_persons_own_value_is_restored_with_comments_in_any_place(data, own):
    def gap():
        return data.draw(GAPS)

    shape = FORMATS[GROUPS]
    text = gap() + _rendered(own, gap) + gap()
    assert parse_nodes(text, comments=True).value == own
    made = parse_nodes(shape.insert_entries(text, PART), comments=True).value
    assert {event: groups[-1] for event, groups in made["hooks"].items()} == {
        **{event: groups[-1] for event, groups in own.get("hooks", {}).items() if groups},
        **{event: {"hooks": [one]} for event, one in PART.wanted.items()},
    }
    later = data.draw(st.sets(st.sampled_from(SETUP.events[:4])))
    remaining = {event: made["hooks"][event] + [GUARD] * (event in later) for event in SETUP.events[:4]}
    changed = gap() + _rendered({**made, "hooks": remaining}, gap) + gap()
    after = shape.remove_entries(changed, PART, text)
    assert after is not None
    old = own.get("hooks", {})
    hooks = {
        event: old.get(event, []) + [GUARD] * (event in later) for event in remaining if event in old or event in later
    }
    expected = {**own, "hooks": hooks} if hooks or "hooks" in own else own
    assert parse_nodes(after, comments=True).value == expected


ODD = {
    "a comment above ours and another entry where it ends": '{"hooks": {"BeforeTool": [\n  %s, // mine\n  %s, %s\n]}}',
    "a comment after ours": '{"hooks": {"BeforeTool": [%s, %s // ours\n, %s]}}',
    "a comment after its comma": '{"hooks": {"BeforeTool": [%s, %s, // ours\n %s]}}',
}


@pytest.mark.parametrize("name", ODD)
def test_no_hook_of_the_person_ends_up_in_a_comment(project, name):
    path = file_of(project, "gemini")
    install(project, "gemini")
    ours = json.loads(path.read_text())["hooks"]["BeforeTool"][0]
    path.write_text(ODD[name] % tuple(json.dumps(one) for one in (GUARD, ours, GUARD)))
    uninstall(project, "gemini")
    assert parse_nodes(path.read_text(), comments=True).value == {"hooks": {"BeforeTool": [GUARD, GUARD]}}


FIRST = ("[%s // c\n, %s]", "[%s, // c\n %s]", "[// a\n%s /* b */, // c\n%s]", "[// a\n%s, %s // c\n]")


@pytest.mark.parametrize("text", FIRST)
def test_the_first_of_several_goes_and_its_comments_stay(text):
    editor = JsonEditor(text % (1, 2), comments=True)
    editor.remove((0,))
    assert parse_nodes(editor.render(), comments=True).value == [2]
    assert jsonedit._COMMENT.findall(editor.text) == jsonedit._COMMENT.findall(text)


ONE_LINE = (
    "// c",
    "// c\n{}",
    "{// c\n}",
    '{"a": 1 // c\n}',
    '{"hooks": {} // c\n}',
    '{"hooks": {"BeforeTool": [// c\n]}}',
)


@pytest.mark.parametrize("text", ONE_LINE)
def test_a_comment_on_the_only_line_does_not_prevent_an_install(project, text):
    path = file_of(project, "gemini")
    path.parent.mkdir(parents=True)
    path.write_text(text)
    install(project, "gemini")
    assert (state(project, "gemini"), "// c\n" in path.read_text()) == (("installed", ()), True)
    path.write_text(path.read_text() + "\n")
    uninstall(project, "gemini")
    assert parse_nodes(path.read_text(), comments=True).value == parse_nodes(text, comments=True).value


def test_a_text_that_does_not_hold_the_intended_value_is_not_returned(monkeypatch):
    monkeypatch.setattr(JsonEditor, "_find_line_break", lambda self, remaining, following: "")
    editor = JsonEditor("[1, // c\n 2, 3]", comments=True)
    editor.remove((1,))
    with pytest.raises(EditError, match="cannot edit this file safely"):
        editor.render()


@pytest.mark.parametrize("text", ["9" * 5000, "-" + "9" * 5000])
def test_a_number_that_is_too_long_is_an_error_with_its_line(text):
    with pytest.raises(EditError) as caught:
        parse_nodes(f'{{\n"a": {text}}}')
    assert (caught.value.line, caught.value.message) == (2, "the number has too many digits")


def test_a_text_is_read_once_however_much_is_changed(monkeypatch):
    calls = []
    monkeypatch.setattr(
        jsonedit, "parse_nodes", lambda text, **options: calls.append(len(text)) or parse_nodes(text, **options)
    )
    others = {"many": list(range(1000)), "hooks": {event: [GUARD] for event in SETUP.events}}
    text = json.dumps(others, indent=2)
    made = FORMATS[GROUPS].insert_entries(text, PART)
    assert calls == [len(text), len(made)]
