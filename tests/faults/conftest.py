"""Fixtures of the fault tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.faults.harness")

from tests.faults.harness import WAYS, FaultProject  # noqa: E402


@pytest.fixture
def project(tmp_path: Path) -> Iterator[FaultProject]:
    """Make an empty project; everything that carries its mark is ended with the test."""
    made = FaultProject(tmp_path)
    yield made
    made.end_all()


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    """Run the test with each way to fire an event."""
    return request.param
