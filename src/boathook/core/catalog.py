"""All hooks that were found, in order, and which of them an event concerns."""

from __future__ import annotations

from boathook.core.event import PRE_TOOL
from boathook.core.hook import (
    ARMED,
    INVALID,
    IS_OURS,
    MODIFIED,
    NO_ENTRY,
    SCOPES,
    SHADOWED,
    UNTRUSTED,
    USER,
    Diagnostic,
    Hook,
)
from boathook.core.matcher import Texts
from boathook.core.prefilter import index_words, list_grams
from boathook.core.value import Value
from boathook.core.verdict import Skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from boathook.core.event import Event, EventKind

TOGETHER = (-100, len(SCOPES), "", "")  # the place of the hooks that run together: after all others of priority 100
BROKEN_STATES = (INVALID, NO_ENTRY)
UNTRUSTED_STATES = (UNTRUSTED, MODIFIED)
LOUD_STATES = (*BROKEN_STATES, *UNTRUSTED_STATES)


class Settings(Value):
    """What hooks.toml says about the engine as a whole."""

    debug: bool = False
    strict_exit_codes: bool = False
    max_stop_blocks: int = 3
    max_timeout: int = 600_000
    model: str = ""
    untrusted: str = "skip"
    record: str = "summary"
    degraded: str = "tell"


class Stage(Value):
    """Hooks that run together; `order` is its place among the stages."""

    order: tuple[int, int, str, str]
    hooks: tuple[Hook, ...]


class Plan(Value):
    """What an event as it stands asks for: stages one after the other, then hooks in the background."""

    stages: tuple[Stage, ...] = ()
    background: tuple[Hook, ...] = ()


class Catalog(Value):
    """Immutable: hooks in the order of running, the settings, diagnostics about other files, and each source's project."""

    hooks: tuple[Hook, ...] = ()
    settings: Settings = Settings()
    diagnostics: tuple[Diagnostic, ...] = ()
    projects: tuple[tuple[str, str], ...] = ()

    @property
    def project(self) -> str:
        """The project of the first source that has one, or ""."""
        return next((project for _, project in self.projects if project), "")

    def find_project(self, source: str) -> str:
        """Return the project of a source by its name, or ""."""
        return dict(self.projects).get(source, "")

    def plan(self, event: Event) -> Plan:
        """Select the hooks that match an event; those that run together form one stage, each handler once."""
        matching = deduplicate(self._selector(event.kind).select(event))
        stages = [Stage(hook.order, (hook,)) for hook in matching if not _waits(hook) and not hook.together]
        if group := tuple(hook for hook in matching if hook.together and not _waits(hook)):
            stages.append(Stage(TOGETHER, group))
            stages.sort(key=_place)
        return Plan(tuple(stages), tuple(filter(_waits, matching)))

    def skips(self, event: Event) -> tuple[Skip, ...]:
        """Name the hooks that are not armed but could have been meant by an event."""
        return tuple(
            Skip(hook.name, hook.why, is_warning=is_loud(hook), state=hook.state)
            for hook in self.concerned(event.kind)
            if not takes_part(hook)
            and hook.why != IS_OURS
            and (hook.state == INVALID or not hook.matcher.why_not(event))
        ) + tuple(Skip(d.path, f"ignored: {d}", is_warning=True) for d in self.diagnostics if d.level == "error")

    def concerned(self, kind: EventKind) -> tuple[Hook, ...]:
        """Return the hooks of a kind, whatever their state, and those whose kind could not be read."""
        return tuple(hook for hook in self.hooks if hook.kind is kind or hook.kind is None)

    def _selector(self, kind: EventKind) -> Selector:
        selectors: dict[EventKind, Selector] = self.__dict__.setdefault("_selectors", {})
        found = selectors.get(kind)
        if found is None:
            found = selectors[kind] = Selector([h for h in self.hooks if h.kind is kind and takes_part(h)])
        return found


def _place(stage: Stage) -> tuple[int, int, str, str]:
    return stage.order


def deduplicate(hooks: tuple[Hook, ...]) -> tuple[Hook, ...]:
    """Leave out hooks that run together and whose very handler another one has: the one that guards best stays.

    That is one whose answer counts, then one that blocks when it fails, then the most patient, then the first. The user's stays
    whatever a project has: that one runs with fewer variables, and may be made to fail. Beside a user's in the background one
    whose answer counts stays, too.
    """
    if not any(hook.together for hook in hooks):
        return hooks
    kept: dict[object, list[Hook]] = {}
    for hook in sorted(hooks, key=_worth):
        if hook.together and not is_hollow(hook):
            better = kept.setdefault(hook.handler, [])
            if not better or (_waits(better[0]) and not _waits(hook)):
                better[:] = [hook, *better]
    return tuple(
        hook for hook in hooks if not hook.together or is_hollow(hook) or any(one is hook for one in kept[hook.handler])
    )


def _worth(hook: Hook) -> tuple[object, ...]:
    return (hook.scope != USER, _waits(hook), hook.on_failure != "block", -hook.timeout)


def is_hollow(hook: Hook) -> bool:
    """Whether a hook cannot run and is set to block then: it takes part as a refused run, as if it were sync."""
    return hook.state in LOUD_STATES and hook.on_failure == "block" and hook.kind is not None


def mark_untrusted(hook: Hook, state: str, why: str, untrusted: str) -> Hook:
    """Return a hook that is not trusted as it is: skipped, or at a tool call a refused run if the user wants that blocked."""
    blocks = untrusted == "block" and hook.kind is PRE_TOOL
    return hook.replace(state=state, why=why, on_failure="block" if blocks else "allow", approval=None)


def _waits(hook: Hook) -> bool:
    """Whether a hook runs in the background, after the others."""
    return hook.background and not is_hollow(hook)


def takes_part(hook: Hook) -> bool:
    """Whether a hook is in the plan."""
    return hook.state == ARMED or is_hollow(hook)


def is_loud(hook: Hook) -> bool:
    """Whether it must be told that a hook did not run: it cannot, or another has taken the place of one that counted."""
    counted = hook.scope == USER or hook.approval is not None
    replaced = hook.state == SHADOWED and counted and not hook.together
    return replaced or hook.state in LOUD_STATES


class Selector:
    """The matching hooks of one kind. Few hooks are asked one by one; many are found through the words of their patterns.

    Words only propose candidates (see core.words); these are then asked themselves, so nothing is guessed.
    """

    MANY = 64
    LONG = 1 << 14

    def __init__(self, hooks: Sequence[Hook]) -> None:
        """Take the hooks in the order of running."""
        self._hooks = tuple(hooks)
        self._calls = 0
        self._index: _Index | None = None
        self._by_tool: dict[str, tuple[list[int], frozenset[int]]] = {}

    def select(self, event: Event) -> tuple[Hook, ...]:
        """Return the hooks that match, in the order of running."""
        texts = Texts(event.tool_input)
        self._calls += 1
        candidates: Sequence[Hook] = self._hooks
        # one event does not repay an index; the second one shows that there will be more
        if (
            len(self._hooks) >= self.MANY
            and self._calls > 1
            and event.kind.has_tool
            and len(event.tool_names) == 1
            and len(texts.all[-1]) <= self.LONG
        ):
            candidates = self._candidates(event.tool_name, texts)
        return tuple(hook for hook in candidates if not hook.matcher.why_not(event, texts))

    def _candidates(self, tool: str, texts: Texts) -> Sequence[Hook]:
        if self._index is None:
            self._index = _Index(self._hooks)
        asked, wordy = self._for_tool(tool, self._index)
        hits = {at for text in texts.all for at in self._index.owners(text)}
        return [self._hooks[at] for at in sorted([*asked, *(hits & wordy)])]

    def _for_tool(self, tool: str, index: _Index) -> tuple[list[int], frozenset[int]]:
        """Return the hooks for a tool that must be asked anyway, and those that need a word first."""
        found = self._by_tool.get(tool)
        if found is None:
            matchers = enumerate(hook.matcher for hook in self._hooks)
            fits = frozenset(at for at, matcher in matchers if matcher.tool is None or matcher.tool.search(tool))
            found = (sorted(fits & index.asked), fits - index.asked)
            if len(self._by_tool) < 256:
                self._by_tool[tool] = found
        return found


class _Index:
    """Which hooks need which word, and which must be asked whatever the words."""

    def __init__(self, hooks: Sequence[Hook]) -> None:
        patterns = [hook.matcher.pattern for hook in hooks]
        words = [pattern.words.any_of if pattern and pattern.words else () for pattern in patterns]
        self._owners: dict[str, list[int]] = {}
        for at, needed in enumerate(words):
            for word in needed:
                self._owners.setdefault(word, []).append(at)
        self._grams, self._short = index_words(self._owners)
        self._keys = self._grams.keys()
        self.asked = frozenset(at for at, needed in enumerate(words) if not needed)

    def owners(self, text: str) -> Iterator[int]:
        """Return the hooks one of whose words stands in a text."""
        found = [word for gram in list_grams(text) & self._keys for word in self._grams[gram]]
        for word in (*found, *self._short):
            if word in text:
                yield from self._owners[word]
