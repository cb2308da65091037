"""Runs the contract for the chosen frameworks, and writes what was seen if `make bridges` asks for it."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.bridges.adapter import Adapter
from tests.bridges.frameworks import REPORT, choose_adapters, list_chosen, list_frameworks

# Tests of frameworks that are not installed here.
collect_ignore = [f"test_{name.replace('-', '_')}.py" for name in list_frameworks() if name not in list_chosen()]
_cells: list[dict[str, Any]] = []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `adapter` with every chosen adapter."""
    if "adapter" in metafunc.fixturenames and "scene" not in metafunc.fixturenames:
        metafunc.parametrize("adapter", [make_parameter(adapter) for adapter in choose_adapters()])


def make_parameter(adapter: Adapter, *values: Any, name: str = "") -> Any:
    """Return the parameters of a test with an adapter, which may ignore warnings of its framework."""
    marks = [pytest.mark.filterwarnings(text) for text in adapter.ignored_warnings]
    return pytest.param(adapter, *values, marks=marks, id=name or adapter.name)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note the cells of the matrix; xdist passes on the reports of its workers."""
    cell = dict(report.user_properties).get("cell")
    if cell is not None and (report.when == "call" or report.failed):
        _cells.append({**cell, "passed": report.passed, "error": report.longreprtext.strip().splitlines()[-1:]})


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the cells, and the versions they are of."""
    path = os.environ.get(REPORT)
    if path and not hasattr(session.config, "workerinput"):
        versions = {name: version(name) for adapter in choose_adapters() for name in adapter.distributions}
        notes = {adapter.name: dict(adapter.notes) for adapter in choose_adapters() if adapter.notes}
        Path(path).write_text(json.dumps({"versions": versions, "notes": notes, "cells": _cells}, indent=1))
