"""A table of cases as one test: to collect and report a test takes 5 ms, and most rows of a table take less."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any


def try_each(names: str, rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call a test with every row, as `pytest.mark.parametrize` does, but in one test; it fails with all rows that failed.

    The fixtures are made once: it is for tests that leave nothing behind in them.
    """
    words, table = re.findall(r"\w+", names), list(rows)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def try_all(**fixtures: Any) -> None:
            assert table
            failures = []
            for row in table:
                values = dict(zip(words, row if len(words) > 1 else (row,), strict=True))
                try:
                    test(**fixtures, **values)
                except Exception as error:
                    error.add_note(f"with {values!r}")
                    failures.append(error)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(table)} rows", failures)

        signature = inspect.signature(test)
        fixtures = [parameter for name, parameter in signature.parameters.items() if name not in words]
        try_all.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return try_all

    return decorate
