"""Tables at the end of a TOML file: put there, taken out, and nothing else is touched."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.install.json_edit import EditError
from boathook.install.toml_edit import add_table, list_tables, parse_toml, remove_empty_list, remove_tables

ODD = '''# a comment
title = "x" # [not a table]
text = """
[[hooks]]
"""
list = [
  [1, 2],
  ["]"],
]

[a."b.c"] # named
x = { y = [1] }
lit = \'\'\'
[z]
\'\'\'

# about the next
[[hooks]]
event = "Stop"
command = "theirs"
'''


def _ours(table):
    return table.value.get("command") == "ours"


def test_tables_are_found_with_their_names_and_values():
    assert [(one.name, one.is_item, dict(one.value)) for one in list_tables(ODD)] == [
        (("a", "b.c"), False, {"x": {"y": [1]}, "lit": "[z]\n"}),
        (("hooks",), True, {"event": "Stop", "command": "theirs"}),
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("text", ["", "a = 1\n", ODD, "# only a comment\n", "[a]\n\n\n"])
def test_what_is_added_is_taken_out_without_a_trace(text, bom, newline):
    before = bom + text.replace("\n", newline)
    made = before
    for number in range(3):
        made = add_table(made, ("hooks",), {"event": str(number), "command": "ours"}, is_item=True)
    made = add_table(made, ("s", "a/b.c:0"), {"command": "ours"}, is_item=False)
    assert parse_toml(made)["hooks"][-3:] == [{"event": str(n), "command": "ours"} for n in range(3)]
    assert parse_toml(made)["s"] == {"a/b.c:0": {"command": "ours"}}
    assert remove_tables(made, _ours) == before


def test_tables_between_others_are_taken_out_alone():
    made = add_table(ODD, ("hooks",), {"command": "ours"}, is_item=True) + "\n# mine\n[later]\nx = 1\n"
    assert remove_tables(made, _ours) == ODD + "\n# mine\n[later]\nx = 1\n"


def test_tables_of_one_name_stay_apart():
    text = '[[hooks]]\ncommand = "theirs"\n\n# mine\n[later]\nx = 1\n'
    made = add_table(text, ("hooks",), {"command": "ours"}, is_item=True)
    assert made == text + '\n[[hooks]]\ncommand = "ours"\n'
    assert remove_tables(made + "# more\n[last]\n", _ours) == text + "# more\n[last]\n"


@given(st.text(max_size=30), st.text(min_size=1, max_size=10))
def test_any_text_can_be_a_value_and_a_name(value, name):
    try:
        (value + name).encode()
    except UnicodeEncodeError:
        return
    assert tomllib.loads(add_table("", ("t", name), {"v": value}, is_item=False)) == {"t": {name: {"v": value}}}


def test_an_empty_list_is_removed_to_make_way_for_tables():
    assert (
        remove_empty_list("a = 1\nhooks = [] # none\nb = 2\n[c]\nhooks = []\n", "hooks")
        == "a = 1\nb = 2\n[c]\nhooks = []\n"
    )
    assert remove_empty_list("hooks = [1]\n", "hooks") == "hooks = [1]\n"
    assert remove_empty_list("hooksy = []\n", "hooks") == "hooksy = []\n"


def test_what_is_wrong_is_named_with_its_line():
    with pytest.raises(EditError) as caught:
        parse_toml("a = 1\n\nb = = 2\n")
    assert caught.value.line == 3


TAILS = {
    "a text whose last line looks like a comment": ('[a]\ntext = """\nhello\n# not a comment"""\n', "\n# about b\n"),
    "a literal text that ends so": ("[a]\ntext = '''\n\n# no'''\n", ""),
    "a list with a comment at its end": ("[a]\nx = [\n  1,\n  # more\n]\n", "# about b\n\n"),
    "a comment on its last line": ("[a]\nx = 1 # one\n", "  # about b\n"),
    "a date": ("[a]\nx = 2020-01-01\n", "\n\n"),
    "nothing": ("[a] # empty\n", "# about b\n"),
    "quotes at the end of a text": ('[a]\nx = """# "quoted"""""\n', "# about b\n"),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("name", TAILS)
def test_a_table_ends_with_its_last_statement(name, newline):
    own, tail = (text.replace("\n", newline) for text in TAILS[name])
    text = own + tail + f"[b]{newline}"
    first, second = list_tables(text)
    assert (text[first.start : first.end], second.name) == (own, ("b",))
    assert remove_tables(text, lambda table: table.name == ("a",)) == tail + f"[b]{newline}"


STATEMENTS = st.sampled_from(
    [
        *("x = 1", 'x = """\n# a\n[b]"""', "x = '''\n# '''", "x = [\n# c\n'#'\n]", 'x = "#" # d', 'x = {y = "#"}'),
        *("# e", "", '  # """', "# [f]"),
    ]
)


@given(st.lists(st.lists(STATEMENTS, max_size=3), max_size=4))
def test_the_tables_together_hold_what_the_text_holds(bodies):
    texts = []
    for at, body in enumerate(bodies):
        seen = [one.replace("x =", f"x{n} =") for n, one in enumerate(body)]
        texts.append("\n".join((f"[t{at}]", *seen, "")))
    text = "".join(texts)
    assert {one.name[0]: dict(one.value) for one in list_tables(text)} == tomllib.loads(text)
    made = add_table(text, ("hooks",), {"command": "ours"}, is_item=True)
    assert remove_tables(made, _ours) == text


@pytest.mark.parametrize("text", ["a = 1\n[b]\nc = = 2\n", "a = 1\n[b\nc = 2\n", 'a = 1\nb = 1\nb = """\n'])
def test_tables_of_a_text_that_is_not_toml_are_an_error_with_its_line(text):
    with pytest.raises(EditError) as caught:
        list_tables(text)
    with pytest.raises(EditError) as parsed:
        parse_toml(text)
    assert (caught.value.line, caught.value.message) == (parsed.value.line, parsed.value.message)
