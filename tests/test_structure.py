"""The structure of the package: what import-linter, which looks at rooms only, does not see."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}


def iter_imports(nodes: Iterable[ast.stmt], *, is_inside: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield import statements, without those for type checkers; `is_inside` adds those inside functions."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from iter_imports(node.orelse, is_inside=is_inside)
        elif is_inside or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                yield from iter_imports(getattr(node, field, ()), is_inside=is_inside)


def find_dependencies(module: str, *, is_inside: bool) -> set[str]:
    found: set[str] = set()
    for node in iter_imports(ast.parse(MODULES[module].read_text()).body, is_inside=is_inside):
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
