"""What all bridges share: the version of a framework, the options of a bridge, and hooks attached to agents with them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, TypedDict

from boathook.core.hook import ARMED
from boathook.core.json_text import dumps
from boathook.core.near_words import ask_if_meant, find_near_word, is_typing_error
from boathook.engine import Engine
from boathook.errors import BridgeError, ConfigError
from boathook.inprocess.agent_run import AgentRun
from boathook.inprocess.contexts import ToolContext
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.layers import LOGGER
from boathook.inprocess.matching import list_exact_names
from boathook.inprocess.name_map import NameMap
from boathook.inprocess.run_outcome import ToolOutcome
from boathook.inprocess.stack import Stack
from boathook.system.extras import suggest_packages
from boathook.system.locations import current_dir, make_absolute

_MAX_CHECKED_TOOLS = 256
_NOWHERE = ("pre-context-compact", "post-context-compact", "notification")
# By framework, the events that its bridge never fires, because the framework does not report them: hooks for them do not run.
# Every bridge has a row.
MISSING_EVENTS: dict[str, tuple[str, ...]] = {
    "agent-framework": _NOWHERE,
    "claude-agent-sdk": (),
    "google-adk": _NOWHERE,
    "langchain": _NOWHERE,
    "langgraph": ("pre-agent-turn-stop", "post-agent-turn-stop", "pre-step", "post-step", *_NOWHERE),
    "openai-agents": _NOWHERE,
    "pydantic-ai": _NOWHERE,
    "strands-agents": _NOWHERE,
}


# The run whose tool is being called. One for all bridges: an agent of one framework may run in a tool of another.
_calling_run: ContextVar[AgentRun | None] = ContextVar("boathook_calling_run", default=None)


class BridgeOptions(TypedDict, total=False):
    """The options of every bridge, besides the hooks.

    `names` and `arguments` map tools and their arguments to the names that file hooks know; the rest is guessed. `session_id` is
    the id of all runs, instead of the one that the framework has. `work_dir` is the folder of the agent (default: the current
    one). Tools that cannot be guarded are refused unless `allow_unguarded` is set.
    """

    names: Mapping[str, str] | None
    arguments: Mapping[str, Mapping[str, str]] | None
    session_id: str
    work_dir: str | os.PathLike[str]
    allow_unguarded: bool


@dataclass(slots=True, eq=False)
class Attachment:
    """Hooks for the agents of a framework, with the options that all bridges have. It serves many runs at once."""

    framework: str
    hooks: Hooks
    names: Mapping[str, str] | None
    arguments: Mapping[str, Mapping[str, str]] | None
    session_id: str
    work_dir: str
    allow_unguarded: bool
    # One for all runs, so that what it guesses is guessed once, and what it reports is reported once.
    name_map: NameMap
    # Names that were reported as not being a tool: another agent with the same hooks may have them.
    _reported: set[str] = field(default_factory=set, init=False)
    # The hooks when it was last reported which of them never run, and what was reported.
    _checked_stack: Stack | None = field(default=None, init=False)
    _reported_hooks: set[tuple[int | str, str]] = field(default_factory=set, init=False)
    # Since the first run was made.
    _has_reported_count: bool = field(default=False, init=False)
    # Tools of agents that were checked, and the hooks at that time.
    _checked_tools: dict[tuple[str, ...], Stack] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._report_idle_hooks()

    def make_run(self, session_id: str = "", **fields: Any) -> AgentRun:
        """Return a new run; `session_id` counts if the user gave none. Texts for the person are logged as they come."""
        self._report_idle_hooks()
        self._report_attached()
        run = self.hooks.run(self.session_id or session_id, work_dir=self.work_dir, **fields)
        run.name_map, run.show_message = self.name_map, _log_message
        return run

    def make_child(self, parent: AgentRun, name: str, task: str = "", **fields: Any) -> AgentRun:
        """Return the run of a subagent: in the session of its parent, with the hooks and names of this attachment."""
        child = parent.child(name, task, **fields)
        child.stack, child.name_map = self.hooks.stack, self.name_map
        return child

    @property
    def options_key(self) -> str:
        """Return a text that differs if any option does that a run has from its bridge."""
        folder = make_absolute(self.work_dir) if self.work_dir else current_dir()
        return dumps(
            to_json_value([self.framework, self.names, self.arguments, self.session_id, folder]), sort_keys=True
        )

    def is_same(self, other: Attachment) -> bool:
        """Whether runs of both have the same hooks, names and folder."""
        return self is other or (self.hooks is other.hooks and self.options_key == other.options_key)

    def suspend(self, run: AgentRun, key: str) -> None:
        """Keep a run that waits for a person. Only a bridge with the same hooks and the same options finds it by the key."""
        if stale := self.hooks.find_run(_make_stale_key(self, key)):
            # The person is asked by the hooks of now.
            stale.forget_waiting()
        run.suspend(_make_own_key(self, key))
        run.suspend(_make_shared_key(self, key))

    def find_waiting_run(self, key: str) -> AgentRun | None:
        """Return the run that waits under a key; None if it has other hooks than this attachment has now."""
        run = self.hooks.find_run(_make_own_key(self, key))
        return run if run is not None and run.stack.is_same(self.hooks.stack) else None

    def has_waiting_run(self, key: str) -> bool:
        """Whether a run of this attachment waits under a key, also if it has earlier hooks."""
        return self.hooks.find_run(_make_own_key(self, key)) is not None

    def refuse_other_answers(self, run: AgentRun, key: str) -> None:
        """Let a new run ask again if another one waits under the key: a person has answered the questions of other hooks."""
        stale = self.hooks.find_run(_make_own_key(self, key))
        known = self.hooks.find_run(_make_stale_key(self, key))
        other = stale or known or self.hooks.find_run(_make_shared_key(self, key))
        if other is None or other is run:
            return
        run.must_ask_again = True
        if stale is not None:
            # The new run goes on in its session. If it fails before it has asked, the next one must ask, too.
            stale.forget_waiting()
            stale.suspend(_make_stale_key(self, key))

    def check_names(self, tools: Iterable[str]) -> None:
        """Raise BridgeError if names=, arguments= or match= has a mistake, now that the tools of an agent are known.

        What may be right in another agent is logged. Call it as often as you like: the same tools are checked once.
        """
        listed, stack = tuple(sorted({*tools} - {""})), self.hooks.stack
        if self._checked_tools.get(listed) is stack:
            return
        if self.names or self.arguments:
            self._check_maps(listed)
        if listed:
            self._check_matches(listed)
        if len(self._checked_tools) >= _MAX_CHECKED_TOOLS:
            self._checked_tools.clear()
        self._checked_tools[listed] = stack

    def _check_maps(self, listed: tuple[str, ...]) -> None:
        try:
            absent = self.name_map.check_tools(listed)
        except ConfigError as error:
            raise BridgeError(str(error)) from None
        for name in set(absent) - self._reported:
            self._reported.add(name)
            LOGGER.warning("names= or arguments= has '%s', but the agent's tools are: %s", name, ", ".join(listed))

    def _check_matches(self, listed: tuple[str, ...]) -> None:
        """Raise BridgeError for a hook whose match= has a typing error; log one that matches no tool here, once."""
        layers = [(layer, layer.match, kind) for layer in self.hooks.stack.layers for kind in layer.kinds or ()]
        checked = [(layer, match, kind) for layer, match, kind in layers if match is not None and match.pattern]
        namings = [self.name_map.guess_naming(tool) for tool in listed]
        # What one hook names is not what another one misspelled.
        unnamed = {*listed}.difference(*(list_exact_names(match.pattern) for _, match, _ in checked))
        for layer, match, kind in checked:
            if not match.is_in_doubt or not kind.has_tool:
                continue
            if not any(match(ToolContext(kind, naming.name, naming=naming)) for naming in namings):
                names = list_exact_names(match.pattern)
                slips = [(name, tool) for tool in sorted(unnamed) for name in names if is_typing_error(name, tool)]
                message = f"{layer.description} matches no tool of this agent: '{match.pattern}'"
                if slips:
                    name, tool = slips[0]
                    other = f"If another agent has a tool '{name}', write match='/^{name}$/'"
                    raise BridgeError(message, fix=f"{ask_if_meant(tool)} {other}")
                known = [name for naming in namings for name in naming.names]
                nears = filter(None, (find_near_word(name, known) for name in names))
                hint = "".join(f" Did you mean '{near}'?" for near in list(nears)[:1])
                LOGGER.warning("%s.%s The agent's tools are: %s", message, hint, ", ".join(listed))
            match.is_in_doubt = False

    def _report_idle_hooks(self) -> None:
        """Log each hook that can never run in this framework, once; hooks may also be added later."""
        stack = self.hooks.stack
        if self._checked_stack is stack:
            return
        self._checked_stack = stack
        for key, name, event in _list_idle_hooks(stack, MISSING_EVENTS[self.framework]):
            if (key, event) not in self._reported_hooks:
                self._reported_hooks.add((key, event))
                LOGGER.warning(
                    "hook '%s' never runs here: %s does not report the event %s", name, self.framework, event
                )

    def _report_attached(self) -> None:
        """Log once how many hooks are attached and from where, at the first run, because hooks may be added until then."""
        if self._has_reported_count:
            return
        self._has_reported_count = True
        stack, engine = self.hooks.stack, self.hooks.stack.engine
        file_hooks = [hook for hook in engine.catalog.hooks if hook.state == ARMED] if engine is not None else []
        if stack.layers or file_hooks:
            place = f"of the user and of {self.work_dir or 'the current folder'}"
            origin = place if engine is not None else "hooks.load() was not called"
            counts = f"{len(stack.layers)} from Python, {len(file_hooks)} from files"
            LOGGER.info("hooks attached to %s: %s (%s)", self.framework, counts, origin)
            return
        fix = "trust the project's hooks with `boathook trust`, or give the bridge your own Hooks"
        fix = fix if engine is not None else "add hooks with @hooks.before_tool, or call hooks.load() for file hooks"
        LOGGER.warning("no hooks are attached to %s, so nothing is guarded: %s", self.framework, fix)

    def refuse_shared_hooks(self, others: Iterable[Attachment], fix: str) -> None:
        """Raise BridgeError if hooks of this attachment would run twice, because another one of the same agent has them, too."""
        if any(_share_hooks(self.hooks, other.hooks) for other in others if other is not self):
            raise BridgeError("the same hooks are attached twice, so that they would run twice", fix=fix)

    def covers_hooks_of(self, other: Attachment) -> bool:
        """Whether all hooks of another attachment run if this one takes its place."""
        mine, theirs = self.hooks.stack, other.hooks.stack
        known = {id(layer) for layer in mine.layers}
        return all(id(layer) in known for layer in theirs.layers) and _covers_file_hooks(mine.engine, theirs.engine)

    def refuse_unguarded(self, tools: Iterable[str]) -> None:
        """Raise BridgeError for tools whose calls the bridge cannot see, unless the user accepts that."""
        if self.allow_unguarded:
            return
        names = sorted(set(tools))
        if names:
            message = f"{self.framework} runs these tools where no hook can see them: {', '.join(names)}"
            raise BridgeError(message, fix="remove them, or accept it with allow_unguarded=True")


def _make_own_key(attachment: Attachment, key: str) -> str:
    return f"{attachment.options_key} {key}"


def _make_stale_key(attachment: Attachment, key: str) -> str:
    return f"stale {_make_own_key(attachment, key)}"


def _make_shared_key(attachment: Attachment, key: str) -> str:
    return f"{attachment.framework} {key}"


def attach(
    framework: str,
    hooks: object = None,
    name_map: type[NameMap] = NameMap,
    /,
    *,
    names: Mapping[str, str] | None = None,
    arguments: Mapping[str, Mapping[str, str]] | None = None,
    session_id: str = "",
    work_dir: str | os.PathLike[str] = "",
    allow_unguarded: bool = False,
    **unknown: object,
) -> Attachment:
    """Return hooks for the agents of a framework; without `hooks`, those of the user and of `work_dir` (the current folder).

    `name_map` is the class that finds what file hooks call a tool.
    """
    for name in unknown:
        options = tuple(BridgeOptions.__annotations__)
        near = find_near_word(name, options)
        raise TypeError(
            f"the bridge to {framework} has no option '{name}'{f', {ask_if_meant(near)}' if near else ''} "
            f"(the options of every bridge: hooks, {', '.join(options)})"
        )
    if framework not in MISSING_EVENTS:
        raise BridgeError(f"MISSING_EVENTS has no row for {framework}", fix="add it in boathook/bridges/attachment.py")
    if hooks is None:
        hooks = Hooks()
        hooks.load(work_dir or None)
    elif not isinstance(hooks, Hooks):
        message = f"hooks must be boathook.Hooks, not {type(hooks).__name__}"
        raise BridgeError(message, fix="hooks = boathook.Hooks(), then pass hooks")
    folder, tool_names = os.fspath(work_dir), name_map(names, arguments)
    return Attachment(framework, hooks, names, arguments, session_id, folder, allow_unguarded, tool_names)


def note_call(run: AgentRun) -> None:
    """Note that the rest of this task calls a tool of a run; for a framework that reports the end of a call elsewhere."""
    _calling_run.set(run)


@contextmanager
def enter_call(run: AgentRun) -> Iterator[None]:
    """Note in this block that a tool of a run is called: an agent that runs in there is a subagent, of any framework."""
    token = _calling_run.set(run)
    try:
        yield
    finally:
        _calling_run.reset(token)


def find_caller() -> AgentRun | None:
    """Return the run whose tool is being called here, unless its session is over."""
    caller = _calling_run.get()
    return caller if caller is not None and caller.is_session_open else None


def add_objection(run: AgentRun, outcome: ToolOutcome) -> Any:
    """Return the result of a call as the model reads it: an objection is in it if it is a text, otherwise it is context."""
    if outcome.objection and outcome.error is None and isinstance(outcome.result, str):
        return outcome.text
    if outcome.objection:
        run.add_context(outcome.objection)
    return outcome.result


def _list_idle_hooks(stack: Stack, missing: Collection[str]) -> Iterator[tuple[int | str, str, str]]:
    """Return the hooks whose events are all missing: what identifies each, its name, and its event."""
    for layer in stack.layers:
        kinds = layer.kinds or ()
        if kinds and all(kind.name in missing for kind in kinds):
            yield from ((id(layer), layer.name, kind.name) for kind in kinds)
    for hook in stack.engine.catalog.hooks if stack.engine is not None else ():
        if hook.state == ARMED and hook.kind is not None and hook.kind.name in missing:
            yield hook.identity, hook.name, hook.kind.name


def _share_hooks(one: Hooks, other: Hooks) -> bool:
    stacks = (one.stack, other.stack)
    if one is other or {id(layer) for layer in stacks[0].layers} & {id(layer) for layer in stacks[1].layers}:
        return True
    return _share_file_hooks(stacks[0].engine, stacks[1].engine)


def _share_file_hooks(one: Engine | None, other: Engine | None) -> bool:
    if one is None or other is None:
        return False
    mine, theirs = ({hook.identity for hook in each.catalog.hooks} for each in (one, other))
    # The same project, too: it may have hooks later.
    return bool(mine & theirs) or one.catalog.projects == other.catalog.projects


def _covers_file_hooks(one: Engine | None, other: Engine | None) -> bool:
    if one is None or other is None:
        return other is None
    mine, theirs = ({hook.identity for hook in each.catalog.hooks} for each in (one, other))
    # A project without hooks may have some later.
    return theirs <= mine and one.catalog.projects == other.catalog.projects


def _log_message(text: str) -> None:
    # A framework shows no texts for the person.
    LOGGER.info("%s", text)


def require_version(package: str, oldest: str, *, before: str = "", extra: str = "") -> str:
    """Return the installed version of a framework; BridgeError if it is missing, or not one that the bridge was made for.

    `oldest` is the first version that works, `before` the first that is known not to; `extra` is the extra of boathook.
    """
    wanted = f"{package}>={oldest}" + (f",<{before}" if before else "")
    fix = suggest_packages(extra) if extra else f"pip install '{wanted}'"
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        raise BridgeError(f"{package} is not installed, and this bridge needs it", fix=fix) from None
    is_old = _parse_version(version) < _parse_version(oldest)
    if is_old or (before and _parse_version(version) >= _parse_version(before)):
        needed = f"{oldest} or newer" + (f", and older than {before}" if before else "")
        raise BridgeError(
            f"this bridge needs {package} {needed}, but {version} is installed", fix=f"pip install '{wanted}'"
        )
    return version


def _parse_version(text: str) -> tuple[int, ...]:
    """Return the numbers of a release; a pre-release counts as its release."""
    release = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, release.group().split("."))) if release else ()
