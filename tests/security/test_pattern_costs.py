"""Patterns of a project that nobody trusted: they cost little, and no guard is lost by that (security F9)."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from boathook.core import matcher, pattern_search
from boathook.core.hook import UNTRUSTED
from boathook.core.matcher import MAX_PATTERN_WEIGHT, compute_weight
from boathook.core.pattern_search import ALL_ENGINES, LINEAR_ENGINE, NO_ENGINE
from boathook.loader import load_hooks
from boathook.sources.hook_md.folder import scan_hooks
from boathook.trust.store import TrustStore


def write_manifests(folder, patterns):
    for number, pattern in enumerate(patterns):
        hook = folder / ".agents" / "hooks" / f"h{number:03}"
        (hook / "scripts").mkdir(parents=True)
        header = f"name: {hook.name}\ndescription: x\ntrigger: pre-tool-call\nmatcher:\n  pattern: '{pattern}'"
        (hook / "HOOK.md").write_text(f"---\n{header}\n---\n")
        (hook / "scripts" / "run.sh").write_text("#!/bin/sh\nexit 2\n")
        (hook / "scripts" / "run.sh").chmod(0o755)
    return folder


def scan(folder, scope="project"):
    return [hook for hook, _ in scan_hooks(f"{folder}/.agents/hooks", scope, str(folder)).hooks]


def test_many_large_patterns_of_a_project_are_not_all_compiled(tmp_path, monkeypatch):
    compiled = []
    compile_by_re2 = pattern_search.compile_by_re2
    monkeypatch.setattr(pattern_search, "compile_by_re2", lambda one: compiled.append(one) or compile_by_re2(one))
    counts = []
    for number in (8, 80):
        folder = write_manifests(tmp_path / str(number), [f".{{900}}.{{900}}{n}" for n in range(number)])
        counts.append(len(scan(folder)) and len(compiled))
        compiled.clear()
    assert counts == [4, 4]


def test_what_lies_beyond_the_weight_of_a_project_counts_as_a_match_and_is_named(tmp_path):
    hooks = scan(write_manifests(tmp_path, [*(f".{{900}}.{{900}}{number}" for number in range(6)), "plain +word"]))
    assert [hook.matcher.pattern.engines for hook in hooks] == [ALL_ENGINES] * 4 + [NO_ENGINE] * 2 + [ALL_ENGINES]
    assert [bool(hook.diagnostics) for hook in hooks] == [False] * 4 + [True] * 2 + [False]
    assert "too large together" in hooks[4].diagnostics[0].message
    assert (hooks[4].matcher.pattern.search("4"), hooks[4].matcher.pattern.search("x")) == (True, False)


def test_the_user_s_own_patterns_have_no_common_limit(tmp_path):
    hooks = scan(write_manifests(tmp_path, [f".{{900}}.{{900}}{number}" for number in range(6)]), "user")
    assert {hook.matcher.pattern.engines for hook in hooks} == {ALL_ENGINES}


@pytest.mark.parametrize("source", [r"\pL{200}N", r"\p{Greek}{200}", r"(?:\pL){200}", r"[\pL]{200}", r"\PL{200}"])
def test_a_repeated_class_is_weighed_as_one_unit(source):
    assert compute_weight(source) > MAX_PATTERN_WEIGHT


def test_no_pattern_of_an_untrusted_hook_reaches_the_engine_that_is_not_linear(project, monkeypatch):
    def refuse(*_):
        raise AssertionError

    for module in (pattern_search, matcher):
        monkeypatch.setattr(module, "compile_by_regex", refuse)
    write_manifests(project.path, ["(a|aa)+$(?!b)", "x+"])
    locations = project.make_locations()
    loaded = load_hooks(locations, TrustStore(locations.state))
    guards = {hook.name: hook for hook in loaded.catalog.hooks}
    assert {hook.state for hook in guards.values()} == {UNTRUSTED}
    assert {hook.matcher.pattern.engines for hook in guards.values()} == {LINEAR_ENGINE}
    assert [guards["h000"].matcher.pattern.search(text) for text in ("a!", "xx")] == [True, False]
    assert [guards["h001"].matcher.pattern.search(text) for text in ("yx", "y")] == [True, False]


WITHOUT_RE2 = """
    import sys

    class Blocker:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in ("re2", "_re2"):
                raise ModuleNotFoundError(name)

    sys.meta_path.insert(0, Blocker())
    from boathook.core.pattern_search import has_re2
    from boathook.testing.conformance import check_in_process, has_library_part
    from boathook.testing.vectors import VECTORS_FOLDER, load_vectors

    vectors = [vector for vector in load_vectors(VECTORS_FOLDER, "") if vector.clause in ("S11", "S12", "S13")]
    failed = {vector.id: found for vector in vectors if has_library_part(vector) and (found := check_in_process(vector))}
    print(has_re2(), len(vectors) > 100, *sorted(failed))
"""


@pytest.mark.long
def test_the_vectors_of_matching_hold_without_re2_but_for_those_that_need_linear_time():
    code = textwrap.dedent(WITHOUT_RE2)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("False True s12-overlapping-alternatives s12-overlapping-long\n", "")
