"""Hooks of a pack in one process: everything is as if each had one of its own, and nothing that one does reaches another."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import boathook
from boathook.core.shared_frames import HookFrame, find_frame_end, read_frames
from boathook.guards.code_cache import CodeCache
from boathook.process import hook_runner, shared_jobs
from tests.example_counts import count_examples
from tests.packs.toy_packs import PACK, PASS, find_pack, make_script, write_pack
from tests.scratch_project import CALL, make_project

LIB = {"common.py": "SEEN = []\nWORD = 'acme'\n"}
IMPORTS = "import os, sys, common"
# What guards do, good or bad, and what would differ if one could see what another has done.
BODIES = {
    "passes": PASS,
    "asks": 'return ask(f"{call.tool_name} {[p.name for p in call.programs]}")',
    "blocks": 'return block("no")',
    "raises": 'raise ValueError("oops")',
    "prints": 'print("some context")',
    "prints and asks": 'print("text before"); return ask("an answer after text")',
    "warns": 'sys.stderr.write("a warning")',
    "blocks by its exit code": 'sys.stderr.write("blocked"); sys.exit(2)',
    "fails by its exit code": 'sys.stderr.write("failed"); sys.exit(3)',
    "exits with a text": 'sys.exit("a text")',
    "leaves at once": "os._exit(0)",
    "crashes": "os.kill(os.getpid(), 11)",
    "prints too much": 'sys.stdout.write("x" * (3 << 20))',
    "starts a program": 'import subprocess; subprocess.run(["echo", "printed by a program"])',
    "leaks": "common.SEEN.append(bytearray(1 << 24))",
    "changes its environment": 'os.environ["AGENT_PROJECT_DIR"] = os.environ["ACME"] = "changed"; os.chdir("/")',
    "changes modules": 'common.WORD = "changed"; sys.path.clear(); call.fields.clear(); call.settings = {"x": 2}',
    "changes boathook": "import boathook.guards.call as c; c.GuardedCall.tool_name = 'changed'",
    "closes its streams": "os.close(0); os.close(1)",
    "looks": (
        "return ask(f\"{os.environ.get('ACME')} {os.getcwd() == call.work_dir} {common.WORD} {len(common.SEEN)} "
        "{call.tool_name} {call.tool_input} {dict(call.settings)} {os.environ['AGENT_HOOK_NAME']}\")"
    ),
    "reads its input": "import json; return ask(str(len(sys.argv)) + __name__)",
    "has a thread": "import threading; threading.Thread(target=lambda: print('from a thread')).start()",
    "has an exit function": "import atexit; atexit.register(lambda: print('at the end'))",
}
SYNTAX_ERROR = "#!/usr/bin/env python3\nthis is not Python\n"
NO_GUARD = "#!/usr/bin/env python3\nimport sys, json\nprint(json.load(sys.stdin)['tool_name'])\n"
SCRIPTS = {
    **{name: make_script(body, IMPORTS) for name, body in BODIES.items()},
    "is not Python": SYNTAX_ERROR,
    "is a plain script": NO_GUARD,
}


def write_guards(project, guards, on_failure=()):
    """Write guards in the order in which they run."""
    names = [f"g{number:02}" for number in range(len(guards))]
    scripts = {name: SCRIPTS.get(guard, guard) for name, guard in zip(names, guards, strict=True)}
    fields = {name: {"on_failure": "block"} for name, blocks in zip(names, on_failure, strict=False) if blocks}
    write_pack(find_pack(project), scripts, lib=LIB, fields=fields)
    project.write_hooks_toml("user", "".join(f'[packs."{PACK}".{name}]\nname = "{name}"\n' for name in names))


# As if all scripts were those of boathook, which one fork may run.
KNOWN_START = shared_jobs._START.replace(
    "from boathook.guards.shared",
    "from boathook.guards import known_scripts as k;k.find_known_scripts=lambda names,*_:frozenset(names);"
    "from boathook.guards.shared",
)


def dispatch(project, *, shares: bool, event=CALL, known: bool = False):
    """Return a verdict and the number of processes that were started for it; `known`: as if boathook knew all scripts."""
    starts = []
    with pytest.MonkeyPatch.context() as patch:
        if known:
            patch.setattr(shared_jobs, "_START", KNOWN_START)
        for name, value in project.variables.items():
            patch.setenv(name, value)
        if not shares:
            patch.setattr("boathook.core.dispatch.MAX_NEXT_CALLS", 0)
        with boathook.load(project.path) as engine:
            process = hook_runner.ProcessRunner.start
            patch.setattr(
                hook_runner.ProcessRunner,
                "start",
                lambda self, job, mark: starts.append(job) or process(self, job, mark),
            )
            verdict = engine.dispatch({**event, "work_dir": str(project.path)})
    return verdict, len(starts)


def describe(verdict):
    """Everything about a verdict but its times and its id."""
    runs = [(*run.replace(seconds=0.0).to_tuple()[1:], run.hook.name) for run in verdict.runs]
    return runs, verdict.decision, verdict.outcome, verdict.skipped, verdict.warnings()


@pytest.mark.parametrize("guard", SCRIPTS)
def test_a_guard_does_in_a_shared_process_what_it_does_alone_and_its_neighbours_do_not_notice(project, guard):
    write_guards(project, ["looks", guard, "looks"])
    alone, _ = dispatch(project, shares=False)
    shared, starts = dispatch(project, shares=True)
    assert describe(shared) == describe(alone)
    assert starts <= 2


@settings(max_examples=count_examples(25))
@given(guards=st.lists(st.tuples(st.sampled_from([*SCRIPTS]), st.booleans()), min_size=2, max_size=6))
def test_any_guards_in_one_process_are_as_if_each_had_its_own(tmp_path_factory, guards):
    project = make_project(tmp_path_factory.mktemp("shared") / "base")
    write_guards(project, [name for name, _ in guards], [blocks for _, blocks in guards])
    alone, _ = dispatch(project, shares=False)
    shared, _ = dispatch(project, shares=True)
    assert describe(shared) == describe(alone)


# What a script does in memory or to its process, and ends as if nothing was: none of those that boathook knows does it.
TRACES = {name for name in BODIES if name.startswith(("changes", "leaks", "closes", "has"))}
TRACELESS = [name for name in SCRIPTS if name not in TRACES]
OWN_PID = make_script("return ask(str(os.getpid()))", "import os")


@pytest.mark.parametrize("guard", TRACELESS)
def test_a_known_guard_does_in_a_fork_with_others_what_it_does_alone(project, guard):
    write_guards(project, ["looks", "asks", guard, "looks"])
    alone, _ = dispatch(project, shares=False)
    shared, starts = dispatch(project, shares=True, known=True)
    assert describe(shared) == describe(alone)
    assert starts <= 2


@settings(max_examples=count_examples(25))
@given(guards=st.lists(st.tuples(st.sampled_from(TRACELESS), st.booleans()), min_size=2, max_size=6))
def test_any_known_guards_in_one_fork_are_as_if_each_had_its_own_process(tmp_path_factory, guards):
    project = make_project(tmp_path_factory.mktemp("known") / "base")
    write_guards(project, [name for name, _ in guards], [blocks for _, blocks in guards])
    alone, _ = dispatch(project, shares=False)
    shared, _ = dispatch(project, shares=True, known=True)
    assert describe(shared) == describe(alone)


def test_known_guards_have_one_fork_until_one_of_them_fails_and_others_have_a_fork_each(project):
    write_guards(project, [OWN_PID, OWN_PID, "raises", OWN_PID, OWN_PID])
    verdict, _ = dispatch(project, shares=True, known=True)
    assert [len({verdict.runs[at].outcome.reason for at in pair}) for pair in ((0, 1), (3, 4), (0, 3))] == [1, 1, 2]
    verdict, _ = dispatch(project, shares=True)
    assert len({run.outcome.reason for run in verdict.runs}) == 5


def test_a_known_guard_that_hangs_hits_its_own_timeout_and_only_it(project):
    hang = make_script("import time, sys\nsys.stderr.write('begun'); sys.stderr.flush()\ntime.sleep(600)")
    write_guards(project, ["asks", hang, "asks"])
    manifest = find_pack(project) / "hooks/g01/HOOK.md"
    manifest.write_text(manifest.read_text().replace("60000", "1500"))
    shared, starts = dispatch(project, shares=True, known=True)
    assert [run.status for run in shared.runs] == ["ok", "timeout", "ok"]
    assert shared.runs[1].error == "it did not end within 1.5 s"
    assert starts == 2
    assert describe(shared) == describe(dispatch(project, shares=False)[0])


def test_many_guards_are_asked_in_one_process_and_each_has_its_name_and_settings(project):
    write_guards(
        project, [make_script("import os\nreturn ask(os.environ['AGENT_HOOK_NAME'] + call.settings['name'])")] * 9
    )
    verdict, starts = dispatch(project, shares=True)
    assert starts == 1
    assert list(verdict.reasons) == [f"{PACK}:g{number:02}g{number:02}" for number in range(9)]


def test_after_a_block_no_other_guard_is_asked(project):
    marks = project.base / "marks"
    touch = make_script(f"open({str(marks)!r}, 'a').write('x')")
    write_guards(project, [touch, "blocks", touch])
    verdict, starts = dispatch(project, shares=True)
    assert (starts, marks.read_text(), len(verdict.runs)) == (1, "x", 2)
    assert [skip.reason for skip in verdict.skipped] == [f"not reached: block by '{PACK}:g01'"]


@pytest.mark.parametrize("count", [1, 2])
def test_a_traceback_begins_in_the_script(project, count):
    write_guards(project, ["raises"] * count)
    verdict, _ = dispatch(project, shares=True)
    text = verdict.runs[0].stderr + verdict.runs[0].error
    assert "scripts/run.py" in text
    assert "shared_process" not in text


def test_after_a_failure_that_blocks_no_other_guard_is_asked(project):
    marks = project.base / "marks"
    write_guards(project, ["raises", make_script(f"open({str(marks)!r}, 'a')")], [True])
    verdict, _ = dispatch(project, shares=True)
    assert (verdict.is_blocked, marks.exists(), len(verdict.runs)) == (True, False, 1)


@pytest.mark.parametrize("way", ["time.sleep(600)", "while True: pass", "os.kill(os.getpid(), 19)"])
def test_a_guard_that_hangs_hits_its_own_timeout_and_only_it(project, way):
    hang = make_script(f"import time, os\n{way}")
    write_guards(project, ["asks", hang, "asks"])
    manifest = find_pack(project) / "hooks/g01/HOOK.md"
    manifest.write_text(manifest.read_text().replace("60000", "400"))
    verdict, starts = dispatch(project, shares=True)
    assert [(run.status, run.outcome.decision.word) for run in verdict.runs] == [
        ("ok", "ask"),
        ("timeout", "none"),
        ("ok", "ask"),
    ]
    assert verdict.runs[1].error == "it did not end within 0.4 s"
    assert starts == 2


def test_a_late_guard_that_blocks_by_its_exit_code_counts(project):
    body = (
        "import signal, sys, time\nsignal.signal(15, lambda *_: sys.exit(2))\nsys.stderr.write('late')\ntime.sleep(600)"
    )
    write_guards(project, ["passes", make_script(body), "asks"])
    manifest = find_pack(project) / "hooks/g01/HOOK.md"
    manifest.write_text(manifest.read_text().replace("60000", "1500"))
    verdict, _ = dispatch(project, shares=True)
    assert [(run.status, run.outcome.decision.word) for run in verdict.runs] == [("ok", "none"), ("ok", "block")]


def test_a_guard_that_ends_the_process_has_failed_by_itself_and_the_rest_is_asked_anew(project):
    write_guards(
        project, ["asks", make_script("import os\nos.kill(os.getppid(), 9)\nimport time; time.sleep(600)"), "asks"]
    )
    verdict, starts = dispatch(project, shares=True)
    assert [run.status for run in verdict.runs] == ["ok", "failed", "ok"]
    assert verdict.runs[1].error == "the process that it shares with other hooks has ended"
    assert starts == 2


def test_a_guard_that_rewrites_counts_and_the_others_see_the_new_input(project):
    rewrite = '#!/usr/bin/env python3\nprint(\'{"modified_input": {"command": "new"}}\')\n'
    write_guards(project, ["asks", rewrite, "looks"])
    alone, _ = dispatch(project, shares=False)
    shared, _ = dispatch(project, shares=True)
    assert describe(shared) == describe(alone)
    assert shared.modified_input == {"command": "new"}


def test_hooks_of_two_packs_and_of_two_priorities_import_their_own_code(project):
    for name in ("acme/guards", "acme/others"):
        script = make_script("return ask(common.WORD)", "import common")
        write_pack(find_pack(project, name=name), {"a": script, "b": script}, lib={"common.py": f"WORD = '{name}'\n"})
    verdict, starts = dispatch(project, shares=True)
    assert starts == 2
    assert [run.outcome.reason for run in verdict.runs] == ["acme/guards", "acme/guards", "acme/others", "acme/others"]


def test_neither_the_project_nor_a_compiled_file_is_imported(project):
    (project.path / "common.py").write_text("WORD = 'of the project'\n")
    (project.path / "json.py").write_text("1 / 0\n")
    write_guards(project, [make_script("import json, common\nreturn ask(common.WORD)")] * 2)
    verdict, _ = dispatch(project, shares=True)
    assert [run.outcome.reason for run in verdict.runs] == ["acme", "acme"]
    assert not list(find_pack(project).rglob("__pycache__"))


def test_a_module_of_lib_cannot_replace_one_of_the_standard_library(project):
    write_pack(
        find_pack(project),
        {"a": make_script("import shlex\nreturn ask(shlex.quote('a b'))")},
        lib={"shlex.py": "1 / 0\n"},
    )
    assert dispatch(project, shares=True)[0].reasons == ("'a b'",)


def test_what_a_guard_leaves_behind_is_ended_with_the_process(project):
    pid_file = project.base / "pid"
    body = f"import subprocess\nchild = subprocess.Popen(['sleep', '600'])\nopen({str(pid_file)!r}, 'w').write(str(child.pid))"
    write_guards(project, [make_script(body), "asks"])
    verdict, _ = dispatch(project, shares=True)
    assert [run.status for run in verdict.runs] == ["ok", "ok"]
    state = Path(f"/proc/{pid_file.read_text()}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z" or sys.platform != "linux"


def test_hooks_in_a_sandbox_and_hooks_without_process_shared_have_processes_of_their_own(project):
    scripts = dict.fromkeys(("a", "b", "c"), "#!/usr/bin/env python3\nprint('x')\n")
    write_pack(find_pack(project), scripts, fields={"b": {"process": "own"}})
    assert dispatch(project, shares=True)[1] == 3
    project.write_hooks_toml("user", '[hooks]\nsandbox = "restricted"\n')
    verdict, starts = dispatch(project, shares=True)
    assert starts == 3
    if {run.status for run in verdict.runs} != {"refused"}:
        assert [run.status for run in verdict.runs] == ["ok", "ok", "ok"]


def test_frames_are_read_as_far_as_they_are_whole():
    frames = [HookFrame(0, 0.5, b"out\n1 2", b"err", overflow=True), HookFrame(-9, 0.0, b"", b"", is_late=True)]
    data = b"".join(frame.to_bytes() for frame in frames)
    assert read_frames(data) == tuple(frames)
    for size in range(len(data)):
        assert read_frames(data[:size]) in ((), tuple(frames[:1]))
    for junk in (b"", b"\n", b"1 2 3\n", b"a b c d e f\n", b"x" * 500, os.urandom(50)):
        assert find_frame_end(junk, 0) == 0
        assert read_frames(junk) == ()


def test_compiled_code_is_kept_in_the_private_cache_and_only_for_the_same_source(project):
    write_guards(project, ["asks", "asks"])
    before = describe(dispatch(project, shares=True)[0])
    (kept,) = (project.cache / "code").iterdir()
    assert (kept.stat().st_mode & 0o777, describe(dispatch(project, shares=True)[0])) == (0o600, before)
    script = find_pack(project) / "hooks/g00/scripts/run.py"
    script.write_text(make_script('return ask("changed")'))
    assert dispatch(project, shares=True)[0].runs[0].outcome.reason == "changed"
    for damage in (b"", b"junk", b"i\x01\x00\x00\x00"):
        kept.write_bytes(damage)
        assert dispatch(project, shares=True)[0].runs[0].outcome.reason == "changed"


def test_a_cache_that_others_can_write_is_not_used(tmp_path):
    script = tmp_path / "run.py"
    script.write_text("x = 1\n")
    for _ in range(2):
        cache = CodeCache(str(tmp_path / "code"), "pack")
        cache.compile(str(script))
        cache.save()
    assert cache._codes.keys() == cache._used.keys()
    (kept,) = (tmp_path / "code").iterdir()
    kept.chmod(0o666)
    assert CodeCache(str(tmp_path / "code"), "pack")._codes == {}
    assert CodeCache("", "pack")._codes == {}
    assert isinstance(cache.compile(str(tmp_path / "none.py")), OSError)


LOUD_MODULES = [
    "print('imported')",
    "1 / 0",
    "import os; os.environ['ACME'] = 'x'",
    "import os; os._exit(0)",
    "import os; os._exit(3)",
    "import sys; sys.exit(4)",
]


@pytest.mark.parametrize("text", LOUD_MODULES)
def test_a_module_of_lib_that_does_more_than_define_things_is_imported_by_each_hook(project, text):
    script = make_script("return ask(str(os.environ.get('ACME')))", "import os\nimport common")
    scripts = {"a": script, "b": make_script("return ask('b')"), "c": script}
    write_pack(find_pack(project), scripts, lib={"common.py": text + "\n"})
    alone, _ = dispatch(project, shares=False)
    shared, _ = dispatch(project, shares=True)
    assert describe(shared) == describe(alone)
    assert "b" in [run.outcome.reason for run in shared.runs]


EXITS_AT_IMPORT = [
    "import os; os._exit(0)",
    "import sys; sys.exit(0)",
    "raise SystemExit",
    "import deeper",
    "from os import _exit; _exit(0)",
    "import harmless, os; os._exit(0)",
]


@pytest.mark.parametrize("text", EXITS_AT_IMPORT)
def test_a_module_of_lib_that_ends_the_program_when_it_is_imported_is_a_failure_and_not_a_guard_without_opinion(
    project, text
):
    scripts = {"a": make_script(PASS, "import common"), "b": make_script("return ask('b')")}
    lib = {"common.py": f"{text}\n", "deeper.py": "import os\nos._exit(0)\n", "harmless.py": "X = 1\n"}
    write_pack(find_pack(project), {**scripts, "c": scripts["a"]}, lib=lib)
    for shares in (False, True):
        verdict, _ = dispatch(project, shares=shares)
        assert [f"{run.hook.name[-1]} {run.status}" for run in verdict.runs] == ["a failed", "b ok", "c failed"]
        assert "ended the program while it was imported (exit code 0)" in verdict.runs[0].error
        assert verdict.decision.word == "ask"
    fields = {"c": {"on_failure": "block"}}
    write_pack(find_pack(project), {**scripts, "c": scripts["a"]}, lib=lib, fields=fields)
    assert {dispatch(project, shares=shares)[0].decision.word for shares in (False, True)} == {"block"}


def test_what_a_module_of_lib_takes_from_os_ends_the_process_once_it_is_imported(project):
    scripts = {name: make_script("common.leave(2)", "import common") for name in ("a", "b")}
    write_pack(find_pack(project), scripts, lib={"common.py": "from os import _exit as leave\n"})
    for shares in (False, True):
        assert [run.outcome.decision.word for run in dispatch(project, shares=shares)[0].runs] == ["block"]
