"""`make bench`: what the engine costs, as ratios to what is physically possible, measured interleaved on this machine.

Every row compares things measured in turn within one loop, so that load and clock changes hit both alike. Ratios are of medians;
the tenth percentile stands beside them because it is less disturbed. Nothing is asserted: a noisy machine is not a wrong engine.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import platform
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
REPORT = ROOT / "docs/reference/benchmarks.md"
EVENT = (
    '{"event_type": "pre-tool-call", "session_id": "bench", "work_dir": "%s", "tool_name": "Shell",'
    ' "tool_input": {"command": "make deploy %s"}}\n'
)
SH = "#!/bin/sh\nexit 0\n"
JQ = '#!/bin/bash\ncommand=$(jq -r .tool_input.command)\ncase "$command" in *forbidden*) echo no >&2; exit 2;; esac\nexit 0\n'

Measure = Callable[[], float]


@dataclass
class Row:
    """One comparison: what, against what, and the goal as a ratio."""

    what: str
    against: str
    goal: float
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    def ratio(self) -> float:
        return statistics.median(self.ours) / statistics.median(self.theirs)

    def ratio_p10(self) -> float:
        return p10(self.ours) / p10(self.theirs)

    def cells(self) -> list[str]:
        met = ("yes" if self.ratio() <= self.goal else "no") if self.goal else "–"
        medians = [shown(statistics.median(side) * 1000) for side in (self.ours, self.theirs)]
        return [
            self.what,
            self.against,
            *medians,
            f"{self.ratio():.2f}x",
            f"{self.ratio_p10():.2f}x",
            f"≤ {self.goal}x" if self.goal else "–",
            met,
        ]


def shown(milliseconds: float) -> str:
    return f"{milliseconds:.2f}" if milliseconds >= 0.1 else f"{milliseconds:.5f}"


def p10(values: list[float]) -> float:
    return sorted(values)[len(values) // 10]


class Launcher:
    """The C program that starts commands; built once per run."""

    def __init__(self, folder: Path, *, counts_processor: bool = False) -> None:
        self.counts_processor = counts_processor
        binary = folder / "launch"
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            sys.exit("make bench needs a C compiler (cc): the limit is measured with a few lines of C")
        subprocess.run([compiler, "-O2", "-o", str(binary), str(HERE / "launch.c")], check=True)
        self.process = subprocess.Popen([str(binary)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def measure(self, data: Path, *argv: str, code: int = 0) -> Measure:
        request = "\t".join([str(data), *argv]) + "\n"

        def once() -> float:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.write(request)
            self.process.stdin.flush()
            took, processor, got = map(int, self.process.stdout.readline().split())
            if got != code:
                sys.exit(f"bench: {argv} ended with {got}, not {code}")
            return (processor if self.counts_processor else took) / 1e9

        return once

    def close(self) -> None:
        self.process.communicate()


class Worker:
    """A long-lived engine in a process of a given weight."""

    def __init__(self, project: Path, megabytes: int, runs: int = 1, part: str = "all") -> None:
        self.runs = runs
        argv = [sys.executable, str(HERE / "worker.py"), str(project), str(megabytes), part]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def measure(self) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        took, runs = map(int, self.process.stdout.readline().split())
        if runs != self.runs:
            sys.exit(f"bench: the engine ran {runs} hooks, not {self.runs}")
        return took / 1e9

    def close(self) -> None:
        self.process.communicate()


def interleave(rounds: int, pairs: list[tuple[Row, Measure, Measure]], warm: int = 3, rest: float = 0.0) -> None:
    """Measure all pairs in turn, the order reversed every round, each after a rest of some seconds."""
    for turn in range(rounds + warm):
        for row, ours, theirs in pairs if turn % 2 else pairs[::-1]:
            sides = [(row.ours, ours), (row.theirs, theirs)]
            for kept, measure in sides if turn % 2 else sides[::-1]:
                time.sleep(rest)
                took = measure()
                if turn >= warm:
                    kept.append(took)


def write_hook(project: Path, name: str, tool: str, pattern: str, script: str = SH) -> Path:
    scripts = project / ".agents/hooks" / name / "scripts"
    scripts.mkdir(parents=True)
    matcher = f"matcher:\n  tool: '{tool}'\n  pattern: '{pattern}'\n"
    front = f"---\nname: {name}\ndescription: bench\ntrigger: pre-tool-call\n{matcher}---\n"
    (scripts.parent / "HOOK.md").write_text(front)
    run = scripts / "run.sh"
    run.write_text(script)
    run.chmod(0o755)
    return run


TOOLS = ("Shell", "^(Shell|Bash)$", "WriteFile|EditFile", "mcp__.*")
PATTERNS = (
    r"rm -rf /srv/{n}",
    r"\.(py|js|ts){n}$",
    r"kubectl.*production-{n}",
    r"(secret|token)-{n}\b",
    r"/etc/service{n}/.*\.conf",
    r"git\s+push\s+.*release-{n}",
)


def many_hooks(project: Path, count: int) -> None:
    for n in range(count):
        write_hook(project, f"hook-{n:05}", TOOLS[n % 3 % 2], PATTERNS[n % len(PATTERNS)].format(n=n))


def write_settings(project: Path, entries: list[tuple[str, str]]) -> None:
    """Write a settings file with commands, each behind a matcher of its own."""
    groups = [{"matcher": matcher, "hooks": [{"type": "command", "command": text}]} for matcher, text in entries]
    (project / ".claude").mkdir(parents=True)
    (project / ".claude/settings.json").write_text(json.dumps({"hooks": {"PreToolUse": groups}}, indent=2))


SETTINGS_MATCHERS = ("Write|Edit", "BashOutput", "mcp__.*", "Notebook.*", "WebFetch, WebSearch")


def event_file(folder: Path, project: Path) -> Path:
    path = folder / f"{project.name}.json"
    path.write_text(EVENT % (project, "x" * 900))
    return path


# each does less than the one before
SPAWN_PARTS = (
    ("engine runs one `sh` hook, without a record", "unrecorded"),
    ("the process alone: limits, marks, a look for survivors", "process"),
    ("the script by Python's `posix_spawn`", "spawn"),
)


def bench_spawn(folder: Path, launcher: Launcher, rounds: int) -> list[Row]:
    project = folder / "one-words"
    script = write_hook(project, "words", "Shell", "make deploy")
    data = event_file(folder, project)
    light, heavy = Worker(project, 50), Worker(project, 1024)
    limit = launcher.measure(data, str(script))
    first = Row("engine runs one `sh` hook", "the script by C vfork+exec", 1.6)
    second = Row("the same from a parent of 1 GB", "from one of 50 MB", 1.1)
    interleave(rounds, [(first, light.measure, limit), (second, heavy.measure, light.measure)])
    light.close()
    heavy.close()
    # on their own: beside more processes the rows above would tell of their memory, too
    parts = [(Row(what, "the script by C vfork+exec", 0), Worker(project, 50, part=part)) for what, part in SPAWN_PARTS]
    interleave(rounds, [(row, worker.measure, limit) for row, worker in parts])
    for _, worker in parts:
        worker.close()
    return [first, second, *(row for row, _ in parts)]


def bench_together(folder: Path, rounds: int) -> list[Row]:
    """Hooks of settings.json run at the same time."""
    workers = []
    for count in (8, 1):
        project = folder / f"together-{count}"
        write_settings(project, [("Shell", f"sleep 0.05 # {n}") for n in range(count)])
        workers.append(Worker(project, 50, count))
    row = Row("eight settings.json hooks of 50 ms", "one of them", 2)
    interleave(rounds, [(row, workers[0].measure, workers[1].measure)])
    for worker in workers:
        worker.close()
    return [row]


def installed(folder: Path) -> Path:
    """Lay the package out beside its libraries, compiled, as an installer does; return its hook entry."""
    import re2
    import yaml

    site = folder / "site-packages"
    shutil.copytree(ROOT / "src/boathook", site / "boathook", ignore=shutil.ignore_patterns("__pycache__"))
    for library in (re2, yaml):
        home = Path(str(library.__file__)).parent
        (site / home.name).symlink_to(home)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(site / "boathook")], check=True)
    return site / "boathook/entry/hook_entry.py"


def trusted(project: Path) -> None:
    """Trust the hooks of a project, as a person would who has read them."""
    subprocess.run(
        [sys.executable, "-m", "boathook", "trust", "--yes", "--project", str(project)], check=True, capture_output=True
    )


def bench_trust(folder: Path, launcher: Launcher, rounds: int, entry_path: Path) -> tuple[list[Row], str]:
    """Say what trust and ledger add to a run of the hook entry with one hook, and to one without any."""
    python, words = sys.executable, ("--host", "native", "--event", "pre-tool-call")
    bare = launcher.measure(Path("/dev/null"), python, "-I", "-S", "-c", "pass")
    one, blocking, many = folder / "trusted", folder / "trusted-block", folder / "trusted-100"
    write_hook(one, "words", "Shell", "make deploy")
    write_hook(blocking, "words", "Shell", "make deploy", "#!/bin/sh\nexit 2\n")
    many_hooks(many, 100)
    for project in (one, blocking, many):
        trusted(project)

    def start_entry(project: Path, code: int = 0) -> Measure:
        return launcher.measure(event_file(folder, project), python, "-I", "-S", str(entry_path), *words, code=code)

    without = (str(HERE / "bare.py"), str(entry_path.parents[2]), "--trust-all", *words)
    plain = launcher.measure(event_file(folder, one), python, "-I", "-S", *without)
    full = Row("`hook_entry.py`, one trusted `sh` hook runs, cold, on record", "`python -I -S -c pass`", 4)
    block = Row("the same, and it blocks: the record is on the disk", "the same", 4)
    light = Row("the same without trust and ledger", "the same", 4)
    none = Row("`hook_entry.py`, no match, 100 trusted hooks", "the same", 1.3)
    pairs = [
        (full, start_entry(one), bare),
        (light, plain, bare),
        (block, start_entry(blocking, 2), bare),
        (none, start_entry(many), bare),
    ]
    time.sleep(2.5)
    interleave(rounds, pairs, warm=4)
    added = statistics.median(full.ours) - statistics.median(light.ours)
    ratio = added / statistics.median(full.theirs + light.theirs)
    low = (p10(full.ours) - p10(light.ours)) / p10(full.theirs + light.theirs)
    text = (
        f"Trust and ledger together add {ratio:.2f}x (by the tenth percentiles {low:.2f}x) of `python -I -S -c pass` to a run of "
        f"`hook_entry.py` with one hook (goal: at most 1.0x)."
    )
    return [full, light, block, none], text


# As in a real home, with the projects outside of it.
HOME_FOLDERS = {
    "HOME": "home",
    "XDG_CONFIG_HOME": "home/.config",
    "XDG_CACHE_HOME": "home/.cache",
    "XDG_STATE_HOME": "home/.local/state",
}


# Long enough for the resident to prepare its next fork, short for an agent.
REST_SECONDS = 0.05


class WarmBench:
    """A resident of the installed package, and the commands that reach it."""

    def __init__(self, folder: Path, entry_path: Path, home: str = "warm-home") -> None:
        sys.path.insert(0, str(ROOT))
        from hatch_build import build_warm_parts

        # Not beside the projects: whatever names a folder around the state is examined wholly.
        self.folder, self.entry_path, self.state = folder, entry_path, folder / home / ".local/state/boathook"
        self.state.mkdir(mode=0o700, parents=True)
        package = entry_path.parents[1]
        self.client = package / "warm/client"
        if len(build_warm_parts(package / "warm", package / "warm")) < 2:
            sys.exit("bench: the client or the library of the warm engine cannot be built")
        words = [sys.executable, "-I", "-S", str(package / "warm/resident_entry.py"), "--state", str(self.state)]
        # A resident is not certain of modules that were written a moment before it starts, and ends.
        newest = max(path.stat().st_ctime for path in package.rglob("*.py"))
        time.sleep(max(0.0, newest + 2.5 - time.time()))
        self.process = subprocess.Popen(words, env={}, start_new_session=True)
        while not list(self.state.glob("warm/*.socket")):
            if self.process.poll() is not None:
                sys.exit("bench: the resident did not start")
            time.sleep(0.05)

    def make_words(self, *before: str, flags: tuple[str, ...] = ()) -> list[str]:
        cold = [sys.executable, "-I", "-S", str(self.entry_path)]
        options = ["--trust-all", "--host", "native", "--event", "pre-tool-call", "--state", str(self.state)]
        return [*before, *cold, *options, *flags]

    def count_events(self) -> int:
        from boathook.warm.resident_control import list_residents

        return sum(resident.answered + resident.forked for resident in list_residents(str(self.state)))

    def measure_memory(self) -> float:
        """Return the megabytes of the resident."""
        return _read_megabytes(self.process.pid, "Rss:")

    def measure_shares(self) -> float:
        """Return the megabytes of the resident and its forks; each has its share of what several have."""
        pid = self.process.pid
        forks = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return sum(_read_megabytes(one, "Pss:") for one in (pid, *map(int, forks)))

    def measure_processor(self) -> float:
        """Return the seconds that the resident and its forks that have ended took of a processor."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def _read_megabytes(pid: int, name: str) -> float:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith(name))


def bench_resident(folder: Path, entry_path: Path) -> str:
    """Return what the warm engine takes of memory, and what a prompt hook takes of a processor there."""
    warm, work = WarmBench(folder, entry_path, "resident-home"), folder / "resident-work"
    many_hooks(work / "many", 1000)
    write_hook(work / "staying", "stay", "Shell", "make deploy", "#!/bin/sh\necho >> .agents/started\nexec sleep 600\n")
    client = str(warm.client)

    # Written once: a client may still read it while the next one starts.
    events = {name: event_file(folder, work / name) for name in ("many", "staying")}

    def start(name: str) -> subprocess.Popen[bytes]:
        with events[name].open("rb") as data:
            return subprocess.Popen(warm.make_words(client), stdin=data, cwd=work / name)

    time.sleep(2.5)
    for _ in range(5):
        start("many").wait()
    time.sleep(1)
    size, before, started = warm.measure_memory(), warm.measure_shares(), work / "staying/.agents/started"
    running = [start("staying") for _ in range(EVENTS_IN_FLIGHT)]
    while not started.exists() or len(started.read_text().splitlines()) < EVENTS_IN_FLIGHT:
        time.sleep(0.05)
    time.sleep(1)
    each = (warm.measure_shares() - before) / EVENTS_IN_FLIGHT
    for process in running:
        process.terminate()
        process.wait()
    processor = _measure_warm_prompt(folder, warm)
    warm.close()
    return (
        f"A resident with 1,000 hooks has {size:.0f} MB (goal: at most 60 MB), and {each:.1f} MB more for each of "
        f"{EVENTS_IN_FLIGHT} events in flight (goal: at most 3 MB). A prompt hook takes {processor:.2f} s of a processor there "
        "(goal: at most 0.1 s), all its processes included."
    )


EVENTS_IN_FLIGHT, PROMPTS = 8, 20


def _measure_warm_prompt(folder: Path, warm: WarmBench) -> float:
    from tests.process.scripted_model import ScriptedModel

    project = write_prompt_hook(folder / "warm-prompt")
    with ScriptedModel(*[{"ok": True}] * (PROMPTS + 10)) as model:
        words = warm.make_words(str(warm.client))

        def ask() -> None:
            with event_file(folder, project).open("rb") as data:
                subprocess.run(words, stdin=data, cwd=project, env={**os.environ, **model.environment}, check=True)

        time.sleep(2.5)
        for _ in range(3):
            ask()
        time.sleep(1)
        before, events = warm.measure_processor(), warm.count_events()
        for _ in range(PROMPTS):
            ask()
        time.sleep(1)
        took, answered = warm.measure_processor() - before, warm.count_events() - events
        if (len(model.requests), answered) != (PROMPTS + 3, PROMPTS):
            sys.exit(f"bench: the model was asked {len(model.requests)} times, the resident {answered} times")
    return took / PROMPTS


def measure_rate(folder: Path, data: Path, words: list[str], callers: int = 8, events: int = 40) -> float:
    """Return how many seconds an event takes if several callers send events at once."""
    from concurrent.futures import ThreadPoolExecutor

    launchers = [Launcher(folder) for _ in range(callers)]
    runs = [launcher.measure(data, *words) for launcher in launchers]
    with ThreadPoolExecutor(callers) as pool:
        begun = time.monotonic()
        list(pool.map(lambda once: [once() for _ in range(events)], runs))
        took = time.monotonic() - begun
    for launcher in launchers:
        launcher.close()
    return took / (callers * events)


def bench_warm(folder: Path, launcher: Launcher, rounds: int, entry_path: Path) -> list[Row]:
    """Say what an event costs if a resident answers it; the C client may need longer than 50 ms on a busy machine."""
    warm, python = WarmBench(folder, entry_path), sys.executable
    bare = launcher.measure(Path("/dev/null"), python, "-I", "-S", "-c", "pass")
    projects, blocking = _write_warm_projects(folder / "warm-work")
    client, asked = str(warm.client), 0

    def ask(project: Path, *before: str, code: int = 0, flags: tuple[str, ...] = ()) -> Measure:
        once = launcher.measure(event_file(folder, project), *warm.make_words(*before, flags=flags), code=code)

        def count() -> float:
            nonlocal asked
            asked += 1
            return once()

        return count

    # Without a client in C, the command itself asks.
    asking = ("--engine", "warm")
    block, against = ask(blocking, client, code=2), "`python -I -S -c pass`"
    pairs = [
        (Row("warm, none of 20 hooks matches", against, 0.3), ask(projects[20], client), bare),
        (Row("warm, one `sh` hook blocks, on record", against, 0.9), block, bare),
        (
            Row("warm, none of 1,000 hooks matches", "none of 10", 1.3),
            ask(projects[1000], client),
            ask(projects[10], client),
        ),
        (Row("client in Python, none of 20 hooks matches", against, 1.15), ask(projects[20], flags=asking), bare),
        (Row("client in Python, one `sh` hook blocks", against, 1.8), ask(blocking, code=2, flags=asking), bare),
    ]
    guards, guarded = list_shell_guards(), folder / "warm-guards"
    add_standard_pack(guarded, guards)
    flags = ("--config", str(guarded))
    cold = launcher.measure(event_file(folder, projects[20]), *warm.make_words(flags=flags))
    all_guards = Row(f"warm, all {len(guards)} shell guards of the standard pack", "cold", 0.6)
    pairs.append((all_guards, ask(projects[20], client, flags=flags), cold))
    if shutil.which("jq"):
        jq = launcher.measure(event_file(folder, blocking), str(_write_jq_hook(folder)))
        pairs.append((Row("warm, one `sh` hook blocks", "a bash + jq hook run directly", 0.4), block, jq))
    time.sleep(2.5)
    # A model takes seconds between two tool calls. A fork that has answered is replaced in that time.
    interleave(rounds, pairs, warm=4, rest=REST_SECONDS)
    # What was not accepted within 50 ms was measured as the cold path.
    if asked - warm.count_events() > asked // 50:
        sys.exit(f"bench: of {asked} events the resident answered {warm.count_events()}: this machine is too busy")
    rate = _bench_crowd(folder, warm, projects[20])
    warm.close()
    fallback = Row("client with nobody listening, none matches", "`hook_entry.py` alone", 1.05)
    interleave(rounds, [(fallback, ask(projects[20], client), ask(projects[20]))])
    return [*[row for row, _, _ in pairs], rate, fallback]


def _write_warm_projects(work: Path) -> tuple[dict[int, Path], Path]:
    """Return projects of which no hook matches, by the number of their hooks, and one whose hook blocks."""
    projects = {count: work / f"warm-{count}" for count in (10, 20, 1000)}
    for count, project in projects.items():
        many_hooks(project, count)
    write_hook(work / "warm-block", "words", "Shell", "make deploy", "#!/bin/sh\nexit 2\n")
    return projects, work / "warm-block"


def _write_jq_hook(folder: Path) -> Path:
    path = folder / "warm-jq.sh"
    path.write_text(JQ)
    path.chmod(0o755)
    return path


def _bench_crowd(folder: Path, warm: WarmBench, project: Path) -> Row:
    row = Row("warm, an event of 8 callers at once, none matches", "cold", 0.2)
    data = event_file(folder, project)
    for _ in range(3):
        row.ours.append(measure_rate(folder, data, warm.make_words(str(warm.client))))
        row.theirs.append(measure_rate(folder, data, warm.make_words()))
    return row


class OpenPage:
    """`boathook page`, with a reader that follows it live. It can be stopped, which is as if it were not there."""

    def __init__(self, project: Path) -> None:
        argv = [sys.executable, "-m", "boathook", "page", "--no-open", "--project", str(project)]
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        # The address is on the last line.
        found = (re.search(r"http://(127\.0\.0\.1:\d+)/#t=(\S+)", line) for line in self.process.stdout)
        address = next(filter(None, found))
        self.host, ticket = address[1], address[2]
        connection = http.client.HTTPConnection(self.host)
        connection.request("POST", "/session", ticket, {"Origin": f"http://{self.host}"})
        self.token = json.loads(connection.getresponse().read())["token"]
        self.messages = 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        """Count the messages about new records that the page sends."""
        connection = http.client.HTTPConnection(self.host)
        connection.request("GET", "/data/stream", headers={"Authorization": f"Bearer {self.token}"})
        with contextlib.suppress(OSError, http.client.HTTPException):
            for line in connection.getresponse():
                self.messages += b'"rows"' in line

    def measure_with(self, event: Measure, *, is_open: bool) -> Measure:
        def once() -> float:
            self.process.send_signal(signal.SIGCONT if is_open else signal.SIGSTOP)
            # The page looks for records and questions at intervals: every moment between them counts. Both sides wait, because
            # a processor that was idle is slower.
            time.sleep(random.uniform(0.05, 0.55))
            return event()

        return once

    def close(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait()


def bench_page(folder: Path, launcher: Launcher, rounds: int, entry_path: Path) -> list[Row]:
    """What a page that is open costs an event: the same event, while the page is stopped."""
    project = folder / "page"
    write_hook(project, "words", "Shell", "make deploy")
    trusted(project)
    words = (sys.executable, "-I", "-S", str(entry_path), "--host", "native", "--event", "pre-tool-call")
    event = launcher.measure(event_file(folder, project), *words)
    event()
    page = OpenPage(project)
    row = Row("`hook_entry.py`, one `sh` hook runs, on record, while a page is open", "the same without", 1.02)
    interleave(rounds, [(row, page.measure_with(event, is_open=True), page.measure_with(event, is_open=False))])
    # It has read the events of both sides.
    page.process.send_signal(signal.SIGCONT)
    end = time.monotonic() + 60
    # Several records may come in one message.
    while page.messages < rounds // 2:
        if time.monotonic() > end:
            sys.exit(f"bench: the page sent only {page.messages} messages about new records")
        time.sleep(0.1)
    page.close()
    return [row]


def bench_entry(folder: Path, launcher: Launcher, rounds: int, entry_path: Path) -> list[Row]:
    python = sys.executable
    bare = launcher.measure(Path("/dev/null"), python, "-I", "-S", "-c", "pass")
    pairs: list[tuple[Row, Measure, Measure]] = []
    direct = folder / "jq.sh"
    direct.write_text(JQ)
    direct.chmod(0o755)

    def start_entry(project: Path, code: int = 0) -> Measure:
        data, words = event_file(folder, project), ("--trust-all", "--host", "native", "--event", "pre-tool-call")
        return launcher.measure(data, python, "-I", "-S", str(entry_path), *words, code=code)

    for count, goal in ((100, 1.3), (1000, 1.6)):
        project = folder / f"many-{count}"
        many_hooks(project, count)
        pairs.append(
            (
                Row(f"`hook_entry.py`, no match, {count:,} hooks", "`python -I -S -c pass`", goal),
                start_entry(project),
                bare,
            )
        )
    both = folder / "both-100"
    many_hooks(both, 50)
    write_settings(both, [(SETTINGS_MATCHERS[n % len(SETTINGS_MATCHERS)], f"check {n}") for n in range(50)])
    row = Row("`hook_entry.py`, no match, 100 hooks, half of them in settings.json", "`python -I -S -c pass`", 1.3)
    pairs.append((row, start_entry(both), bare))
    words, regex = folder / "one-words", folder / "one-regex"
    write_hook(regex, "regex", "^(Shell|Bash)$", r"make\s+deploy\b")
    pairs.append(
        (Row("`hook_entry.py`, one `sh` hook runs, cold (matcher of words)", "the same", 4), start_entry(words), bare)
    )
    pairs.append(
        (Row("`hook_entry.py`, one `sh` hook runs, cold (regular expression)", "the same", 3), start_entry(regex), bare)
    )
    if shutil.which("jq"):
        jq, against = launcher.measure(event_file(folder, words), str(direct)), "a bash + jq hook run directly"
        pairs.append(
            (Row("`hook_entry.py`, one `sh` hook, cold (matcher of words)", against, 1.3), start_entry(words), jq)
        )
        pairs.append(
            (Row("`hook_entry.py`, one `sh` hook, cold (regular expression)", against, 1.3), start_entry(regex), jq)
        )
    else:
        print("jq is not installed: the comparison with a bash + jq hook is left out", file=sys.stderr)
    time.sleep(2.5)  # a catalogue is kept only when nothing in it is younger than two seconds
    interleave(rounds, pairs, warm=4)
    return [row for row, _, _ in pairs]


def write_prompt_hook(project: Path) -> Path:
    """Write a hook that asks a model about each call; return its project."""
    (project / ".claude").mkdir(parents=True)
    hook = {"type": "prompt", "prompt": "May it?", "model": "openai-chat:gpt-4o"}
    groups = [{"matcher": "Shell", "hooks": [hook]}]
    (project / ".claude/settings.json").write_text(json.dumps({"hooks": {"PreToolUse": groups}}))
    return project


def bench_prompt(folder: Path, launcher: Launcher, rounds: int, entry_path: Path) -> list[Row]:  # noqa: ARG001
    """Measure the processor time of a hook that asks a model which answers at once."""
    sys.path.insert(0, str(ROOT))
    from tests.process.scripted_model import ScriptedModel

    project = write_prompt_hook(folder / "prompt")
    row = Row("`hook_entry.py`, a prompt hook, instant model, processor time", "`python -I -S -c pass`", 30)
    with ScriptedModel(*[{"ok": True}] * (rounds + 10)) as model:
        os.environ.update(model.environment)
        counting = Launcher(folder, counts_processor=True)
        words = ("--trust-all", "--host", "native", "--event", "pre-tool-call")
        ask = counting.measure(event_file(folder, project), sys.executable, "-I", "-S", str(entry_path), *words)
        bare = counting.measure(Path("/dev/null"), sys.executable, "-I", "-S", "-c", "pass")
        time.sleep(2.5)
        interleave(rounds, [(row, ask, bare)])
        counting.close()
        asked = len(model.requests)
    if asked != rounds + 3:
        sys.exit(f"bench: the model was asked {asked} times, not {rounds + 3}")
    for name in model.environment:
        del os.environ[name]
    return [row]


# The files of forms besides HOOK.md, and the event before a tool call there.
FORM_FILES = {
    "settings": (".claude/settings.json", "PreToolUse"),
    "codex": (".codex/hooks.json", "PreToolUse"),
    "gemini": (".gemini/settings.json", "BeforeTool"),
    "qwen": (".qwen/settings.json", "PreToolUse"),
}


def bench_sources(folder: Path, launcher: Launcher, rounds: int, entry_path: Path) -> list[Row]:
    """Say what it costs that hooks are in the files of five agents and not in one folder."""
    one, five, config = folder / "one-source", folder / "five-sources", folder / "five-sources-config"
    many_hooks(one, 20)
    many_hooks(five, 4)
    for path, event in FORM_FILES.values():
        entries = [{"type": "command", "command": f"check {path} {n}"} for n in range(4)]
        (five / path).parent.mkdir(parents=True)
        (five / path).write_text(json.dumps({"hooks": {event: [{"matcher": "write_file|Write", "hooks": entries}]}}))
    config.mkdir()
    (config / "hooks.toml").write_text(f"[hooks]\nsources = {json.dumps(['hook-md', *FORM_FILES])}\n")

    def start_entry(project: Path, *flags: str) -> Measure:
        words = (str(entry_path), "--trust-all", "--host", "native", "--event", "pre-tool-call", *flags)
        return launcher.measure(event_file(folder, project), sys.executable, "-I", "-S", *words)

    row = Row("`hook_entry.py`, no match, 20 hooks over five sources", "the same, 20 hooks in one source", 1.1)
    time.sleep(2.5)
    interleave(rounds, [(row, start_entry(five, "--config", str(config)), start_entry(one))], warm=4)
    return [row]


GUARD = """\
#!/usr/bin/env python3
from boathook.guards import ask, run_guard
from common import starts

def decide(call):
    return ask("guard {n}") if starts(call, "forbidden{n}") else None

if __name__ == "__main__":
    run_guard(decide)
"""
COMMON = "def starts(call, name):\n    return any(program.name == name for program in call.programs)\n"


def write_guards(config: Path, count: int) -> None:
    """Write a pack of guards that look at shell commands and share a process."""
    pack = config / "packs/bench/guards"
    (pack / "lib").mkdir(parents=True)
    (pack / "lib/common.py").write_text(COMMON)
    names = ", ".join(f"guard{n}" for n in range(count))
    (pack / "PACK.md").write_text(f"---\nname: guards\ndescription: bench\nversion: 1\nhooks: [{names}]\n---\n")
    for n in range(count):
        scripts = pack / f"hooks/guard{n}/scripts"
        scripts.mkdir(parents=True)
        fields = "description: bench\ntrigger: pre-tool-call\nmatcher: {kind: shell}\nprocess: shared\n"
        (scripts.parent / "HOOK.md").write_text(f"---\nname: guard{n}\n{fields}---\n")
        (scripts / "run.py").write_text(GUARD.format(n=n))
        (scripts / "run.py").chmod(0o755)


def measure_cpu(data: Path, *argv: str) -> Measure:
    """Return what measures the processor time of a command and of all that it starts."""

    def once() -> float:
        opened = [
            (os.POSIX_SPAWN_OPEN, 0, str(data), os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        ]
        pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=opened)
        _, status, used = os.wait4(pid, 0)
        if status:
            sys.exit(f"bench: {argv} ended with {status}")
        return used.ru_utime + used.ru_stime

    return once


def list_shell_guards() -> list[str]:
    """Return the guards of the standard pack that are on and see shell commands, in the order in which they are asked."""
    import yaml

    pack = ROOT / "src/boathook/packs/standard"

    def read_head(path: Path) -> dict[str, Any]:
        head: dict[str, Any] = yaml.safe_load(path.read_text().split("---\n")[1])
        return head

    heads = {name: read_head(pack / f"hooks/{name}/HOOK.md") for name in read_head(pack / "PACK.md")["default"]}
    guards = [name for name, head in heads.items() if "shell" in head.get("matcher", {}).get("kind", "")]
    return sorted(guards, key=lambda name: (-heads[name]["priority"], name))


def add_standard_pack(config: Path, guards: list[str]) -> None:
    """Give a user the standard pack with only these guards on."""
    pack = config / "packs/boathook/standard"
    shutil.copytree(
        ROOT / "src/boathook/packs/standard", pack, ignore=shutil.ignore_patterns("__pycache__", "tests.txt")
    )
    off = [folder.name for folder in (pack / "hooks").iterdir() if folder.name not in guards]
    (config / "hooks.toml").write_text(
        f'[packs."boathook/standard"]\non = {json.dumps(guards)}\noff = {json.dumps(off)}\n'
    )


# What agents run all day; no guard objects to it.
EVERYDAY = (
    "ls -la src | head -20",
    "cd src && git add -A && git commit -m 'Read dates' && git push origin dates",
    "grep -rn 'def main' --include='*.py' . | sort | uniq -c",
    'python3 -c \'import json; print(json.load(open("a.json"))["x"])\'',
    "npm run build && npm test -- --watch=false > build.log 2>&1",
)


def bench_packs(folder: Path, launcher: Launcher, rounds: int, entry_path: Path) -> list[Row]:
    """Say what many guards of a pack cost that share a process: those of the standard pack, and toys."""
    project = folder / "guarded"
    project.mkdir()
    flags = ("--host", "native", "--event", "pre-tool-call", "--config")
    start = (sys.executable, "-I", "-S", str(entry_path), *flags)
    guards = list_shell_guards()
    configs = {count: folder / f"standard-{count}" for count in (1, 15, len(guards))}
    for count, config in configs.items():
        add_standard_pack(config, guards[:count])
    toys = {count: folder / f"guards-{count}" for count in (1, 15)}
    for count, config in toys.items():
        write_guards(config, count)
    events = []
    for number, command in enumerate(EVERYDAY):
        events.append(folder / f"everyday-{number}.json")
        fields = {"event_type": "pre-tool-call", "session_id": "bench", "work_dir": str(project), "tool_name": "Shell"}
        events[-1].write_text(json.dumps({**fields, "tool_input": {"command": command}}))

    def ask_in_turn(measure: Callable[..., Measure], config: Path) -> Measure:
        asked = cycle([measure(event, *start, str(config)) for event in events])

        def once() -> float:
            return next(asked)()

        return once

    pairs: list[tuple[Row, Measure, Measure]] = []
    for many, one, what in (
        (configs[15], configs[1], "15 shell guards of the standard pack"),
        (configs[len(guards)], configs[1], f"all {len(guards)} shell guards of the standard pack"),
        (toys[15], toys[1], "15 toy guards, which have a fork each"),
    ):
        wall = Row(f"`hook_entry.py`, {what}", "one of them", 1.5)
        used = Row("the same, processor time", "the same", 1.5)
        pairs.append((wall, ask_in_turn(launcher.measure, many), ask_in_turn(launcher.measure, one)))
        pairs.append((used, ask_in_turn(measure_cpu, many), ask_in_turn(measure_cpu, one)))
    time.sleep(2.5)
    interleave(rounds, pairs, warm=2)
    return [row for row, _, _ in pairs]


HOSTS = {
    "claude": ("PreToolUse", "tool_input"),
    "codex": ("PreToolUse", "tool_input"),
    "copilot": ("preToolUse", "toolArgs"),
    "gemini": ("BeforeTool", "tool_input"),
    "kimi-code": ("PreToolUse", "tool_input"),
}


def host_event(folder: Path, host: str, project: Path) -> Path:
    """Write what a host really sent before a tool call, with another folder and command."""
    event, place = HOSTS[host]
    found = ROOT / "tests/fixtures" / ("claude-code" if host == "claude" else f"hosts/{host}") / f"{event}.json"
    fields = json.loads(found.read_text())
    fields |= {"cwd": str(project), place: {**fields[place], "command": f"make deploy {'x' * 900}"}}
    path = folder / f"{project.name}-{host}.json"
    path.write_text(json.dumps(fields))
    return path


def bench_hosts(folder: Path, launcher: Launcher, rounds: int, entry_path: Path) -> list[Row]:
    """Say what a host waits for: the command as it is installed, started by a shell, among 20 hooks."""
    python = sys.executable
    bare = launcher.measure(Path("/dev/null"), python, "-I", "-S", "-c", "pass")
    quiet, busy = folder / "hosts-none", folder / "hosts-one"
    for project, count in ((quiet, 20), (busy, 19)):
        many_hooks(project, count)
    script = write_hook(busy, "words", "Shell", "make deploy")
    trusted(quiet)
    trusted(busy)
    home, pairs = Path(os.environ["HOME"]), []

    def start_entry(host: str, project: Path) -> Measure:
        state = Path(os.environ["XDG_STATE_HOME"]) / "boathook"
        config = Path(os.environ["XDG_CONFIG_HOME"]) / "agents"
        fixed = f"--config {config} --claude {home}/.claude --state {state}"
        words = (
            f"--host {host} --event {HOSTS[host][0]} {fixed}{' --without settings' * (host in ('claude', 'copilot'))}"
        )
        # Codex starts hooks in the folder of its session, which says which project it is.
        line = f"cd {project}; {python} -I -S {entry_path} {words}"
        return launcher.measure(host_event(folder, host, project), "/bin/sh", "-c", line)

    for host in HOSTS:
        event = HOSTS[host][0]
        direct = launcher.measure(host_event(folder, host, busy), "/bin/sh", "-c", str(script))
        none = Row(f"{host} waits at `{event}`: 20 hooks, none matches", "`python -I -S -c pass`", 1.5)
        one = Row(f"{host} waits at `{event}`: 20 hooks, one `sh` hook runs", "the same", 4.5)
        same = Row("the same", "the script called by the host itself", 0)
        pairs += [
            (none, start_entry(host, quiet), bare),
            (one, start_entry(host, busy), bare),
            (same, start_entry(host, busy), direct),
        ]
    time.sleep(2.5)
    interleave(rounds, pairs, warm=4)
    return [row for row, _, _ in pairs]


def bench_selection(rounds: int) -> list[Row]:
    from boathook.core.catalog import Catalog
    from boathook.core.event import PRE_TOOL, Event
    from boathook.core.hook import Hook, Script
    from boathook.core.matcher import Matcher, compile_pattern
    from boathook.dialects.dialect import find_hook_dialect

    def catalog(count: int) -> Catalog:
        hooks = [
            Hook(
                f"h{n:05}",
                PRE_TOOL,
                "pre-tool-call",
                "project",
                Script("/none"),
                "/none",
                find_hook_dialect("native"),
                matcher=Matcher(
                    compile_pattern(TOOLS[n % 4]), compile_pattern(PATTERNS[n % len(PATTERNS)].format(n=n))
                ),
            )
            for n in range(count)
        ]
        return Catalog(tuple(hooks))

    events = [
        Event.of("pre-tool-call", tool_name=tool, tool_input=tool_input)
        for tool, tool_input in (
            ("Shell", {"command": "git push origin release-7 && make"}),
            ("Bash", {"command": "ls -la src/app.py | head; echo done"}),
            ("WriteFile", {"path": "src/app.py", "content": "print('hello world')\n" * 20}),
            ("Shell", {"command": "kubectl get pods -n production-3"}),
            ("ReadFile", {"path": "docs/index.md"}),
        )
    ]

    def selecting(many: Catalog) -> Measure:
        def once() -> float:
            start = time.perf_counter()
            for _ in range(20):
                for event in events:
                    many.plan(event)
            return (time.perf_counter() - start) / (20 * len(events))

        return once

    row = Row("selection among 10,000 hooks with patterns", "among 10", 3)
    interleave(rounds, [(row, selecting(catalog(10_000)), selecting(catalog(10)))])
    return [row]


def bench_reading(rounds: int) -> list[Row]:
    import shlex

    from boathook.shell import read_command

    commands = (
        *("git status --short", "cd src && make -j4 test 2>&1 | tee log", 'grep -rn "some text" src/ | head -20'),
        *("find . -name '*.py' -exec wc -l {} +", 'for f in a b c; do echo "$f: $(wc -l < $f)"; done'),
        "sudo docker run --rm -v $PWD:/work image sh -c 'pip install -e . && pytest -q'",
    )

    def reading(read: Callable[[str], object]) -> Measure:
        def once() -> float:
            start = time.perf_counter()
            for _ in range(20):
                for command in commands:
                    read(command)
            return (time.perf_counter() - start) / (20 * len(commands))

        return once

    row = Row("reading what a shell command starts", "`shlex.split`", 0)
    interleave(rounds, [(row, reading(read_command), reading(shlex.split))])
    return [row]


def bench_stack(rounds: int) -> list[Row]:
    import stack

    pairs: list[tuple[Row, Measure, Measure]] = []
    for size in stack.SIZES:
        ours, same = stack.hooks(size), "the same event, hooks called in a loop"
        row = Row(f"event for {size} sync hook{'s' * (size > 1)}", same, 2)
        pairs.append((row, stack.timed(stack.stack_of(ours).process), stack.timed(stack.plainly(ours))))
    for size in stack.SIZES:
        awaited, same = stack.async_hooks(size), "the same event, hooks awaited in a loop"
        row = Row(f"event for {size} async hook{'s' * (size > 1)}", same, 2)
        plain = stack.timed_async(stack.plainly_awaited(awaited))
        pairs.append((row, stack.timed_async(stack.stack_of(awaited).aprocess), plain))
    for name, other in (("pluggy", stack.by_pluggy), ("blinker", stack.by_blinker)):
        for size in stack.SIZES:
            ours = stack.hooks(size)
            row = Row(f"event for {size} sync hook{'s' * (size > 1)}", f"the same by {name}", 1)
            pairs.append((row, stack.timed(stack.stack_of(ours).process), stack.timed(other(ours))))
    interleave(rounds, pairs)
    return [row for row, _, _ in pairs]


def bench_bridges(rounds: int) -> list[Row]:
    """Measure processor time per tool call in agents of the frameworks that are installed here."""
    import bridge_overhead as bridges

    from tests.bridges.behaviours import COST_GOALS
    from tests.bridges.frameworks import choose_adapters

    pairs: list[tuple[Row, Measure, Measure]] = []
    with bridges.enter_scratch_home():
        for adapter in choose_adapters():
            for name, make in bridges.CASES.items():
                goal = COST_GOALS.get(name, 0)
                row = Row(f"{adapter.name}, a tool call with {name}", "the same without the bridge", goal)
                with_hooks = partial(bridges.run_once, adapter, {"hooks": make()})
                pairs.append((row, with_hooks, partial(bridges.run_once, adapter, None)))
        interleave(rounds, pairs)
    return [row for row, _, _ in pairs]


def bench_empty(rounds: int) -> str:
    import stack

    row = Row("empty stack", "plain call", 0)
    interleave(rounds, [(row, *stack.empty_stack())])
    more = (statistics.median(row.ours) - statistics.median(row.theirs)) * 1e6
    grown = stack.growth()
    return (
        f"A tool call through an empty stack takes {more:.2f} µs more than the plain call (goal: at most 1 µs). Over 100,000 "
        f"events of one session a stack with plain hooks, middleware and a matcher grows by {grown:.1f} kB (goal: none)."
    )


MEMORY = """
import os, sys
import re2, yaml, tomllib, json, concurrent.futures
def rss():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
import boathook
before = rss()
if len(sys.argv) > 1:
    engine = boathook.load(sys.argv[1], trust_all=True)
    assert len(engine.catalog.hooks) == 1000
    for _ in range(3):
        engine.dispatch({"event_type": "pre-tool-call", "tool_name": "Shell", "tool_input": {"command": "ls"}})
print(before, rss())
"""


def bench_memory(folder: Path) -> str:
    if not os.path.exists("/proc/self/statm"):
        return "memory was not measured here"
    project = folder / "many-1000"
    found = subprocess.run([sys.executable, "-c", MEMORY, str(project)], capture_output=True, text=True, check=True)
    before, after = map(float, found.stdout.split())
    return (
        f"An engine with 1,000 hooks loaded holds {after - before:.1f} MB more than a bare interpreter that imported the same "
        f"libraries ({after:.1f} against {before:.1f} MB; goal: under 40 MB more)."
    )


def table(rows: list[Row]) -> str:
    head = ["what", "against", "ms", "against, ms", "ratio", "ratio p10", "goal", "met"]
    lines = [head, ["---"] * len(head), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def report(rows: list[Row], memory: str, rounds: int) -> str:
    about = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores, {rounds} rounds"
    return (
        "# Benchmarks\n\n"
        "Made by `make bench WRITE=1`. Every row is measured interleaved with what it is compared to; ratios are of medians, "
        "with that of the tenth percentiles beside them. Compare ratios, not milliseconds: machines differ and are noisy.\n\n"
        f"{about}.\n\n{table(rows)}\n\n{memory}\n\n"
        "What the rows mean:\n\n"
        "- The limit for running a script is C's `vfork` and `exec` of it; `bench/launch.c` does that and nothing more.\n"
        "  Three rows take the engine's part of the time apart: the record, then deciding and describing the call for the hook,\n"
        "  then what keeps the promises about a process; the last is what Python itself takes. An `sh` that does nothing ends in\n"
        "  less time than all that; for hooks that do something the ratio nears 1. Nothing is synced here: only blocks are.\n"
        "- A host starts `hook_entry.py` for every event. Most events match nothing; then only a few hundred lines are loaded.\n"
        "- A matcher *of words* (`Shell`, `rm -rf /|mkfs`) needs no regular expression; others load RE2.\n"
        "- Hooks of settings.json run together; how near eight come to one depends on the cores there are.\n"
        "- A host waits for the whole command that `boathook install` gives it: a shell, Python, the hook entry, and the hook.\n"
        "  Called by the host itself the same `sh` hook would cost the time of a shell and nothing else; it would also see every\n"
        "  call, for hosts match less well, and leave no record.\n"
        "- Guards of a pack with `process: shared` run in forks of one interpreter, so that its start and its imports are paid\n"
        "  once. Those of the standard pack follow each other in one fork; others have a fork each, which costs more where page\n"
        "  tables are slow, as in some virtual machines. They are asked about five everyday commands in turn.\n"
        "- A prompt hook asks a model on loopback that answers at once: what is left is the processor time of our own work.\n"
        "- Of bridges, processor time counts; other frameworks are in [the matrix of bridges](bridges.md).\n"
        "- An *event for hooks* is one context that is made and goes through a stack; the plain loop makes the same context.\n"
        "- A page that is open reads the ledger in a process of its own. Against it, that process is stopped.\n"
        "- *Cold* means a new process each time, with the compiled catalogue on disk.\n"
        f"- *Warm* means that a resident answers, each side measured after a rest of {REST_SECONDS * 1000:.0f} ms, in which\n"
        "  the resident prepares its next fork; a model takes longer between two calls. Eight callers at once have no rest.\n"
        "  One file of each hook is looked at for every event: that is the difference between 10 and 1,000 hooks. Before its\n"
        "  memory was copied in advance an event had 290 to 1,000 page faults, and has 11 to 15 now, of 4 µs each. That the\n"
        "  resident answers made-up events before it forks takes an eighth off the processor time of a fork. `python -m\n"
        "  e2e.latency` measures how long real agents wait. Goals that are not met: [ADR 38](../adr/0038-warm-engine.md).\n"
    )


BENCHES = {
    "entry": bench_entry,
    "hosts": bench_hosts,
    "sources": bench_sources,
    "packs": bench_packs,
    "prompt": bench_prompt,
    "warm": bench_warm,
    "page": bench_page,
}


def bench_only(rows: str, folder: Path, launcher: Launcher, rounds: int) -> list[Row]:
    if rows == "spawn":
        return bench_spawn(folder, launcher, rounds)
    if rows == "bridges":
        return bench_bridges(rounds)
    entry_path = installed(folder)
    if rows == "warm":
        print(bench_resident(folder, entry_path))
    return BENCHES[rows](folder, launcher, rounds, entry_path)


def main() -> None:
    """Measure, print, and write the report if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write docs/reference/benchmarks.md")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--only", choices=("spawn", "bridges", *BENCHES), help="print these rows and nothing else")
    parser.add_argument(
        "--processor", action="store_true", help="count processor time, on a machine that does other work"
    )
    options = parser.parse_args()
    # Not our name: what protects the engine's own files looks longer at an event that has it.
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(os.path.realpath(name))
        os.environ.pop("CLAUDE_CONFIG_DIR", None)
        for variable, place in HOME_FOLDERS.items():
            (folder / place).mkdir(parents=True, exist_ok=True)
            os.environ[variable] = str(folder / place)
        launcher = Launcher(folder, counts_processor=options.processor)
        if options.only:
            print(table(bench_only(options.only, folder, launcher, options.rounds)))
            launcher.close()
            return
        rows = bench_spawn(folder, launcher, options.rounds)
        rows += bench_together(folder, min(options.rounds, 30))
        entry_path = installed(folder)
        rows += bench_entry(folder, launcher, options.rounds, entry_path)
        more, text = bench_trust(folder, launcher, options.rounds, entry_path)
        rows += more
        rows += bench_hosts(folder, launcher, options.rounds, entry_path)
        rows += bench_sources(folder, launcher, options.rounds, entry_path)
        rows += bench_packs(folder, launcher, min(options.rounds, 30), entry_path)
        rows += bench_prompt(folder, launcher, min(options.rounds, 20), entry_path)
        rows += bench_warm(folder, launcher, options.rounds, entry_path)
        rows += bench_page(folder, launcher, max(options.rounds, 200), entry_path)
        rows += bench_selection(options.rounds)
        rows += bench_reading(options.rounds)
        rows += bench_stack(options.rounds)
        rows += bench_bridges(options.rounds)
        texts = (text, bench_memory(folder), bench_resident(folder, entry_path), bench_empty(options.rounds))
        memory = "\n\n".join(texts)
        launcher.close()
    text = report(rows, memory, options.rounds)
    print(text)
    if options.write:
        REPORT.write_text(text)


if __name__ == "__main__":
    main()
