from __future__ import annotations

import ast
from pathlib import Path

import boathook

SOURCE = Path(boathook.__file__).parent


def test_every_public_name_is_sorted_and_there() -> None:
    assert boathook.__all__ == sorted(boathook.__all__, key=lambda name: (not name.isupper(), name))
    assert [name for name in boathook.__all__ if getattr(boathook, name, None) is None] == []


def test_dir_tells_the_public_names() -> None:
    assert dir(boathook) == sorted(boathook.__all__)


def test_every_public_function_class_and_module_has_a_docstring() -> None:
    missing = []
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = [
            node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
        ]
        public = [n for n in nodes if not n.name.startswith("_") and _is_reachable(tree, n) and not _is_overload(n)]
        missing += [f"{path.name}:{node.lineno} {node.name}" for node in public if not ast.get_docstring(node)]
        missing += [] if ast.get_docstring(tree) else [str(path)]
    assert missing == []


def _is_overload(node: ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "overload" for one in node.decorator_list)


def _is_reachable(tree: ast.Module, node: ast.AST) -> bool:
    """Say whether a definition stands at module level or directly in a public class."""
    homes = [tree, *(item for item in tree.body if isinstance(item, ast.ClassDef) and not item.name.startswith("_"))]
    return any(node in home.body for home in homes)


def test_functions_are_short() -> None:
    long = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or 0) - node.lineno + 1
                if size > 50:
                    long.append(f"{path.name}:{node.lineno} {node.name} has {size} lines")
    assert long == []
