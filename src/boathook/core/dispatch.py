"""Send one event through its hooks: a pure generator, so that the sync and the async engine, which drive it, cannot differ."""

from __future__ import annotations

from boathook.core.catalog import GROUP_ORDER, Stage
from boathook.core.event import PATCH_TOOL
from boathook.core.hook import SHARED_PROCESS
from boathook.core.json_text import dumps, get_at_place, is_same_json
from boathook.core.outcome import ABSENT, NOTHING, Decision, Outcome
from boathook.core.verdict import REFUSED, TIMEOUT, Call, Exit, Run, Skip, Verdict, describe_refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from boathook.core.catalog import Plan
    from boathook.core.event import Event
    from boathook.core.hook import Hook
    from boathook.core.verdict import Policy

    StageRuns = Generator[tuple[Call, ...], tuple[Run, ...], None]
    Dispatch = Generator[tuple[Call, ...], tuple[Run, ...], tuple[Verdict, tuple[Call, ...]]]
    Order = tuple[int, int, str, str]
    JudgeObjection = Callable[[Call, Run], Run]

# A process that hooks share is asked about this many at most, besides the first.
MAX_NEXT_CALLS = 63
UNSURE_ALLOW = "its allow does not count: it was asked about a part of the call, or because of a limit of matching"
UNSETTLED = "the hooks keep rewriting each other's input; none of them has seen the last version"


class _DispatchState:
    def __init__(
        self, event: Event, select: Callable[[Event], Plan], policy: Policy, judge: JudgeObjection | None = None
    ) -> None:
        self.event, self.select, self.policy = event, select, policy
        self._judge = judge
        self.plan = select(event)
        self.outcome = NOTHING
        self.runs: tuple[Run, ...] = ()
        self.changes = 0
        self.seen_inputs: dict[Order, tuple[Any, ...]] = {}
        self.last_change: Order | None = None
        self.allowed_files: dict[int, Outcome] = {}
        # Calls that are already answered, because their hooks share a process with one that was asked.
        self.answered: list[tuple[Event, Run]] = []
        self.not_reached: tuple[Hook, ...] = ()

    def run_stages(self, get_stages: Callable[[], tuple[Stage, ...]], look_number: int) -> StageRuns:
        """Run one stage after the other until one is final; a rewritten input may change which stages follow."""
        last: Order | None = None
        while True:
            stages = [stage for stage in get_stages() if last is None or stage.order > last]
            if self.outcome.is_blocked:
                hooks = (hook for stage in stages for hook in stage.hooks)
                # Hooks that have seen an input ran in an earlier look.
                self.not_reached = tuple(hook for hook in hooks if hook.order not in self.seen_inputs)
            if self.outcome.is_blocked or not stages:
                return
            last = stages[0].order
            yield from self._run_stage(stages[0], look_number, stages[1:])

    def _run_stage(self, stage: Stage, look_number: int, next_stages: list[Stage]) -> StageRuns:
        calls = [call for hook in stage.hooks for call in _make_calls(hook, self.event, look_number)]
        whole = tuple(call for call in calls if not call.file)
        runs: tuple[Run, ...] = ()
        if whole:
            answers = self._take_answer(whole) or self._keep_answers(*(yield self._add_next_calls(whole, next_stages)))
            pairs = zip(whole, answers, strict=True)
            runs = tuple(self._judge_objection(call, _limit_allow(run, self.event)) for call, run in pairs)
            self.runs += runs
        for hook in stage.hooks:
            self._note_seen(hook)
        for run in runs:
            self.outcome |= self.policy.limit_stop_blocks(self.event, run.outcome, run.hook)
        files = [call for call in calls if call.file]
        if files and not self.outcome.is_blocked:
            yield from self._ask_about_files(files)
        now, changed = self.event.tool_input, [run for run in runs if run.outcome.input is not ABSENT]
        rewrites = [run for run in changed if not is_same_json(run.outcome.input, now)]
        if rewrites:
            # The last of several in one stage counts. Others have allowed the input as it was before.
            last = rewrites[-1]
            self.outcome, self.allowed_files = self.outcome.remove_allow(), {}
            if last.outcome.decision == Decision.ALLOW:
                self.outcome |= Outcome(Decision.ALLOW, last.outcome.all_reasons)
            self.event = self.event.with_data(tool_input=last.outcome.input)
            self.plan = self.select(self.event)
            self.changes += 1
            self.last_change = stage.order
            self._note_seen(last.hook)

    def _add_next_calls(self, calls: tuple[Call, ...], stages: list[Stage]) -> tuple[Call, ...]:
        """Return the call of a hook that shares its process with those that follow, if these are hooks of its pack."""
        call, first = calls[0], calls[0].hook
        if len(calls) > 1 or first.process != SHARED_PROCESS or not first.pack:
            return calls
        following: list[Call] = []
        for stage in stages[:MAX_NEXT_CALLS]:
            hook = stage.hooks[0]
            if (hook.process, hook.pack, hook.scope) != (first.process, first.pack, first.scope):
                break
            next_calls = _make_calls(hook, self.event, call.look_number)
            if len(next_calls) != 1 or next_calls[0].file:
                break
            following += next_calls
        return (call.replace(next_calls=tuple(following)),)

    def _keep_answers(self, *runs: Run) -> tuple[Run, ...]:
        """Keep what hooks that follow have answered in the same process."""
        self.answered = [(self.event, run) for run in runs[0].ahead]
        return (runs[0].replace(ahead=()), *runs[1:]) if self.answered else runs

    def _take_answer(self, calls: tuple[Call, ...]) -> tuple[Run, ...]:
        """Return the run of a call that was answered ahead; a hook is asked again about an input that was rewritten."""
        answered, self.answered = self.answered, []
        if not answered or answered[0][0] is not self.event or answered[0][1].hook is not calls[0].hook:
            return ()
        self.answered = answered[1:]
        return (answered[0][1],)

    def _ask_about_files(self, calls: list[Call]) -> StageRuns:
        """Run hooks on the files of a patch, one after the other: the timeout of a hook is for all of them."""
        from boathook.core.patch import list_file_calls

        spent: dict[Order, float] = {}
        files = list_file_calls(self.event)
        numbers = {id(file): number for number, file in enumerate(files)}
        late: set[Order] = set()
        for index, call in enumerate(calls):
            hook, before = call.hook, spent.get(call.hook.order, 0.0)
            seconds_left = hook.timeout - before
            if hook.order in late:
                continue
            if seconds_left > 0:
                (run,) = yield (call.replace(hook=hook.replace(timeout=seconds_left)) if before else call,)
                run = _limit_allow(_limit_file_run(call, run.replace(hook=hook)), call.event)
            else:
                late.add(hook.order)
                count = sum(later.hook is hook for later in calls[index:])
                run = _make_late_run(call, self.policy, count)
            run = self._judge_objection(call, run)
            spent[hook.order] = hook.timeout if run.status == TIMEOUT else before + run.seconds
            self.runs += (run,)
            if run.outcome.decision == Decision.ALLOW:
                self.allowed_files[numbers[id(call.event)]] = run.outcome
            self.outcome |= run.outcome.remove_allow()
            if self.outcome.is_blocked:
                return
        # In a shell command there may be more than the patch.
        if len(self.allowed_files) == len(files) and self.event.tool_name == PATCH_TOOL:
            reasons = tuple(reason for _, allow in sorted(self.allowed_files.items()) for reason in allow.all_reasons)
            self.outcome |= Outcome(Decision.ALLOW, reasons)

    def _judge_objection(self, call: Call, run: Run) -> Run:
        """Return a run, without its objection if a person has permitted the call in spite of it."""
        is_objection = run.outcome.decision in (Decision.ASK, Decision.BLOCK)
        return self._judge(call, run) if is_objection and self._judge is not None else run

    def _note_seen(self, hook: Hook) -> None:
        self.seen_inputs[hook.order] = (*self.seen_inputs.get(hook.order, ()), self.event.tool_input)

    def find_unseen_stages(self, until: Order | None = None) -> tuple[Stage, ...]:
        stages = (
            stage
            for stage in self.plan.stages
            if until is None or stage.order < until or stage.order == until == GROUP_ORDER
        )
        unseen = (
            Stage(stage.order, tuple(hook for hook in stage.hooks if not self._has_seen(hook))) for stage in stages
        )
        return tuple(stage for stage in unseen if stage.hooks)

    def _has_seen(self, hook: Hook) -> bool:
        now = self.event.tool_input
        return any(is_same_json(now, before) for before in self.seen_inputs.get(hook.order, ()))


def dispatch(
    event: Event,
    select: Callable[[Event], Plan],
    policy: Policy,
    skips: Callable[[Event], tuple[Skip, ...]],
    judge: JudgeObjection | None = None,
) -> Dispatch:
    """Run an event through its hooks; `judge` gets the runs that object, and may lift their objections."""
    state = _DispatchState(event, select, policy, judge)
    yield from state.run_stages(lambda: state.plan.stages, 1)
    if not state.outcome.is_blocked and state.changes:
        yield from _run_again(state)
    outcome = policy.finish_outcome(state.event, state.outcome)
    not_reached, background = state.not_reached, state.plan.background
    if outcome.is_blocked and event.kind.is_pre:
        not_reached, background = not_reached + background, ()
    skipped = skips(state.event)
    verdict = Verdict(state.event, event, _join_refusals(state, outcome), state.runs, (), skipped)
    if messages := verdict.trust_messages:
        verdict = verdict.replace(outcome=verdict.outcome | Outcome(messages=messages))
    skipped += tuple(Skip(hook.name, _explain_not_reached(state, outcome)) for hook in not_reached)
    verdict = verdict.replace(skipped=skipped)
    return verdict, tuple(call for hook in background for call in _make_calls(hook, state.event))


def _make_calls(hook: Hook, event: Event, look_number: int = 1) -> list[Call]:
    """Return the calls of a hook for an event: one, or one for each file of a patch."""
    if hook.matcher.lists_writes and event.kind.has_tool:
        from boathook.core.file_writes import add_writes

        return [Call(hook, add_writes(event), look_number)]
    calls = hook.matcher.select_calls(event, knows_patches=hook.dialect.knows_patches)
    if calls == (event,):
        return [Call(hook, event, look_number)]
    names = ["" if call is event else str(call.tool_input["file_path"]) or "(no name)" for call in calls]
    return [Call(hook, call, look_number, file=name) for call, name in zip(calls, names, strict=True)]


def _limit_allow(run: Run, event: Event) -> Run:
    """Remove an `allow` of a hook that was asked because of a limit of matching, or about a part of the call."""
    if run.outcome.decision != Decision.ALLOW or run.hook.matcher.is_sure(event):
        return run
    return run.replace(outcome=run.outcome.remove_allow(), notes=(*run.notes, UNSURE_ALLOW))


def _make_late_run(call: Call, policy: Policy, count: int) -> Run:
    """Make the run for files of a patch that a hook could not be asked about: before the call, that refuses it."""
    detail = (
        f"no end within {call.hook.timeout:g} s for all files of the patch; it was not asked about {count:,} of them"
    )
    run = policy.make_run(call, Exit(error=TIMEOUT, detail=detail))
    is_refused = call.event.kind.is_pre and not run.outcome.is_blocked
    return run.replace(outcome=Outcome.block(f"hook '{call.hook.name}': {detail}")) if is_refused else run


def _limit_file_run(call: Call, run: Run) -> Run:
    """Return what counts of a run on one file of a patch: what the hook would change cannot be put into the patch."""
    outcome = run.outcome
    if outcome.output is not ABSENT:
        run = run.replace(notes=(*run.notes, "the output of a patch cannot be changed for one of its files"))
        outcome = outcome.replace(output=ABSENT)
    if outcome.input is not ABSENT and not is_same_json(outcome.input, call.event.tool_input):
        outcome = Outcome.block(_describe_rewrite(call, outcome.input)) | outcome.remove_allow()
    return run.replace(outcome=outcome.replace(input=ABSENT))


def _describe_rewrite(call: Call, wanted: Any) -> str:
    texts = [get_at_place(wanted, key) for key in ("content", "new_string")]
    text = next((text for text in texts if isinstance(text, str)), None) or dumps(wanted)
    path = get_at_place(wanted, "file_path")
    place = f"{call.file} (as {path})" if isinstance(path, str) and path != call.file else call.file
    return f"hook '{call.hook.name}' wants another text for {place}: send the patch again with this text:\n{text}"


def _run_again(state: _DispatchState) -> StageRuns:
    """Run hooks that match the rewritten input and have not seen it, so that no rewrite bypasses a guard."""
    changes = state.changes
    yield from state.run_stages(state.find_unseen_stages, 2)
    if state.outcome.is_blocked or state.changes == changes:
        return
    changes, until = state.changes, state.last_change
    yield from state.run_stages(lambda: state.find_unseen_stages(until), 3)
    if not state.outcome.is_blocked and state.changes != changes:
        state.outcome |= Outcome.block(UNSETTLED)


def _join_refusals(state: _DispatchState, outcome: Outcome) -> Outcome:
    """Return an outcome in which one reason counts all hooks that are refused because nobody has reviewed them."""
    refused = [run for run in state.runs if run.status == REFUSED and run.hook.is_hidden and not run.allowed]
    if not refused:
        return outcome
    hooks = {run.hook.order: run.hook for run in refused} | {hook.order: hook for hook in state.not_reached}
    joined = describe_refused(hook for hook in hooks.values() if hook.is_hidden)
    single = {run.outcome.reason for run in refused}
    reasons = dict.fromkeys((decision, joined if text in single else text) for decision, text in outcome.all_reasons)
    return outcome.replace(all_reasons=tuple(reasons))


def _explain_not_reached(state: _DispatchState, outcome: Outcome) -> str:
    name = next((run.hook.name for run in state.runs if run.outcome.decision == outcome.decision), None)
    return f"not reached: {outcome.decision.word}" + (f" by '{name}'" if name else "")
