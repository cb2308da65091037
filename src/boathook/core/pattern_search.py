"""Which engine searches a pattern: RE2, or `regex` where RE2 cannot or is not installed, within a budget of time."""

# `regex` goes back and tries again, so its time is not linear: what it cannot finish counts as a match. A guard is then asked
# once too often, never once too few.

from __future__ import annotations

import sys
from _contextvars import ContextVar

from boathook.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from boathook.core.pattern_syntax import Translation

    Search = Callable[[str], bool]
    Result = TypeVar("Result")

RE2, REGEX = "RE2", "regex"
# Which engines may search a pattern. The patterns of a hook that nobody trusted get no more than linear time, or none.
ALL_ENGINES, LINEAR_ENGINE, NO_ENGINE = "all", "linear", "none"
# Processor time for all patterns of one event together. A search that behaves takes milliseconds for a text of 1 MiB, and
# the shortest time that a host waits for hooks is some seconds.
MAX_SEARCH_SECONDS = 0.25

_EXTENSION = "re2._re2"
_NOT_FOUND = (-1, -1)

_libraries: dict[str, Any] = {}


class SearchBudget:
    """The time that is left for searches of one event, and what could not be searched within it."""

    def __init__(self, get_seconds: Callable[[], float], seconds: float = MAX_SEARCH_SECONDS) -> None:
        self._get_seconds, self._seconds_left = get_seconds, seconds
        self._results: dict[tuple[str, str], bool] = {}
        # Why each pattern counts as a match, by its source.
        self.unfinished: dict[str, str] = {}

    def search(self, source: str, compiled: Callable[[], Any], text: str) -> bool:
        """Search a text, once for each pattern and text; True if it cannot be decided in the time that is left."""
        result = self._results.get((source, text))
        if result is None:
            started = self._get_seconds()
            result = self._results[source, text] = self._search(source, compiled, text)
            self._seconds_left -= self._get_seconds() - started
        return result

    def _search(self, source: str, compiled: Callable[[], Any], text: str) -> bool:
        try:
            if self._seconds_left <= 0:
                raise TimeoutError
            return compiled().search(text, timeout=self._seconds_left) is not None
        except TimeoutError:
            self._seconds_left = 0
            limit = f"the {MAX_SEARCH_SECONDS * 1000:g} ms that all such patterns of an event have"
            self.unfinished[source] = f"was not searched to the end within {limit}"
        except (ConfigError, MemoryError, RecursionError) as error:
            self.unfinished[source] = f"cannot be searched: {str(error) or type(error).__name__}"
        return True

    def call(self, function: Callable[..., Result], *args: Any) -> Result:
        """Call a function; all searches in it share this budget."""
        # Searches are deep below, in patterns of matchers of hooks. Threads and tasks have each their own.
        before = _budgets.get()
        _budgets.set(self)
        try:
            return function(*args)
        finally:
            _budgets.set(before)

    def describe_unfinished(self, sources: Iterable[str]) -> str:
        """Return why the first of some patterns counts as a match; "" if all of them were searched."""
        why = next((self.unfinished[source] for source in sources if source in self.unfinished), "")
        return f"this counts as a match only because its pattern {why}" if why else ""


_budgets: ContextVar[SearchBudget | None] = ContextVar("search budget", default=None)


def has_unfinished_search() -> bool:
    """Whether a pattern of this event counts as a match only because it could not be searched to the end."""
    budget = _budgets.get()
    return budget is not None and bool(budget.unfinished)


def make_search(source: str, construct: str, engines: str) -> Search:
    """Return the function that searches a pattern; ConfigError if it does not compile."""
    is_linear = not construct and has_re2()
    if engines == NO_ENGINE or (engines == LINEAR_ENGINE and not is_linear):
        return lambda _: True
    return _make_linear_search(compile_by_re2(source)) if is_linear else _make_budgeted_search(source)


def _make_linear_search(compiled: Any) -> Search:
    anywhere = _load(RE2).RE2.Anchor.UNANCHORED

    def search(text: str) -> bool:
        # A lone surrogate, which UTF-8 does not have, is a question mark in both engines.
        data = text.encode("utf-8", "replace")
        return bool(compiled.Match(anywhere, data, 0, len(data))[0] != _NOT_FOUND)

    return search


def _make_budgeted_search(source: str) -> Search:
    compiled: list[Any] = []

    def get_compiled() -> Any:
        if not compiled:
            from boathook.core.pattern_syntax import translate_pattern

            compiled.append(compile_by_regex(source, translate_pattern(source)))
        return compiled[0]

    def search(text: str) -> bool:
        # What is loaded once is not a part of the time that searching takes.
        _load(REGEX)
        budget = _budgets.get() or SearchBudget(lambda: 0.0)
        return budget.search(source, get_compiled, _replace_surrogates(text))

    return search


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def has_re2() -> bool:
    return _load(RE2) is not None


def compile_by_re2(source: str) -> Any:
    re2 = _load(RE2)
    options = re2.RE2.Options()
    options.log_errors = False
    try:
        compiled = re2.RE2(source.encode(), options)
    except UnicodeEncodeError as error:
        raise ConfigError(f"the pattern {source!r} does not compile: {error.args[0]}") from None
    if not compiled.ok():
        detail = compiled.error()
        text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        raise ConfigError(f"the pattern {source!r} does not compile: {text}")
    return compiled


def compile_by_regex(source: str, translation: Translation) -> Any:
    regex = _load(REGEX)
    try:
        return regex.compile(translation.text, regex.VERSION0, cache_pattern=False)
    except (regex.error, RecursionError, OverflowError, ValueError) as error:
        raise ConfigError(f"the pattern {source!r} does not compile: {error}") from None


def _load(name: str) -> Any:
    if name not in _libraries:
        try:
            _libraries[name] = _load_extension() if name == RE2 else __import__(name)
        except ImportError:
            if name == REGEX:
                raise
            _libraries[name] = None
    return _libraries[name]


def _load_extension() -> Any:
    """Load the part of RE2 that is in C: its part in Python takes longer to import, and only adds what is not used here."""
    # If its part in Python is imported later, it finds this module.
    if _EXTENSION not in sys.modules and "re2" not in sys.modules:
        package = _find_module("re2", None)
        folders = package.submodule_search_locations if package is not None else None
        spec = _find_module(_EXTENSION, folders) if folders else None
        if spec is not None:
            # `importlib` imports more than this
            from _frozen_importlib import module_from_spec

            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules[_EXTENSION] = module
    # The second is for a release that has its part in C elsewhere.
    return sys.modules.get(_EXTENSION) or getattr(__import__("re2"), "_re2", None)


def _find_module(name: str, folders: Any) -> Any:
    for finder in tuple(sys.meta_path):
        spec = finder.find_spec(name, folders)
        if spec is not None:
            return spec
    return None
