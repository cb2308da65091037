"""The documentation, the code and the names of tests use the words of the glossary, not those that were replaced."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OLD = (
    r"doors?|thresholds?|oneshot|tongues?|roads?|astray|seals?|sealed|vetted|mend(?:s|ed)?|in vain|loudly"
    r"|(?:is|are|was|be|been) told|hears?|heard"
)
OLD_WORDS = re.compile(rf"\b(?:{OLD})\b", re.IGNORECASE)
PATHS = [
    *ROOT.glob("*.md"),
    *(path for folder in ("docs", "examples", "conformance") for path in (ROOT / folder).rglob("*.md")),
    *(path for folder in ("src", "scripts", "bench", "fuzz", "e2e") for path in (ROOT / folder).rglob("*.py")),
]
# It lists what the packages were called before.
EXEMPT = {ROOT / "docs/adr/0022-packages-and-rows.md"}


def list_old_words(path: Path) -> list[tuple[str, int, str]]:
    where, lines = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8").splitlines()
    return [(where, number, match[0]) for number, line in enumerate(lines, 1) for match in OLD_WORDS.finditer(line)]


def test_no_file_has_one_of_the_old_words() -> None:
    assert [found for path in sorted({*PATHS} - EXEMPT) for found in list_old_words(path)] == []


def test_the_comments_of_pyproject_have_none_of_the_old_words() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    comments = [(number, line.partition("#")[2]) for number, line in enumerate(lines, 1)]
    assert len([text for _, text in comments if text]) > 5
    assert [(number, match[0]) for number, text in comments for match in OLD_WORDS.finditer(text)] == []


# In a name the words are joined by underscores, which count as letters to `\b`.
OLD_NAMES = re.compile(
    rf"(?<![a-z])(?:{OLD.replace(' ', '_')}"
    r"|says?|said|unsaid|told|tells?|telling|gives|gave|nobody|whoever|whatever|wherever"
    # Somebody or something that stands in for another is a stand-in.
    r"|stands?(?!_in(?![a-z]))|stood|troubles?|hooks_of_files|hooks_in_process"
    # "There is no hook" is plain English; "this is no hook" is not.
    r"|(?<!there_)(?:is|are|was|were)_no(?!_longer|_more))(?![a-z])"
)
# `fault` is the word for a row of the numbered table, and only for that.
FAULT = re.compile(r"(?<![a-z])faults?(?![a-z])")
FOLDERS_OF_FAULTS = {"faults"}
EXEMPT_NAMES = {
    # A tool of an agent: it says a text, and the example shows its name.
    "tests/examples/test_in_process.py": {"say"},
}


def list_names(path: Path) -> list[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [(node.lineno, node.name) for node in ast.walk(tree) if isinstance(node, definitions)]


def has_old_name(name: str, *, is_of_faults: bool = False) -> bool:
    return bool(OLD_NAMES.search(name.lower()) or (not is_of_faults and FAULT.search(name.lower())))


def list_old_names(path: Path) -> list[tuple[str, int, str]]:
    where = path.relative_to(ROOT)
    is_of_faults = where.parts[1] in FOLDERS_OF_FAULTS
    exempt = EXEMPT_NAMES.get(str(where), set())
    return [
        (str(where), line, name)
        for line, name in list_names(path)
        if name not in exempt and has_old_name(name, is_of_faults=is_of_faults)
    ]


def test_the_names_of_tests_and_helpers_have_none_of_the_old_words() -> None:
    assert [found for path in sorted((ROOT / "tests").rglob("*.py")) for found in list_old_names(path)] == []


@pytest.mark.parametrize(
    ("name", "is_old"),
    [
        ("test_an_error_is_said", True),
        ("_told_by_the_host", True),
        ("says", True),
        ("Said", True),
        ("test_a_link_is_no_hook", True),
        ("test_lines_that_are_no_records", True),
        ("test_where_there_is_no_hook", False),
        ("test_a_hook_is_no_longer_there", False),
        ("test_a_command_that_stands_twice", True),
        ("stand_in", False),
        ("test_it_stands_inside", True),
        ("test_the_standard_output", False),
        ("test_an_amended_hook", False),
        ("test_a_hook_given_by_its_path", False),
        ("test_waits_in_vain", True),
        ("test_a_fault", True),
        ("test_the_defaults", False),
    ],
)
def test_old_words_are_found_in_names_and_no_others(name: str, *, is_old: bool) -> None:
    assert has_old_name(name) is is_old


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
