"""Both ways to ask a stack, and a place for hooks to hang at."""

from __future__ import annotations

import threading

import pytest

from tests.inprocess.builders import WAYS


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def way(request):
    """One of the two ways: from a plain program, from an event loop."""
    return request.param


@pytest.fixture
def gate():
    """Something that hooks wait for without success; opened after the test, so that no thread stays behind."""
    opened = threading.Event()
    yield opened
    opened.set()
