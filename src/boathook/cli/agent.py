"""`boathook agent`: a small coding agent on the terminal, under the hooks of the project and the user."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from boathook.agent.builder import AgentBuilder
from boathook.agent.builtin_tools import BUILTIN_TOOLS
from boathook.agent.model import Model
from boathook.agent.reference_agent import REQUEST_TIMEOUT, Agent, Session
from boathook.agent.scripted import ScriptedModel, read_script
from boathook.agent.state import BLOCKED, DONE, GATE_LIFTED, STOPPED
from boathook.assembly import load, resolve_start
from boathook.cli.agent_display import Display, format_full_input, print_record
from boathook.cli.agent_hooks import import_hooks
from boathook.cli.agent_trace import Trace, TracedEngine
from boathook.cli.common_options import add_catalog_options
from boathook.cli.list import describe_for_prompt
from boathook.cli.show import BROKEN_PIPE_CODE, echo, echo_lines
from boathook.engine import Engine
from boathook.errors import Blocked, ConfigError, Stopped
from boathook.inprocess.contexts import ToolContext
from boathook.inprocess.stack import Ask, Stack
from boathook.system.locations import CONFIG_FOLDER, read_environment, resolve_folder

_MakeContext = Callable[[], contextlib.AbstractContextManager[Any]]
_TOKEN_BUDGET = 100_000
_SUBAGENT_NAME = "helper"
# Before all file hooks, whose priorities are lower.
_TRACE_PRIORITY = 10_000
_UNFINISHED = "unfinished"
_EXIT_CODES = {DONE: 0, _UNFINISHED: 1, BLOCKED: 2, STOPPED: 2, GATE_LIFTED: 3}
_INSTRUCTIONS = """\
You are a coding agent. You work in the folder {work_dir} with the tools you have, step by step, until the task is done.
Look before you change something, change no more than the task needs, and check what you did. At the end say in a few words
what you did.

{hooks}"""


@click.command("agent")
@click.argument("task", required=False)
@click.option("--model", metavar="PROVIDER:NAME", default="", help="The model, by provider and name.")
@click.option("--script", metavar="FILE", default="", help="Play a scripted model: a JSON list of moves.")
@click.option(
    "--max-steps", metavar="N", type=click.IntRange(min=1), default=50, show_default=True, help="Steps per turn."
)
@click.option(
    "--request-timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=REQUEST_TIMEOUT,
    show_default=True,
    help="Time for one request to the model.",
)
@click.option(
    "--hooks",
    metavar="MODULE:NAME",
    multiple=True,
    help="Add Python hooks: a Hooks of a module in the project, or of an installed one.",
)
@click.option("--yes", is_flag=True, help="Allow every tool call that no hook blocks, without asking.")
@click.option("--debug", is_flag=True, help="Print debug output to stderr.")
@click.option("--json", "as_json", is_flag=True, help="Print what happens as JSON, one object per line.")
@add_catalog_options
def run_agent(**options: Any) -> int:
    """Run a small coding agent under your hooks.

    It works on TASK in the current project, under the project's hooks and your own. If TASK is - or missing, it is
    read from standard input; at a terminal you are asked for one task after another, all in one session. The tools
    Shell, WriteFile and EditFile ask you first. The model is --model, or `model` in your hooks.toml. Models need
    the extra `agent`: pip install 'PATH/TO/CLONE[agent]'.

    \b
    A script is a JSON list of texts and tool calls:
      ["text", {"text": "…", "calls": [{"name": "Shell", "args": {"command": "ls"}}]}, …]

    \b
    Exit codes: 0 done, 1 an error or not done (a refused call, --max-steps), 2 blocked or stopped by a hook,
    3 the agent stopped after a gate ran out of refusals (gate_lifted), 130 interrupted.

    \b
    Examples:
      boathook agent "make the tests pass" --model PROVIDER:NAME
      boathook agent --script moves.json --yes --json < task.txt
      boathook agent "tidy up" --model PROVIDER:NAME --hooks my_guards:hooks
    """
    with _end_by_sigterm() as signals:
        try:
            return _run(signals, **options)
        except KeyboardInterrupt:
            return 128 + (signals[0] if signals else signal.SIGINT)


def _run(
    signals: Sequence[int], task: str | None, max_steps: int, *, yes: bool, debug: bool, as_json: bool, **options: Any
) -> int:
    is_dialogue = task is None and sys.stdin.isatty()
    name, script, project = options.pop("model"), options.pop("script"), options["project"]
    request_timeout, references = options.pop("request_timeout"), options.pop("hooks")
    work_dir = resolve_start(project)
    # Before the model, which takes seconds to load.
    stacks = [import_hooks(reference, work_dir) for reference in references]
    with _load_engine(debug=debug, **options) as engine:
        model = _choose_model(name, script, engine.catalog.settings.model)
        spin = not (debug or as_json or isinstance(model, ScriptedModel))
        display = Display(show_task=not is_dialogue, spin=spin)
        trace = Trace(print_record if as_json else display.show)
        person = _Person(trace, display.pause, allows_all=yes)
        tools = [replace(tool, needs_permission=False) if yes else tool for tool in BUILTIN_TOOLS]
        base = AgentBuilder().with_model(model).with_tools(*tools).in_dir(work_dir)
        base = base.with_limits(max_steps=max_steps, request_timeout=request_timeout)
        for stack in stacks:
            base = base.with_hooks(stack.with_ask(None))
        builder = assemble_agent(base, engine, trace, person)
        prompts = _ask_for_tasks() if is_dialogue else iter([_read_task(task)])
        working = display.show_working
        args = {"ui": "json" if as_json else "terminal", "agent": "boathook", "max_steps": max_steps, "yes": yes}
        agent = builder.build()
        return run_session(agent, prompts, trace, is_dialogue=is_dialogue, working=working, signals=signals, args=args)


@contextlib.contextmanager
def _end_by_sigterm() -> Iterator[list[int]]:
    """Let SIGTERM end an agent as SIGINT does, so that its tools end and its last hooks run; yield the signals that came."""
    signals: list[int] = []

    def end(number: int, _: object) -> None:
        signals.append(number)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            # `nohup` in a script ignores SIGINT; it stays ignored, but SIGTERM still ends us.
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield signals
    finally:
        signal.signal(signal.SIGTERM, before)


def _load_engine(*, debug: bool, **where: Any) -> Engine:
    """Load the file hooks, with debug output if the command line or the user's hooks.toml asks for it."""
    write_debug = functools.partial(echo, err=True)
    engine = load(**where, debug=write_debug if debug else None)
    return load(**where, debug=write_debug) if engine.catalog.settings.debug and not debug else engine


def _choose_model(name: str, script: str, configured: str) -> Model:
    if script and name:
        raise ConfigError("--model and --script cannot be used together")
    if script:
        return read_script(script)
    name = name or configured
    if not name:
        file = f"{resolve_folder(CONFIG_FOLDER, read_environment())}/hooks.toml"
        setting = f'set model = "provider:name" below [hooks] in {file}'
        ways = f"Use --model PROVIDER:NAME, or {setting}, or play a scripted model with --script FILE"
        raise ConfigError(f"the agent needs a model. {ways}")
    # The libraries of a provider take seconds to import.
    echo(f"loading the model {name} …", "dim", err=True)
    from boathook.agent.providers import load_model

    return load_model(name)


def assemble_agent(base: AgentBuilder, engine: Engine, trace: Trace, ask: Ask) -> AgentBuilder:
    """Add instructions, a subagent of the same kind, file hooks, and a trace of everything."""
    hooks = describe_for_prompt([*engine.catalog.hooks])
    instructions = _INSTRUCTIONS.format(work_dir=base.work_dir, hooks=hooks)
    base = replace(base, system=instructions, token_budget=_TOKEN_BUDGET)
    return (
        base.with_subagent(_SUBAGENT_NAME, base.build())
        .with_hooks(Stack(engine=TracedEngine(engine, trace)).with_(trace.on_event, priority=_TRACE_PRIORITY))
        .with_permission(ask)
        .with_listener(trace.listen)
    )


def _read_task(argument: str | None) -> str:
    is_piped = argument is None or argument == "-"
    task = (sys.stdin.buffer.read().decode("utf-8", "replace") if is_piped else argument or "").strip()
    if not task:
        raise ConfigError("there is no task: pass it as an argument or on standard input")
    return task


def _ask_for_tasks() -> Iterator[str]:
    with contextlib.suppress(ImportError):
        # Gives `input` its history and its keys.
        import readline  # noqa: F401
    echo("Enter a task. Ctrl-D ends the session.", "dim", err=True)
    on_screen = sys.stdout.isatty()
    while True:
        if not on_screen:
            click.echo("> ", nl=False, err=True)
        try:
            task = input("\n> " if on_screen else "").strip()
        except EOFError:
            click.echo(err=True)
            return
        if task:
            yield task


def run_session(
    agent: Agent,
    prompts: Iterator[str],
    trace: Trace,
    *,
    is_dialogue: bool = False,
    working: _MakeContext = contextlib.nullcontext,
    signals: Sequence[int] = (),
    args: Mapping[str, Any] | None = None,
) -> int:
    """Run one turn or many in one session; return the exit code. `signals` are those that end the session."""
    session = agent.session(args=args)
    trace.on_session(agent, session)
    try:
        with session:
            for prompt in prompts:
                try:
                    with working():
                        status = _run_turn(session, prompt, trace)
                except (Exception, KeyboardInterrupt) as error:
                    # In a dialogue an error or Ctrl-C ends only the turn.
                    if not is_dialogue or (signals and isinstance(error, KeyboardInterrupt)):
                        raise
                    trace.on_error(error)
                    continue
                if not is_dialogue or status == STOPPED:
                    return _EXIT_CODES[status]
            return 0
    except (Blocked, Stopped) as refusal:
        trace.on_end(BLOCKED if isinstance(refusal, Blocked) else STOPPED, refusal.reason)
        return _EXIT_CODES[BLOCKED]
    except KeyboardInterrupt as interrupt:
        trace.on_error(interrupt)
        raise
    except BrokenPipeError:
        return BROKEN_PIPE_CODE
    except Exception as error:  # noqa: BLE001  (providers raise errors of many kinds)
        trace.on_error(error)
        return 1


def _run_turn(session: Session, prompt: str, trace: Trace) -> str:
    trace.on_turn(prompt)
    result = session.run(prompt)
    status: str = result.status
    reason = result.reason
    if status in (DONE, GATE_LIFTED) and (unfinished_reason := trace.find_unfinished_reason(result)):
        status, reason = _UNFINISHED, unfinished_reason
    trace.on_end(status, reason, result.text)
    return status


class _Person:
    """Decides about calls that need permission: at the terminal or by `--yes`; without a terminal the answer is no."""

    def __init__(self, trace: Trace, pause_display: _MakeContext, *, allows_all: bool) -> None:
        self._trace, self._pause_display, self._allows_all = trace, pause_display, allows_all
        self._always_allowed: set[str] = set()
        self._lock = asyncio.Lock()

    async def __call__(self, context: ToolContext, reason: str) -> bool:
        async with self._lock:
            is_allowed, by = await self._decide(context, reason)
        self._trace.on_permission(context, reason, by, allowed=is_allowed)
        return is_allowed

    async def _decide(self, context: ToolContext, reason: str) -> tuple[bool, str]:
        if self._allows_all:
            return True, "--yes"
        # "always" was not the answer to a question of a hook.
        by_hook = context.call_id in self._trace.questioned_calls
        if context.name in self._always_allowed and not by_hook:
            return True, "always"
        if not sys.stdin.isatty():
            return False, "nobody"
        with self._pause_display():
            answer = await self._ask(context, reason, can_always=not by_hook)
        if answer == "a":
            self._always_allowed.add(context.name)
        return answer != "n", "person"

    async def _ask(self, context: ToolContext, reason: str, *, can_always: bool) -> str:
        """Ask until there is an answer: y, n or a. The end of input means no."""
        echo("", err=True)
        question = reason if reason.startswith(context.name) else f"{context.name}: {reason}"
        echo_lines(question, "bold yellow", err=True)
        for line in format_full_input(context.args).splitlines():
            echo(f"    {line}", err=True)
        choices = {"y": "y", "yes": "y", "n": "n", "no": "n", **({"a": "a", "always": "a"} if can_always else {})}
        always = f", [a]lways for {context.name}" if can_always else ""
        while True:
            click.echo(f"Allow it? [y]es, [n]o{always}: ", nl=False, err=True)
            line = await _read_line()
            answer = choices.get(line.strip().lower(), "")
            if answer or not line.endswith("\n"):
                return answer or "n"


async def _read_line() -> str:
    """Read a line from the terminal without blocking the event loop, so that Ctrl-C works meanwhile."""
    loop, terminal = asyncio.get_running_loop(), sys.stdin.fileno()
    is_ready = asyncio.Event()
    loop.add_reader(terminal, is_ready.set)
    try:
        await is_ready.wait()
    finally:
        loop.remove_reader(terminal)
    return sys.stdin.readline()
