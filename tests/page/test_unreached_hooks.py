"""What a hook did: events that an earlier hook decided alone are not among them."""

from __future__ import annotations

import re

from tests.page.recorded_calls import GUARD, call
from tests.page.served import serve_context
from tests.scratch_project import ScratchProject


def test_a_hook_does_not_list_events_that_an_earlier_hook_blocked(project: ScratchProject) -> None:
    project.write_hook("a-guard", GUARD, fields={"matcher": "{tool: Shell}"})
    project.write_hook("b-later", "exit 0", fields={"matcher": "{tool: Shell}"})
    call(project, "git push --force")
    call(project, "git push")
    with serve_context() as page:
        inputs = {
            name: re.findall(r'class="cell input">([^<]*)<', page.show("hook", name=name).html.partition("<ol")[2])
            for name in ("a-guard", "b-later")
        }
        everything = page.send("/data/export/live.json?hook=b-later").fields
    assert inputs == {"a-guard": ["git push", "git push --force"], "b-later": ["git push"]}
    # The record says that it was to run.
    assert len(everything) == 2
