"""Every text becomes inert: markup, quotes, control characters and characters that turn a line around."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from boathook.page.markup import Html, escape_text, join_html, make_element

HOSTILE = "<img src=x onerror=alert(1)>\"'&\x1b[31m\u202egnp.exe\u2066\x00\r\u200b"


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def read_html(text: str) -> _Reader:
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader


def test_hostile_text_is_text_and_all_of_it_is_seen() -> None:
    reader = read_html(make_element("p", HOSTILE, title=HOSTILE))
    assert reader.tags == ["p"]
    assert reader.text == "<img src=x onerror=alert(1)>\"'&\\x1b[31m\\u202egnp.exe\\u2066\\x00\\r\\u200b"
    assert reader.attributes == [("title", reader.text)]


@given(st.text(), st.text())
def test_no_text_adds_an_element_or_an_attribute(text: str, value: str) -> None:
    reader = read_html(make_element("td", text, data_label=value))
    assert reader.tags == ["td"]
    assert [name for name, _ in reader.attributes] == ["data-label"]
    assert all(char.isprintable() or char in "\n\t" for char in reader.text)


def test_html_is_not_escaped_twice_and_lists_are_their_items() -> None:
    inner = make_element("b", "<")
    assert make_element("p", [inner, (" & ", None)]) == "<p><b>&lt;</b> &amp; </p>"
    assert isinstance(join_html(("a", inner)), Html)
    assert escape_text(inner) is inner
    assert make_element("input", name="q", required=True, value=None, disabled=False) == '<input name="q" required>'
