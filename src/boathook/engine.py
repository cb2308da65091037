"""The engine runs the hooks of an event, sync or async, and returns the verdict."""

from __future__ import annotations

import time

from boathook.core.catalog import add_to_plan
from boathook.core.dispatch import dispatch
from boathook.core.event import CALL_KINDS, HOST_TOOL, POST_SESSION, POST_STOP, PRE_STOP, PRE_TOOL, RESET_KINDS, Event
from boathook.core.hook import BUILT_IN, GONE
from boathook.core.json_text import dumps
from boathook.core.notices import hide_project_text, mark_removed_hooks, quiet_reported_hooks
from boathook.core.outcome import Decision
from boathook.core.pattern_search import SearchBudget
from boathook.core.text import reveal_text
from boathook.core.value import Value
from boathook.core.verdict import DENIED, FAILED, OK, Call, Exit, Policy, Run, Skip, StartedHook, Verdict
from boathook.errors import DialectError
from boathook.ledger.writer import make_record_id, make_timestamp
from boathook.process.cancel import Cancellation
from boathook.system.locations import current_dir, make_absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol, Self

    from boathook.core.catalog import Catalog, Plan
    from boathook.core.dispatch import Dispatch
    from boathook.core.hook import Hook
    from boathook.core.permit import CallObjections, Question
    from boathook.ledger.writer import Recorder
    from boathook.process.cancel import CallRunner
    from boathook.trust.verify import VerifiedCatalog

    class BackgroundRunner(Protocol):
        def start(self, calls: tuple[Call, ...]) -> tuple[StartedHook | Skip, ...]: ...
        def drain(self, seconds: float) -> int: ...
        def close(self) -> None: ...

    class StopCounts(Protocol):
        def stop_blocks(self, session: str) -> int: ...
        def count_stop(self, session: str, *, blocked: bool) -> bool: ...
        def forget(self, session: str) -> None: ...

    class SessionNotes(Protocol):
        """What a session keeps about trusted hooks: those that it has or had, and those reported as not in the checkout."""

        def has_trusted_note(self, session: str, digest: str) -> bool: ...
        def note_trusted_hooks(self, session: str, digest: str, keys: tuple[str, ...]) -> None: ...
        def read_trusted_keys(self, session: str) -> frozenset[str]: ...
        def read_gone(self, session: str) -> frozenset[str]: ...
        def note_gone(self, session: str, keys: frozenset[str]) -> None: ...

    class Permits(Protocol):
        def open_call(self, event: Event) -> CallObjections: ...
        def write_question(self, question: Question) -> bool: ...

    class Asker(Protocol):
        """Puts a question of hooks to a person, if the agent does not."""

        def settle(self, verdict: Verdict, objections: CallObjections, elapsed: float) -> Verdict: ...

    class BuiltInFilter(Protocol):
        def list_objecting(self, hooks: tuple[Hook, ...], event: Event) -> tuple[Hook, ...]: ...

    class SessionExports(Protocol):
        def load_variables(self, session: str) -> dict[bytes, bytes]: ...


DRAIN_SECONDS = 5.0


class EngineParts(Value):
    # `runner` runs hooks and waits for them, `background` starts those that nobody waits for. `trace` gets the debug lines.
    # `open_permits` is called when the first hook objects to a call.
    # `built_in` says which built-in hooks object to an event: only these take part.
    runner: CallRunner
    background: BackgroundRunner
    policy: Policy | None = None
    trace: Callable[[str], None] | None = None
    stop_counts: StopCounts | None = None
    recorder: Recorder | None = None
    exports: SessionExports | None = None
    notes: SessionNotes | None = None
    open_permits: Callable[[], Permits] | None = None
    built_in: BuiltInFilter | None = None
    # Whether the host says in `stop_hook_active` that a hook has refused the stop before.
    marks_refused_stops: bool = False
    asker: Asker | None = None


class Engine:
    """Dispatches events to the hooks of a catalogue. Safe to use from several threads and tasks."""

    def __init__(self, catalog: Catalog, parts: EngineParts) -> None:
        self.catalog, self._parts = catalog, parts
        self._policy = parts.policy or Policy(
            catalog.settings.max_stop_blocks, strict_exit_codes=catalog.settings.strict_exit_codes
        )
        self._trace = parts.trace
        self._stop_counts = parts.stop_counts or _StopCountsInMemory()
        # What events say has no text of a project that nobody has reviewed.
        self._event_catalog = catalog.replace(hooks=hide_project_text(catalog.hooks)) if catalog.is_judged else catalog
        self._has_trusted_hooks = any(hook.approval is not None for hook in catalog.hooks)
        self._has_gone_hooks = any(hook.state == GONE for hook in catalog.hooks)
        self._trusted_digest, self._noted_sessions = catalog.trusted_digest, set[str]()

    def dispatch(self, event: Event | Mapping[str, Any]) -> Verdict:
        """Run an event through its hooks and return the verdict. Never raises because of what a hook does."""
        started, budget = time.perf_counter(), SearchBudget(time.thread_time)
        flow, judge = self._start_flow(event, budget)
        try:
            calls = budget.call(flow.__next__)
            while True:
                calls = budget.call(flow.send, self._make_runs(calls, self._run(calls)))
        except StopIteration as end:
            verdict, background = _add_unfinished(end.value, budget)
        return self._finish(verdict, background, started, judge, event)

    async def adispatch(self, event: Event | Mapping[str, Any]) -> Verdict:
        """Run an event through its hooks without blocking the event loop; cancelling it ends the hooks."""
        started, budget = time.perf_counter(), SearchBudget(time.thread_time)
        flow, judge = self._start_flow(event, budget)
        try:
            calls = budget.call(flow.__next__)
            while True:
                calls = budget.call(flow.send, self._make_runs(calls, await self._run_in_thread(calls)))
        except StopIteration as end:
            verdict, background = _add_unfinished(end.value, budget)
        if not verdict.runs and not background:
            return self._finish(verdict, background, started, judge, event)
        import asyncio

        # In a thread, because a record may have to reach the disk.
        return await asyncio.to_thread(self._finish, verdict, background, started, judge, event)

    def load_session_variables(self, session: str) -> dict[bytes, bytes]:
        """Return the variables that hooks exported at the start of a session."""
        return {} if self._parts.exports is None else self._parts.exports.load_variables(session)

    def only(self, hooks: tuple[Hook, ...], *, diagnostics: bool = True) -> Engine:
        """Return an engine for some of the hooks, with the same parts; without `diagnostics` it does not report broken files."""
        reported = self.catalog.diagnostics if diagnostics else ()
        built_in = tuple(hook for hook in hooks if hook.source == BUILT_IN)
        others = tuple(hook for hook in hooks if hook.source != BUILT_IN)
        catalog = self.catalog.replace(hooks=others, built_in=built_in, diagnostics=reported)
        return Engine(catalog, self._parts.replace(stop_counts=self._stop_counts))

    def with_refusals(self, refusals: Mapping[str, int]) -> Engine:
        """Return an engine that counts for each hook how often it has refused to stop in this turn, by `Hook.identity`."""
        policy = self._policy.replace(refusals=refusals)
        return Engine(self.catalog, self._parts.replace(stop_counts=self._stop_counts, policy=policy))

    def drain(self, seconds: float = DRAIN_SECONDS) -> int:
        """Wait for async hooks that still run; return how many are left."""
        return self._parts.background.drain(seconds)

    def close(self) -> None:
        """Wait a moment for async hooks, end those that still run, and start none any more."""
        self.drain()
        self._parts.background.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start_flow(
        self, event: Event | Mapping[str, Any], budget: SearchBudget
    ) -> tuple[Dispatch, _ObjectionJudge | None]:
        prepared = self._prepare_event(event)
        budget.call(self._trace_mismatches, prepared)
        self._note_trusted_hooks(prepared.session_id)
        loaded = self._event_catalog
        if self._has_gone_hooks and self._parts.notes is not None:
            seen_keys = self._parts.notes.read_trusted_keys(prepared.session_id)
            loaded = loaded.replace(hooks=mark_removed_hooks(loaded.hooks, seen_keys))
        catalog: Catalog | VerifiedCatalog = loaded
        if self._has_trusted_hooks:
            from boathook.trust.verify import VerifiedCatalog

            catalog = VerifiedCatalog(loaded)

        def find_skips(event: Event) -> tuple[Skip, ...]:
            skips = catalog.find_skips(event)
            return self._report_gone_once(skips, event.session_id) if self._has_gone_hooks else skips

        open_permits = self._parts.open_permits if self._parts.recorder is not None else None
        judge = _ObjectionJudge(prepared, open_permits) if open_permits and prepared.kind in CALL_KINDS else None
        return dispatch(prepared, self._add_built_in(catalog.plan), self._policy, find_skips, judge), judge

    def _note_trusted_hooks(self, session: str) -> None:
        """Note once in a session which trusted hooks there are, so that one that disappears is reported at every event."""
        notes, digest = self._parts.notes, self._trusted_digest
        if notes is None or not digest or not session or session in self._noted_sessions:
            return
        if not notes.has_trusted_note(session, digest):
            notes.note_trusted_hooks(session, digest, self.catalog.trusted_keys)
        self._noted_sessions.add(session)

    def _report_gone_once(self, skips: tuple[Skip, ...], session: str) -> tuple[Skip, ...]:
        notes, keys = self._parts.notes, frozenset(skip.trust_key for skip in skips if skip.state == GONE)
        if notes is None or not keys:
            return skips
        reported = notes.read_gone(session)
        if keys - reported:
            notes.note_gone(session, keys)
        return quiet_reported_hooks(skips, reported)

    def _add_built_in(self, make_plan: Callable[[Event], Plan]) -> Callable[[Event], Plan]:
        part, catalog = self._parts.built_in, self._event_catalog
        if part is None or not catalog.built_in:
            return make_plan

        def make_whole_plan(event: Event) -> Plan:
            hooks = catalog.find_built_in(event)
            return add_to_plan(make_plan(event), part.list_objecting(hooks, event) if hooks else ())

        return make_whole_plan

    def _prepare_event(self, event: Event | Mapping[str, Any]) -> Event:
        if not isinstance(event, Event):
            from boathook.dialects.native import make_event

            event = make_event(dict(event))
        elif HOST_TOOL in event.data and not event.tool_aliases:
            from boathook.dialects.native import find_host_aliases

            event = event.replace(tool_aliases=find_host_aliases(event.data))
        if not event.timestamp or not event.work_dir.startswith("/"):
            event = event.replace(
                timestamp=event.timestamp or make_timestamp(), work_dir=make_absolute(event.work_dir or current_dir())
            )
        if event.kind in (PRE_STOP, POST_STOP):
            event = self._add_stop_count(event)
        try:
            dumps(event.to_fields())
        except (ValueError, TypeError, RecursionError) as error:
            raise DialectError(f"the event cannot be written as JSON: {error}") from None
        return event

    def _add_stop_count(self, event: Event) -> Event:
        count = event.data.get("stop_block_count")
        # True and False are integers, too.
        if not isinstance(count, int) or isinstance(count, bool):
            count = self._stop_counts.stop_blocks(event.session_id)
        is_active = event.data.get("stop_hook_active", bool(count))
        return event.with_data(stop_hook_active=is_active, stop_block_count=count)

    def _run(self, calls: tuple[Call, ...]) -> tuple[Exit, ...]:
        try:
            return self._parts.runner.run(calls)
        except Exception as error:  # noqa: BLE001  (an error of ours must not look like an approval)
            return _fail_all(calls, error)

    async def _run_in_thread(self, calls: tuple[Call, ...]) -> tuple[Exit, ...]:
        import asyncio

        cancellation = Cancellation()
        work = asyncio.ensure_future(asyncio.to_thread(cancellation.run, self._parts.runner, calls))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            cancellation.cancel()
            await asyncio.wait([work])
            raise
        except Exception as error:  # noqa: BLE001
            return _fail_all(calls, error)

    def _make_runs(self, calls: tuple[Call, ...], ends: tuple[Exit, ...]) -> tuple[Run, ...]:
        runs = tuple(self._policy.make_run(call, end) for call, end in zip(calls, ends, strict=True))
        if self._trace is not None:
            for line in (line for run in runs for one in (run, *run.ahead) for line in _format_run(one)):
                self._trace(line)
        return runs

    def _finish(
        self,
        verdict: Verdict,
        background: tuple[Call, ...],
        started: float,
        judge: _ObjectionJudge | None,
        given: Event | Mapping[str, Any],
    ) -> Verdict:
        record_id = make_record_id() if self._parts.recorder is not None else ""
        is_open = True
        if judge is not None and verdict.decision == Decision.ASK and self._parts.asker is not None:
            begun = time.perf_counter()
            verdict = judge.settle(verdict, self._parts.asker, begun - started)
            is_open = verdict.decision == Decision.ASK
            # The time of a person is not that of the hooks.
            started += time.perf_counter() - begun
            verdict, background = _drop_background(verdict, background)
        if background:
            calls = tuple(call.replace(dispatch=record_id) for call in background)
            started_hooks, skips = self._start_background(calls)
            verdict = verdict.replace(background=started_hooks, skipped=verdict.skipped + skips)
        verdict = self._record(self._count_stop(verdict, given), record_id, started)
        if judge is not None and verdict.id:
            verdict = judge.ask_person(verdict, can_ask=self._policy.can_ask and is_open)
        if self._trace is not None:
            for call in background:
                self._trace(f"[HOOK DEBUG] [ASYNC] Starting hook '{call.hook.name}' for event '{call.hook.trigger}'")
            if background and verdict.id:
                self._trace(f"[HOOK DEBUG] Note: the ledger has how async hooks end: boathook why {verdict.id}")
            for skip in verdict.skipped:
                self._trace(f"[HOOK DEBUG] Skipped hook '{reveal_text(skip.subject)}': {reveal_text(skip.reason)}")
        if verdict.event.kind is POST_SESSION:
            self.drain()
            self._stop_counts.forget(verdict.event.session_id)
            self._noted_sessions.discard(verdict.event.session_id)
        return verdict

    def _record(self, verdict: Verdict, record_id: str, started: float) -> Verdict:
        has_effects = verdict.runs or verdict.background or any(skip.is_warning for skip in verdict.skipped)
        # With "whole" every event is kept, because a new hook may be tried on it later.
        is_recorded = has_effects or self.catalog.settings.record == "whole"
        recorder = self._parts.recorder
        if recorder is None or not is_recorded:
            return verdict
        recorded = verdict.replace(id=record_id)
        error_message = _write_record(recorder, recorded, time.perf_counter() - started)
        if not error_message:
            return recorded
        warning = Skip(recorder.ledger_path, error_message, is_warning=True, is_hook=False, is_for_model=True)
        return verdict.replace(skipped=(*verdict.skipped, warning))

    @property
    def is_recording(self) -> bool:
        """Whether what happens goes to a ledger."""
        return self._parts.recorder is not None

    def record_elsewhere(self, verdict: Verdict, seconds: float) -> str:
        """Record what hooks did that the engine did not run; return an error message, or ""."""
        recorder = self._parts.recorder
        if recorder is None:
            return ""
        return _write_record(recorder, verdict.replace(id=make_record_id()), seconds)

    def _start_background(self, calls: tuple[Call, ...]) -> tuple[tuple[StartedHook, ...], tuple[Skip, ...]]:
        results: list[StartedHook | Skip] = []
        recorder = self._parts.recorder
        if recorder is not None and (error_message := recorder.find_log_error()):
            results.append(Skip(recorder.log_path, error_message, is_warning=True, is_hook=False, is_for_model=True))
        for call in calls:
            try:
                results += self._parts.background.start((call,))
            except Exception as error:  # noqa: BLE001
                reason = f"it could not be started in the background: {type(error).__name__}: {error}"
                results.append(Skip(call.hook.name, reason, is_warning=True))
        started = tuple(one for one in results if isinstance(one, StartedHook))
        return started, tuple(one for one in results if isinstance(one, Skip))

    def _count_stop(self, verdict: Verdict, given: Event | Mapping[str, Any]) -> Verdict:
        is_refused = verdict.event.kind is PRE_STOP and verdict.decision == Decision.BLOCK
        if verdict.event.kind is not PRE_STOP and verdict.event.kind not in RESET_KINDS:
            return verdict
        if self._stop_counts.count_stop(verdict.event.session_id, blocked=is_refused) or not is_refused:
            return verdict
        # Such a host counts as far as one: it will say at the next stop that a hook has refused this one.
        fields = given.data if isinstance(given, Event) else given
        if self._parts.marks_refused_stops and fields.get("stop_hook_active") is False:
            return verdict
        outcome, reasons = verdict.outcome, "; ".join(verdict.reasons)
        message = f"the stop is let through, because its refusals cannot be counted; the hook's reason: {reasons}"
        outcome = outcome.replace(decision=Decision.NONE, all_reasons=(), messages=(*outcome.messages, message))
        return verdict.replace(outcome=outcome)

    def _trace_mismatches(self, event: Event) -> None:
        if self._trace is None:
            return
        for hook in self._event_catalog.find_hooks(event.kind):
            reason = hook.matcher.explain_mismatch(event) if hook.kind is not None else ""
            if reason:
                reason = "its matcher does not match" if hook.is_hidden else reason
                about = f"hook '{hook.name}' for event '{hook.trigger}': {reason}"
                self._trace(f"[HOOK DEBUG] [{hook.mode.upper()}] Not matched {about}")


def _write_record(recorder: Recorder, verdict: Verdict, seconds: float) -> str:
    try:
        return recorder.write(verdict, seconds)
    except Exception as error:  # noqa: BLE001
        return f"{recorder.ledger_path} cannot be written ({type(error).__name__}: {error}): the record is lost"


def _add_unfinished(ended: tuple[Verdict, tuple[Call, ...]], budget: SearchBudget) -> tuple[Verdict, tuple[Call, ...]]:
    """Report the patterns that count as a match because they could not be searched to the end."""
    if not budget.unfinished:
        return ended
    verdict, background = ended
    runs: list[Run] = []
    for run in verdict.runs:
        why = budget.describe_unfinished(run.hook.matcher.pattern_sources)
        runs.append(run.replace(notes=(*run.notes, why)) if why else run)
    noted = {source for run in verdict.runs for source in run.hook.matcher.pattern_sources}
    # Of hooks that do not run, or in the background.
    reports = tuple(
        Skip(
            "pattern",
            f"the pattern {source[:100]!r} counts as a match, because it {why}",
            is_warning=True,
            is_hook=False,
            is_for_model=True,
        )
        for source, why in budget.unfinished.items()
        if source not in noted
    )
    return verdict.replace(runs=tuple(runs), skipped=verdict.skipped + reports), background


def _drop_background(verdict: Verdict, background: tuple[Call, ...]) -> tuple[Verdict, tuple[Call, ...]]:
    """Return a verdict with its hooks in the background, without them if the call is blocked after all."""
    if not verdict.is_blocked:
        return verdict, background
    skips = tuple(Skip(call.hook.name, f"not reached: {verdict.decision.word}") for call in background)
    return verdict.replace(skipped=verdict.skipped + skips), ()


class _ObjectionJudge:
    """Collects what hooks object to one call, lifts what a person has permitted, and asks the person about the rest."""

    # Most calls have no objection, so everything about them is opened late.
    def __init__(self, event: Event, open_permits: Callable[[], Permits]) -> None:
        self._event, self._open_permits = event, open_permits
        self._opened: tuple[Permits, CallObjections] | None = None

    def __call__(self, call: Call, run: Run) -> Run:
        if self._opened is None:
            permits = self._open_permits()
            self._opened = permits, permits.open_call(self._event)
        return self._opened[1].judge(call, run)

    def settle(self, verdict: Verdict, asker: Asker, elapsed: float) -> Verdict:
        """Let boathook ask the person about a tool call, if the agent does not."""
        if self._opened is None or verdict.event.kind is not PRE_TOOL:
            return verdict
        return asker.settle(verdict, self._opened[1], elapsed)

    def ask_person(self, verdict: Verdict, *, can_ask: bool) -> Verdict:
        """Keep the question of a call that is refused or asked about, and say so where no agent asks it."""
        is_denied = verdict.asked[1] == DENIED
        if self._opened is None or is_denied or verdict.decision not in (Decision.ASK, Decision.BLOCK):
            return verdict
        permits, objections = self._opened
        question = objections.make_question(verdict.id)
        try:
            if question is None or not permits.write_question(question):
                return verdict
        except Exception:  # noqa: BLE001  (the call stays refused, which is what the hooks want)
            return verdict
        verdict = verdict.replace(question=verdict.id)
        # Where a plain hook refuses the call, its reason stays as it is.
        is_question = objections.has_ask and not objections.has_block
        if not is_question or (can_ask and not objections.has_built_in):
            return verdict
        from boathook.core.permit import add_permission

        # Reasons of other decisions are kept, but not shown.
        others = tuple(reason for reason in verdict.outcome.all_reasons if reason[0] != verdict.decision)
        texts = add_permission(verdict.reasons, verdict.id)
        reasons = (*others, *((verdict.decision, text) for text in texts))
        return verdict.replace(outcome=verdict.outcome.replace(all_reasons=reasons))


class _StopCountsInMemory:
    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def stop_blocks(self, session: str) -> int:
        return self._counts.get(session, 0)

    def count_stop(self, session: str, *, blocked: bool) -> bool:
        if blocked:
            self._counts[session] = self._counts.get(session, 0) + 1
        else:
            self.forget(session)
        return True

    def forget(self, session: str) -> None:
        self._counts.pop(session, None)


class TracingRunner:
    def __init__(self, runner: CallRunner, trace: Callable[[str], None]) -> None:
        self._runner, self._trace = runner, trace

    def run(self, calls: tuple[Call, ...], cancel: int | None = None) -> tuple[Exit, ...]:
        self._trace_start(calls)
        ends = self._runner.run(calls, cancel)
        for call, end in zip(calls, ends, strict=True):
            # Only now is it known which hooks shared its process.
            self._trace_start(call.next_calls[: len(end.ahead)])
        return ends

    def _trace_start(self, calls: tuple[Call, ...]) -> None:
        for call in calls:
            hook = call.hook
            again = f" (look {call.look_number})" if call.look_number > 1 else ""
            mode = hook.mode.upper()
            self._trace(f"[HOOK DEBUG] [{mode}] Starting hook '{hook.name}' for event '{hook.trigger}'{again}")
            written = hook.dialect.write_event(call.event, hook.trigger)
            self._trace("[HOOK DEBUG] Input: " + written.decode().rstrip("\n"))


def _format_run(run: Run) -> list[str]:
    mode, is_blocked = run.hook.mode.upper(), run.outcome.decision >= Decision.BLOCK
    milliseconds = round(run.seconds * 1000)
    lines = [f"[HOOK DEBUG] [{mode}] Completed hook '{run.hook.name}' in {milliseconds}ms: blocked={is_blocked}"]
    lines += [f"[HOOK DEBUG] Reason: {text}" for _, text in run.outcome.all_reasons]
    if run.status != OK:
        lines.append(f"[HOOK DEBUG] Error: {run.status}: {run.error}")
    lines += [f"[HOOK DEBUG] Log: {text}" for text in run.outcome.logs]
    if run.stderr and not is_blocked:
        lines.append(f"[HOOK DEBUG] Stderr: {run.stderr}")
    lines += [f"[HOOK DEBUG] Note: {text}" for text in run.notes]
    return lines


def _fail_all(calls: tuple[Call, ...], error: Exception) -> tuple[Exit, ...]:
    detail = f"the engine failed to run it: {type(error).__name__}: {error}"
    return tuple(Exit(error=FAILED, detail=detail) for _ in calls)
