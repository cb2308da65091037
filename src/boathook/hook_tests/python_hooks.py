"""Cases of in-process hooks: `hook guards.py:hooks` in a tests.txt names a `Hooks`, a `Stack` or a hook of a Python file."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from boathook.core.event import PRE_TOOL, Event
from boathook.core.hook import USER, Hook, Script
from boathook.core.verdict import OK, Run, Verdict
from boathook.dialects.dialect import NATIVE, find_hook_dialect
from boathook.errors import BoathookError, ConfigError
from boathook.hook_tests.case import CORPUS, Case
from boathook.hook_tests.case_check import Observed, find_differences
from boathook.hook_tests.case_event import choose_main_key, make_case_event
from boathook.hook_tests.case_runner import FAILED_CASE, FIXED, PASSED, TODO, CaseResult
from boathook.hook_tests.scratch_folder import ScratchFolder, ScratchRoot
from boathook.inprocess.contexts import CONTEXT_CLASSES, Context
from boathook.inprocess.hooks import Hooks
from boathook.inprocess.stack import Stack

_PYTHON_MARK = ".py:"


def is_python_name(name: str) -> bool:
    """Whether the name after `hook` is that of an object in a Python file."""
    return _PYTHON_MARK in name


def load_python_hook(folder: str, name: str) -> Any:
    """Import a Python file and return the object that a name such as `guards.py:hooks` means; this runs the file."""
    file, _, attribute = name.rpartition(":")
    path = os.path.join(folder, file)
    module_name = f"boathook_tested_{os.path.basename(file).removesuffix('.py')}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise ConfigError(f"there is no Python file {path}: the name after 'hook' is relative to the tests.txt")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ConfigError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    if not hasattr(module, attribute):
        raise ConfigError(f"{path} has no '{attribute}': name a Hooks, a Stack or a hook of that file")
    return getattr(module, attribute)


def run_python_cases(hook: Any, cases: Sequence[Case], root: ScratchRoot | None = None) -> tuple[CaseResult, ...]:
    """Run cases of in-process hooks: a `Hooks`, a `Stack`, or one hook, which is asked at the event of each case."""
    if root is None:
        with ScratchRoot() as own_root:
            return run_python_cases(hook, cases, own_root)
    root.prepare((), "", with_git=any(case.git for case in cases))
    return tuple(_run_case(hook, case, root) for case in cases)


def _run_case(hook: Any, case: Case, root: ScratchRoot) -> CaseResult:
    started = time.perf_counter()
    try:
        result = _ask(hook, case, root)
    except Exception as error:  # noqa: BLE001  (whatever a hook raises, the other cases go on)
        text = str(error) if isinstance(error, BoathookError) else f"{type(error).__name__}: {error}"
        result = CaseResult(case, FAILED_CASE, messages=(f"the hook failed: {text}",))
    if case.is_todo:
        result = result.replace(status=FIXED if result.status == PASSED else TODO)
    return result.replace(seconds=time.perf_counter() - started)


def _ask(hook: Any, case: Case, root: ScratchRoot) -> CaseResult:
    unusable = {"program": case.programs, "variable": case.variables, "on": case.hosts, "settings": case.settings}
    for word, lines in unusable.items():
        if lines:
            raise ConfigError(f"in-process hooks run in this process, so a case cannot have '{word}'")
    if case.word == CORPUS:
        raise ConfigError("in-process hooks cannot have a corpus: write the cases as lines")
    scratch = root.make_folder(case, ())
    try:
        observed = _observe(hook, case, scratch)
        differences = find_differences(case, observed, scratch)
        return CaseResult(case, FAILED_CASE if differences else PASSED, observed.word, differences)
    finally:
        root.remove_folder(scratch)


def _observe(hook: Any, case: Case, scratch: ScratchFolder) -> Observed:
    stack: Stack | None = hook.stack if isinstance(hook, Hooks) else hook if isinstance(hook, Stack) else None
    kinds = [kind for layer in stack.layers for kind in layer.kinds or ()] if stack else []
    row = Hook("in-process", kinds[0] if kinds else PRE_TOOL, "", USER, Script(""), "", find_hook_dialect(NATIVE))
    event = make_case_event(case, row, scratch.project)
    function: Any = hook() if isinstance(hook, type) else hook
    stack = stack or Stack().with_(function, on=event.kind)
    context = make_context(event)
    is_asked = any(
        (layer.kinds is None or event.kind in layer.kinds) and (layer.match is None or layer.match(context))
        for layer in stack.layers
    )
    outcome = stack.process(context, can_ask=True)
    after = event if outcome.context is context else outcome.context.to_event()
    outcome = outcome.replace(contexts=(*outcome.contexts, *outcome.context.additional_context))
    runs = (Run(row, OK, outcome),) if is_asked else ()
    original = context.to_event()
    main_key = choose_main_key(case, event.tool_name, row) if event.kind.has_tool else ""
    return Observed(Verdict(after if outcome.context else original, original, outcome, runs), (), main_key)


def make_context(event: Event) -> Context:
    """Return the context in which an in-process hook would see an event."""
    context_class = CONTEXT_CLASSES[event.kind.name]
    names = {field.name for field in dataclasses.fields(context_class)}
    values: dict[str, Any] = {}
    used: set[str] = set()
    for pair in context_class.EVENT_FIELDS:
        name, event_name = pair if isinstance(pair, tuple) else (pair, pair)
        target = name if name in names else event_name
        if event_name in event.data and target in names:
            values[target] = event.data[event_name]
            used.add(event_name)
    if "error" in names:
        values["error"] = RuntimeError(str(event.data["error"])) if "error" in event.data else None
        used.add("error")
    if "index" in names:
        values["index"] = max(0, int(event.data.get("step_count", 1)) - 1)
        used.add("step_count")
    extra = {name: value for name, value in event.data.items() if name not in used}
    return context_class(event.kind, session_id=event.session_id, work_dir=event.work_dir, extra=extra, **values)
