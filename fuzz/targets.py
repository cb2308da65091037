"""What is fuzzed: one row for every place where bytes of strangers enter, driven as the engine drives it.

`read` may raise what `allowed` names, which is documented; `use` is what the engine does with what was read, and may raise
nothing. `passes` is how often one input is read, so that the cost of one can be computed. `allowance` is above 1 where no agent
waits: the checker looks at the files that commands name, and of commands only the first 8 KiB are searched for calls of boathook.
It is 2 for exports: they are read by the one reader of the shell, which takes about the time that other readers may take.
For self-protection, texts in texts are read again, and it looks at few calls.
`limit` is what the reader takes at most: beyond it there is nothing to measure.
"""

from __future__ import annotations

import atexit
import marshal
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from boathook.core.catalog import Catalog
from boathook.core.event import KINDS, PRE_TOOL, Event
from boathook.core.hook import PROJECT, SETTINGS, USER, Command, Hook, Prompt, Script, hook_to_data
from boathook.core.json_text import dump_line
from boathook.core.matcher import Matcher, compile_names, compile_pattern
from boathook.core.shell import ShellCommand, ShellReader
from boathook.core.verdict import Call, Exit, Skip, StartedHook, Verdict
from boathook.dialects import claude
from boathook.dialects.dialect import HOOK_DIALECTS, HostDialect, find_hook_dialect, find_host_dialect
from boathook.engine import Engine, EngineParts
from boathook.entry import fast_path, run_once
from boathook.entry.options import parse_options
from boathook.errors import ConfigError, DialectError
from boathook.hook_tests.case_event import make_case_event
from boathook.hook_tests.case_file import CaseFile, read_case_file
from boathook.hosts.host import list_host_names, load_host
from boathook.process.sessions import Sessions
from boathook.protection.objections import find_objection
from boathook.protection.protection import ProtectedPlace, Protection
from boathook.shell import CommandReading, read_command, reads_code_from_stdin
from boathook.sources.agent_forms.hook_form import HOOK_FORMS
from boathook.sources.checker import check_settings
from boathook.sources.hook_md.folder import read_hook
from boathook.sources.hooks_toml import (
    MAX_HOOKS_TOML_BYTES,
    build_settings,
    check_configs,
    disable_hook,
    read_hooks_toml,
    tune_hook,
)
from boathook.sources.own_commands import has_own_command
from boathook.sources.settings_json.settings import load_settings
from boathook.sources.settings_json.settings_entry import MAX_SEARCHED_CHARS
from boathook.sources.settings_json.settings_file import mentions_hooks, read_settings
from fuzz import seeds
from fuzz.shapes import LIMIT, Family

NATIVE_HOST = find_host_dialect("native")
DIALECTS = tuple(find_host_dialect(name) for name in list_host_names())


class Target(NamedTuple):
    """One place where bytes enter."""

    name: str
    read: Callable[[bytes], Any]
    use: Callable[[Any], object]
    kind: str
    allowed: tuple[type[Exception], ...] = ()
    passes: int = 1
    allowance: int = 1
    limit: int = LIMIT

    def run(self, data: bytes) -> None:
        """Drive it with some bytes; only a finding is raised."""
        try:
            found = self.read(data)
        except self.allowed:
            return
        self.use(found)

    @property
    def seeds(self) -> list[bytes]:
        """Give inputs to begin with."""
        return seeds.of(self.kind)

    @property
    def words(self) -> tuple[bytes, ...]:
        """Give the tokens that mean something here."""
        return seeds.WORDS[self.kind]

    @property
    def families(self) -> tuple[Family, ...]:
        """Give inputs that grow without end."""
        return seeds.FAMILIES[self.kind]


class Finding(Exception):
    """Something went wrong that did not come out as an exception by itself."""


# A scratch world


@cache
def scratch() -> str:
    """Give a folder of this process, removed at its end."""
    memory = "/dev/shm"  # a file there costs no disk
    folder = tempfile.mkdtemp(prefix="boathook-fuzz-", dir=memory if os.access(memory, os.W_OK) else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def written(data: bytes, name: str) -> str:
    """Write a file of the scratch world and give its path."""
    path = f"{scratch()}/{name}"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(handle, data)
    finally:
        os.close(handle)
    return path


# Files


def _manifest(data: bytes) -> Hook:
    path = written(data, "hooks/guard/HOOK.md")
    return read_hook(path, os.path.dirname(path), USER)[0]


def _tell(hook: Hook) -> None:
    """Do with a hook what is done with every one: show its problems, keep it compiled."""
    for problem in hook.diagnostics:
        dump_line([str(problem), problem.to_json()])
    marshal.dumps(hook_to_data(hook))


def _settings(data: bytes) -> tuple[Hook, ...]:
    path = written(data, "claude/settings.json")
    mentions_hooks(path)
    return load_settings(os.path.dirname(path), "").hooks


def _forms(data: bytes) -> tuple[Hook, ...]:
    """Read the bytes as the file of every agent that has hook files of its own."""
    forms = [form for form in HOOK_FORMS if form.dialect.host]
    paths = [(form, written(data, f"forms{marker}")) for form in forms for marker in form.source.markers]
    files = [read_settings(path, USER, source=form.source.name, form=form) for form, path in paths]
    return tuple(hook for file in files for hook in file.hooks)


def _tell_all(hooks: tuple[Hook, ...]) -> None:
    for hook in hooks:
        _tell(hook)


def _checked(data: bytes) -> list[Any]:
    return check_settings([read_settings(written(data, "check/settings.json"), USER)])


def _plugins(data: bytes) -> tuple[Hook, ...]:
    written(b'{"enabledPlugins": {"p@m": true}}', "plugged/settings.json")
    path = written(data, "plugged/plugins/installed_plugins.json")
    return load_settings(path.removesuffix("/plugins/installed_plugins.json"), "").hooks


def _config(data: bytes) -> Any:
    path = written(data, "agents/hooks.toml")
    return read_hooks_toml(path, USER), read_hooks_toml(path, PROJECT)


def _tune(configs: Any) -> None:
    user, project = configs
    build_settings(user)
    hooks = tuple(disable_hook(tune_hook(hook, frozenset(), project, user), project, user) for hook in guards())
    for problem in (*user.diagnostics, *project.diagnostics, *check_configs(hooks, project, user)):
        dump_line([str(problem), problem.to_json()])


def _exports(data: bytes) -> dict[bytes, bytes]:
    path = written(data, "sessions/s.env")
    return Sessions(os.path.dirname(path)).load_variables("s")


def _shell(data: bytes) -> tuple[list[ShellCommand], str]:
    text = data.decode("utf-8", "replace")
    return ShellReader(text).read_all(), text


def _search(found: tuple[list[ShellCommand], str]) -> None:
    has_own_command(f"boathook\n{found[1]}")


# What hooks answer


@cache
def guards() -> tuple[Hook, ...]:
    """Give a hook for every kind of event in both dialects, some with patterns."""
    found = []
    for kind in KINDS:
        tool = (
            Matcher(compile_pattern("^(Shell|Bash)$"), compile_pattern("rm.*-rf|(?i)sudo")) if kind.has_tool else None
        )
        names: dict[str, Any] = {"matcher": tool} if tool else {}
        found.append(
            Hook(
                f"n-{kind.name}",
                kind,
                kind.name,
                USER,
                Script("/h/n"),
                "/h/n/HOOK.md",
                find_hook_dialect("native"),
                **names,
            )
        )
        fields: dict[str, Any] = {
            "source": SETTINGS,
            "runs_together": True,
            "dialect": find_hook_dialect("claude"),
            "matcher": Matcher(compile_names("Bash|Shell")),
        }
        found.append(Hook(f"c-{kind.name}", kind, kind.name, PROJECT, Command("./c.sh"), "/c/settings.json", **fields))
    return tuple(sorted(found, key=lambda hook: hook.order))


class Playing:
    """A runner whose hooks all end in the same way."""

    def __init__(self, end: Exit) -> None:
        """Take the end."""
        self.end = end

    def run(self, calls: tuple[Call, ...], cancel: int | None = None) -> tuple[Exit, ...]:  # noqa: ARG002
        """Give the end for each."""
        return tuple(self.end for _ in calls)

    def start(self, calls: tuple[Call, ...]) -> tuple[StartedHook | Skip, ...]:
        """Start nothing."""
        return tuple(StartedHook(call.hook.name, None) for call in calls)

    def drain(self, seconds: float) -> int:
        """Wait for nothing."""
        return int(seconds * 0)

    def close(self) -> None:
        """Have nothing to close."""


def _engine(end: Exit, hooks: tuple[Hook, ...]) -> Engine:
    playing = Playing(end)
    return Engine(Catalog(hooks), EngineParts(playing, playing, trace=lambda _: None))


ASKED = tuple(
    kind for kind in KINDS if kind.name in ("pre-tool-call", "post-tool-call", "pre-agent-turn-stop", "notification")
)
CODES = (0, 1, 2)
CALL = {
    "tool_name": "Shell",
    "tool_input": {"command": "sudo rm -rf /"},
    "session_id": "s",
    "work_dir": "/",
    "timestamp": "t",
}


def _answers(dialect: str) -> Callable[[bytes], list[Verdict]]:
    def ask(data: bytes) -> list[Verdict]:
        hooks = tuple(hook for hook in guards() if hook.dialect.name == dialect)
        events = [Event.of(kind, **(CALL if kind.has_tool else {"session_id": "s", "work_dir": "/"})) for kind in ASKED]
        return [_engine(Exit(code, data), hooks).dispatch(event) for event in events for code in CODES]

    return ask


def _answers_of_agents(data: bytes) -> list[Verdict]:
    """Let the hooks of every agent that has hook files of its own say the bytes before a tool call."""
    like = next(hook for hook in guards() if hook.dialect.name == "claude" and hook.kind is PRE_TOOL)
    hooks = tuple(like.replace(dialect=row) for row in HOOK_DIALECTS.values() if row.host)
    return [_engine(Exit(code, data), hooks).dispatch(Event.of(PRE_TOOL, **CALL)) for code in CODES]


def _judgement(data: bytes) -> list[Verdict]:
    asked = Hook(
        "p", PRE_TOOL, "PreToolUse", USER, Prompt("?"), "/c/settings.json", find_hook_dialect("claude"), source=SETTINGS
    )
    return [_engine(Exit(0, data), (asked,)).dispatch(Event.of(PRE_TOOL, **CALL))]


def _reason(data: bytes) -> list[Verdict]:
    """Let hooks say the bytes on standard error."""
    return [_engine(Exit(code, stderr=data), guards()).dispatch(Event.of(PRE_TOOL, **CALL)) for code in (1, 2)]


def _write(verdicts: list[Verdict]) -> None:
    for verdict in verdicts:
        dump_line(verdict.to_json())
        verdict.warnings()
        NATIVE_HOST.write_answer(verdict)
        for dialect in DIALECTS:
            dialect.write_answer(verdict)


# What hosts send


def _dispatched(event: Event) -> None:
    """Show an event to every hook; the engine must be able to write whatever it could read."""
    claude.write_event(event, "")
    _write([_engine(Exit(0), guards()).dispatch(event)])


def _by_all(data: bytes) -> list[Event]:
    """Read bytes as every host's, each at its event before a tool call."""
    found = [_try(dialect, data) for dialect in DIALECTS]
    if not any(found):
        raise DialectError("nobody's")
    return [event for event in found if event is not None]


def _try(dialect: HostDialect, data: bytes) -> Event | None:
    row = next(row for row in load_host(dialect.name).events if row.kind is PRE_TOOL)
    try:
        return dialect.read_event(data, row.name)
    except REFUSED:
        return None


def _all_dispatched(events: list[Event]) -> None:
    for event in events:
        _dispatched(event)


def _named(read: Callable[[bytes, str | None], Event], name: str) -> Callable[[bytes], Event]:
    def reads(data: bytes) -> Event:
        try:
            return read(data, None)
        except DialectError:
            return read(data, name)

    return reads


def _run(host: str) -> Callable[[bytes], tuple[int, bytes]]:
    """Be the process that a host starts: the hook entry first, then all of `boathook run`, in a world without hooks."""

    def run(data: bytes) -> tuple[int, bytes]:
        lines: list[bytes] = []
        home = scratch()
        arguments = ["--host", host, "--project", home]
        with _patched(lines, {b"HOME": home.encode(), b"PATH": b"/usr/bin:/bin"}):
            fast_path.find_answer(parse_options(arguments), data)
            code = run_once.main(arguments, data)
        return code, b"".join(lines)

    return run


class _patched:  # noqa: N801
    """The world of a process of its own: its environment, what it writes, and no signals of ours."""

    def __init__(self, lines: list[bytes], environ: dict[bytes, bytes]) -> None:
        system: Any = sys.modules.get("posix", os)

        def write(_: int, data: bytes) -> bool:
            lines.append(data)
            return True

        self.changes: list[tuple[Any, str, Any]] = [
            (system, "environ", environ),
            (run_once, "write_all", write),
            (run_once, "_catch_signals", lambda: None),
        ]

    def __enter__(self) -> None:
        self.before = [(where, name, getattr(where, name)) for where, name, _ in self.changes]
        for where, name, value in self.changes:
            setattr(where, name, value)

    def __exit__(self, *_: object) -> None:
        for where, name, value in self.before:
            setattr(where, name, value)


def _check_end(end: tuple[int, bytes]) -> None:
    code, told = end
    if code not in (0, 1, 2) or b"internal error" in told:
        raise Finding(f"exit {code}: {told[:500]!r}")


REFUSED = (DialectError,)
EVENT_PASSES = 4  # read, matched for the debug lines, matched again, written


class _NoFiles:
    """A file system with nothing in it."""

    def find_real(self, path: str) -> str:
        return path

    def find_program(self, name: str) -> str:  # noqa: ARG002
        return ""

    def get_variable(self, name: str) -> str:  # noqa: ARG002
        return ""

    def exists(self, path: str) -> bool:  # noqa: ARG002
        return False

    def list_below(self, folder: str) -> tuple[str, ...]:  # noqa: ARG002
        return ()


PROTECTION = Protection(
    (ProtectedPlace("/home/u/.config/agents/hooks", "hooks"), ProtectedPlace("/home/u/p/.agents/hooks/g", "a hook")),
    home="/home/u",
    roots=("/home/u", "/home/u/p"),
)


def _protected(data: bytes) -> str:
    # The word lets the guard look at every text.
    given = {"command": ": boathook\n" + data.decode("utf-8", "replace")}
    event = Event.of(PRE_TOOL, tool_name="Shell", tool_input=given).replace(work_dir="/home/u/p")
    return find_objection(event, PROTECTION, _NoFiles())


_MAX_CASES = 100


def _tests_file(data: bytes) -> CaseFile:
    return read_case_file(written(data, "hooks/guard/tests.txt"))


def _use_cases(read: CaseFile) -> None:
    """Do with cases what is done before a hook is asked: make their events, and show what is wrong."""
    for problem in read.diagnostics:
        dump_line([str(problem), problem.to_json()])
    hook = Hook("guard", PRE_TOOL, "pre-tool-call", USER, Script("/x"), "/x/HOOK.md", find_hook_dialect("native"))
    # Each is a process later, so few count.
    for case in read.cases[:_MAX_CASES]:
        try:
            dump_line(make_case_event(case, hook, "/x").to_fields())
        except ConfigError:
            continue


def _command(data: bytes) -> CommandReading:
    return read_command(data.decode("utf-8", "replace"), "/home/u/p", {"HOME": "/home/u"})


def _ask_programs(reading: CommandReading) -> None:
    for program in reading.programs:
        reads_code_from_stdin(program)
        repr(program)


TARGETS: tuple[Target, ...] = (
    Target("manifest", _manifest, _tell, "manifest"),
    Target("settings", _settings, _tell_all, "settings"),
    Target("forms", _forms, _tell_all, "settings", passes=5),
    Target("settings-check", _checked, len, "settings", allowance=4),
    Target("plugins", _plugins, _tell_all, "plugins"),
    # No agent waits for it.
    Target("tests-file", _tests_file, _use_cases, "tests-file", allowance=8),
    Target("config", _config, _tune, "config", passes=2, limit=MAX_HOOKS_TOML_BYTES),
    Target("exports", _exports, len, "exports", allowance=2),
    Target("shell", _shell, _search, "shell", passes=3, allowance=4, limit=2 * MAX_SEARCHED_CHARS),
    Target("command", _command, _ask_programs, "command", allowance=32, limit=2 * MAX_SEARCHED_CHARS),
    Target("protection", _protected, len, "shell", allowance=32, limit=2 * MAX_SEARCHED_CHARS),
    Target("native-answer", _answers("native"), _write, "native-answer", passes=len(ASKED) * len(CODES)),
    Target("claude-answer", _answers("claude"), _write, "claude-answer", passes=len(ASKED) * len(CODES)),
    Target("agent-answer", _answers_of_agents, _write, "claude-answer", passes=len(CODES) * len(HOOK_DIALECTS)),
    Target("judgement", _judgement, _write, "claude-answer"),
    Target("reason", _reason, _write, "reason", passes=4),
    Target(
        "native-event",
        _named(NATIVE_HOST.read_event, "pre-tool-call"),
        _dispatched,
        "native-event",
        REFUSED,
        EVENT_PASSES,
    ),
    Target(
        "claude-event", _named(DIALECTS[0].read_event, "PreToolUse"), _dispatched, "claude-event", REFUSED, EVENT_PASSES
    ),
    Target("hosts-event", _by_all, _all_dispatched, "hosts-event", REFUSED, EVENT_PASSES * len(DIALECTS)),
    # Self-protection reads a command that is a list of 13,000 words.
    Target("native-run", _run("native"), _check_end, "native-event", passes=2, allowance=8),
    Target("claude-run", _run("claude"), _check_end, "claude-event", passes=2),
)
BY_NAME = {target.name: target for target in TARGETS}
