"""What Replay says about events that it cannot replay, and while it works."""

from __future__ import annotations

import json

from tests.page.recorded_calls import GUARD, call
from tests.page.served import serve_context
from tests.scratch_project import ScratchProject

WHOLE = '[hooks]\nrecord = "whole"\n'


def test_replay_does_not_ask_for_a_setting_that_is_set(project: ScratchProject) -> None:
    project.write_hook("looker", "exit 0", fields={"matcher": "{tool: Shell}"})
    call(project, "ls")
    with serve_context() as page:
        assert 'set record = "whole" under [hooks]' in page.show("replay", last="20").text
    project.write_hooks_toml("user", WHOLE)
    call(project, "ls -l")
    with serve_context() as page:
        text = page.show("replay", last="20").text
    assert "1 of 2 events" in text
    assert "1 older event was not recorded whole, and cannot be replayed." in text
    assert "set record" not in text


def test_replay_names_the_hooks_that_did_not_run(project: ScratchProject) -> None:
    project.write_hooks_toml("user", WHOLE)
    manifest = project.write_hook("no-rm", GUARD, scope="project", fields={"matcher": "{tool: Shell, pattern: force}"})
    project.trust("no-rm")
    call(project, "push --force")
    path = manifest / "HOOK.md"
    path.write_text(path.read_text().replace("pattern: force", "pattern: other"))
    with serve_context() as page:
        shown = page.show("replay", last="20")
    reason = "no-rm did not run: "
    # In the list with the command, and for the event that it blocked.
    assert shown.text.count(reason) == 2
    assert f'data-copy="boathook trust --project {project.path} no-rm"' in shown.html
    done = project.run("replay")
    assert f"{reason}" in done.stdout
    assert json.loads(project.run("replay", "--json").stdout)["absent"][0]["hook"] == "no-rm"
