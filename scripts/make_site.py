"""Build the documentation site into build/site, strictly: a dead link, a page without a place or anything from outside fails.

The pages are those of the repository, in the same folders, so that links work in both. The navigation is docs/README.md.
"""

from __future__ import annotations

import logging
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
SOURCE = TOP / "build/site-source"
INDEX = "docs/README.md"
# What the site has: folders with all their files, and single files.
PARTS = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "docs",
    "examples",
    "conformance/README.md",
    "e2e/README.md",
)
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#:\s]+)(#[^)]*)?\)")
HEADING = re.compile(r"^(#{2,3}) (.+)$")
ITEM = re.compile(r"^- \[([^\]]+)\]\(([^)#]+)\)")
FRONT_MATTER = re.compile(r"\A---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
# A page loads these; a link that a person may follow is not among them.
LOADED = re.compile(
    r"<(?:script|img|iframe|source)[^>]*\bsrc=[\"']?https?:|<link[^>]*\bhref=[\"']?https?:[^>]*", re.IGNORECASE
)


def main() -> int:
    """Build the site; return the exit code."""
    # Tests use the functions below without mkdocs.
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort

    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    stage_pages()
    config = load_config(str(TOP / "mkdocs.yml"))
    config.nav = [
        {"Start": "README.md"},
        {"All pages": INDEX},
        *read_navigation((TOP / INDEX).read_text(encoding="utf-8")),
    ]
    config.not_in_nav = make_ignored_pages()
    try:
        build(config)
    except Abort as error:
        print(error, file=sys.stderr)
        return 1
    outside = [*find_outside_parts(Path(config.site_dir))]
    folder = Path(config.site_dir).relative_to(TOP)
    print("\n".join(outside) or f"built {folder}/index.html; with search: {sys.executable} -m http.server -d {folder}")
    return 1 if outside else 0


def stage_pages() -> None:
    """Copy the pages, and the files they link to, to where mkdocs reads them."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    for part in PARTS:
        target = SOURCE / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (TOP / part).is_dir():
            shutil.copytree(TOP / part, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(TOP / part, target)
    for path in [*SOURCE.rglob("*.md")]:
        text = show_front_matter(path.read_text(encoding="utf-8"))
        copy_linked_files(path, text)
        path.write_text(text, encoding="utf-8")


def show_front_matter(text: str) -> str:
    """Return a HOOK.md as a page: mkdocs would take its front matter for its own and hide it."""
    match = FRONT_MATTER.match(text)
    return f"```yaml\n{match[1]}```\n{text[match.end() :]}" if match else text


def copy_linked_files(path: Path, text: str) -> None:
    """Copy single files of the repository that a page links to, such as a module of the code."""
    for _, link, _ in LINK.findall(text):
        target = (path.parent / link).resolve()
        original = TOP / target.relative_to(SOURCE)
        if not target.exists() and original.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(original, target)


def read_navigation(text: str) -> list[dict[str, Any]]:
    """Return the headings and lists of the index as the navigation of mkdocs."""
    sections: list[dict[str, Any]] = []
    pages: list[Any] = []
    for line in text.splitlines():
        if heading := HEADING.match(line):
            inner: list[Any] = []
            parent = sections if heading[1] == "##" else next(iter(sections[-1].values()))
            parent.append({heading[2]: inner})
            pages = inner
        elif item := ITEM.match(line):
            pages.append({item[1]: (Path("docs") / item[2]).as_posix()})
    return [{name: [resolve_page(page) for page in inner]} for section in sections for name, inner in section.items()]


def resolve_page(page: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the navigation with its path from the top of the site."""
    ((name, value),) = page.items()
    if isinstance(value, list):
        return {name: [resolve_page(one) for one in value]}
    return {name: (TOP / value).resolve().relative_to(TOP).as_posix()}


def make_ignored_pages() -> Any:
    """Return a pattern of pages that another page lists: examples, and decisions."""
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(["/examples/**", "/docs/adr/[0-9]*.md"])


def find_outside_parts(site: Path) -> Iterator[str]:
    """Find pages that load something from elsewhere."""
    for path in sorted(site.rglob("*.html")):
        for match in LOADED.finditer(path.read_text(encoding="utf-8")):
            if 'rel="canonical"' not in match[0]:
                yield f"{path.relative_to(site)} loads something from outside: {match[0]}"


if __name__ == "__main__":
    sys.exit(main())
