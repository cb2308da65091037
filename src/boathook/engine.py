"""The engine: drives the pure flow of one event, sync or async, and tells what it does."""

from __future__ import annotations

import time

from boathook.core.dispatch import dispatch
from boathook.core.event import POST_SESSION, POST_STOP, POST_TURN, PRE_STOP, PRE_TURN, Event
from boathook.core.json_text import dumps
from boathook.core.outcome import Decision
from boathook.core.policy import Policy
from boathook.core.verdict import FAILED, OK, Call, Exit, Run, Skip, StartedHook, Verdict
from boathook.errors import DialectError
from boathook.process.cancel import Cancellation
from boathook.system.locations import current_dir, make_absolute, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any, Protocol, Self

    from boathook.core.catalog import Catalog
    from boathook.core.hook import Hook
    from boathook.process.cancel import CallRunner
    from boathook.trust.verify import VerifiedCatalog

    class BackgroundRunner(Protocol):
        """Runs calls that nobody waits for."""

        def start(self, calls: tuple[Call, ...]) -> tuple[StartedHook | Skip, ...]:
            """Start calls and return at once; one that cannot run is named as skipped."""
            ...

        def drain(self, seconds: float) -> int:
            """Wait for running calls; return the number still running."""
            ...

        def close(self) -> None:
            """Start nothing more."""

    class StopCounts(Protocol):
        """Remembers how often in a row a session's stop was refused."""

        def stop_blocks(self, session: str) -> int:
            """Return the count."""
            ...

        def count_stop(self, session: str, *, blocked: bool) -> None:
            """Count one refusal, or end the count."""
            ...

        def forget(self, session: str) -> None:
            """Forget a session that ended."""
            ...


DRAIN_SECONDS = 5.0
GATE_RESETS = (PRE_TURN, POST_TURN, POST_STOP, POST_SESSION)


class Engine:
    """Dispatches events to the hooks of a catalogue. Safe to use from several threads and tasks."""

    def __init__(
        self,
        catalog: Catalog,
        runner: CallRunner,
        background: BackgroundRunner,
        policy: Policy | None = None,
        trace: Callable[[str], None] | None = None,
        counts: StopCounts | None = None,
        log_trouble: Callable[[], str] | None = None,
        record: Callable[[Verdict, float], str] | None = None,
    ) -> None:
        """Take the parts; `assembly.load` puts them together."""
        self.catalog = catalog
        self._runner = runner
        self._background = background
        self._policy = policy or Policy(
            max_stop_blocks=catalog.settings.max_stop_blocks, strict_exit_codes=catalog.settings.strict_exit_codes
        )
        self._trace = trace
        self._counts = counts or _Counts()
        self._log_trouble = log_trouble or str
        self._record = record
        self._sealed = any(hook.approval is not None for hook in catalog.hooks)

    def dispatch(self, event: Event | Mapping[str, Any]) -> Verdict:
        """Run an event through its hooks and give the verdict. Never raises for what a hook does."""
        began = time.perf_counter()
        ready = self._ready(event)
        catalog = self._verify_catalog()
        flow = dispatch(ready, catalog.plan, self._policy, catalog.find_skips)
        try:
            calls = next(flow)
            while True:
                calls = flow.send(self._judge(calls, self._run(calls)))
        except StopIteration as end:
            verdict, background = end.value
        return self._finish(verdict, background, began)

    async def adispatch(self, event: Event | Mapping[str, Any]) -> Verdict:
        """Run an event through its hooks without holding up the event loop; cancelling it ends the hooks."""
        began = time.perf_counter()
        ready = self._ready(event)
        catalog = self._verify_catalog()
        flow = dispatch(ready, catalog.plan, self._policy, catalog.find_skips)
        try:
            calls = next(flow)
            while True:
                calls = flow.send(self._judge(calls, await self._arun(calls)))
        except StopIteration as end:
            verdict, background = end.value
        if not verdict.runs and not background:
            return self._finish(verdict, background, began)
        import asyncio

        return await asyncio.to_thread(self._finish, verdict, background, began)  # a record may have to reach the disk

    def _verify_catalog(self) -> Catalog | VerifiedCatalog:
        """Return the catalogue for one dispatch: hooks that were trusted are looked at again when they are needed."""
        if not self._sealed:
            return self.catalog
        from boathook.trust.verify import VerifiedCatalog

        return VerifiedCatalog(self.catalog)

    def only(self, hooks: tuple[Hook, ...], *, diagnostics: bool = True) -> Engine:
        """Return an engine for some of the hooks, with the same parts; `diagnostics` if it is to tell what files are broken."""
        told = self.catalog.diagnostics if diagnostics else ()
        return Engine(
            self.catalog.replace(hooks=hooks, diagnostics=told),
            self._runner,
            self._background,
            self._policy,
            self._trace,
            self._counts,
            self._log_trouble,
            self._record,
        )

    def without_record(self) -> Engine:
        """Return the same engine, but one that leaves no record."""
        made = self.only(self.catalog.hooks)
        made._record = None
        return made

    def drain(self, seconds: float = DRAIN_SECONDS) -> int:
        """Wait for async hooks that still run; return how many are left."""
        return self._background.drain(seconds)

    def close(self) -> None:
        """Wait a moment for async hooks, end those that still run, and end the engine's use."""
        self.drain()
        self._background.close()

    def __enter__(self) -> Self:
        """Use the engine in a `with` block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the engine."""
        self.close()

    def _ready(self, event: Event | Mapping[str, Any]) -> Event:
        """Fill in what the sender left out."""
        if not isinstance(event, Event):
            from boathook.dialects.native import event_of

            event = event_of(dict(event))
        if not event.timestamp or not event.work_dir.startswith("/"):
            event = event.replace(
                timestamp=event.timestamp or now(), work_dir=make_absolute(event.work_dir or current_dir())
            )
        if event.kind in (PRE_STOP, POST_STOP):
            count = event.data.get("stop_block_count")
            if not isinstance(count, int) or isinstance(count, bool):  # the host does not count
                count = self._counts.stop_blocks(event.session_id)
            active = event.data.get("stop_hook_active", bool(count))
            event = event.with_data(stop_hook_active=active, stop_block_count=count)
        try:
            dumps(event.to_fields())
        except (ValueError, TypeError, RecursionError) as error:
            raise DialectError(f"the event cannot be written as JSON: {error}") from None
        self._tell_start(event)
        return event

    def _run(self, calls: tuple[Call, ...]) -> tuple[Exit, ...]:
        try:
            return self._runner.run(calls)
        except Exception as error:  # noqa: BLE001  (a fault of ours must not look like an approval)
            return _engine_fault(calls, error)

    async def _arun(self, calls: tuple[Call, ...]) -> tuple[Exit, ...]:
        import asyncio

        cancellation = Cancellation()
        work = asyncio.ensure_future(asyncio.to_thread(cancellation.run, self._runner, calls))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            cancellation.cancel()
            await asyncio.wait([work])
            raise
        except Exception as error:  # noqa: BLE001
            return _engine_fault(calls, error)

    def _judge(self, calls: tuple[Call, ...], ends: tuple[Exit, ...]) -> tuple[Run, ...]:
        runs = tuple(self._policy.make_run(call, end) for call, end in zip(calls, ends, strict=True))
        for run in runs:
            self._tell_run(run)
        return runs

    def _finish(self, verdict: Verdict, background: tuple[Call, ...], began: float) -> Verdict:
        id_ = system.urandom(6).hex() if self._record is not None else ""
        if background:
            started, lost = self._start(tuple(call.replace(dispatch=id_) for call in background))
            verdict = verdict.replace(background=started, skipped=verdict.skipped + lost)
        verdict = self._recorded(verdict, id_, began)
        if self._trace is not None:
            for call in background:
                self._trace(f"[HOOK DEBUG] [ASYNC] Starting hook '{call.hook.name}' for event '{call.hook.trigger}'")
            for skip in verdict.skipped:
                self._trace(f"[HOOK DEBUG] Skipped hook '{skip.hook}': {skip.reason}")
        self._count_stops(verdict)
        if verdict.event.kind is POST_SESSION:
            self.drain()
            self._counts.forget(verdict.event.session_id)
        return verdict

    def _recorded(self, verdict: Verdict, id_: str, began: float) -> Verdict:
        """Return the verdict with the id of its record; trouble with the record is told and changes nothing else."""
        telling = verdict.runs or verdict.background or any(skip.is_warning for skip in verdict.skipped)
        telling = telling or self.catalog.settings.record == "whole"  # a hook that comes later may be tried on it
        if self._record is None or not telling:
            return verdict
        recorded = verdict.replace(id=id_)
        try:
            trouble = self._record(recorded, time.perf_counter() - began)
        except Exception as error:  # noqa: BLE001
            trouble = f"boathook/ledger cannot be written ({type(error).__name__}: {error}): the record is lost"
        if not trouble:
            return recorded
        return verdict.replace(
            skipped=(*verdict.skipped, Skip(trouble.partition(" cannot ")[0], trouble, is_warning=True))
        )

    def _start(self, calls: tuple[Call, ...]) -> tuple[tuple[StartedHook, ...], tuple[Skip, ...]]:
        """Start async hooks, each for itself; those that cannot be started are named, and cost the verdict nothing."""
        done: list[StartedHook | Skip] = []
        if trouble := self._log_trouble():
            done.append(Skip(trouble.partition(" cannot ")[0], trouble, is_warning=True))
        for call in calls:
            try:
                done += self._background.start((call,))
            except Exception as error:  # noqa: BLE001
                why = f"it could not be started in the background: {type(error).__name__}: {error}"
                done.append(Skip(call.hook.name, why, is_warning=True))
        started = tuple(one for one in done if isinstance(one, StartedHook))
        return started, tuple(one for one in done if isinstance(one, Skip))

    def _count_stops(self, verdict: Verdict) -> None:
        if verdict.event.kind is PRE_STOP:
            self._counts.count_stop(verdict.event.session_id, blocked=verdict.decision == Decision.BLOCK)
        elif verdict.event.kind in GATE_RESETS:
            self._counts.count_stop(verdict.event.session_id, blocked=False)

    def _tell_start(self, event: Event) -> None:
        if self._trace is None:
            return
        for hook in self.catalog.find_hooks(event.kind):
            mode = hook.mode.upper()
            why = hook.matcher.explain_mismatch(event) if hook.kind is not None else ""
            if why:
                told = f"[HOOK DEBUG] [{mode}] Not matched hook '{hook.name}' for event '{hook.trigger}': {why}"
                self._trace(told)

    def _tell_run(self, run: Run) -> None:
        if self._trace is not None:
            for line in run_lines(run):
                self._trace(line)


class _Counts:
    """Remembers refused stops for as long as the engine lives."""

    def __init__(self) -> None:
        self._blocks: dict[str, int] = {}

    def stop_blocks(self, session: str) -> int:
        """Return the count."""
        return self._blocks.get(session, 0)

    def count_stop(self, session: str, *, blocked: bool) -> None:
        """Count one refusal, or end the count."""
        if blocked:
            self._blocks[session] = self._blocks.get(session, 0) + 1
        else:
            self.forget(session)

    def forget(self, session: str) -> None:
        """Forget a session that ended."""
        self._blocks.pop(session, None)


class Tracing:
    """A runner that says which hooks it starts, with their input as they read it."""

    def __init__(self, runner: CallRunner, trace: Callable[[str], None]) -> None:
        """Wrap a runner."""
        self._runner = runner
        self._trace = trace

    def run(self, calls: tuple[Call, ...], cancel: int | None = None) -> tuple[Exit, ...]:
        """Tell, then run."""
        for call in calls:
            mode = call.hook.mode.upper()
            again = f" (look {call.look_number})" if call.look_number > 1 else ""
            self._trace(
                f"[HOOK DEBUG] [{mode}] Starting hook '{call.hook.name}' for event '{call.hook.trigger}'{again}"
            )
            written = call.hook.dialect.write_event(call.event, call.hook.trigger)
            self._trace("[HOOK DEBUG] Input: " + written.decode().rstrip("\n"))
        return self._runner.run(calls, cancel)


def run_lines(run: Run) -> list[str]:
    """Return the debug lines of one finished run."""
    mode, blocked = run.hook.mode.upper(), run.outcome.decision >= Decision.BLOCK
    took = round(run.seconds * 1000)
    lines = [f"[HOOK DEBUG] [{mode}] Completed hook '{run.hook.name}' in {took}ms: blocked={blocked}"]
    lines += [f"[HOOK DEBUG] Reason: {text}" for _, text in run.outcome.all_reasons]
    if run.status != OK:
        lines.append(f"[HOOK DEBUG] Error: {run.status}: {run.error}")
    lines += [f"[HOOK DEBUG] Log: {text}" for text in run.outcome.logs]
    if run.stderr and not blocked:
        lines.append(f"[HOOK DEBUG] Stderr: {run.stderr}")
    lines += [f"[HOOK DEBUG] Note: {text}" for text in run.notes]
    return lines


def now() -> str:
    """Return the time as ISO 8601 in UTC, with milliseconds."""
    seconds = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds * 1000) % 1000:03d}Z"


def _engine_fault(calls: tuple[Call, ...], error: Exception) -> tuple[Exit, ...]:
    detail = f"the engine failed to run it: {type(error).__name__}: {error}"
    return tuple(Exit(error=FAILED, detail=detail) for _ in calls)
