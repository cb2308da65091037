"""Questions to a person in graphs of langgraph; request and answers have the form of langchain's own HumanInTheLoopMiddleware."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt

from boathook.bridges.used_answers import used_answers
from boathook.errors import BridgeError
from boathook.inprocess.agent_run import AgentRun
from boathook.inprocess.json_values import to_json_value
from boathook.inprocess.operations import ToolCall
from boathook.inprocess.run_outcome import AskRequest

# By run, the questions about its calls. A call that comes again after its answer must ask again: langgraph counts the interrupts
# of a task, so that a question left out would give its answer to the next one, for example to one of the tool itself.
questions_by_run: WeakKeyDictionary[AgentRun, dict[str, PersonQuestion]] = WeakKeyDictionary()


class PersonQuestion:
    """What a person is asked about one call, or about several at once."""

    def __init__(self, place: str, asks: Sequence[AskRequest], *, is_again: bool = False) -> None:
        # `is_again`: langgraph may have answers already, to questions of other hooks about these calls.
        self._place, self._asks, self._is_answered, self._is_again = place, asks, False, is_again
        # How many answers in this task are not for this question, as soon as that is known.
        self._other_answers: int | None = None
        actions = [
            {"name": ask.call.name, "args": to_json_value(ask.call.args), "description": ask.reason, "id": ask.call.id}
            for ask in asks
        ]
        reviews = [{"action_name": ask.call.name, "allowed_decisions": ["approve", "reject"]} for ask in asks]
        self._request = {"action_requests": actions, "review_configs": reviews}

    def ask_person(self, run: AgentRun) -> None:
        """Ask a person, which ends the run of the graph; when it goes on, give the hooks the answers, once."""
        if self._is_again and self._other_answers is None:
            self._ask_again(run, 0)
        # Each time, because langgraph counts the interrupts.
        for _ in range(self._other_answers or 0):
            interrupt(self._request)
        answer = interrupt(self._request)
        if self._is_answered:
            return
        asks, decisions = self._asks, answer.get("decisions") if isinstance(answer, dict) else answer
        if isinstance(decisions, bool):
            decisions = [decisions]
        if not isinstance(decisions, list) or len(decisions) != len(asks):
            raise BridgeError(
                f"a person was asked about {len(asks)} call{'s' * (len(asks) != 1)}, but the answer is {answer!r:.200}. "
                'Resume with Command(resume={"decisions": [{"type": "approve"}, …]}), one for each call'
            )
        read = [*map(_read_decision, decisions)]
        if not used_answers.use("langgraph", self._place, str(self._other_answers or 0)):
            # The program went on from the same place before, with the same answer.
            self._ask_again(run, (self._other_answers or 0) + 1)
        for ask, (is_allowed, reason) in zip(asks, read, strict=True):
            run.answer(ask.token, is_allowed, reason=reason)
        self._is_answered = True

    def _ask_again(self, run: AgentRun, count: int) -> NoReturn:
        """Ask after all answers that langgraph has here, `count` of which were taken: none is for this question."""
        try:
            while True:
                interrupt(self._request)
                count += 1
        except GraphInterrupt:
            self._other_answers = count
            if self._is_again and count:
                for ask in self._asks:
                    run.report_other_answer(ask.call)
            raise


def make_question_key(config: Mapping[str, Any], calls: Sequence[ToolCall]) -> str:
    """Return what a task of langgraph and its calls have in common when they come again, but with no later call of the same id."""
    values = config.get("configurable") or {}
    place = [str(values.get(name) or "") for name in ("thread_id", "checkpoint_ns")]
    return json.dumps([*place, *([call.id, call.name, to_json_value(call.args)] for call in calls)], sort_keys=True)


def _read_decision(decision: Any) -> tuple[bool, str]:
    if isinstance(decision, bool):
        return decision, ""
    kind = decision.get("type") if isinstance(decision, dict) else None
    if kind not in ("approve", "reject"):
        raise BridgeError(f'a decision about a call must have the type "approve" or "reject", not {decision!r:.200}')
    return kind == "approve", str(decision.get("message") or "")
