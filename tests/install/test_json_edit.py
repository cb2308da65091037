"""Changes in the text of a JSON file: what is not meant stays as it is, byte for byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.install.json_edit import EditError, JsonEditor, parse_nodes

KEYS = st.text(max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
INDENTS = st.sampled_from([None, 0, 1, 2, 3, 4, "\t", " \t"])
ENDS = st.sampled_from(["", "\n", "\r\n", "\n\n  "])


def _text(value, indent, newline, bom):
    text = json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", newline)
    return ("\ufeff" if bom else "") + text


TEXTS = st.builds(_text, OBJECTS, INDENTS, st.sampled_from(["\n", "\r\n"]), st.booleans())


@given(TEXTS, ENDS)
def test_reading_returns_the_same_as_json(text, end):
    assert parse_nodes(text + end).value == json.loads((text + end).removeprefix("\ufeff"))


@given(TEXTS, KEYS, VALUES)
def test_what_is_put_in_can_be_taken_out_without_a_trace(text, key, value):
    editor = JsonEditor(text)
    before = editor.value
    if key in before:
        return
    editor.set((key,), value)
    assert editor.value == {**before, key: value}
    editor.remove((key,))
    assert editor.value == before
    if before:
        assert editor.text == text


@given(TEXTS, KEYS, VALUES)
def test_a_list_that_is_added_to_and_taken_from_is_as_before(text, key, value):
    editor = JsonEditor(text)
    before = editor.value
    if not isinstance(before.get(key, []), list):
        with pytest.raises(EditError):
            editor.append((key,), value)
        return
    editor.append((key,), value)
    assert editor.value == {**before, key: [*before.get(key, []), value]}
    if before.get(key):
        editor.remove((key, len(before[key])))
        assert editor.text == text


@given(TEXTS, VALUES)
def test_a_value_is_replaced_in_its_place(text, value):
    editor = JsonEditor(text)
    for key in editor.value:
        before = editor.value
        editor.set((key,), value)
        assert list(editor.value.items()) == [(name, value if name == key else old) for name, old in before.items()]


def test_a_new_part_is_indented_like_the_rest():
    editor = JsonEditor('{\n   "a": {\n      "b": []\n   }\n}\n')
    editor.append(("a", "b"), {"c": 1})
    editor.set(("d", "e"), 2)
    assert editor.text == (
        '{\n   "a": {\n      "b": [\n         {\n            "c": 1\n         }\n      ]\n   },\n   "d": {\n      "e": 2\n   }\n}\n'
    )


def test_a_value_on_one_line_stays_on_one():
    editor = JsonEditor('{"a": [1], "b": {}}')
    editor.append(("a",), {"c": []})
    editor.set(("b", "d"), True)
    assert editor.text == '{"a": [1, {"c": []}], "b": {"d": true}}'


COMMENTED = """// first
{
  // before a
  "a": 1, // after a
  "list": [
    1 /* one */, // still one
    2 // two
  ] // after the list
  // at the end
}
// last
"""


def test_comments_stay_where_they_are():
    editor = JsonEditor(COMMENTED, comments=True)
    editor.append(("list",), 3)
    editor.set(("b",), {"c": 1})
    assert editor.value == {"a": 1, "list": [1, 2, 3], "b": {"c": 1}}
    assert [line for line in COMMENTED.splitlines() if "//" in line and line.strip().startswith("//")] == [
        line for line in editor.text.splitlines() if line.strip().startswith("//")
    ]
    editor.remove(("b",))
    editor.remove(("list", 2))
    assert editor.text == COMMENTED


def test_a_comment_may_hold_brackets_commas_and_quotes():
    text = '{"a": 1 /* , "b": } */, "c": "// no comment"}'
    editor = JsonEditor(text, comments=True)
    editor.set(("d",), 1)
    editor.remove(("d",))
    assert (editor.text, editor.value) == (text, {"a": 1, "c": "// no comment"})


WRONG = {
    "a comma too many": ('{\n  "a": 1,\n}', 3, "a key in double quotes is expected"),
    "no comma": ('{"a": 1\n"b": 2}', 2, "',' or '}' expected"),
    "an end too early": ('{"a": [1,\n', 2, "a value is missing"),
    "more after the end": ("{}\n\n{}", 3, "there is more after the value"),
    "a comment": ('{\n  // no\n  "a": 1}', 2, "comments are not JSON, and this program does not read them"),
    "a key twice": ('{"a": 1,\n "a": 2}', 2, 'the key "a" is there twice'),
    "no colon": ('{"a" 1}', 1, "':' expected"),
    "single quotes": ("{\n'a': 1}", 2, "a key in double quotes is expected"),
    "no value": ('{"a": nil}', 1, "unexpected 'nil}'"),
    "too deep": ("[" * 300, 1, "it is nested too deep"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_its_line(name):
    text, line, why = WRONG[name]
    with pytest.raises(EditError) as caught:
        parse_nodes(text)
    assert (caught.value.line, caught.value.message) == (line, why)
