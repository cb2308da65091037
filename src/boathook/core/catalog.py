"""All hooks that were found, in order, and which of them an event concerns."""

from __future__ import annotations

from boathook.core.hook import ARMED, INVALID, NO_ENTRY, Diagnostic, Hook
from boathook.core.matcher import Texts
from boathook.core.run import Skip
from boathook.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from boathook.core.event import Event, EventKind

LOUD_STATES = (INVALID, NO_ENTRY)


class Settings(Value):
    """What hooks.toml says about the engine as a whole."""

    debug: bool = False
    strict_exit_codes: bool = False
    max_stop_blocks: int = 3


class Stage(Value):
    """Hooks that run together; `order` is its place among the stages."""

    order: tuple[int, int, str, str]
    hooks: tuple[Hook, ...]


class Plan(Value):
    """What an event as it stands asks for: stages one after the other, then hooks in the background."""

    stages: tuple[Stage, ...] = ()
    background: tuple[Hook, ...] = ()


class Catalog(Value):
    """Immutable: hooks in the order of running, the settings, and what is wrong in files that are no hooks."""

    hooks: tuple[Hook, ...] = ()
    settings: Settings = Settings()
    diagnostics: tuple[Diagnostic, ...] = ()
    project: str = ""

    def plan(self, event: Event) -> Plan:
        """Select the hooks that match an event."""
        matching = self._selector(event.kind).select(event)
        stages = tuple(Stage(hook.order, (hook,)) for hook in matching if not hook.background)
        return Plan(stages, tuple(hook for hook in matching if hook.background))

    def skips(self, event: Event) -> tuple[Skip, ...]:
        """Name the hooks that are not armed but could have been meant by an event."""
        return tuple(
            Skip(hook.name, hook.why, loud=hook.state in LOUD_STATES)
            for hook in self.concerned(event.kind)
            if not takes_part(hook) and (hook.state == INVALID or not hook.matcher.why_not(event))
        ) + tuple(Skip(d.path, str(d), loud=True) for d in self.diagnostics if d.level == "error")

    def concerned(self, kind: EventKind) -> tuple[Hook, ...]:
        """Give the hooks of a kind, whatever their state, and those whose kind could not be read."""
        return tuple(hook for hook in self.hooks if hook.kind is kind or hook.kind is None)

    def _selector(self, kind: EventKind) -> Selector:
        selectors: dict[EventKind, Selector] = self.__dict__.setdefault("_selectors", {})
        found = selectors.get(kind)
        if found is None:
            found = selectors[kind] = Selector([h for h in self.hooks if h.kind is kind and takes_part(h)])
        return found


def takes_part(hook: Hook) -> bool:
    """Say whether a hook is in the plan: it is armed, or cannot run and is set to block then."""
    return hook.state == ARMED or (hook.state in LOUD_STATES and hook.on_failure == "block")


class Selector:
    """The matching hooks of one kind. Few hooks are asked one by one; many are found through the words of their patterns.

    The index maps the first letters of every word to the hooks that need it. A text is looked up letter group by letter group, so
    the cost depends on the text and not on the number of hooks; candidates are then asked themselves, so nothing is guessed.
    """

    GRAM = 3
    MANY = 64
    LONG = 1 << 14

    def __init__(self, hooks: Sequence[Hook]) -> None:
        """Take the hooks in the order of running."""
        self._hooks = tuple(hooks)
        self._calls = 0
        self._index: dict[str, list[int]] | None = None
        self._always: list[int] = []
        self._by_tool: dict[str, tuple[list[int], frozenset[int]]] = {}

    def select(self, event: Event) -> tuple[Hook, ...]:
        """Give the hooks that match, in the order of running."""
        texts = Texts(event.tool_input)
        self._calls += 1
        # one event does not repay an index; the second one shows that there will be more
        if len(self._hooks) < self.MANY or self._calls < 2 or not event.kind.has_tool:
            candidates: Sequence[Hook] = self._hooks
        elif texts.too_long or len(texts.all[-1]) > self.LONG:
            candidates = self._hooks
        else:
            candidates = self._candidates(event.tool_name, texts)
        return tuple(hook for hook in candidates if not hook.matcher.why_not(event, texts))

    def _candidates(self, tool: str, texts: Texts) -> Sequence[Hook]:
        certain, possible = self._for_tool(tool)
        index, size = self._grams(), self.GRAM
        hits: set[int] = set()
        for text in texts.all:
            for gram in {text[at : at + size] for at in range(len(text) - size + 1)} & index.keys():
                hits.update(index[gram])
        return [self._hooks[at] for at in sorted([*certain, *(hits & possible)])]

    def _for_tool(self, tool: str) -> tuple[list[int], frozenset[int]]:
        """Give the hooks for a tool that must be asked anyway, and those that need a word first."""
        found = self._by_tool.get(tool)
        if found is None:
            self._grams()
            fits = [
                at for at, hook in enumerate(self._hooks) if hook.matcher.tool is None or hook.matcher.tool.search(tool)
            ]
            always = frozenset(self._always)
            found = ([at for at in fits if at in always], frozenset(fits) - always)
            if len(self._by_tool) < 256:
                self._by_tool[tool] = found
        return found

    def _grams(self) -> dict[str, list[int]]:
        if self._index is None:
            self._index = {}
            for at, hook in enumerate(self._hooks):
                words = hook.matcher.pattern.words if hook.matcher.pattern else None
                if words is None or min(map(len, words.any_of)) < self.GRAM:
                    self._always.append(at)
                    continue
                for word in words.any_of:
                    self._index.setdefault(word[: self.GRAM], []).append(at)
        return self._index
