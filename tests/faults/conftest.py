"""Fixtures of the fault tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest

pytest.register_assert_rewrite("tests.faults.harness")

from tests.faults.harness import WARM_WAY, WAYS, FaultProject  # noqa: E402
from tests.warm.warm_fixtures import patient_client, shared_resident  # noqa: E402
from tests.warm.warm_harness import is_supported  # noqa: E402

__all__ = ["patient_client", "shared_resident"]

# Of the cases of one test, so many are tried in process in `make test`; `make test-long` tries the others.
ONE_IN = 4


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `make test-long` what most cases do in process: what they do by command is the same and more."""
    for item in items:
        params = getattr(getattr(item, "callspec", None), "params", {})
        is_case = params.get("way") == WAYS[0] and len(params) > 1
        if is_case and crc32(item.nodeid.encode()) % ONE_IN:
            item.add_marker("long")
        # tests/warm shows in `make test` that the warm engine runs the same code.
        if params.get("way") == WARM_WAY:
            item.add_marker("long")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[FaultProject]:
    """Make an empty project; everything that carries its mark is ended with the test."""
    made = FaultProject(tmp_path)
    yield made
    made.end_all()


@pytest.fixture(params=[*WAYS, *([WARM_WAY] if is_supported() else [])])
def way(request: pytest.FixtureRequest, project: FaultProject) -> str:
    """Run the test with each way to fire an event."""
    if request.param == WARM_WAY:
        project.warm_client = request.getfixturevalue("patient_client")
        project.resident = request.getfixturevalue("shared_resident")
    return request.param
