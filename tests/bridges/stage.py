"""Where a scene of the contract plays: hooks that note every event, tools that note every call, and an agent of a framework."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from boathook import KINDS, Context, Hooks
from boathook.errors import BridgeError
from tests.bridges.adapter import (
    ASYNC,
    SYNC,
    Adapter,
    AgentPlan,
    Answers,
    Call,
    Message,
    Move,
    Ran,
    Script,
)

# Nothing here takes long, if the machine is not busy; a run that hangs must not hang the tests.
PATIENCE = 180


@dataclass(frozen=True)
class Noted:
    """An event that reached the hooks."""

    event: str
    session_id: str
    context: Any


class Stage:
    """One scene: the adapter, the way of running, and whether the bridge is attached."""

    def __init__(self, adapter: Adapter, way: str, *, is_attached: bool) -> None:
        self.adapter, self.way, self.is_attached = adapter, way, is_attached
        self.hooks = Hooks()
        self.options: dict[str, Any] = {"hooks": self.hooks}
        self.noted: list[Noted] = []
        # The commands that tools ran, in order.
        self.ran: list[str] = []
        self.script = Script()
        self.error: BaseException | None = None
        # Whether the bridge let itself be attached.
        self.is_built = False
        for kind in KINDS:
            self.hooks.add(kind, self._note, priority=1000)

    def _note(self, context: Context) -> None:
        self.noted.append(Noted(context.event, context.session_id, context))

    # Tools

    def bash(self, command: str) -> str:
        """Run a command."""
        self.ran.append(command)
        if command == "fail":
            raise RuntimeError("no route")
        return f"ran {command}"

    @property
    def tools(self) -> list[Callable[..., Any]]:
        stage = self

        def bash(command: str) -> str:
            """Run a command."""
            return stage.bash(command)

        return [bash]

    # Running

    def build(self, script: Script, tools: Sequence[Callable[..., Any]] | None = None, **fields: Any) -> Any:
        """Return an agent with the bridge, or without it in the control."""
        self.script = script
        plan = AgentPlan(script, self.tools if tools is None else tools, **fields)
        agent = self.adapter.build(plan, self.options if self.is_attached else None)
        self.is_built = True
        return agent

    def play(self, *moves: Move, prompt: str = "go", **fields: Any) -> Ran:
        """Build an agent with a scripted model and run it."""
        return self.run(self.build(Script(*moves), **fields), prompt)

    def run(self, agent: Any, prompt: str | Answers) -> Ran:
        """Run an agent. An error is noted, but not what boathook cannot do there, which is raised."""
        self.error = None
        try:
            if self.way == SYNC:
                return self._run_sync(agent, prompt)
            return asyncio.run(asyncio.wait_for(self.start(agent, prompt), PATIENCE))
        except (BridgeError, AssertionError):
            raise
        except Exception as error:  # (how the run ended)
            self.error = error
            return Ran()

    def _run_sync(self, agent: Any, prompt: str | Answers) -> Ran:
        # A sync entry point may make an event loop for its thread, and leave it open.
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            return self.adapter.run(agent, prompt)
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    async def start(self, agent: Any, prompt: str | Answers) -> Ran:
        """Run an agent in an event loop."""
        run = self.adapter.run_async if self.way == ASYNC else self.adapter.run_stream
        return await run(agent, prompt)

    def run_at_once(self, agent: Any, prompts: Sequence[str]) -> list[Ran]:
        """Run an agent several times at once: in threads, or as tasks of one loop."""
        if self.way != SYNC:

            async def run_all() -> list[Ran]:
                return await asyncio.gather(*(self.start(agent, prompt) for prompt in prompts))

            return asyncio.run(asyncio.wait_for(run_all(), PATIENCE))
        runs: dict[str, Ran] = {}

        def run_one(prompt: str) -> None:
            runs[prompt] = self._run_sync(agent, prompt)

        threads = [threading.Thread(target=run_one, args=(prompt,)) for prompt in prompts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        return [runs[prompt] for prompt in prompts]

    # What was seen

    @contextmanager
    def collect_messages(self) -> Iterator[list[str]]:
        """Return the texts for the person, which a bridge logs, as they come."""
        messages: list[str] = []
        handler, logger = logging.Handler(), logging.getLogger("boathook")
        # Warnings are about the hooks, not from them.
        # How many hooks are attached is no message of a hook.
        handler.addFilter(lambda record: record.levelno == logging.INFO and not record.msg.startswith("hooks attached"))
        handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield messages
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)

    def list_events(self, *names: str) -> list[str]:
        """Return the events that reached the hooks, in order; only those that are named, if any are."""
        return [noted.event for noted in self.noted if not names or noted.event in names]

    def count_events(self, *names: str) -> dict[str, int]:
        """Return how often each of these events reached the hooks."""
        events = self.list_events()
        return {name: events.count(name) for name in names}

    @property
    def requests(self) -> list[list[Message]]:
        """What the model read, request by request."""
        return self.script.requests

    def find_results(self, at: int = -1) -> dict[str, str]:
        """Return the results of calls in a request, by call."""
        found: Mapping[str, str] = {m.call_id: m.text for m in self.requests[at] if m.role == "tool"}
        return dict(found)

    def was_read(self, text: str, at: int = -1) -> bool:
        """Whether the model read a text in a request."""
        return len(self.requests) > 0 and text in transcribe(self.requests[at])

    def find_refusal(self, ran: Ran) -> str:
        """Return what the caller is told about a run that was refused: the answer, or the error."""
        return str(self.error) if self.error is not None else ran.output or ""


def transcribe(messages: Sequence[Message]) -> str:
    """Return all that the model read, in order, as one text."""
    return "\n".join(message.text for message in messages)


def call_bash(command: str, call_id: str = "call-1") -> Call:
    return Call("bash", {"command": command}, call_id)
