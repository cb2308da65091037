"""The documentation and the code use the words of the glossary, not those that were replaced."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OLD_WORDS = re.compile(
    r"\b(?:doors?|thresholds?|oneshot|tongues?|roads?|astray|seals?|sealed|vetted|mend(?:s|ed)?|in vain|loudly"
    r"|(?:is|are|was|be|been) told|hears?|heard)\b",
    re.IGNORECASE,
)
PATHS = [
    *ROOT.glob("*.md"),
    *(path for folder in ("docs", "examples", "conformance") for path in (ROOT / folder).rglob("*.md")),
    *(path for folder in ("src", "scripts", "bench", "fuzz", "e2e") for path in (ROOT / folder).rglob("*.py")),
]
# It lists what the packages were called before.
EXEMPT = {ROOT / "docs/adr/0022-packages-and-rows.md"}


@pytest.mark.parametrize("path", sorted({*PATHS} - EXEMPT), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_has_none_of_the_old_words(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [(number, match[0]) for number, line in enumerate(lines, 1) for match in OLD_WORDS.finditer(line)]
    assert found == []


FOLDERS = {
    ROOT: ("src", "tests", "docs", "examples", "conformance", "e2e", "fuzz", "bench"),
    ROOT / "src/boathook": sorted(path.name for path in (ROOT / "src/boathook").iterdir() if path.is_dir()),
}


@pytest.mark.parametrize("root", FOLDERS, ids=["of the repository", "of the package"])
def test_every_file_that_the_documentation_names_exists(root: Path) -> None:
    named_path = re.compile(rf"`((?:{'|'.join(FOLDERS[root])})/[\w./-]+\.\w+)`")
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in PATHS
        if path.suffix == ".md"
        for name in named_path.findall(path.read_text(encoding="utf-8"))
        if "NAME" not in name and not (root / name).exists() and not (ROOT / name).exists()
    ]
    assert missing == []
