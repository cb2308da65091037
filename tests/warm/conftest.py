"""A client that is patient, one that is not, and a resident that all tests of a worker share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.conftest import machine
from tests.scratch_project import ScratchProject
from tests.warm.warm_fixtures import patient_client, shared_resident
from tests.warm.warm_harness import Client, TestResident, compile_client, is_supported

__all__ = ["machine", "patient_client", "shared_resident"]

# Where there is no warm engine, there is nothing to test.
collect_ignore_glob = [] if is_supported() else ["test_*.py"]


@pytest.fixture(scope="session")
def hasty_client(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The client in C as it is shipped."""
    return compile_client(tmp_path_factory.mktemp("hasty"), "-static")


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
