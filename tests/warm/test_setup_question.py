"""`boathook setup` asks for the warm engine, and takes it back."""

from __future__ import annotations

import pytest

from tests.cli.test_setup import ignore_cache
from tests.install.helpers import everything
from tests.output_validation import validate_output
from tests.terminal import add_agents, run_boathook

pytestmark = pytest.mark.installed


def test_the_warm_engine_is_on_only_if_a_person_wants_it_and_undo_turns_it_off(machine):
    add_agents(machine, "claude")
    before = everything(machine)
    question = "Keep an engine in memory, which answers events faster and ends after 15 idle minutes? [y/N]: "
    code, out = run_boathook(machine, ["setup", "--no-pack"], ["y", ""], env={"CI": ""})
    assert (code, question in out, (machine.config / "hooks.toml").exists()) == (0, True, False)
    assert run_boathook(machine, ["setup", "--undo"], ["y"])[0] == 0
    # What setup fires starts no resident, because hooks that call boathook do not.
    outside = {"CI": "", "BOATHOOK_RUN": "1-2-3"}
    code, out = run_boathook(machine, ["setup", "--no-pack"], ["y", "y"], env=outside)
    assert (code, "ok      warm engine: the next event starts it" in out) == (0, True), out
    assert (machine.config / "hooks.toml").read_text() == '[hooks]\nwarm = "on"\n'
    status = machine.run("status")
    assert 'warm engine: hooks.warm is "on"' in status.stdout
    validate_output(("status", "--json"), machine.run("status", "--json").stdout.encode())
    assert run_boathook(machine, ["setup", "--undo"], ["y"])[0] == 0
    assert everything(machine) == {**before, **ignore_cache(machine)}


def test_the_warm_engine_and_sources_are_taken_back_in_any_order_and_the_file_is_as_before(machine):
    add_agents(machine, "claude")
    machine.config.mkdir(parents=True, exist_ok=True)
    text = "# mine\n[hooks]\ntimeout = 9\n"
    (machine.config / "hooks.toml").write_text(text)
    outside = {"CI": "", "BOATHOOK_RUN": "1-2-3"}
    for steps in (("--warm", "--source=cursor"), ("--source=cursor", "--warm"), ("--warm",)):
        for step in steps:
            done = machine.run("setup", "--yes", "--no-pack", step, env=outside)
            assert done.returncode == 0, done.stdout + done.stderr
        assert 'warm = "on"' in (machine.config / "hooks.toml").read_text()
        assert machine.run("setup", "--undo", "--yes").returncode == 0
        assert (machine.config / "hooks.toml").read_text() == text
    done = machine.run("setup", "--yes", "--warm", env={"CI": "true"})
    assert (done.returncode, "continuous integration" in done.stderr) == (1, True)
