"""Commands that are offered for a project name it, so that they work from any folder."""

from __future__ import annotations

import html
import json
import re
import shlex

from tests import forked
from tests.page.recorded_calls import GUARD, call
from tests.page.served import serve_context
from tests.scratch_project import ScratchProject

_COPIED = re.compile(r'data-copy="([^"]*)"')
FOLDER_COMMANDS = ("check", "replay", "show", "test", "trust")


def test_commands_of_the_page_work_from_any_folder(project: ScratchProject) -> None:
    for name in ("guard", "new", "broken"):
        project.write_hook(name, GUARD, scope="project", fields={"matcher": "{tool: Shell, pattern: push}"})
        (project.hooks_folder("project") / name / "tests.txt").write_text("block  git push --force\nskip  ls\n")
    project.write_hook("mine", "exit 0", fields={"matcher": "{tool: Shell}"})
    (project.hooks_folder("project") / "broken" / "HOOK.md").write_text("---\nname: broken\n\tx: y\n---\n")
    project.trust("guard")
    call(project, "git push --force")
    with serve_context() as page:
        screens = [page.show(name).html for name in ("now", "guards", "hooks")]
        screens += [page.show("hook", name=name).html for name in ("guard", "mine")]
        screens += [page.show("replay", last="20").html, page.show("live").html]
        review = re.search(r"#/review\?([^\"]*)", screens[0])
        assert review
        screens.append(page.send(f"/data/screen/review?{html.unescape(review[1])}").html)
    # What a person may type from a text works there, too.
    texts = html.unescape(" ".join(re.sub(r"<[^>]*>", " ", screen) for screen in screens))
    assert "Review it with: boathook trust --project " in texts
    assert "Review it with: boathook trust new" not in texts
    commands = {html.unescape(found) for screen in screens for found in _COPIED.findall(screen)}
    words = [shlex.split(command) for command in commands]
    assert {one[1] for one in words} >= set(FOLDER_COMMANDS)
    at_home = [one for one in words if one[1] in FOLDER_COMMANDS and "--project" not in one]
    # What is the user's own is the same everywhere.
    assert sorted(at_home) == [["boathook", "show", "mine"]]
    for one in words:
        argv = project.make_argv(*one[1:])
        done = forked.run(argv, input="", text=True, cwd="/", env=project.environment, timeout=120, check=False)
        assert "there is no hook" not in done.stderr, one
        assert "no project hooks" not in done.stdout, one


def test_a_command_with_a_project_offers_others_with_it(project: ScratchProject) -> None:
    project.write_hook("guard", GUARD, scope="project", fields={"matcher": "{tool: Shell, pattern: push}"})
    (project.hooks_folder("project") / "guard" / "tests.txt").write_text("block  ls\nskip  pwd\nskip  true\n")
    where = ("--project", str(project.path))
    named = f"--project {project.path}"
    event = ("pre-tool-call", "--tool", "Shell", "--input", json.dumps({"command": "git push"}))
    rows = {
        ("list",): "boathook trust",
        ("show", "guard"): "boathook trust",
        ("check",): "boathook trust",
        ("doctor", "guard"): "boathook trust",
        ("explain", *event): "boathook trust",
        ("test", "--no-sandbox"): "boathook test",
    }
    for words, offered in rows.items():
        for given in ((), where):
            done = project.run(*words, *given)
            found = re.findall(rf"{offered}(?: --project \S+)?", done.stdout)
            assert set(found) == {f"{offered} {named}" if given else offered}, (words, given, done.stdout)


def test_trust_in_a_folder_without_hooks_shows_how_to_name_another(project: ScratchProject) -> None:
    printed = project.run("trust").stdout
    assert printed.endswith(
        "Your own hooks need no trust. To review those of another folder: boathook trust --project DIR\n"
    )
