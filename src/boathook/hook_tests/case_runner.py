"""Run cases through the engine: each in a scratch folder of its own, with the hook's real process."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from boathook.assembly import make_probe_engine
from boathook.core.catalog import Catalog, Settings
from boathook.core.hook import ISOLATED, Hook, Http, Prompt
from boathook.core.json_text import dumps
from boathook.core.value import Value
from boathook.core.verdict import Exit, Verdict
from boathook.errors import BoathookError
from boathook.hook_tests.case import CORPUS, Case
from boathook.hook_tests.case_check import Observed, find_differences, is_expected
from boathook.hook_tests.case_event import can_host_refuse, choose_main_key, make_case_event, send_through_host
from boathook.hook_tests.corpus_file import CorpusEntry, read_corpus, resolve_corpus
from boathook.hook_tests.scratch_folder import ScratchFolder, ScratchRoot
from boathook.process.sandbox import probe_sandbox_levels

PASSED, FAILED_CASE, TODO, FIXED, REFUSED_CASE, NOT_RUN = CASE_STATUSES = (
    "passed",
    "failed",
    "todo",
    "fixed",
    "refused",
    "not run",
)
# Those that make `boathook test` fail: a case that could not be asked is not one that passed.
BAD_STATUSES = (FAILED_CASE, REFUSED_CASE)
_MAX_WORKERS = 8
_DRAIN_SECONDS = 5.0


class CorpusMiss(Value):
    entry: CorpusEntry
    got: str
    message: str = ""


class CaseResult(Value):
    """How a case ended. `got` is the word that the hook answered, `host` the agent in whose words it differed.

    Of a corpus, `total` is the number of entries and `misses` are those that were not answered as expected.
    """

    case: Case
    status: str
    got: str = ""
    messages: tuple[str, ...] = ()
    seconds: float = 0.0
    host: str = ""
    total: int = 0
    misses: tuple[CorpusMiss, ...] = ()

    @property
    def is_bad(self) -> bool:
        return self.status in BAD_STATUSES


class CaseRules(Value):
    """Who may run what: an untrusted hook, and code in an untrusted file of cases, run only in the sandbox `isolated`."""

    is_hook_trusted: bool = False
    is_file_trusted: bool = False
    without_sandbox: bool = False

    def must_isolate(self, case: Case) -> bool:
        is_trusted = self.is_hook_trusted and (self.is_file_trusted or not case.brings_code)
        return not (is_trusted or self.without_sandbox)


class RunSetup(Value):
    """What runs of cases have in common. `path` is the tests.txt, `project` the real project of the hooks."""

    # `hosts`: also send every case in the words of these agents. `corpus_step`: take only each so-manieth entry of a corpus.
    path: str = ""
    project: str = ""
    rules: CaseRules = CaseRules()
    hosts: tuple[str, ...] = ()
    settings: Settings = Settings()
    corpus_step: int = 1
    # See `make_probe_engine`.
    by_mounts: bool = False


class _OneRun(Value):
    """One process to start: a case, or an entry of a corpus, in the words of one agent ("" for our own)."""

    case: Case
    host: str = ""
    entry: CorpusEntry | None = None


class _RunEnd(Value):
    run: _OneRun
    status: str
    got: str = ""
    messages: tuple[str, ...] = ()
    seconds: float = 0.0


def run_cases(
    hook: Hook | tuple[Hook, ...], cases: Sequence[Case], setup: RunSetup | None = None
) -> tuple[CaseResult, ...]:
    """Run cases of a hook, or of several that are asked together; every one in a scratch folder of its own."""
    hooks, setup = hook if isinstance(hook, tuple) else (hook,), setup or RunSetup()
    with ScratchRoot((setup.project,) if setup.project else ()) as root:
        return CaseRunner(root, hooks, setup).run(cases)


class CaseRunner:
    def __init__(self, root: ScratchRoot, hooks: tuple[Hook, ...], setup: RunSetup) -> None:
        self._root, self._hooks, self._setup = root, hooks, setup

    def run(self, cases: Sequence[Case]) -> tuple[CaseResult, ...]:
        plans = [self._plan(case) for case in cases]
        runs = [run for plan in plans if not isinstance(plan, CaseResult) for run in plan]
        self._root.prepare(self._hooks, self._setup.project, with_git=any(run.case.git for run in runs))
        workers = max(1, min(_MAX_WORKERS, os.cpu_count() or 1, len(runs)))
        with ThreadPoolExecutor(workers, thread_name_prefix="boathook-test") as pool:
            ends = iter(list(pool.map(self._run_safely, runs)))
        return tuple(
            plan if isinstance(plan, CaseResult) else _summarize(case, [next(ends) for _ in plan])
            for case, plan in zip(cases, plans, strict=True)
        )

    def _plan(self, case: Case) -> CaseResult | list[_OneRun]:
        """Return the runs of a case, or its result if it cannot run."""
        if reason := self._find_reason_not_to_run():
            return CaseResult(case, NOT_RUN, messages=(reason,))
        if self._setup.rules.must_isolate(case) and (reason := _find_missing_sandbox()):
            what = "the hook is not trusted" if not self._setup.rules.is_hook_trusted else "no trust covers its lines"
            fix = "Review the hook with boathook trust, or add --no-sandbox to run it without one"
            return CaseResult(case, REFUSED_CASE, messages=(f"{what}, and there is no sandbox here: {reason}. {fix}",))
        hosts = dict.fromkeys(("", *case.hosts, *self._setup.hosts))
        if case.word != CORPUS:
            return [_OneRun(case, host) for host in hosts]
        try:
            entries = read_corpus(resolve_corpus(self._setup.path, case.value or ""))[:: self._setup.corpus_step]
        except BoathookError as error:
            return CaseResult(case, FAILED_CASE, messages=(str(error),))
        return [_OneRun(_make_entry_case(case, entry), host, entry) for entry in entries for host in hosts]

    def _find_reason_not_to_run(self) -> str:
        for hook in self._hooks:
            if isinstance(hook.handler, Prompt):
                return f"the hook '{hook.name}' would call a model"
            if isinstance(hook.handler, Http):
                return f"the hook '{hook.name}' would send a request to {hook.handler.safe_url}"
        return ""

    def _run_safely(self, run: _OneRun) -> _RunEnd:
        started = time.perf_counter()
        try:
            end = self._run(run)
        except BoathookError as error:
            end = _RunEnd(run, FAILED_CASE, messages=(str(error),))
        except OSError as error:
            end = _RunEnd(run, FAILED_CASE, messages=(f"the scratch project could not be made: {error}",))
        except Exception as error:  # noqa: BLE001  (an error of ours must not keep other cases from running)
            end = _RunEnd(run, FAILED_CASE, messages=(f"internal error: {type(error).__name__}: {error}",))
        return end.replace(seconds=time.perf_counter() - started)

    def _run(self, run: _OneRun) -> _RunEnd:
        case = run.case
        hooks = tuple(self._prepare_hook(hook, case) for hook in self._hooks)
        scratch = self._root.make_folder(case, self._hooks)
        try:
            return self._ask(run, hooks, scratch)
        finally:
            self._root.remove_folder(scratch)

    def _ask(self, run: _OneRun, hooks: tuple[Hook, ...], scratch: ScratchFolder) -> _RunEnd:
        case, ends = run.case, list[Exit]()
        event = make_case_event(case, hooks[0], scratch.project)
        main_key = choose_main_key(case, event.tool_name, hooks[0]) if event.kind.has_tool else ""
        received = send_through_host(event, run.host) if run.host else event
        if received is None:
            return _RunEnd(run, NOT_RUN, messages=(f"{run.host} has no event for this: {event.kind.name}",))
        catalog = Catalog(hooks, self._setup.settings, is_judged=False)
        engine = make_probe_engine(
            catalog,
            scratch.base,
            writable=True,
            project=scratch.project,
            environ=scratch.environ,
            by_mounts=self._setup.by_mounts,
            report_end=lambda _call, end: ends.append(end),
        )
        with engine:
            verdict = engine.dispatch(received)
            if verdict.background:
                engine.drain(max(hook.timeout for hook in hooks) + _DRAIN_SECONDS)
        observed = Observed(verdict, tuple(ends), main_key)
        differences = find_differences(case, observed, scratch) or _list_lost_answers(run, verdict)
        return _RunEnd(run, FAILED_CASE if differences else PASSED, observed.word, differences)

    def _prepare_hook(self, hook: Hook, case: Case) -> Hook:
        if case.settings is not None:
            if not hook.pack:
                raise BoathookError(f"only hooks of a pack have settings: remove the 'settings' line of '{hook.name}'")
            hook = hook.replace(settings=dumps(case.settings))
        return hook.replace(sandbox=ISOLATED, network=False) if self._setup.rules.must_isolate(case) else hook


def _list_lost_answers(run: _OneRun, verdict: Verdict) -> tuple[str, ...]:
    """Return what an agent would not do although a hook refuses: a guard that is asked there guards nothing."""
    if not run.host or not verdict.is_blocked:
        return ()
    can_refuse = can_host_refuse(verdict.original, run.host)
    return () if can_refuse else (f"the agent cannot refuse at {verdict.original.kind.name}",)


def _make_entry_case(case: Case, entry: CorpusEntry) -> Case:
    return case.replace(word=entry.expect, value=entry.value, text=entry.value)


_missing_sandbox: list[str] = []


def _find_missing_sandbox() -> str:
    """Return why hooks cannot be isolated on this machine, "" if they can; looked up once, because it starts a process."""
    if not _missing_sandbox:
        support = next(one for one in probe_sandbox_levels() if one.level == ISOLATED)
        _missing_sandbox.append("" if support.is_available else support.detail)
    return _missing_sandbox[0]


def _summarize(case: Case, ends: list[_RunEnd]) -> CaseResult:
    if case.word == CORPUS:
        return _summarize_corpus(case, ends)
    asked = [end for end in ends if end.status != NOT_RUN]
    bad = next((end for end in asked if end.status != PASSED), None)
    seconds = sum(end.seconds for end in ends)
    notes = tuple(message for end in ends if end.status == NOT_RUN for message in end.messages)
    shown = bad or asked[0]
    host = shown.run.host
    messages = tuple(f"in {host}: {text}" if host else text for text in shown.messages)
    status = shown.status
    if case.is_todo:
        status = FIXED if bad is None else TODO
        messages = messages if bad else (f"it answers {case.word} now: remove 'todo-' from the line",)
    return CaseResult(case, status, shown.got, (*messages, *notes), seconds, host)


def _summarize_corpus(case: Case, ends: list[_RunEnd]) -> CaseResult:
    misses: list[CorpusMiss] = []
    for end in ends:
        entry = end.run.entry
        if entry is not None and end.status not in (PASSED, NOT_RUN):
            is_wrong = not is_expected(entry.expect, end.got)
            host = f" in {end.run.host}" if end.run.host else ""
            misses.append(
                CorpusMiss(entry, f"{end.got or 'nothing'}{host}", "" if is_wrong else "; ".join(end.messages))
            )
    seconds = sum(end.seconds for end in ends)
    messages = () if ends else ("the corpus has no entries",)
    status = FAILED_CASE if misses or not ends else PASSED
    return CaseResult(case, status, "", messages, seconds, "", len(ends), tuple(misses))
