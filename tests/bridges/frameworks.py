"""Which frameworks there are, and which of them these tests run with."""

from __future__ import annotations

import importlib
import os
import warnings
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.bridges.adapter import Adapter

PINS = Path(__file__).with_name("pins")
RESULTS = Path(__file__).with_name("results")
# The framework to run with, and the file for what was seen. `make bridges` sets both.
CHOICE, REPORT = "BOATHOOK_BRIDGE", "BOATHOOK_BRIDGE_REPORT"


def list_frameworks() -> list[str]:
    """Return the names of all frameworks: each has a file with pinned versions."""
    return sorted(path.stem for path in PINS.glob("*.txt"))


def load_adapters(framework: str) -> list[Adapter]:
    """Return the adapters of a framework; a framework may have several ways to attach."""
    # What a framework warns about while it is imported is its own business.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module(f"tests.bridges.adapters.{framework.replace('-', '_')}")
    adapters: list[Adapter] = module.ADAPTERS
    return adapters


@cache
def list_chosen() -> tuple[str, ...]:
    """Return the frameworks to test with: the one that BOATHOOK_BRIDGE names, otherwise all that are installed."""
    choice = os.environ.get(CHOICE, "")
    return (choice,) if choice else tuple(name for name in list_frameworks() if _is_installed(name))


@cache
def choose_adapters() -> tuple[Adapter, ...]:
    """Return the adapters to test with."""
    return tuple(adapter for name in list_chosen() for adapter in load_adapters(name))


def _is_installed(framework: str) -> bool:
    if not (Path(__file__).with_name("adapters") / f"{framework.replace('-', '_')}.py").exists():
        return False
    try:
        # The first line of the pins is the framework itself.
        return bool(version((PINS / f"{framework}.txt").read_text().split("==")[0]))
    except PackageNotFoundError:
        return False
