"""A call that a test leaves waiting ends with the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.permits.waiting_calls import WaitingCall


# Before the folder of the test is removed, which has the numbers of the processes.
@pytest.fixture(autouse=True)
def no_call_stays(tmp_path: Path) -> Iterator[None]:
    yield
    while WaitingCall.started:
        WaitingCall.started.pop().end()
