"""`boathook agent`: a small coding agent on the terminal, under the hooks of the project and the user."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from boathook.agent.builder import AgentBuilder
from boathook.agent.builtin_tools import BUILTIN_TOOLS, Tool
from boathook.agent.model import Message, Model, Reply, ToolSpec
from boathook.agent.reference_agent import MAX_STEPS, Agent, Session
from boathook.agent.scripted import ScriptedModel, read_script
from boathook.agent.state import BLOCKED, DONE, MAX_STEPS_REACHED, STOPPED, TOOL_REJECTED, Step, TurnResult
from boathook.assembly import load, resolve_start
from boathook.cli.agent_display import MAIN, Display, Record, full_view, json_line
from boathook.cli.list import describe_for_prompt
from boathook.cli.show import say
from boathook.core.event import PRE_STOP, Event
from boathook.core.hook import ARMED, Hook
from boathook.core.json_text import is_same_json
from boathook.core.outcome import ABSENT, NOTHING, Decision, Outcome
from boathook.core.verdict import Verdict
from boathook.engine import DRAIN_SECONDS, Engine
from boathook.errors import Blocked, BoathookError, ConfigError, Stopped
from boathook.inprocess.contexts import Context, ToolContext
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.stack import Stack
from boathook.system.locations import CONFIG_FOLDER, read_environment, resolve_folder

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from boathook.inprocess.stack import Ask

    Working = Callable[[], AbstractContextManager[None]]

TOKEN_BUDGET = 100_000
HELPER = "helper"
FIRST = 10_000  # before all hooks of files, whose priorities end below
UNFINISHED, INTERRUPTED = "unfinished", "interrupted"
CODES = {DONE: 0, UNFINISHED: 1, BLOCKED: 2, STOPPED: 2}
SYSTEM = """\
You are a coding agent. You work in the folder {work_dir} with the tools you have, step by step, until the task is done.
Look before you change something, change no more than the task needs, and check what you did. At the end say in a few words
what you did.

{hooks}"""


@dataclass(frozen=True)
class Options:
    """What was said on the command line."""

    model: str = ""
    script: str = ""
    project: str | None = None
    state: str | None = None
    max_steps: int = MAX_STEPS
    yes: bool = False
    debug: bool = False
    as_json: bool = False
    trust_all: bool = False


def agent(task: str | None, options: Options) -> int:
    """Run an agent for a task, or for several at a terminal; return the exit code."""
    with ended_by_signals() as ended:
        try:
            return _run(task, options, ended)
        except KeyboardInterrupt:
            return 128 + (ended[0] if ended else signal.SIGINT)


def _run(task: str | None, options: Options, ended: Sequence[int]) -> int:
    many = task is None and sys.stdin.isatty()
    work_dir = resolve_start(options.project)
    with load_engine(options) as engine:
        model = choose_model(options, engine.catalog.settings.model)
        at_once = options.debug or options.as_json or isinstance(model, ScriptedModel)
        display = Display(echo=not many, spin=not at_once)
        trace = Trace(json_line if options.as_json else display.show)
        person = Person(trace, display.paused, yes=options.yes)
        tools = [
            dataclasses.replace(tool, needs_permission=tool.needs_permission and not options.yes)
            for tool in BUILTIN_TOOLS
        ]
        made = assemble(model, engine, trace, work_dir=work_dir, ask=person, max_steps=options.max_steps, tools=tools)
        prompts = at_the_terminal() if many else iter([read_task(task)])
        return converse(made.build(), prompts, trace, many=many, working=display.working, signals=ended)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[list[int]]:
    """Let SIGTERM end an agent as SIGINT does, with its tools ended and its hooks told; gives the signal once it came."""
    ended: list[int] = []

    def end(number: int, _: object) -> None:
        ended.append(number)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            # Whoever started us had it ignored, as `nohup` in a script has: it stays so, but SIGTERM still ends us.
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield ended
    finally:
        signal.signal(signal.SIGTERM, before)


# What an agent is made of


def load_engine(options: Options) -> Engine:
    """Load the hooks of files; debug lines are told if the command line or the user's hooks.toml says so."""

    def loaded(debug: Callable[[str], None] | None) -> Engine:
        return load(options.project, state=options.state, trust_all=options.trust_all, debug=debug)

    engine = loaded(_debug if options.debug else None)
    return engine if options.debug or not engine.catalog.settings.debug else loaded(_debug)


def _debug(line: str) -> None:
    say(line, err=True)


def choose_model(options: Options, configured: str) -> Model:
    """Return the model: of the command line, else of the user's hooks.toml."""
    if options.script and options.model:
        raise ConfigError("give --model or --script, not both")
    if options.script:
        return read_script(options.script)
    name = options.model or configured
    if not name:
        raise ConfigError(
            "the agent needs a model: --model anthropic:claude-haiku-4-5 (any provider:name), or "
            f'model = "provider:name" below [hooks] in {resolve_folder(CONFIG_FOLDER, read_environment())}/hooks.toml, '
            "or --script FILE to play a scripted one"
        )
    from boathook.agent.providers import load_model

    return load_model(name)


def assemble(
    model: Model,
    engine: Engine,
    trace: Trace,
    *,
    work_dir: str,
    ask: Ask,
    max_steps: int = MAX_STEPS,
    tools: Sequence[Tool] = BUILTIN_TOOLS,
) -> AgentBuilder:
    """Put an agent together, all but built: tools, a helper, hooks of files, and what watches them."""
    system = SYSTEM.format(work_dir=work_dir, hooks=describe_for_prompt([*engine.catalog.hooks]))
    base = AgentBuilder().with_tools(*tools).with_system(system)
    base = base.with_limits(max_steps=max_steps, token_budget=TOKEN_BUDGET)
    return (
        base.with_model(WatchedModel(model, trace))
        .with_subagent(HELPER, base.with_model(WatchedModel(model, trace, HELPER)).build())
        .with_hooks(Stack(engine=WatchedEngine(engine, trace.judged)).with_(trace.saw, priority=FIRST))
        .in_dir(work_dir)
        .with_permission(ask)
        .with_listener(trace.heard)
    )


# Tasks


def read_task(task: str | None) -> str:
    """Return the task: the argument, else all of standard input."""
    piped = task is None or task == "-"
    found = (sys.stdin.buffer.read().decode("utf-8", "replace") if piped else task or "").strip()
    if not found:
        raise ConfigError("there is no task: give one as an argument or on standard input")
    return found


def at_the_terminal() -> Iterator[str]:
    """Ask for tasks until the end of input."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  (gives `input` its history and its keys)
    say("What is to be done? Ctrl-D ends.", "dim", err=True)
    on_screen = sys.stdout.isatty()
    while True:
        if not on_screen:
            click.echo("> ", nl=False, err=True)
        try:
            text = input("\n> " if on_screen else "").strip()
        except EOFError:
            click.echo(err=True)
            return
        if text:
            yield text


def converse(
    made: Agent,
    prompts: Iterator[str],
    trace: Trace,
    *,
    many: bool = False,
    working: Working = contextlib.nullcontext,
    signals: Sequence[int] = (),
) -> int:
    """Run one turn or many in one session; return the exit code. `signals` are those that end the session."""
    session = made.session()
    trace.began(made, session)
    try:
        with session:
            if many:
                return _many_turns(session, prompts, trace, working, signals)
            with working():
                return CODES[_turn(session, next(prompts), trace)]
    except (Blocked, Stopped) as refusal:  # of the session as a whole
        trace.ended(BLOCKED if isinstance(refusal, Blocked) else STOPPED, refusal.reason)
        return CODES[BLOCKED]
    except KeyboardInterrupt:
        trace.ended(INTERRUPTED, "interrupted")
        raise
    except Exception as error:  # noqa: BLE001  (models fail in ways of their own)
        trace.failed(error)
        return 1


def _many_turns(
    session: Session, prompts: Iterator[str], trace: Trace, working: Working, signals: Sequence[int]
) -> int:
    """Run turn after turn; an error or Ctrl-C ends one of them, a hook that stops ends them all."""
    for prompt in prompts:
        try:
            with working():
                if _turn(session, prompt, trace) == STOPPED:
                    return CODES[STOPPED]
        except KeyboardInterrupt:
            if signals:
                raise
            trace.ended(INTERRUPTED, "interrupted")
        except Exception as error:  # noqa: BLE001
            trace.failed(error)
    return 0


def _turn(session: Session, prompt: str, trace: Trace) -> str:
    """Run one turn; return how it ended."""
    trace.turn(prompt)
    result = session.run(prompt)
    status, reason = result.status, result.reason
    if status == DONE and (why := trace.unfinished(result)):
        status, reason = UNFINISHED, why
    trace.ended(status, reason, result)
    return status


# What is watched


class Trace:
    """What happens in an agent, as records: what its model says, its hooks decide, its tools do and its person answers."""

    def __init__(self, show: Callable[[Record], None]) -> None:
        """Take what shows the records."""
        self._show = show
        self.questioned: set[str] = set()
        self._told: set[str] = set()
        self._stop_refused = self._unread = False
        self._steps = self._decisions = 0
        self._since = time.monotonic()
        self._replies: list[tuple[Reply, str]] = []

    def tell(self, type: str, **fields: Any) -> None:
        """Show one record. Once nobody reads any more the agent ends; its last hooks shall run all the same, untold."""
        if self._unread:
            return
        try:
            self._show({"type": type, **fields})
        except (OSError, SystemExit):
            self._unread = True
            raise

    def began(self, made: Agent, session: Session) -> None:
        """Report that a session begins."""
        engine = made.stack.engine
        hooks = [] if engine is None else [hook for hook in engine.catalog.hooks if hook.state == ARMED]
        count = len(hooks) + sum(layer.hook != self.saw for layer in made.stack.layers)
        self.tell("session", session_id=session.id, model=made.model.name, work_dir=made.work_dir, hooks=count)

    def turn(self, prompt: str) -> None:
        """Report that a turn begins."""
        self._stop_refused = False
        self._since = time.monotonic()
        self.tell("turn", prompt=prompt)

    def saw(self, context: Context) -> None:
        """Be a hook for every event, and tell that it happens; what tools did is told before other hooks look at it."""
        who = context.extra.get("agent_type", MAIN)
        self.tell("event", event=context.event, agent=who, **({"tool": context.tool} if context.tool else {}))
        if isinstance(context, ToolContext) and not context.kind.is_pre:
            self._ran(context, who)

    def replied(self, agent: str, reply: Reply) -> None:
        """Report what a model said."""
        self._replies.append((reply, agent))
        self._steps += agent == MAIN
        calls = [{"tool": call.name, "input": to_json_value(call.args), "id": call.id} for call in reply.calls]
        self.tell("reply", agent=agent, text=reply.text, calls=calls)

    def judged(self, verdict: Verdict) -> None:
        """Report what hooks of files decided."""
        event = verdict.original
        for run in verdict.runs:
            self.decided(event, run.to_json(), run.outcome)
            if run.outcome.input is not ABSENT:
                event = event.with_data(tool_input=run.outcome.input)  # what the next hook sees
            if run.outcome.decision == Decision.ASK:
                self.questioned.add(str(event.data.get("tool_use_id", "")))
        if verdict.blocked and event.kind.is_pre and event.kind.has_tool:
            self._not_run(event, "; ".join(verdict.reasons) or "blocked by a hook")
        for started in verdict.background:
            self.decided(event, {"hook": started.hook, "decision": "none", "reason": None}, NOTHING, background=True)

    def decided(self, event: Event, said: Mapping[str, Any], outcome: Outcome, *, background: bool = False) -> None:
        """Report what one hook decided."""
        more: dict[str, Any] = {}
        if outcome.input is not ABSENT and not is_same_json(outcome.input, event.tool_input):
            more["modified_input"] = outcome.input
        if outcome.output is not ABSENT:
            more["modified_output"] = outcome.output
        if outcome.contexts:
            more["additional_context"] = list(outcome.contexts)
        counts = bool(more) or outcome.decision != Decision.NONE
        self._decisions += counts
        who, call = event.data.get("agent_type", MAIN), event.data.get("tool_use_id")
        about = {"event": event.kind.name, "agent": who, "tool": event.tool_name, "id": call}
        self.tell("hook", **about, **said, **more, counts=counts, background=background)

    def asked(self, context: ToolContext, reason: str, by: str, *, allowed: bool) -> None:
        """Report how a question was answered."""
        who = context.extra.get("agent_type", MAIN)
        self.tell("ask", agent=who, tool=context.name, id=context.call_id, reason=reason, allowed=allowed, by=by)

    def heard(self, what: str, value: Any) -> None:
        """Be the agent's listener."""
        if what == "message":
            self.tell("message", text=value)
        elif what == "step":
            self._stepped(value)
        elif what == "event":
            self._happened(*value)

    def _stepped(self, step: Step) -> None:
        who = next((agent for reply, agent in self._replies if reply is step.reply), MAIN)
        self._replies = [one for one in self._replies if one[0] is not step.reply]
        for one in step.results:
            if one.call.id not in self._told:  # refused by a person, or by a hook in process
                self._called(one.call, who, one.text, ran=False, is_error=True)
        results = [{"id": one.call.id, "text": one.text, "is_error": one.is_error} for one in step.results]
        self.tell("step", agent=who, index=step.index, text=step.reply.text, results=results)

    def _happened(self, name: str, outcome: Outcome) -> None:
        if name == PRE_STOP.name:
            self._stop_refused = outcome.is_blocked
        if outcome.decision != Decision.NONE:
            self.tell("outcome", event=name, decision=outcome.decision.word, reason=outcome.reason)

    def _ran(self, context: ToolContext, agent: str) -> None:
        error = context.error
        output = context.result if error is None else str(error) or type(error).__name__
        call = ToolCall(context.name, to_json_value(context.args), context.call_id)
        text = "" if output is None else output if isinstance(output, str) else str(to_json_value(output))
        self._called(call, agent, text, ran=True, is_error=error is not None, duration_ms=context.duration_ms)

    def _not_run(self, event: Event, why: str) -> None:
        call = ToolCall(event.tool_name, event.tool_input, str(event.data.get("tool_use_id", "")))
        self._called(call, event.data.get("agent_type", MAIN), why, ran=False, is_error=True)

    def _called(self, call: ToolCall, agent: str, output: str, **fields: Any) -> None:
        self._told.add(call.id)
        self.tell("tool", agent=agent, id=call.id, tool=call.name, input=call.args, output=output, **fields)

    def unfinished(self, result: TurnResult) -> str:
        """Return why a turn ended before its agent was done; nothing if it was."""
        if result.stop_reason == TOOL_REJECTED:
            return "a call was refused"
        if result.stop_reason == MAX_STEPS_REACHED or self._stop_refused:
            return "it has taken all the steps it may (--max-steps)"
        return ""

    def ended(self, status: str, reason: str = "", result: TurnResult | None = None) -> None:
        """Report how a turn ended, or a session that could not begin or was interrupted."""
        seconds = round(time.monotonic() - self._since, 3)
        numbers = {"steps": self._steps, "seconds": seconds, "decisions": self._decisions}
        self._steps = self._decisions = 0
        self.tell("result", status=status, reason=reason, text=result.text if result else "", **numbers)

    def failed(self, error: Exception) -> None:
        """Report of an error."""
        name = "" if isinstance(error, BoathookError) else f"{type(error).__name__}: "
        self.tell("error", message=f"{name}{error}")


class WatchedModel:
    """A model whose replies are heard when they come."""

    def __init__(self, model: Model, trace: Trace, agent: str = MAIN) -> None:
        """Take the model, and the name of the agent it speaks for."""
        self.name = model.name
        self._model, self._trace, self._agent = model, trace, agent

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        """Answer."""
        reply = await self._model.reply(messages, tools)
        self._trace.replied(self._agent, reply)
        return reply


class WatchedEngine(Engine):
    """An engine whose verdicts are heard."""

    def __init__(self, engine: Engine, heard: Callable[[Verdict], None]) -> None:
        """Take the engine that does the work."""
        self.catalog = engine.catalog
        self._engine, self._heard = engine, heard

    def dispatch(self, event: Event | Mapping[str, Any]) -> Verdict:
        """Run an event through its hooks."""
        verdict = self._engine.dispatch(event)
        self._heard(verdict)
        return verdict

    async def adispatch(self, event: Event | Mapping[str, Any]) -> Verdict:
        """Run an event through its hooks in an event loop."""
        verdict = await self._engine.adispatch(event)
        self._heard(verdict)
        return verdict

    def only(self, hooks: tuple[Hook, ...], *, diagnostics: bool = True) -> Engine:
        """Return an engine for some of the hooks."""
        return WatchedEngine(self._engine.only(hooks, diagnostics=diagnostics), self._heard)

    def drain(self, seconds: float = DRAIN_SECONDS) -> int:
        """Wait for async hooks."""
        return self._engine.drain(seconds)

    def close(self) -> None:
        """End the engine's use."""
        self._engine.close()


# Permission


class Person:
    """Decides about calls that need a permission: somebody at the terminal, `--yes`, or nobody, which means no."""

    def __init__(self, trace: Trace, paused: Working, *, yes: bool) -> None:
        """Take what keeps the display quiet meanwhile."""
        self._trace, self._paused, self._yes = trace, paused, yes
        self._always: set[str] = set()
        self._one_at_a_time = asyncio.Lock()

    async def __call__(self, context: ToolContext, reason: str) -> bool:
        """Whether a call may go on."""
        async with self._one_at_a_time:
            allowed, by = await self._decide(context, reason)
        self._trace.asked(context, reason, by, allowed=allowed)
        return allowed

    async def _decide(self, context: ToolContext, reason: str) -> tuple[bool, str]:
        if self._yes:
            return True, "--yes"
        by_hook = context.call_id in self._trace.questioned  # "always" was not said about what a hook finds doubtful
        if context.name in self._always and not by_hook:
            return True, "always"
        if not sys.stdin.isatty():
            return False, "nobody"
        with self._paused():
            answer = await self._ask(context, reason, always=not by_hook)
        if answer == "a":
            self._always.add(context.name)
        return answer != "n", "person"

    async def _ask(self, context: ToolContext, reason: str, *, always: bool) -> str:
        """Ask until there is an answer: y, n or a. The end of input means no."""
        say("", err=True)
        say(reason if reason.startswith(context.name) else f"{context.name}: {reason}", "bold yellow", err=True)
        for line in full_view(context.args).splitlines():
            say(f"    {line}", err=True)
        choices = {"y": "y", "yes": "y", "n": "n", "no": "n", "": "n", **({"a": "a", "always": "a"} if always else {})}
        more = f", [a]lways for {context.name}" if always else ""
        while True:
            click.echo(f"Allow it? [y]es, [n]o{more}: ", nl=False, err=True)
            line = await read_line()
            answer = line.strip().lower()
            if not line.endswith("\n") or (answer and answer in choices):
                return choices.get(answer, "n")


async def read_line() -> str:
    """Read a line from the terminal without holding up the event loop, so that Ctrl-C works meanwhile."""
    loop, terminal = asyncio.get_running_loop(), sys.stdin.fileno()
    ready: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(terminal, wake)
    try:
        await ready
    finally:
        loop.remove_reader(terminal)
    return sys.stdin.readline()
