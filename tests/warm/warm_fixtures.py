"""A patient client and a resident that all tests of a worker share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.warm.warm_harness import TestResident, compile_client


@pytest.fixture(scope="session")
def patient_client(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The client in C, with a minute to be accepted."""
    return compile_client(tmp_path_factory.mktemp("patient"), "-DACCEPT_MS=60000")


@pytest.fixture(scope="session")
def shared_resident(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestResident]:
    # A long test may have a resident of its own for so long that this one would be idle.
    resident = TestResident(tmp_path_factory.mktemp("resident"), "--idle", "86400")
    yield resident
    assert resident.end() == 0
    assert list((resident.state / "warm").iterdir()) == []
