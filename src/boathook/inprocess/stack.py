"""The stack: hooks in process around operations, an immutable value. Hooks of files are layers of it, in one order.

Hooks that only want to be called are called in a loop with nothing around it, for that is most of them and must cost next to
nothing; whatever is more than that is done by `stack.walk`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from boathook.core.event import SPELLINGS, EventKind, find_kind
from boathook.core.outcome import NOTHING, Outcome
from boathook.errors import HookError
from boathook.inprocess.chain import AsyncWalk, Walk, as_outcome, news
from boathook.inprocess.contexts import Context, ToolContext
from boathook.inprocess.file_hooks import Background, Scripts, background_of, steps_of
from boathook.inprocess.layers import Layer, make_layer, rounds_of
from boathook.inprocess.matching import MatchLike, match_for
from boathook.inprocess.operations import ToolCall, arun_tool, result_of, run_tool, told

if TYPE_CHECKING:
    from boathook.engine import Engine

R = TypeVar("R")
Step = Layer | Scripts
Terminal = Callable[[Any], Any]
Ask = Callable[[ToolContext, str], "bool | Awaitable[bool]"]
KEPT_TOOLS = 256
TOOL_KINDS = tuple(SPELLINGS[name] for name in ("pre-tool-call", "post-tool-call", "post-tool-call-failure"))


class Chain:
    """The steps of one kind of event, or of one tool there.

    `plain` are their hooks if these are all different and mere calls of sync ones, `mere` if of any.
    """

    __slots__ = ("background", "mere", "plain", "steps", "tool", "tools")

    def __init__(
        self,
        steps: tuple[Step, ...],
        background: Background | None = None,
        *,
        by_tool: bool = False,
        tool: bool = False,
    ) -> None:
        layers = [step for step in steps if isinstance(step, Layer) and step.simple]
        different = len({id(layer.hook) for layer in layers}) == len(steps)
        simple = different and background is None and not by_tool
        self.tool = tool
        self.steps = steps
        self.background = background
        self.mere = tuple((layer.hook, layer.is_async) for layer in layers) if simple else None
        any_async = any(layer.is_async for layer in layers)
        self.plain = tuple(layer.hook for layer in layers) if simple and not any_async else None
        self.tools: dict[str, Chain] | None = {} if by_tool else None


class Stack:
    """Hooks in the order of their priority, higher first, equal ones in the order in which they were added."""

    def __init__(self, layers: tuple[Layer, ...] = (), engine: Engine | None = None, ask: Ask | None = None) -> None:
        """Take the layers; `with_` and its like are the usual way."""
        self.layers = tuple(sorted(layers, key=_by_priority))
        self.engine = engine
        self.ask = ask
        self._chains: dict[str, Chain] = {}
        self._plain: dict[str, tuple[Any, ...]] = {}
        self._mere: dict[str, tuple[tuple[Any, bool], ...]] = {}
        chains = [self._chain(kind) for kind in TOOL_KINDS]
        self.is_idle = not any(chain.steps or chain.background for chain in chains)

    def with_(
        self,
        hook: Any,
        *,
        on: str | EventKind | None = None,
        priority: int = 0,
        match: MatchLike | None = None,
        timeout: float | None = None,
        on_failure: str = "raise",
        max_rounds: int | None = None,
    ) -> Stack:
        """Return a stack with one hook more; without `on` it is asked at every event.

        A stop is refused by one hook at most `max_rounds` times in a turn (3).
        """
        kind = on if on is None or isinstance(on, EventKind) else find_kind(on)
        layer = make_layer(
            hook,
            kinds=None if kind is None else (kind,),
            priority=priority,
            match=match_for(match, kind),
            timeout=timeout,
            on_failure=on_failure,
            rounds=rounds_of(kind, max_rounds),
        )
        return self.with_layer(layer)

    def with_layer(self, layer: Layer) -> Stack:
        """Return a stack with one layer more."""
        if isinstance(layer.priority, bool) or not isinstance(layer.priority, int):
            raise HookError(f"priority must be a whole number, not {layer.priority!r}")
        return Stack((*self.layers, layer), self.engine, self.ask)

    def with_engine(self, engine: Engine | None) -> Stack:
        """Return a stack in which the hooks of files take part."""
        return Stack(self.layers, engine, self.ask)

    def with_ask(self, ask: Ask | None) -> Stack:
        """Return a stack in which a person can be asked; `ask` gets the call and the reason, and says whether it may go on."""
        return Stack(self.layers, self.engine, ask)

    def __len__(self) -> int:
        """Count the hooks in process."""
        return len(self.layers)

    def process(self, context: Context, terminal: Terminal | None = None) -> Outcome:
        """Run a context through the hooks, and then through the terminal if they let it; return the outcome.

        Its `context` is what the hooks and the terminal made of it, None if that is the one that was given.
        """
        hooks = self._plain.get(context.kind.name)
        if hooks is None:
            return self._process(context, terminal)
        for hook in hooks:
            said = hook(context)
            if said is not None and said is not NOTHING:
                return Walk(self, self._chains[context.kind.name], terminal).go_on(said, context, _index(hooks, hook))
        return NOTHING if terminal is None else news(as_outcome(terminal(context)), context)

    def _process(self, context: Context, terminal: Terminal | None) -> Outcome:
        """Do it where there is more to do than to call hooks, or that is not known yet."""
        chain = self._chain_for(context)
        if chain.plain is None or chain.tool:
            return news(Walk(self, chain, terminal).walk(context), context)
        return self.process(context, terminal)

    async def aprocess(self, context: Context, terminal: Terminal | None = None) -> Outcome:
        """Do the same in an event loop; hooks and terminal may be async or not."""
        hooks = self._mere.get(context.kind.name)
        if hooks is None:
            return await self._aprocess(context, terminal)
        for hook, is_async in hooks:
            said = await hook(context) if is_async else hook(context)
            if said is not None and said is not NOTHING:
                at = _index([one for one, _ in hooks], hook)
                return await AsyncWalk(self, self._chains[context.kind.name], terminal).go_on(said, context, at)
        return NOTHING if terminal is None else news(await AsyncWalk.ended(terminal, context), context)

    async def _aprocess(self, context: Context, terminal: Terminal | None) -> Outcome:
        chain = self._chain_for(context)
        if chain.mere is None or chain.tool:
            return news(await AsyncWalk(self, chain, terminal).walk(context), context)
        return await self.aprocess(context, terminal)

    def run_tool(self, call: ToolCall, operation: Callable[[ToolCall], R], **fields: Any) -> R:
        """Call a tool with its hooks around it; Blocked or Stopped if they do not let it, else its result or its error.

        `operation` gets the call as hooks left it; `fields` are those of the context (`session_id`, `work_dir`, `state` …).
        """
        if self.is_idle:
            return operation(call)
        context = ToolContext.before(call.name, call.args, call_id=call.id, **fields)
        found: R = result_of(told(run_tool(self, context, operation)))
        return found

    async def arun_tool(self, call: ToolCall, operation: Callable[[ToolCall], Any], **fields: Any) -> Any:
        """Do the same in an event loop; the operation may be async or not."""
        context = ToolContext.before(call.name, call.args, call_id=call.id, **fields)
        return result_of(told(await arun_tool(self, context, operation)))

    async def alook_again(self, context: ToolContext) -> Outcome:
        """Let the hooks of files alone look at a call that was changed after all hooks had their say."""
        steps = tuple(step for step in self._chain(context.kind).steps if isinstance(step, Scripts))
        return await AsyncWalk(self, Chain(steps), None).walk(context)

    def _chain_for(self, context: Context) -> Chain:
        chain = self._chain(context.kind)
        if chain.tools is None:
            return chain
        found = chain.tools.get(context.tool)
        if found is None:
            steps = tuple(step for step in chain.steps if isinstance(step, Scripts) or _may_want(step, context))
            found = Chain(steps, chain.background, tool=True)
            if len(chain.tools) < KEPT_TOOLS:
                chain.tools[context.tool] = found
        return found

    def _chain(self, kind: EventKind) -> Chain:
        """Return the chain of a kind, made once."""
        found = self._chains.get(kind.name)
        if found is None:
            layers = [layer for layer in self.layers if layer.kinds is None or kind in layer.kinds]
            steps: list[Step] = [*layers]
            background = None
            if self.engine is not None:
                steps += steps_of(self.engine, kind, [layer.priority for layer in layers])
                steps.sort(key=_by_place)
                background = background_of(self.engine, kind)
            by_tool = any(layer.match is not None for layer in layers)
            found = self._chains[kind.name] = Chain(tuple(steps), background, by_tool=by_tool)
            if found.plain is not None:
                self._plain[kind.name] = found.plain
            if found.mere is not None:
                self._mere[kind.name] = found.mere
        return found


def _index(hooks: Sequence[Any], hook: Any) -> int:
    """Return the place behind a hook; by identity, for a hook may call anything its equal."""
    return next(at for at, one in enumerate(hooks, 1) if one is hook)


def _by_priority(layer: Layer) -> int:
    return -layer.priority


def _by_place(step: Step) -> tuple[int, int]:
    """Order steps by priority; hooks of files come before hooks in process of the same one."""
    return (-step.priority, 0 if isinstance(step, Scripts) else 1)


def _may_want(layer: Layer, context: Context) -> bool:
    """Whether a layer may want events of this kind and tool; matchers that ask for more are asked each time."""
    return layer.match is None or not layer.match.fixed or layer.match(context)
