"""A project in which no variable of a host is set."""

from __future__ import annotations

import pytest

from tests.conftest import HOST_VARIABLES


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in HOST_VARIABLES:
        monkeypatch.delenv(name, raising=False)
