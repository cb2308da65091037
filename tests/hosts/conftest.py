"""A world in which no variable of a host is set."""

from __future__ import annotations

import pytest
from tests.hosts.making import VARIABLES


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
