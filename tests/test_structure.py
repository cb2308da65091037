"""The structure of the package: what import-linter, which looks at rooms only, does not see."""

from __future__ import annotations

import ast
import functools
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from boathook.hosts.host import list_host_names

SOURCE = Path(__file__).parents[1] / "src"
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
    # The scripts of packs are hooks, not modules of the package.
    if "packs/standard" not in path.as_posix()
}


@functools.cache
def parse_module(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text())


def is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def iter_imports(nodes: Iterable[ast.stmt], *, is_inside: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield import statements, without those for type checkers; `is_inside` adds those inside functions."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif is_for_type_checkers(node):
            yield from iter_imports(node.orelse, is_inside=is_inside)
        elif is_inside or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                yield from iter_imports(getattr(node, field, ()), is_inside=is_inside)


def find_dependencies(module: str, *, is_inside: bool) -> set[str]:
    found: set[str] = set()
    for node in iter_imports(parse_module(module).body, is_inside=is_inside):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif node.module:
            found |= {
                name if (name := f"{node.module}.{alias.name}") in MODULES else node.module for alias in node.names
            }
    return (found & MODULES.keys()) - {module}


@pytest.mark.parametrize("is_inside", [False, True], ids=["at the top of modules", "inside functions too"])
def test_no_module_imports_itself_through_others(is_inside):
    graph = {module: find_dependencies(module, is_inside=is_inside) for module in MODULES}
    assert sum(map(len, graph.values())) > 400
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a cycle of imports: {' -> '.join(error.args[1])}")


# Public names that may be defined in several modules, each with the reason.
SHARED_NAMES = {
    "HOST": "the row of an agent, in the file of each agent",
    "make_setup": "how an agent is installed, in the file of each agent",
    "main": "what a program starts",
    "write_event": "what a dialect does, in the module of each dialect",
    "read_answer": "what a dialect does, in the module of each dialect",
}


def iter_public_names(module: str) -> Iterator[str]:
    pending: list[ast.AST] = list(parse_module(module).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.If | ast.Try | ast.ExceptHandler) and not is_for_type_checkers(node):
            pending += ast.iter_child_nodes(node)


def test_no_public_name_is_defined_in_two_modules():
    homes = defaultdict(set)
    for module in MODULES:
        for name in iter_public_names(module):
            homes[name].add(module)
    twice = {name: sorted(found) for name, found in homes.items() if len(found) > 1}
    private = {name for name in twice if name.startswith("_") or name == "TYPE_CHECKING"}
    assert {name: twice[name] for name in twice.keys() - private - SHARED_NAMES.keys()} == {}
    assert SHARED_NAMES.keys() <= twice.keys()


def test_no_file_name_is_used_twice_except_by_agents():
    agents = {name.replace("-", "_") for name in list_host_names()}
    counts = Counter(path.stem for path in MODULES.values() if not path.stem.startswith("__"))
    assert {name for name, count in counts.items() if count > 1} - agents == set()


# Rooms that are about agents.
AGENT_ROOMS = ("hosts", "dialects", "sources", "bridges", "install")
MENTIONS_ALLOWED = {
    "boathook.cli.convert_plan": "converts the settings file of that agent",
    "boathook.core.hook": "variables that hooks of that agent expect, and what names of models begin with",
}


def test_other_rooms_do_not_know_one_agent():
    found = {
        module
        for module, path in MODULES.items()
        if "claude" in path.read_text().lower()
        and not module.startswith(tuple(f"boathook.{room}." for room in AGENT_ROOMS))
    }
    assert found == MENTIONS_ALLOWED.keys()


def test_few_functions_are_named_by_a_participle():
    names = [
        node.name
        for module in MODULES
        for node in ast.walk(parse_module(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    participles = [name for name in names if name.endswith("ed")]
    assert len(participles) <= 0.03 * len(names), participles


def test_no_error_is_made_once_and_raised_again():
    """An error that a module keeps has the frames of everything that ever raised it, and keeps their values alive."""
    kept_errors = [
        f"{module}:{node.lineno}"
        for module in MODULES
        for node in parse_module(module).body
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call)
        if isinstance(node.value.func, ast.Name) and re.search(r"(Error|Exception)$", node.value.func.id)
    ]
    assert kept_errors == []


def test_functions_are_short():
    long = []
    for module in MODULES:
        for node in ast.walk(parse_module(module)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or 0) - node.lineno + 1
                if size > 50:
                    long.append(f"{module}:{node.lineno} {node.name} has {size} lines")
    assert long == []


# Tools read these on the line itself; a `noqa` may have its reason in parentheses.
MARKER = r"# (?:(?:type|pyright): ignore\[[\w, -]+\]|fmt: skip|noqa: [A-Z]+\d+(?:, [A-Z]+\d+)*(?:  \(.+\))?)"
MARKERS = re.compile(rf"{MARKER}(?:  {MARKER})*")


@pytest.mark.parametrize(
    ("comment", "is_allowed"),
    [
        ("# noqa: BLE001", True),
        ("# noqa: BLE001, S110  (the error is the result)", True),
        ("# noqa: F401  # pyright: ignore[reportUnusedImport]", True),
        ("# type: ignore[arg-type]", True),
        ("# fmt: skip", True),
        ("# noqa: BLE001 the error is the result", False),
        ("# fmt: skip  # the error is the result", False),
        ("# the error is the result", False),
    ],
)
def test_only_markers_may_share_a_line_with_code(comment, is_allowed):
    assert bool(MARKERS.fullmatch(comment)) is is_allowed


def list_comments_beside_code(module):
    with tokenize.open(MODULES[module]) as file:
        comments = [token for token in tokenize.generate_tokens(file.readline) if token.type == tokenize.COMMENT]
    beside_code = [comment for comment in comments if comment.line[: comment.start[1]].strip()]
    return [(module, c.start[0], c.string) for c in beside_code if not MARKERS.fullmatch(c.string)]


def test_comments_are_above_the_line_that_they_explain():
    assert [found for module in MODULES for found in list_comments_beside_code(module)] == []
