"""Everything that is known about one hook. Nothing of it is run."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from typing import Any

from boathook.cli.hook_causes import list_installed_hosts
from boathook.cli.list import describe_matcher, hook_to_json
from boathook.cli.record_text import find_folder, is_of_doctor
from boathook.cli.stats import HookStats
from boathook.core.approval import TrustRecord
from boathook.core.hook import ARMED, USER, BuiltIn, Hook, Script
from boathook.core.json_text import JsonError, loads
from boathook.core.value import Value
from boathook.hook_tests.case_file import TESTS_FILE, read_case_file
from boathook.hosts.capabilities import find_unsupported
from boathook.hosts.capability_table import CAPABILITY_WORDS
from boathook.hosts.host import Host, find_row
from boathook.hosts.setup import load_setup
from boathook.ledger.reader import LedgerReader
from boathook.ledger.record import DISPATCH_TYPE, END_TYPE
from boathook.loader import Loaded
from boathook.sources.hook_md.frontmatter import split_body
from boathook.sources.source import find_source
from boathook.system.files import FileError, read_text

_MAX_RECENT = 5
_MAX_FILES = 100
# Tools make these while hooks run.
_PASSED_FOLDERS = ("__pycache__", ".git")


class HookFacts(Value):
    hook: Hook
    # The text below the frontmatter of its HOOK.md, "" for others.
    body: str
    files: tuple[dict[str, Any], ...]
    trust: dict[str, Any]
    agents: tuple[dict[str, Any], ...]
    recent: tuple[dict[str, Any], ...]
    stats: HookStats
    tests: dict[str, Any]
    # Others of the same name, which replace it or are replaced by it.
    others: tuple[Hook, ...] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """What hooks.toml sets for a hook of a pack."""
        try:
            values: Any = loads(self.hook.settings) if self.hook.settings else {}
        except JsonError:
            return {}
        return values if isinstance(values, dict) else {}

    def to_json(self) -> dict[str, Any]:
        pack = {"pack": self.hook.pack, "on_by_default": self.hook.is_on, "settings": self.settings}
        has_run = bool(self.stats.times)
        return {
            "hook": hook_to_json(self.hook),
            "matcher_text": describe_matcher(self.hook),
            "pack": pack if self.hook.pack else None,
            "trust": self.trust,
            "agents": list(self.agents),
            "cost": self.stats.to_json() if has_run else None,
            "recent": list(self.recent),
            "tests": self.tests,
            "files": list(self.files),
            "body": self.body,
            "others": [{"path": one.path, "scope": one.scope, "state": one.state} for one in self.others],
        }


def collect_facts(hook: Hook, others: tuple[Hook, ...], loaded: Loaded, state: str, project: str | None) -> HookFacts:
    stats, recent = _read_past(hook, state)
    return HookFacts(
        hook=hook,
        body=_read_body(hook),
        files=tuple(_list_files(hook)),
        trust=describe_hook_trust(hook, loaded),
        agents=tuple(describe_hook_agents(hook, list_installed_hosts(state, project))),
        recent=recent,
        stats=stats,
        tests=describe_hook_tests(hook),
        others=others,
    )


def _read_body(hook: Hook) -> str:
    if not isinstance(hook.handler, Script):
        return ""
    try:
        return split_body(read_text(hook.path))
    except FileError:
        return ""


def _list_files(hook: Hook) -> list[dict[str, Any]]:
    """Return the files of a hook that people edit; of an entry, the file that has it."""
    if not hook.edited_folder:
        return _describe_file(hook.path, hook.path)
    found: list[dict[str, Any]] = []
    for top, folders, files in os.walk(hook.edited_folder):
        folders[:] = sorted(name for name in folders if name not in _PASSED_FOLDERS)
        for name in sorted(files):
            path = f"{top}/{name}"
            found += _describe_file(path, os.path.relpath(path, hook.edited_folder))
            if len(found) >= _MAX_FILES:
                return found
    return found


def _describe_file(path: str, shown: str) -> list[dict[str, Any]]:
    try:
        status = os.lstat(path)
    except OSError:
        return []
    return [{"path": shown, "bytes": status.st_size, "executable": bool(status.st_mode & 0o111)}]


def describe_hook_trust(hook: Hook, loaded: Loaded) -> dict[str, Any]:
    record = _find_decision(hook, loaded)
    return {
        "needed": hook.scope != USER,
        "state": "trusted" if hook.state == ARMED else hook.state,
        "since": record.time or None if record else None,
        "digest": record.digest or None if record else None,
        "holds_in": record.extent if record else None,
        "reviewed_in": record.project if record else None,
    }


def _find_decision(hook: Hook, loaded: Loaded) -> TrustRecord | None:
    rows: list[tuple[Hook, TrustRecord | None]] = [(one.hook, one.record) for one in loaded.project_hooks]
    rows += [(one.hook, one.record) for one in loaded.absent_hooks]
    key = (hook.name, hook.path, hook.place)
    return next((record for one, record in rows if (one.name, one.path, one.place) == key), None)


def describe_hook_agents(hook: Hook, hosts: Iterable[Host]) -> list[dict[str, Any]]:
    """Return for every agent whether it runs the hook, and what the hook cannot do there."""
    rows = []
    source = "" if isinstance(hook.handler, BuiltIn) else find_source(hook.source).without
    for host in hosts:
        is_own = source in load_setup(host.name).runs_itself
        texts = [] if is_own else [one.text for one in find_unsupported(hook, host)]
        can = [] if is_own else _list_abilities(hook, host)
        rows.append({"agent": host.name, "runs_itself": is_own, "can": can, "unsupported": texts})
    return rows


def _list_abilities(hook: Hook, host: Host) -> list[str]:
    row = find_row(host, hook.kind.name) if hook.kind is not None and not hook.background else None
    return [words for name, (_, words) in CAPABILITY_WORDS.items() if row is not None and row.get_template(name)]


def _read_past(hook: Hook, state: str) -> tuple[HookStats, tuple[dict[str, Any], ...]]:
    """Return what the ledger knows about this very hook, not about others of its name: counts, and the last runs."""
    stats = HookStats()
    recent: deque[dict[str, Any]] = deque(maxlen=_MAX_RECENT)
    for record in LedgerReader(state).read():
        if is_of_doctor(record):
            continue
        if record["type"] == DISPATCH_TYPE:
            runs = [run for run in record["hooks"] if (run["hook"], run["path"]) == (hook.name, hook.path)]
        else:
            runs = [record] if record["type"] == END_TYPE and record["hook"] == hook.name and hook.background else []
        for run in runs:
            stats.add(run)
            recent.append(
                {
                    **{key: record.get(key, "") for key in ("id", "time", "host")},
                    "project": find_folder(record),
                    "decision": run.get("decision") or "none",
                    "status": run["status"],
                    "reason": run.get("reason"),
                    "ms": run["ms"],
                }
            )
    return stats, tuple(recent)


def describe_hook_tests(hook: Hook) -> dict[str, Any]:
    folder = hook.edited_folder or os.path.dirname(hook.path)
    path = f"{folder}/{TESTS_FILE}"
    if not os.path.isfile(path):
        return {"path": None, "cases": 0}
    cases = read_case_file(path).cases
    # Beside a file with many entries, a case names the one that it is about.
    own = cases if hook.edited_folder else [one for one in cases if one.hook and hook.name.startswith(one.hook)]
    return {"path": path, "cases": len(own)}
