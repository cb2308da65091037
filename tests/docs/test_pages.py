"""Every page of the documentation can be reached, and the index, which is the navigation of the site, has them all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.make_site import find_outside_parts, read_navigation, show_front_matter

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def list_links(page: Path) -> set[Path]:
    return {(page.parent / link).resolve() for link in LINK.findall(page.read_text(encoding="utf-8"))}


def list_reachable_files(start: Path) -> set[Path]:
    reached, waiting = {start}, [start]
    while waiting:
        page = waiting.pop()
        new = {path for path in list_links(page) if path.is_file()} - reached
        reached |= new
        waiting += [path for path in new if path.suffix == ".md"]
    return reached


def test_every_page_and_schema_can_be_reached_from_the_readme_by_links() -> None:
    pages = {path for pattern in ("docs/**/*.md", "docs/**/*.json", "examples/**/*.md") for path in ROOT.glob(pattern)}
    assert len(pages) > 120
    assert sorted(str(path.relative_to(ROOT)) for path in pages - list_reachable_files(ROOT / "README.md")) == []


def test_the_index_lists_every_page_but_those_of_a_list_of_their_own() -> None:
    pages = {path for path in (ROOT / "docs").rglob("*.md") if not re.match(r"\d{4}-", path.name)}
    listed = list_links(ROOT / "docs/README.md")
    assert sorted(str(path.relative_to(ROOT)) for path in pages - listed - {ROOT / "docs/README.md"}) == []


def list_pages(rows: list) -> list[str]:
    values = [value for row in rows for value in row.values()]
    return [page for value in values for page in (list_pages(value) if isinstance(value, list) else [value])]


def test_the_navigation_is_the_index() -> None:
    navigation = read_navigation((ROOT / "docs/README.md").read_text(encoding="utf-8"))
    sections = ["Learn", "Use it in your agent", "Guides", "Look up", "Understand"]
    assert [name for section in navigation for name in section] == sections
    pages = list_pages(navigation)
    assert len(pages) == len(set(pages))
    assert [page for page in pages if not (ROOT / page).is_file()] == []
    assert {ROOT / page for page in pages} == list_links(ROOT / "docs/README.md") - {
        ROOT / "README.md",
    }


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("# A page\n", "# A page\n"),
        ("---\nname: guard\n---\n\n# Guard\n", "```yaml\nname: guard\n```\n\n# Guard\n"),
        ("# A rule\n\n---\n\nmore\n", "# A rule\n\n---\n\nmore\n"),
    ],
)
def test_the_front_matter_of_a_hook_is_shown_on_its_page(text: str, page: str) -> None:
    assert show_front_matter(text) == page


@pytest.mark.parametrize(
    ("html", "is_found"),
    [
        ('<script src="https://example.org/a.js"></script>', True),
        ("<script src=https://example.org/a.js></script>", True),
        ('<link rel="stylesheet" href="https://example.org/a.css">', True),
        ('<img alt="" src="http://example.org/a.png">', True),
        ('<a href="https://example.org/">a link</a>', False),
        ('<script src="assets/a.js"></script>', False),
    ],
)
def test_a_page_that_loads_something_from_outside_is_found(html: str, is_found: bool, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(html, encoding="utf-8")
    assert bool([*find_outside_parts(tmp_path)]) is is_found
