"""All hooks in the order of running, and which of them run on an event."""

from __future__ import annotations

from boathook.core.event import PRE_TOOL
from boathook.core.hashing import hexdigest
from boathook.core.hook import (
    ABSENT_STATES,
    ARMED,
    INVALID,
    MODIFIED,
    NO_ENTRY,
    SCOPES,
    SHADOWED,
    UNTRUSTED,
    USER,
    Diagnostic,
    Hook,
)
from boathook.core.matcher import InputTexts
from boathook.core.notices import COUNT_OF_STATE, describe_file_errors
from boathook.core.prefilter import index_words, list_grams
from boathook.core.value import Value
from boathook.core.verdict import Skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from boathook.core.event import Event, EventKind

# How much of a digest tells trusted hooks of one person apart.
KEY_DIGITS = 16
# The stage of the hooks that run together comes after all others of priority 100.
GROUP_ORDER = (-100, len(SCOPES), "", "")
BROKEN_STATES = (INVALID, NO_ENTRY)
UNTRUSTED_STATES = (UNTRUSTED, MODIFIED, *ABSENT_STATES)
REPORTED_STATES = (*BROKEN_STATES, *UNTRUSTED_STATES)


DENIED_QUESTION = "Your hooks.toml denies what hooks want to ask a person about."


class Settings(Value):
    debug: bool = False
    strict_exit_codes: bool = False
    max_stop_blocks: int = 3
    max_timeout: int = 600_000
    model: str = ""
    untrusted: str = "skip"
    record: str = "summary"
    degraded: str = "report"
    broken: str = "refuse"
    warm: str = "off"
    # "" is the default rule: see `boathook.core.ask_rule`.
    ask: str = ""
    ask_timeout: int = 300_000
    # The second factor of a person's answers, and the program that asks, if it is one: see `boathook.permits.factors`.
    factor: str = "none"
    askpass: str = ""
    # Which sources are read where: see `boathook.sources.source.choose_sources`. None if only the defaults are.
    source_rules: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # What is wrong in hooks.toml, if that hides what `ask` or the second factor should be. Then questions are denied, and what
    # needs the factor is refused.
    ask_mistake: str = ""
    factor_mistake: str = ""

    @property
    def factor_id(self) -> str:
        """Identify the second factor that is set, program included; "" if none is, or if a mistake hides which."""
        if self.factor_mistake or self.factor == "none":
            return ""
        return f"{self.factor} {self.askpass}" if self.factor == "askpass" else self.factor

    @property
    def question_denial(self) -> str:
        """Return why all questions to a person are denied, "" if they are not."""
        if self.ask_mistake:
            return f"Questions to a person are denied until a person corrects hooks.toml: {self.ask_mistake}"
        return DENIED_QUESTION if self.ask == "deny" else ""


class Stage(Value):
    order: tuple[int, int, str, str]
    hooks: tuple[Hook, ...]


class Plan(Value):
    stages: tuple[Stage, ...] = ()
    background: tuple[Hook, ...] = ()


class Catalog(Value):
    """Immutable: hooks in the order of running, the settings, diagnostics about other files, and each source's project.

    `counts` has the numbers of hooks of all kinds that do not work: see `boathook.core.notices`. Without `is_judged`, all hooks
    of projects count as trusted. `user_folders` are folders of the user: no project chose the names in them. `trusted_keys`
    identify the trusted hooks that are there, for the notes of sessions. `built_in` are hooks that are part of boathook: they are
    asked first whether they take part in an event (see `find_built_in`), and `hooks` are those that people wrote. `hook_set`
    identifies in records the set of hooks that could decide: see `boathook.loader`.
    """

    hooks: tuple[Hook, ...] = ()
    settings: Settings = Settings()
    diagnostics: tuple[Diagnostic, ...] = ()
    projects: tuple[tuple[str, str], ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    is_judged: bool = True
    user_folders: tuple[str, ...] = ()
    trusted_keys: tuple[str, ...] = ()
    built_in: tuple[Hook, ...] = ()
    hook_set: str = ""

    @property
    def trusted_digest(self) -> str:
        """What identifies the set of trusted hooks that are there, "" if there are none."""
        keys = " ".join(self.trusted_keys)
        return hexdigest(keys.encode())[:KEY_DIGITS] if keys else ""

    @property
    def project(self) -> str:
        """The project of the first source that has one, or ""."""
        return next((project for _, project in self.projects if project), "")

    def find_project(self, source: str) -> str:
        """Return the project of a source by its name, or ""."""
        return dict(self.projects).get(source, "")

    def plan(self, event: Event) -> Plan:
        """Select the hooks that match an event; those that run together form one stage, equal ones once."""
        matching = self._get_selector(event.kind).select(event)
        # Of a patch, hooks with the same handler may be asked about different files.
        matching = matching if event.patch else deduplicate(matching)
        stages = [Stage(hook.order, (hook,)) for hook in matching if not _is_deferred(hook) and not hook.runs_together]
        if group := tuple(hook for hook in matching if hook.runs_together and not _is_deferred(hook)):
            stages.append(Stage(GROUP_ORDER, group))
            stages.sort(key=lambda stage: stage.order)
        return Plan(tuple(stages), tuple(filter(_is_deferred, matching)))

    def find_skips(self, event: Event) -> tuple[Skip, ...]:
        """Return the hooks that do not run on an event although it may have meant them."""
        return (
            tuple(
                Skip(
                    hook.name,
                    hook.state_reason,
                    is_warning=should_report_skip(hook),
                    state=hook.state,
                    count_name=COUNT_OF_STATE.get(hook.state, "") if hook.is_hidden else "",
                    trust_key=hook.trust_key,
                )
                for hook in self.find_hooks(event.kind)
                if not can_take_part(hook)
                and not hook.is_installed_call
                # What a pack brings besides, or a person turned off, was not meant.
                and not hook.is_off_in_pack
                and (hook.state == INVALID or not hook.matcher.explain_mismatch(event))
            )
            + self._list_file_skips()
        )

    def _list_file_skips(self) -> tuple[Skip, ...]:
        errors = [diagnostic for diagnostic in self.diagnostics if diagnostic.level == "error"]
        projects = [project for _, project in self.projects if project and self.is_judged]
        return tuple(
            Skip(
                path,
                f"ignored: {message}",
                is_warning=True,
                is_hook=False,
                is_for_model=is_for_model or not self.is_judged,
            )
            for path, message, is_for_model in describe_file_errors(errors, projects, self.user_folders)
        )

    def find_hooks(self, kind: EventKind) -> tuple[Hook, ...]:
        """Return the hooks of a kind, in any state, and those whose kind could not be read."""
        return tuple(hook for hook in self.hooks if hook.kind is kind or hook.kind is None)

    def find_built_in(self, event: Event) -> tuple[Hook, ...]:
        """Return the built-in hooks that may have an opinion about an event."""
        return tuple(hook for hook in self.built_in if hook.kind is event.kind and can_take_part(hook))

    def _get_selector(self, kind: EventKind) -> Selector:
        selectors: dict[EventKind, Selector] = self.__dict__.setdefault("_selectors", {})
        selector = selectors.get(kind)
        if selector is None:
            hooks = [hook for hook in self.hooks if hook.kind is kind and can_take_part(hook)]
            selector = selectors[kind] = Selector(hooks)
        return selector


def add_to_plan(plan: Plan, hooks: tuple[Hook, ...]) -> Plan:
    """Return a plan with more hooks, each at its place in the order of running."""
    stages = (*plan.stages, *(Stage(hook.order, (hook,)) for hook in hooks))
    return plan.replace(stages=tuple(sorted(stages, key=lambda stage: stage.order))) if hooks else plan


def deduplicate(hooks: tuple[Hook, ...]) -> tuple[Hook, ...]:
    """Remove all but one of the grouped hooks that do the same: the one that guards best stays."""
    # That is one whose answer counts, then one that blocks when it fails, then the one with the longest timeout, then the
    # first. The user's hook always stays: one of a project runs with fewer variables and could be made to fail. If the user's
    # runs in the background, one whose answer counts stays, too.
    if not any(hook.runs_together for hook in hooks):
        return hooks
    best: dict[object, list[Hook]] = {}
    # A project's hook, a deferred one, one that does not block and one with a shorter timeout come later.
    for hook in sorted(hooks, key=lambda h: (h.scope != USER, _is_deferred(h), h.on_failure != "block", -h.timeout)):
        if hook.runs_together and not should_block_unrun(hook):
            better = best.setdefault(_make_group_key(hook), [])
            if not better or (_is_deferred(better[0]) and not _is_deferred(hook)):
                better[:] = [hook, *better]
    return tuple(
        hook
        for hook in hooks
        if not hook.runs_together or should_block_unrun(hook) or any(one is hook for one in best[_make_group_key(hook)])
    )


def _make_group_key(hook: Hook) -> tuple[object, ...]:
    # The same command reads something else in another form or at another event of its agent, and its answer is read otherwise.
    return hook.handler, hook.dialect.name, hook.trigger


def should_block_unrun(hook: Hook) -> bool:
    """Whether a hook cannot run and must block then: it takes part as a refused run, as if it were sync."""
    return hook.state in REPORTED_STATES and hook.on_failure == "block" and hook.kind is not None


def mark_untrusted(hook: Hook, state: str, why: str, untrusted: str) -> Hook:
    """Return a hook that is not trusted as it is: it is skipped, or blocks tool calls if the user wants that."""
    blocks = untrusted == "block" and hook.kind is PRE_TOOL
    return hook.replace(state=state, state_reason=why, on_failure="block" if blocks else "allow", approval=None)


def _is_deferred(hook: Hook) -> bool:
    return hook.background and not should_block_unrun(hook)


def can_take_part(hook: Hook) -> bool:
    return hook.state == ARMED or should_block_unrun(hook)


def should_report_skip(hook: Hook) -> bool:
    """Whether to warn that a hook did not run: it cannot, or another replaced one that the user wrote or trusted."""
    is_wanted = hook.scope == USER or hook.approval is not None
    is_replaced = hook.state == SHADOWED and is_wanted and not hook.runs_together
    return is_replaced or hook.state in REPORTED_STATES


class Selector:
    """Finds the matching hooks of one kind: few are matched one by one, many through an index of the words of their patterns."""

    # The index only finds candidates (see `prefilter`), which are then matched, so the result is exact. `hooks` are in the
    # order of running.
    MIN_INDEXED_HOOKS = 64
    MAX_INDEXED_CHARS = 1 << 14

    def __init__(self, hooks: Sequence[Hook]) -> None:
        self._hooks = tuple(hooks)
        self._calls = 0
        self._index: _Index | None = None
        self._by_tool: dict[tuple[str, ...], frozenset[int]] = {}

    def select(self, event: Event) -> tuple[Hook, ...]:
        texts = InputTexts(event.tool_input)
        self._calls += 1
        candidates: Sequence[Hook] = self._hooks
        # A hook for the files of a patch may be meant by a call of another tool.
        if event.kind.has_tool and not event.patch:
            candidates = self._find_candidates(event.tool_names, texts)
        return tuple(hook for hook in candidates if not hook.matcher.explain_mismatch(event, texts))

    def _find_candidates(self, names: tuple[str, ...], texts: InputTexts) -> Sequence[Hook]:
        numbers = self._find_for_tool(names)
        # An index does not pay for one event; the second shows that there will be more.
        is_indexed = len(self._hooks) >= self.MIN_INDEXED_HOOKS and self._calls > 1
        if is_indexed and len(texts.texts[-1]) <= self.MAX_INDEXED_CHARS:
            if self._index is None:
                self._index = _Index(self._hooks)
            index = self._index
            hits = {number for text in texts.texts for number in index.find_hooks_with_word(text)}
            numbers = numbers & (index.unindexed | hits)
        return self._hooks if len(numbers) == len(self._hooks) else [self._hooks[number] for number in sorted(numbers)]

    def _find_for_tool(self, names: tuple[str, ...]) -> frozenset[int]:
        """Return the hooks that do not name a tool, or one of these; the rest cannot match."""
        numbers = self._by_tool.get(names)
        if numbers is None:
            matchers = enumerate(hook.matcher for hook in self._hooks)
            numbers = frozenset(at for at, matcher in matchers if matcher.means_tool(names))
            if len(self._by_tool) < 256:
                self._by_tool[names] = numbers
        return numbers


class _Index:
    def __init__(self, hooks: Sequence[Hook]) -> None:
        patterns = [hook.matcher.pattern for hook in hooks]
        words = [pattern.words.any_of if pattern and pattern.words else () for pattern in patterns]
        self._owners: dict[str, list[int]] = {}
        for at, needed in enumerate(words):
            for word in needed:
                self._owners.setdefault(word, []).append(at)
        self._grams, self._short = index_words(self._owners)
        self._keys = self._grams.keys()
        self.unindexed = frozenset(at for at, needed in enumerate(words) if not needed)

    def find_hooks_with_word(self, text: str) -> Iterator[int]:
        candidates = [word for gram in list_grams(text) & self._keys for word in self._grams[gram]]
        for word in (*candidates, *self._short):
            if word in text:
                yield from self._owners[word]
