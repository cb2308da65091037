"""A client that is patient, one that is not, and a resident that all tests of a worker share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.scratch_project import ScratchProject
from tests.warm.warm_harness import Client, TestResident, compile_client, is_supported

# Where there is no warm engine, there is nothing to test.
collect_ignore_glob = [] if is_supported() else ["test_*.py"]


@pytest.fixture(scope="session")
def patient_client(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The client in C, with a minute to be accepted."""
    return compile_client(tmp_path_factory.mktemp("patient"), "-DACCEPT_MS=60000")


@pytest.fixture(scope="session")
def hasty_client(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The client in C as it is shipped."""
    return compile_client(tmp_path_factory.mktemp("hasty"), "-static")


@pytest.fixture(scope="session")
def shared_resident(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestResident]:
    resident = TestResident(tmp_path_factory.mktemp("resident"))
    yield resident
    assert resident.end() == 0
    assert list((resident.state / "warm").iterdir()) == []


@pytest.fixture
def resident(project: ScratchProject) -> Iterator[TestResident]:
    """A resident of the test's own."""
    made = TestResident(project.state, "--config", str(project.config))
    yield made
    made.end()


@pytest.fixture
def warm(project: ScratchProject, shared_resident: TestResident, patient_client: str) -> Client:
    """The scratch project's events, answered by the resident that all tests share."""
    shared_resident.lead_here(project.state)
    return Client(project, patient_client)


@pytest.fixture
def cold(project: ScratchProject) -> Client:
    return Client(project, "/usr/bin/env")
