"""What happens in an agent, as records for `cli.agent_display`: plain objects with a `type`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from boathook.agent.model import Reply
from boathook.agent.reference_agent import Agent, Session
from boathook.agent.state import MAX_STEPS_REACHED, TOOL_REJECTED, Step, TurnResult
from boathook.cli.agent_display import MAIN_AGENT, AgentRecord
from boathook.core.event import PRE_STOP, Event
from boathook.core.hook import ARMED, Hook
from boathook.core.json_text import is_same_json
from boathook.core.outcome import ABSENT, DEFAULT_BLOCK_REASON, NOTHING, Decision, Outcome
from boathook.core.verdict import Verdict
from boathook.engine import DRAIN_SECONDS, Engine
from boathook.errors import BoathookError
from boathook.inprocess.contexts import Context, ToolContext
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.run_outcome import describe_error


class Trace:
    def __init__(self, show: Callable[[AgentRecord], None]) -> None:
        self._show = show
        # Calls about which a hook wants a person to be asked.
        self.questioned_calls: set[str] = set()
        self._reported_calls: set[str] = set()
        self._agents_by_reply: dict[int, str] = {}
        self._is_stop_refused = self._is_unread = False
        self._steps = self._decisions = 0
        self._started = time.monotonic()
        # Decisions of Python hooks come from the threads that record them.
        self._lock = threading.RLock()

    def report(self, type: str, **fields: Any) -> None:
        """Show one record. If no one reads any more, the agent ends; its last hooks still run, without records."""
        with self._lock:
            if self._is_unread:
                return
            try:
                self._show({"type": type, **fields})
            except (OSError, SystemExit):
                self._is_unread = True
                raise

    def on_session(self, agent: Agent, session: Session) -> None:
        engine = agent.stack.engine
        file_hooks = [] if engine is None else [hook for hook in engine.catalog.hooks if hook.state == ARMED]
        count = len(file_hooks) + sum(layer.hook != self.on_event for layer in agent.stack.layers)
        self.report("session", session_id=session.id, model=agent.model.name, work_dir=agent.work_dir, hooks=count)

    def on_turn(self, prompt: str) -> None:
        self._is_stop_refused = False
        self._started = time.monotonic()
        self.report("turn", prompt=prompt)

    def on_event(self, context: Context) -> None:
        """Report an event, as the first hook of it; and a tool call that ran, before other hooks see it."""
        agent = context.extra.get("agent_type", MAIN_AGENT)
        tool = {"tool": context.tool} if context.tool else {}
        self.report("event", event=context.event, agent=agent, **tool)
        if isinstance(context, ToolContext) and not context.kind.is_pre:
            error = context.error
            output = context.result if error is None else describe_error(error)
            text = "" if output is None else output if isinstance(output, str) else str(to_json_value(output))
            call = ToolCall(context.name, context.args, context.call_id)
            self._report_call(call, agent, text, ran=True, is_error=error is not None, duration_ms=context.duration_ms)

    def on_verdict(self, verdict: Verdict) -> None:
        event = verdict.original
        call_id = str(event.data.get("tool_use_id", ""))
        for run in verdict.runs:
            self.on_decision(event, run.to_json(), run.outcome)
            if run.outcome.input is not ABSENT:
                # The next hook sees the changed input.
                event = event.with_data(tool_input=run.outcome.input)
            if run.outcome.decision == Decision.ASK:
                self.questioned_calls.add(call_id)
        if verdict.is_blocked and event.kind.is_pre and event.kind.has_tool:
            call, agent = ToolCall(event.tool_name, event.tool_input, call_id), event.data.get("agent_type", MAIN_AGENT)
            reason = "; ".join(verdict.reasons) or DEFAULT_BLOCK_REASON
            self._report_call(call, agent, reason, ran=False, is_error=True)
        for started in verdict.background:
            decision = {"hook": started.hook, "decision": "none", "reason": None}
            self.on_decision(event, decision, NOTHING, background=True)

    def on_decision(
        self, event: Event, decision: Mapping[str, Any], outcome: Outcome, *, background: bool = False
    ) -> None:
        effects: dict[str, Any] = {}
        if outcome.input is not ABSENT and not is_same_json(outcome.input, event.tool_input):
            effects["modified_input"] = outcome.input
        if outcome.output is not ABSENT:
            effects["modified_output"] = outcome.output
        if outcome.contexts:
            effects["additional_context"] = list(outcome.contexts)
        counts = bool(effects) or outcome.decision != Decision.NONE
        self._decisions += counts
        agent, call_id = event.data.get("agent_type", MAIN_AGENT), event.data.get("tool_use_id")
        about = {"event": event.kind.name, "agent": agent, "tool": event.tool_name, "id": call_id}
        self.report("hook", **about, **decision, **effects, counts=counts, background=background)

    def on_permission(self, context: ToolContext, reason: str, by: str, *, allowed: bool) -> None:
        agent = context.extra.get("agent_type", MAIN_AGENT)
        self.report("ask", agent=agent, tool=context.name, id=context.call_id, reason=reason, allowed=allowed, by=by)

    def listen(self, what: str, value: Any) -> None:
        if what == "message":
            self.report("message", text=value)
        elif what == "feedback":
            agent_type, text = value
            self.report("feedback", agent=agent_type or MAIN_AGENT, text=text)
        elif what == "reply":
            self._report_reply(*value)
        elif what == "step":
            self._report_step(value)
        elif what == "event":
            name, outcome = value
            if name == PRE_STOP.name:
                self._is_stop_refused = outcome.is_blocked
            if outcome.decision != Decision.NONE:
                self.report("outcome", event=name, decision=outcome.decision.word, reason=outcome.reason)

    def _report_reply(self, agent_type: str, reply: Reply) -> None:
        agent = self._agents_by_reply[id(reply)] = agent_type or MAIN_AGENT
        self._steps += agent == MAIN_AGENT
        calls = [{"tool": call.name, "input": to_json_value(call.args), "id": call.id} for call in reply.calls]
        self.report("reply", agent=agent, text=reply.text, calls=calls)

    def _report_step(self, step: Step) -> None:
        agent = self._agents_by_reply.pop(id(step.reply), MAIN_AGENT)
        for result in step.results:
            # The others were refused by a person or by an in-process hook.
            if result.call.id not in self._reported_calls:
                self._report_call(result.call, agent, result.text, ran=False, is_error=True)
        results = [{"id": one.call.id, "text": one.text, "is_error": one.is_error} for one in step.results]
        self.report("step", agent=agent, index=step.index, text=step.reply.text, results=results)

    def _report_call(self, call: ToolCall, agent: str, output: str, **fields: Any) -> None:
        self._reported_calls.add(call.id)
        tool_input = to_json_value(call.args)
        self.report("tool", agent=agent, id=call.id, tool=call.name, input=tool_input, output=output, **fields)

    def find_unfinished_reason(self, result: TurnResult) -> str:
        if result.stop_reason == TOOL_REJECTED:
            return "a call was refused"
        if result.stop_reason == MAX_STEPS_REACHED or self._is_stop_refused:
            return "it reached the limit of --max-steps"
        return ""

    def on_end(self, status: str, reason: str = "", text: str = "") -> None:
        """Report the end of a turn, or of a session that could not begin or was interrupted."""
        seconds = round(time.monotonic() - self._started, 3)
        numbers = {"steps": self._steps, "seconds": seconds, "decisions": self._decisions}
        self._steps = self._decisions = 0
        self.report("result", status=status, reason=reason, text=text, **numbers)

    def on_error(self, error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt):
            self.on_end("interrupted", "interrupted")
            return
        name = "" if isinstance(error, BoathookError) else f"{type(error).__name__}: "
        notes = [f" ({note})" for note in getattr(error, "__notes__", ())]
        self.report("error", message=f"{name}{error}{''.join(notes)}")


class TracedEngine(Engine):
    def __init__(self, engine: Engine, trace: Trace) -> None:
        self.catalog, self._engine, self._reports = engine.catalog, engine, trace

    def dispatch(self, event: Event | Mapping[str, Any]) -> Verdict:
        self._reports.on_verdict(verdict := self._engine.dispatch(event))
        return verdict

    async def adispatch(self, event: Event | Mapping[str, Any]) -> Verdict:
        self._reports.on_verdict(verdict := await self._engine.adispatch(event))
        return verdict

    def only(self, hooks: tuple[Hook, ...], *, diagnostics: bool = True) -> Engine:
        return TracedEngine(self._engine.only(hooks, diagnostics=diagnostics), self._reports)

    def with_refusals(self, refusals: Mapping[str, int]) -> Engine:
        return TracedEngine(self._engine.with_refusals(refusals), self._reports)

    def load_session_variables(self, session: str) -> dict[bytes, bytes]:
        return self._engine.load_session_variables(session)

    @property
    def is_recording(self) -> bool:
        # What Python hooks do is shown even if no ledger keeps it.
        return True

    def record_elsewhere(self, verdict: Verdict, seconds: float) -> str:
        # The answer to a question is reported when the person gives it.
        if all(run.outcome.decision == verdict.decision for run in verdict.runs):
            self._reports.on_verdict(verdict)
        return self._engine.record_elsewhere(verdict, seconds)

    def drain(self, seconds: float = DRAIN_SECONDS) -> int:
        return self._engine.drain(seconds)

    def close(self) -> None:
        self._engine.close()
