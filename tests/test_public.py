from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path

import boathook

SOURCE = Path(boathook.__file__).parent


def test_every_public_name_is_listed_once_and_there() -> None:
    assert len(boathook.__all__) == len(set(boathook.__all__))
    assert [name for name in boathook.__all__ if getattr(boathook, name, None) is None] == []


def test_type_checkers_see_the_public_names() -> None:
    stub = ast.parse((SOURCE / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    seen = {
        alias.asname: getattr(import_module(node.module or ""), alias.name) for node in imports for alias in node.names
    }
    assert seen == {name: getattr(boathook, name) for name in boathook.__all__}


def test_dir_lists_the_public_names() -> None:
    assert dir(boathook) == sorted(boathook.__all__)


def test_the_public_api_and_every_module_have_a_docstring() -> None:
    missing = [
        name for name in boathook.__all__ if not name.startswith("__") and _needs_docstring(getattr(boathook, name))
    ]
    for name in boathook.__all__:
        value = getattr(boathook, name)
        if isinstance(value, type):
            methods = {member: one for member, one in vars(value).items() if not member.startswith("_")}
            missing += [f"{name}.{member}" for member, one in methods.items() if _needs_docstring(one)]
    for path in SOURCE.rglob("*.py"):
        missing += [] if ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) else [str(path)]
    assert missing == []


def _needs_docstring(value: object) -> bool:
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    is_documented_kind = isinstance(function, type | property) or inspect.isfunction(function)
    return is_documented_kind and not inspect.getdoc(function)
