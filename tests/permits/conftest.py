"""A call that a test leaves waiting ends with the test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.permits.waiting_calls import WaitingCall


@pytest.fixture(autouse=True)
def no_call_stays() -> Iterator[None]:
    yield
    while WaitingCall.started:
        WaitingCall.started.pop().end()
