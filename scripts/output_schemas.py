"""The JSON Schema of every `--json` output, by the words of its command.

No command imports this module. `make docs` writes the schemas to docs/reference/schemas, and the tests validate every
output. A program should ignore fields that it does not know: they can be added without a new version.
"""

from __future__ import annotations

from types import NoneType
from typing import Any

from boathook.cli.doctor_firing import FIRING_WAYS
from boathook.cli.doctor_hooks import RESULTS
from boathook.core.approval import ANYWHERE, IN_PROJECT, IN_REPOSITORY
from boathook.core.hook import ASK_CHECKS, ERROR, HANDLERS, IMPORTS, NOTE, SANDBOX_LEVELS, SCOPES, WARNING
from boathook.core.outcome import Decision
from boathook.core.verdict import OK, OUTPUT_VERSION, STATUS_WORDS
from boathook.hook_tests.case import CORPUS, DECISION_WORDS
from boathook.hook_tests.case_runner import CASE_STATUSES
from boathook.hosts.host import CAPABILITIES
from boathook.inprocess.hook_records import PROGRAM_SCOPE
from boathook.ledger.schema import RECORD_SCHEMAS
from boathook.packs.pack_change import CHANGED, GONE, NEW, SAME
from boathook.packs.pack_places import EDITED, INCOMPLETE, MISSING, OK_STATE, OLDER, UNLOCKED

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_INTEGER: Schema = {"type": "integer"}
_INTEGER_OR_NULL: Schema = {"type": ["integer", "null"]}
_NUMBER: Schema = {"type": "number"}
_NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
_FLAG: Schema = {"type": "boolean"}
_ANYTHING: Schema = {}
_VERSION: dict[str, Schema] = {"version": {"const": OUTPUT_VERSION}}
_JSON_TYPES = {str: "string", int: "integer", float: "number", NoneType: "null"}


def _make_object(properties: dict[str, Schema]) -> Schema:
    """Return the schema of an object; a key that ends with ? is optional."""
    required = [key for key in properties if not key.endswith("?")]
    plain = {key.removesuffix("?"): schema for key, schema in properties.items()}
    return {"type": "object", "properties": plain, "required": required}


def _make_optional(properties: dict[str, Schema]) -> Schema:
    """Return the schema of an object or null."""
    return {**_make_object(properties), "type": ["object", "null"]}


def _make_list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _make_map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _make_choice(*words: str) -> Schema:
    return {"enum": [*words]}


def _make_output(about: str, properties: dict[str, Schema]) -> Schema:
    return {"description": about, **_make_object({**_VERSION, **properties})}


def _make_variants(properties: dict[str, Schema], variants: dict[str, Schema]) -> Schema:
    """Return the schema of an object that has further fields by its `type`."""
    rules = [{"if": {"properties": {"type": {"const": name}}}, "then": schema} for name, schema in variants.items()]
    return {**_make_object(properties), "allOf": rules}


def _convert_shape(shape: Any) -> Schema:
    """Return the schema of a shape that the reader of the ledger checks."""
    if isinstance(shape, dict):
        return _make_object({key: _convert_shape(inner) for key, inner in shape.items()}) if shape else _make_map({})
    if isinstance(shape, list):
        return _make_list(_convert_shape(shape[0]))
    names = [_JSON_TYPES[kind] for kind in shape[1:] if kind is not object]
    return {"type": names[0] if len(names) == 1 else names} if names else _ANYTHING


_TEXTS = _make_list(_TEXT)
_DECISION = _make_choice(*Decision.NAMES)
_STATUS = _make_choice(OK, *STATUS_WORDS)
_SCOPE = _make_choice(*SCOPES)
_STATE = _make_choice(
    *("armed", "invalid", "shadowed", "disabled", "no-entry-point", "untrusted", "modified", "denied"),
    *("not in this checkout", "hidden by a nearer project"),
)
_EXTENTS = (IN_PROJECT, IN_REPOSITORY, ANYWHERE)
_MODE = _make_choice("sync", "async")
_DIAGNOSTIC = _make_object(
    {
        "path": _TEXT,
        "line": _INTEGER_OR_NULL,
        "key": _TEXT,
        "level": _make_choice(ERROR, WARNING, NOTE),
        "message": _TEXT,
        "fix": _TEXT,
    }
)
_RUN_FIELDS = {
    "hook": _TEXT,
    "scope": _SCOPE,
    "status": _STATUS,
    "exit_code": _INTEGER_OR_NULL,
    "duration_ms": _NUMBER,
    "decision": _DECISION,
    "reason": _TEXT_OR_NULL,
    "look": _INTEGER,
    "file": _TEXT_OR_NULL,
    "notes": _TEXTS,
}
_VERDICT = {
    "event": _TEXT,
    "decision": _DECISION,
    "reasons": _TEXTS,
    "modified_input": _ANYTHING,
    "modified_output": _ANYTHING,
    "additional_context": _TEXTS,
    "system_message": _TEXTS,
    "feedback": _TEXT_OR_NULL,
    "lifted": _TEXTS,
    "runs": _make_list(_make_object(_RUN_FIELDS)),
    "background": _make_list(_make_object({"hook": _TEXT, "pid": _INTEGER_OR_NULL})),
    "skipped": _make_list(_make_object({"hook": _TEXT, "why": _TEXT})),
    "id": _TEXT_OR_NULL,
}
_BUILT_IN = _make_object({"name": _TEXT, "description": _TEXT, "state": _TEXT, "why": _TEXT})
_UNUSED_FILE = _make_object({"path": _TEXT, "source": _TEXT, "title": _TEXT, "count": _INTEGER})
_HANDLER = _make_object(
    {
        "kind": _make_choice(*HANDLERS),
        "folder?": _TEXT,
        "text?": _TEXT,
        "words?": _TEXTS,
        "shell?": _TEXT,
        "root?": _TEXT,
        "variables?": _TEXTS,
        "cwd?": _TEXT,
        "model?": _TEXT,
        "url?": _TEXT,
        "headers?": _TEXTS,
        "allowed?": _TEXTS,
    }
)
_HOOK = _make_object(
    {
        "name": _TEXT,
        "description": _TEXT,
        "scope": _SCOPE,
        "event": _TEXT_OR_NULL,
        "trigger": _TEXT,
        "priority": _INTEGER,
        "mode": _MODE,
        "timeout_ms": _INTEGER,
        "on_failure": _make_choice("allow", "block"),
        "protected": _FLAG,
        "sandbox": _make_choice(*SANDBOX_LEVELS),
        "network": _FLAG,
        "imports": _make_choice(*IMPORTS),
        "ask": _make_choice(*ASK_CHECKS),
        "trusted_in": {"enum": [None, *_EXTENTS]},
        "state": _STATE,
        "why": _TEXT,
        "path": _TEXT,
        "matcher": {"type": ["object", "null"], "additionalProperties": _TEXT_OR_NULL},
        "source": _TEXT,
        "place": _TEXT,
        "dialect": _TEXT,
        "handler": _HANDLER,
        "metadata": _ANYTHING,
        "diagnostics": _make_list(_DIAGNOSTIC),
    }
)
_EXPLANATION = _make_object(
    {
        "hook": _TEXT,
        "scope": _SCOPE,
        "state": _STATE,
        "mode": _MODE,
        "priority": _INTEGER,
        "would_run": {"type": ["boolean", "null"]},
        "why": _TEXT,
        "matcher": _TEXT,
        "entry": _TEXT_OR_NULL,
        "path": _TEXT,
        "place": _TEXT,
        "diagnostics": _make_list(_DIAGNOSTIC),
    }
)
_FINDING = _make_object(
    {
        "level": _make_choice("ok", NOTE, WARNING, ERROR),
        "subject": _TEXT,
        "text": _TEXT,
        "fix": _TEXT,
        "place": _TEXT,
    }
)
_HOOK_HEALTH = _make_object(
    {
        "hook": _TEXT,
        "scope": _SCOPE,
        "source": _TEXT,
        "event": _TEXT_OR_NULL,
        "state": _STATE,
        "path": _TEXT,
        "result": _make_choice(*RESULTS),
        "ms": _NUMBER_OR_NULL,
        "ledger": {
            "anyOf": [
                {"type": "null"},
                _make_object(dict.fromkeys(("runs", "failures", "events", "days"), _INTEGER)),
            ]
        },
        "findings": _make_list(_FINDING),
    }
)
_HOST = _make_object(
    {
        "name": _TEXT,
        "title": _TEXT,
        "evidence": _TEXT,
        "version": _TEXT_OR_NULL,
        "events": _make_list(
            _make_object(
                {
                    "name": _TEXT,
                    "event": _TEXT,
                    "capabilities": {**_make_map(_make_map(_ANYTHING)), "propertyNames": _make_choice(*CAPABILITIES)},
                    "untested": _make_list(_make_choice(*CAPABILITIES)),
                }
            )
        ),
        "unmapped_events": _TEXTS,
        "tools": _make_map(_make_object({"tool": _TEXT, "keys": _make_map(_TEXT)})),
    }
)
_HOST_STATUS = _make_object(
    {
        "host": _TEXT,
        "program": _TEXT_OR_NULL,
        "runs_itself": _TEXTS,
        "evidence": _TEXT,
        "statuses": _make_list(
            _make_object(
                {
                    "host": _TEXT,
                    "scope": _SCOPE,
                    "state": _make_choice("installed", "not installed", "altered", "stale", "shadowed"),
                    "path": _TEXT,
                    "why": _TEXTS,
                }
            )
        ),
    }
)
_FILE_CHANGE = _make_object({"path": _TEXT, "action": _make_choice("created", "changed", "removed", "unchanged")})
_INSTALLATION = {
    "command": _make_choice("install", "uninstall"),
    "host": _TEXT,
    "scope": _SCOPE,
    "project": _TEXT_OR_NULL,
    "changed": _FLAG,
    "files": _make_list(_FILE_CHANGE),
}
_CONVERSION = _make_object(
    {
        "name": _TEXT,
        "place": _TEXT,
        "event": _TEXT,
        "status": _make_choice("converted", "left"),
        "to": _TEXT,
        "reason": _TEXT,
        "notes": _TEXTS,
    }
)
_TRUST = _make_object(
    {
        "name": _TEXT,
        "state": {"enum": [*_STATE["enum"], "trusted", "earlier", "accepted"]},
        "project": _TEXT,
        "identity": _TEXT,
        "digest": _TEXT_OR_NULL,
        "override": _FLAG,
        "when": _TEXT_OR_NULL,
        "holds_in": {"enum": [None, *_EXTENTS]},
        "repository": _TEXT_OR_NULL,
    }
)
_WAITING = _make_object(
    {
        **dict.fromkeys(("name", "project", "identity", "event", "matcher", "error"), _TEXT),
        "state": _STATE,
        "override": _FLAG,
        **dict.fromkeys(("digest", "trusted_digest", "same_bytes_in"), _TEXT_OR_NULL),
        "files": _make_list(
            _make_object(
                {"path": _TEXT, "bytes": _INTEGER, "sha256": _TEXT, "executable": _FLAG, "link_to": _TEXT_OR_NULL}
            )
        ),
        "diff": {"type": ["array", "null"], "items": _TEXT},
        **dict.fromkeys(("uncovered", "not_shown"), _TEXTS),
    }
)
_WAITING_CALL = _make_object(
    {
        **dict.fromkeys(("id", "since", "until", "agent", "session", "project", "tool", "text"), _TEXT),
        "hooks": _TEXTS,
        "strong": _FLAG,
    }
)
_REPEATED_CALL = _make_object(dict.fromkeys(("id", "since", "until", "text"), _TEXT))
_COUNTS_AND_TIMES = {
    **dict.fromkeys(("runs", "blocks", "failures", "timeouts"), _INTEGER),
    **dict.fromkeys(("p50_ms", "p95_ms", "p99_ms"), _NUMBER),
}
_HOOK_STATS = _make_object({"hook": _TEXT, **_COUNTS_AND_TIMES})
_DIFFERENCE = _make_object(
    {
        "id": _TEXT,
        "time": _TEXT,
        "event": _TEXT,
        "tool": _TEXT_OR_NULL,
        "input": _ANYTHING,
        "was": _DECISION,
        "now": _TEXT,
        "reasons": _TEXTS,
        "hooks": _TEXTS,
    }
)
_EVENT = _make_object(
    {
        **dict.fromkeys(("name", "block"), _TEXT),
        **dict.fromkeys(("spellings", "fields", "matched_fields"), _TEXTS),
        "extension": _FLAG,
    }
)
# A record that was written outside the chain has no seq, prev and hash.
_RECORD = _make_variants(
    {
        "id": _TEXT,
        "time": _TEXT,
        "type": _TEXT,
        "seq?": _INTEGER,
        "prev?": _TEXT,
        "hash?": _TEXT,
        "spilled?": _FLAG,
        "cut?": _FLAG,
    },
    {name: _convert_shape(shape) for name, shape in RECORD_SCHEMAS.items()},
)
_VERSIONED_RECORD = {
    **_RECORD,
    "properties": {**_VERSION, **_RECORD["properties"]},
    "required": [*_VERSION, *_RECORD["required"]],
}
_TOOL_CALL = {"tool": _TEXT, "id": _TEXT, "input": _ANYTHING}
_AGENT_LINES = {
    "session": {"session_id": _TEXT, "model": _TEXT, "work_dir": _TEXT, "hooks": _INTEGER},
    "turn": {"prompt": _TEXT},
    "event": {"event": _TEXT, "agent": _TEXT, "tool?": _TEXT},
    "reply": {"agent": _TEXT, "text": _TEXT, "calls": _make_list(_make_object(_TOOL_CALL))},
    "hook": {
        "event": _TEXT,
        "agent": _TEXT,
        "tool": _TEXT,
        "id": _TEXT_OR_NULL,
        "counts": _FLAG,
        "background": _FLAG,
        **{key if key in ("hook", "decision", "reason") else f"{key}?": schema for key, schema in _RUN_FIELDS.items()},
        "scope?": _make_choice(*SCOPES, PROGRAM_SCOPE),
        "modified_input?": _ANYTHING,
        "modified_output?": _ANYTHING,
        "additional_context?": _TEXTS,
    },
    "ask": {"agent": _TEXT, "tool": _TEXT, "id": _TEXT, "reason": _TEXT, "allowed": _FLAG, "by": _TEXT},
    "tool": {
        "agent": _TEXT,
        **_TOOL_CALL,
        "output": _TEXT,
        "ran": _FLAG,
        "is_error": _FLAG,
        "duration_ms?": _NUMBER_OR_NULL,
    },
    "step": {
        "agent": _TEXT,
        "index": _INTEGER,
        "text": _TEXT,
        "results": _make_list(_make_object({"id": _TEXT, "text": _TEXT, "is_error": _FLAG})),
    },
    "outcome": {"event": _TEXT, "decision": _DECISION, "reason": _TEXT_OR_NULL},
    "message": {"text": _TEXT},
    "feedback": {"agent": _TEXT, "text": _TEXT},
    "result": {
        "status": _TEXT,
        "reason": _TEXT,
        "text": _TEXT,
        "steps": _INTEGER,
        "seconds": _NUMBER,
        "decisions": _INTEGER,
    },
    "error": {"message": _TEXT},
}

_TESTED_CASE = _make_object(
    {
        "line": _INTEGER,
        "expected": _make_choice(*DECISION_WORDS, CORPUS),
        "text": _TEXT,
        "status": _make_choice(*CASE_STATUSES),
        "got": _TEXT_OR_NULL,
        "agent": _TEXT_OR_NULL,
        "messages": _TEXTS,
        "ms": _NUMBER,
        "entries": _INTEGER_OR_NULL,
        "misses": {
            "type": ["array", "null"],
            "items": _make_object({"value": _TEXT, "expected": _TEXT, "got": _TEXT, "message": _TEXT_OR_NULL}),
        },
    }
)
_TESTED_HOOK = _make_object(
    {
        "hook": _TEXT,
        "tests": _TEXT_OR_NULL,
        "trusted": _FLAG,
        "reason": _TEXT_OR_NULL,
        "diagnostics": _make_list(_DIAGNOSTIC),
        "cases": _make_list(_TESTED_CASE),
    }
)
_PACK = _make_object(
    {
        **dict.fromkeys(("pack", "scope", "path", "release", "description"), _TEXT),
        "ok": _FLAG,
        "states": _make_list(_make_choice(OK_STATE, EDITED, INCOMPLETE, UNLOCKED, OLDER, MISSING)),
        "hooks": _make_list(_make_object({"hook": _TEXT, "state": _TEXT})),
        "edited": _TEXTS,
        "newer": _TEXT_OR_NULL,
    }
)
_SETUP_STEPS = _make_list(_make_object({"subject": _TEXT, "ok": _FLAG, "text": _TEXT}))
_SETUP_AGENT = _make_object(
    {
        "host": _TEXT,
        "program": _TEXT_OR_NULL,
        "folder": _TEXT_OR_NULL,
        "text": _TEXT,
        "files": _TEXTS,
        "problem": _TEXT_OR_NULL,
        "guarded": _FLAG,
        "guards": _INTEGER,
        "other_hooks": _INTEGER,
        "weaker": _TEXTS,
        "cannot": _TEXTS,
    }
)
_HOOK_FILE = _make_object({**dict.fromkeys(("path", "about", "source", "title"), _TEXT), "count": _INTEGER})
OUTPUT_SCHEMAS: dict[str, Schema] = {
    "setup": _make_output(
        "What was set up, or with --undo taken back; `ok` is false if the exit code is 1. `weaker` are guards that can do less.",
        {
            "ok": _FLAG,
            "command": _make_choice("setup", "undo"),
            "dry_run": _FLAG,
            "changed": _FLAG,
            "steps": _SETUP_STEPS,
            "agents?": _make_list(_SETUP_AGENT),
            "pack?": {"anyOf": [{"type": "null"}, _make_object({"name": _TEXT, "text": _TEXT})]},
            "hook_files?": _make_list(_HOOK_FILE),
            "sources?": _TEXTS,
            "turns_warm_on?": _FLAG,
            "todo?": _TEXTS,
            "planned?": _make_list(_make_object({"subject": _TEXT, "text": _TEXT, "files": _TEXTS})),
            "warnings?": _TEXTS,
        },
    ),
    "run": _make_output("The verdict of one event.", _VERDICT),
    "list": _make_output(
        "All hooks, in running order. `unused_files` have hooks of sources that are not enabled.",
        {"hooks": _make_list(_HOOK), "built_in": _make_list(_BUILT_IN), "unused_files": _make_list(_UNUSED_FILE)},
    ),
    "show": _make_output(
        "Everything about one hook. `cost` is null if the ledger has no run of it.",
        {
            "hook": _HOOK,
            "matcher_text": _TEXT,
            "pack": _make_optional({"pack": _TEXT, "on_by_default": _FLAG, "settings": _make_map({})}),
            "trust": _make_object(
                {
                    "needed": _FLAG,
                    "state": _TEXT,
                    "holds_in": {"enum": [None, *_EXTENTS]},
                    **dict.fromkeys(("since", "digest", "reviewed_in"), _TEXT_OR_NULL),
                }
            ),
            "agents": _make_list(
                _make_object({"agent": _TEXT, "runs_itself": _FLAG, "can": _TEXTS, "unsupported": _TEXTS})
            ),
            "cost": _make_optional(_COUNTS_AND_TIMES),
            "recent": _make_list(
                _make_object(
                    {
                        **dict.fromkeys(("id", "time", "host", "project", "decision", "status"), _TEXT),
                        "reason": _TEXT_OR_NULL,
                        "ms": _NUMBER,
                    }
                )
            ),
            "tests": _make_object({"path": _TEXT_OR_NULL, "cases": _INTEGER}),
            "files": _make_list(_make_object({"path": _TEXT, "bytes": _INTEGER, "executable": _FLAG})),
            "body": _TEXT,
            "others": _make_list(_make_object({"path": _TEXT, "scope": _SCOPE, "state": _STATE})),
        },
    ),
    "check": _make_output(
        "What is wrong with hooks; `ok` is false if the exit code is 1. `hooks` is the number of hooks that were checked, "
        "`waiting` names those that do not run before a person has reviewed them.",
        {"ok": _FLAG, "hooks": _INTEGER, "agents": _TEXTS, "waiting": _TEXTS, "diagnostics": _make_list(_DIAGNOSTIC)},
    ),
    "explain": _make_output(
        "The hooks of an event, in running order; `would_run` is null if that depends on a value that was not passed.",
        {
            "event": _TEXT,
            "hooks": _make_list(_EXPLANATION),
            "built_in": _make_list(_EXPLANATION),
            "other_events": _make_map(_TEXTS),
            "diagnostics": _make_list(_DIAGNOSTIC),
        },
    ),
    "doctor": _make_output(
        "Whether everything works; `ok` is false if the exit code is 1. `firing` says how hooks were fired.",
        {
            "ok": _FLAG,
            "firing": _make_object({"way": _make_choice(*FIRING_WAYS), "text": _TEXT}),
            "agents": _TEXTS,
            "counts": _make_object(dict.fromkeys(RESULTS, _INTEGER)),
            "setup": _make_list(_FINDING),
            "hooks": _make_list(_HOOK_HEALTH),
        },
    ),
    "install": _make_output(
        "What was changed for an agent, what is left to do, and per hook what the agent cannot do.",
        {**_INSTALLATION, "todo": _TEXTS, "unsupported": _make_map(_TEXTS)},
    ),
    "uninstall": _make_output(
        "What was changed for an agent, and what is lost with it.", {**_INSTALLATION, "warnings": _TEXTS}
    ),
    "status": _make_output(
        "Which agents call boathook; `ok` is false if any installation does not work. `waiting` are the calls that wait for a "
        "person's answer, `unlocked_until` is the end of a pause, `warm` describes the warm engine, where it is on.",
        {
            "ok": _FLAG,
            "waiting": _make_list(_WAITING_CALL),
            "hosts": _make_list(_HOST_STATUS),
            "notes": _TEXTS,
            "unlocked_until": _TEXT_OR_NULL,
            "warm": _TEXTS,
        },
    ),
    "hosts": _make_output("The agents, and what hooks can do in each.", {"hosts": _make_list(_HOST)}),
    "events": _make_output("The events.", {"events": _make_list(_EVENT)}),
    "convert": _make_output(
        "What was converted; `files` have a content in a dry run only, `backed_up` are manifests that were renamed.",
        {
            "direction": _TEXT,
            "from": _TEXT,
            "to": _TEXT,
            "dry_run": _FLAG,
            "move": _FLAG,
            "hooks": _make_list(_CONVERSION),
            "notes": _TEXTS,
            "files": _make_list(_make_object({"path": _TEXT, "content": _TEXT_OR_NULL})),
            "backed_up": _TEXTS,
            "backups": _make_list(_TEXT),
        },
    ),
    "agent": {
        "description": "What an agent does, one object per line.",
        **_make_variants(
            {**_VERSION, "type": _make_choice(*_AGENT_LINES)},
            {name: _make_object(fields) for name, fields in _AGENT_LINES.items()},
        ),
    },
    "asks": _make_output(
        "The calls that wait for a person's answer.",
        {"questions": _make_list(_WAITING_CALL), "repeats": _make_list(_REPEATED_CALL)},
    ),
    "trust": _make_output(
        "The hooks that wait for a decision, and with --list all decisions.",
        {"hooks?": _make_list(_TRUST), "waiting?": _make_list(_WAITING)},
    ),
    "log": {"description": "Records of the ledger, one object per line.", **_VERSIONED_RECORD},
    "why": _make_output(
        "One record of the ledger, and the ends of its async hooks. With `trial`, the record of a call that did not happen.",
        {"record": _RECORD, "ends": _make_list(_RECORD), "trial": _FLAG},
    ),
    "stats": _make_output("Counts and times of every hook.", {"hooks": _make_list(_HOOK_STATS)}),
    "test": _make_output(
        "The results of the tests of hooks.",
        {
            "ok": _FLAG,
            "counts": _make_object({status.replace(" ", "_"): _INTEGER for status in CASE_STATUSES}),
            "ms": _NUMBER,
            "hooks": _make_list(_TESTED_HOOK),
        },
    ),
    "replay": _make_output(
        "What your current hooks would decide about recorded events.",
        {
            **dict.fromkeys(("events", "replayed", "partial", "redacted", "failed", "would_block"), _INTEGER),
            "decisions": _make_map(_INTEGER),
            "differences": _make_list(_DIFFERENCE),
            "absent": _make_list(_make_object({"hook": _TEXT, "why": _TEXT, "fix": _TEXT})),
        },
    ),
    "shell explain": _make_output(
        "The programs that a shell command would start. In words, paths and values, U+0000 is a part that cannot be known.",
        {
            **dict.fromkeys(("command", "folder"), _TEXT),
            "complete": _FLAG,
            "programs": _make_list(
                _make_object(
                    {
                        **dict.fromkeys(("folder", "machine"), _TEXT),
                        **dict.fromkeys(("words", "started_by", "input_files", "writes"), _TEXTS),
                        **dict.fromkeys(("reads_from", "code_from"), _make_list(_TEXTS)),
                        "variables": _make_map(_TEXT),
                    }
                )
            ),
        },
    ),
    "pack list": _make_output(
        "Your packs and those of the project, with their hooks, and the packs that could be added.",
        {
            "packs": _make_list(_PACK),
            "offered": _make_list(_make_object({"pack": _TEXT, "origin": _TEXT})),
        },
    ),
    "pack add": _make_output(
        "What was added, and what that changed.",
        {
            **dict.fromkeys(("pack", "scope", "path", "release", "origin"), _TEXT),
            "changed": _FLAG,
            "hooks": _make_list(_make_object({"hook": _TEXT, "change": _make_choice(NEW, CHANGED, GONE, SAME)})),
            "discarded": _TEXTS,
        },
    ),
    "ledger verify": _make_output(
        "Whether the ledger is complete and unchanged.",
        {
            "ok": _FLAG,
            **dict.fromkeys(("segments", "records", "first", "last", "spilled", "pruned"), _INTEGER),
            "hash": _TEXT,
            "torn": _TEXTS,
            "findings": _make_list(_make_object({"place": _TEXT, "kind": _TEXT, "message": _TEXT})),
        },
    ),
}
