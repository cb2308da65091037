"""What the contract needs of a framework: an agent with a scripted model, three ways to run it, and what the model read.

One file in `adapters/` per framework implements `Adapter`; README.md of this folder explains how.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

SYNC, ASYNC, STREAM = "sync", "async", "stream"
WAYS = (SYNC, ASYNC, STREAM)
USER, ASSISTANT, TOOL, SYSTEM = "user", "assistant", "tool", "system"
# A note about delegation, for frameworks in which the bridge of one agent does not reach another.
OWN_BRIDGE = "each agent needs the bridge itself: calls of an agent without it, which a function runs, are not seen"
AS_TOOL_REFUSED = f"{OWN_BRIDGE}; as a tool it is refused"


@dataclass(frozen=True)
class Call:
    """A tool call that the scripted model makes."""

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)
    id: str = "call-1"


# What the model does next: it ends with a text, calls tools (several at once), or fails.
Move = str | tuple[Call, ...] | Exception


@dataclass(frozen=True)
class Message:
    """A message as the model read it; `call_id` of a result is that of its call."""

    role: Literal["user", "assistant", "tool", "system"]
    text: str
    call_id: str = ""


class ScriptOver(AssertionError):
    """The model was asked more often than the script has moves."""


class Script:
    """The moves of a model, and what it read before each. An adapter's model calls `next_move` for every request.

    A model that serves several runs at once has moves by prompt: those of the key that is in the first user message.
    """

    def __init__(self, *moves: Move, by_prompt: Mapping[str, Sequence[Move]] | None = None) -> None:
        self._moves: dict[str, list[Move]] = {"": [*moves], **{key: [*m] for key, m in (by_prompt or {}).items()}}
        self._lock = threading.Lock()
        self.requests: list[list[Message]] = []
        # If it is set, what a model does before its second move: it waits, and the run is cancelled meanwhile.
        self.pause: Callable[[], Awaitable[None]] | None = None

    async def wait(self) -> None:
        """Wait before a move, if the scene wants it. A model that is async calls it first."""
        if self.pause is not None and len(self.requests) == 1:
            await self.pause()

    def next_move(self, messages: Sequence[Message]) -> Move:
        """Note what the model reads, and return its next move; raises it if it is an error."""
        prompt = next((message.text for message in messages if message.role == USER), "")
        with self._lock:
            self.requests.append([*messages])
            moves = self._moves[next((key for key in self._moves if key and key in prompt), "")]
            if not moves:
                raise ScriptOver(f"the model was asked again after its last move; it read {messages}")
            move = moves.pop(0)
        if isinstance(move, Exception):
            raise move
        return move


@dataclass
class AgentPlan:
    """An agent to build: its model's script, its tools (plain functions, sync or async), and a helper it can delegate to."""

    script: Script
    tools: Sequence[Callable[..., Any]] = ()
    helper: AgentPlan | None = None
    # How the helper is reached: a key of the adapter's `delegations`.
    delegation: str = ""
    name: str = "main"
    # A helper may be without the bridge.
    has_bridge: bool = True

    def choose_options(self, options: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Return the options of the bridge for a helper; None if it has no bridge."""
        return options if self.has_bridge else None


@dataclass(frozen=True)
class Approval:
    """A call that the framework left to a person; `reason` is what the framework shows of the hook's question."""

    call_id: str
    tool: str
    args: Mapping[str, Any]
    reason: str = ""


@dataclass
class Ran:
    """How a run ended: its final text, the parts that were streamed, or the approvals it waits for."""

    output: str | None = None
    parts: list[str] = field(default_factory=list)
    approvals: list[Approval] = field(default_factory=list)
    # What the adapter needs to go on after approvals.
    state: Any = None


@dataclass(frozen=True)
class Answers:
    """A person's answers to the approvals of a run, by call; an adapter resumes the run with them."""

    ran: Ran
    by_call: Mapping[str, bool]


@dataclass(frozen=True)
class Cannot:
    """Why a framework cannot have a behaviour. `how`: boathook refuses to be attached, the run raises, or it is `ACCEPTED`.

    The contract shows the first two: the scene must raise BridgeError with `message` in it. What may be accepted is a list there.
    """

    reason: str
    how: Literal["attaching is refused", "the run raises", "accepted"]
    message: str = ""


class Adapter(ABC):
    """A framework for the contract. Override what is abstract; say what the framework cannot do, and why, in `cannot`."""

    # The column of the matrix.
    name: ClassVar[str]
    # The extra of pyproject.toml, which is also the name of the file with pinned versions.
    framework: ClassVar[str]
    # What the bridge calls the framework (MISSING_EVENTS has it); "" if that is `framework`.
    bridge: ClassVar[str] = ""
    # The packages whose versions the matrix shows.
    distributions: ClassVar[tuple[str, ...]]
    ways: ClassVar[tuple[str, ...]] = WAYS
    # By behaviour, by (behaviour, way), or by the name of one scene of a behaviour.
    cannot: ClassVar[Mapping[str | tuple[str, str], Cannot]] = {}
    # What else the matrix must show about a behaviour that is possible, or about COST: a condition, a reason.
    notes: ClassVar[Mapping[str, str]] = {}
    # How an agent of this framework delegates to another, and the call by which its model does it: {"handoff": Call(…)}.
    delegations: ClassVar[Mapping[str, Call]] = {}
    # What becomes of a helper without the bridge: the bridge of its caller guards or refuses it, or cannot see it.
    bare_helpers: ClassVar[Mapping[str, Literal["guarded", "refused", "not seen"]]] = {}
    # Whether a bridge can know all tools of an agent before one of them is called.
    knows_tools: ClassVar[bool] = True
    # Warnings of the framework itself, as pytest's `filterwarnings` takes them.
    ignored_warnings: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def build(self, plan: AgentPlan, options: Mapping[str, Any] | None) -> Any:
        """Return an agent of the framework, with the bridge attached as users do it; without it if `options` is None.

        `options` are the keyword arguments of the bridge, such as `hooks` and `names`.
        """

    def build_idle(self, plan: AgentPlan) -> Any:
        """Return the agent without the bridge, with middleware of the framework that does nothing; None if that is not measured."""
        return None

    def leave_bridge(self) -> AbstractContextManager[None]:
        """Run agents in this block as if the bridge was not imported; most bridges do nothing until they are attached."""
        return nullcontext()

    def run(self, agent: Any, prompt: str | Answers) -> Ran:
        """Run the agent by the framework's sync entry point, outside any event loop."""
        raise NotImplementedError

    @abstractmethod
    async def run_async(self, agent: Any, prompt: str | Answers) -> Ran:
        """Run the agent by the framework's async entry point."""

    async def run_stream(self, agent: Any, prompt: str | Answers) -> Ran:
        """Run the agent by the framework's streaming entry point, to its end; `Ran.parts` has the text as it came."""
        raise NotImplementedError

    def find_cannot(self, behaviour: str, way: str, scene: str = "") -> Cannot | None:
        """Return why a behaviour, or one scene of it, is not possible in this way of running, or None."""
        return self.cannot.get((behaviour, way)) or self.cannot.get(behaviour) or self.cannot.get(scene)
