"""The `if` of a settings.json hook: never does a rule spare a call that Claude Code would not (S24)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.event import Event
from boathook.core.matcher import Matcher
from boathook.sources.settings_json.rules import MAX_RULE_CHARS, read_rule


def a_call(tool: str, **tool_input: object) -> Event:
    return Event.of(
        "pre-tool-call", tool_name=tool, tool_input=tool_input, session_id="s", work_dir="/w", timestamp="t"
    )


def matches(rule: str, event: Event) -> bool:
    found = read_rule(rule)
    assert found is not None
    return Matcher(found.tool, found.pattern).explain_mismatch(event) == ""


COMMANDS = {
    "Bash": (["ls", "rm -rf /", ""], []),
    "Bash()": (["ls"], []),
    "Bash(*)": (["ls", ""], []),
    "Bash(git *)": (
        [
            *("git", "git push", "git push\nls", "ls; git push", "ls && git status", "(git push)", "echo $(git log)"),
            *(
                "A=1 git push",
                "'git' push",
                "/usr/bin/git push",
                "cat x | git apply",
                "echo `git log`",
                "sudo git push",
            ),
            *("$TOOL push", '"$TOOL" push', "ls; $TOOL push", "ls &&\n  $TOOL"),
        ],
        ["ls", "legit push", "gi t", "echo $(date)", "ls $HOME", "Git push", ""],
    ),
    "Bash(git:*)": (["git", "git push"], ["ls"]),
    "Bash(git push)": (["git push", "git  push", "git \\\n push", "git push --force"], ["git", "git pull"]),
    "Bash(git push *)": (["git push", "git push -f", "echo $(date)", "echo `date`", "X=$Y ls"], ["git pull", "date"]),
    "Bash(git * main)": (["git push origin main", "git  main", "git a\nb main"], ["git push origin", "git"]),
    "Bash(* --version)": (["node --version", "a b --version"], ["node -v"]),
    "Bash(npm run test:*)": (["npm run test", "npm run test:unit"], ["npm run lint"]),
    "Bash(curl http://x.org/*)": (["curl http://x.org/a"], ["curl http://y.org/a", "curl http://xxorg/a"]),
    "Bash(echo (a) [b] +)": (["echo (a) [b] +"], ["echo a b"]),
    "  Bash ( git * ) ": (["git push"], ["ls"]),
    "PowerShell(Remove-Item *)": ([], ["Remove-Item x"]),  # it is another tool
}


@pytest.mark.parametrize("rule", COMMANDS)
def test_a_rule_about_commands_matches(rule):
    yes, no = COMMANDS[rule]
    found = {command: matches(rule, a_call("Bash", command=command)) for command in (*yes, *no)}
    assert found == {**dict.fromkeys(yes, True), **dict.fromkeys(no, False)}


PATHS = {
    "Edit(*.ts)": (["/p/a.ts", "a.ts", "/p/src/deep/a.ts", "/p/A.TS"], ["/p/a.tsx", "/p/a.js", "/p/ats"]),
    "Edit(src/**)": (["/p/src/a", "src/a/b", "/p/src/a\nb"], ["/p/source/a", "/p/mysrc/a"]),
    "Edit(/src/**/*.ts)": (["/p/src/a.ts", "/p/src/x/y/a.ts"], ["/p/src/a.js"]),
    "Edit(//etc/**)": (["/etc/passwd"], ["/p/a"]),
    "Edit(~/.ssh/*)": (["/home/me/.ssh/id"], ["/home/me/ssh/id"]),
    "Edit(./.env)": (["/p/.env", ".env"], ["/p/.envrc", "/p/a.env"]),
    "Edit(../shared/*)": (["/p/shared/a"], ["/p/other/a"]),
    "Edit(**/.env*)": (["/p/.env.local", "/p/a/b/.env"], ["/p/env"]),
    "Edit(src/)": (["/p/src/a.ts", "/p/src"], ["/p/srcs/a"]),
    "Edit(docs)": (["/p/docs/a.md", "docs"], ["/p/mydocs"]),
    "Edit(*.[jt]s)": (["/p/a.js", "/p/a.ts"], ["/p/a.css"]),
    "Edit(file?.py)": (["/p/file1.py"], ["/p/file.py", "/p/file12.py"]),
    "Edit(*.{ts,tsx})": (["/p/a.ts", "/p/a.tsx"], ["/p/ats"]),
    "Edit(a[b)": (["/p/a[b"], ["/p/ab"]),
    "Edit(a{b)": (["/p/a{b"], ["/p/ab"]),
    r"Edit(a\*b)": (["/p/a*b", "/p/a-b"], ["/p/ab", "/p/a--b"]),
    r"Edit(my\ file.py)": (["/p/my file.py"], ["/p/myfile.py"]),
    r"Edit(src\/a.ts)": (["/p/src/a.ts"], ["/p/srcs/a.ts", "/p/srcxa.ts"]),
    "Edit(a\\\nb)": (["/p/a\nb"], ["/p/ab"]),
    "Edit(a\\)": (["/p/a\\"], ["/p/a"]),
    "Edit(**)": (["/p/a", ""], []),
    "Edit(/)": (["/p/a"], []),
}


@pytest.mark.parametrize("rule", PATHS)
def test_a_rule_about_paths_matches(rule):
    yes, no = PATHS[rule]
    found = {path: matches(rule, a_call("Edit", file_path=path)) for path in (*yes, *no)}
    assert found == {**dict.fromkeys(yes, True), **dict.fromkeys(no, False)}


OTHERS = {
    "WebFetch(domain:example.com)": (
        [{"url": "https://example.com/a"}, {"url": "https://www.example.com"}],
        [{"url": "https://example.org"}, {"url": "https://examplescom"}],
    ),
    "WebFetch(domain:*.example.com)": ([{"url": "https://www.example.com/"}], [{"url": "https://example.com/"}]),
    "Agent(Explore)": ([{"subagent_type": "Explore"}], [{"subagent_type": "Plan", "prompt": "please Explore"}]),
    "Skill(deploy)": ([{"skill": "deploy"}, {"skill": "/deploy"}], [{"skill": "deployment"}, {"skill": "commit"}]),
    "Skill(deploy *)": ([{"skill": "deploy", "args": "prod"}, {"skill": "deploy prod"}], [{"skill": "commit"}]),
    "Skill(mine:*)": ([{"skill": "mine:deploy"}], [{"skill": "yours:deploy"}]),
    "Skill(mine:deploy)": ([{"skill": "mine:deploy"}, {"skill": "yours:deploy"}], []),
    "Agent(model:opus)": ([{"subagent_type": "Explore", "model": "opus"}, {"subagent_type": "Explore"}], []),
    "WebSearch(allowed_domains:x.org)": ([{"query": "x"}], []),
}


@pytest.mark.parametrize("rule", OTHERS)
def test_a_rule_about_another_input_matches(rule):
    yes, no = OTHERS[rule]
    tool = rule.partition("(")[0]
    assert [matches(rule, a_call(tool, **one)) for one in yes] == [True] * len(yes)
    assert [matches(rule, a_call(tool, **one)) for one in no] == [False] * len(no)


TOOLS = {
    "Bash": (["Bash"], ["BashOutput", "bash", "Shell"]),
    "Edit(*)": (["Edit", "MultiEdit", "Write", "NotebookEdit"], ["Read", "Bash"]),
    "Write": (["Write"], ["Edit"]),
    "Read(a)": (["Read", "NotebookRead", "Grep", "Glob", "LS"], ["Edit", "Bash"]),
    "Grep": (["Grep"], ["Read", "Glob"]),
    "Agent": (["Agent", "Task"], ["TaskCreate"]),
    "Task": (["Agent", "Task"], ["TaskCreate"]),
    "mcp__github": (["mcp__github__get", "mcp__github"], ["mcp__github2__get", "mcp__gitlab__get"]),
    "mcp__my_server": (["mcp__my_server__get"], ["mcp__my__get"]),
    "mcp__github__*": (["mcp__github__get"], ["mcp__gitlab__get"]),
    "mcp__github__get_*": (["mcp__github__get_issue"], ["mcp__github__set_issue"]),
    "mcp__github__get": (["mcp__github__get"], ["mcp__github__get_issue"]),
    "mcp__*": (["mcp__github__get"], ["Bash"]),
    "*": (["Bash", "mcp__github__get"], []),
}


@pytest.mark.parametrize("rule", TOOLS)
def test_a_rule_is_about_these_tools(rule):
    yes, no = TOOLS[rule]
    found = {tool: matches(rule, a_call(tool, file_path="/p/a")) for tool in (*yes, *no)}
    assert found == {**dict.fromkeys(yes, True), **dict.fromkeys(no, False)}


def test_the_names_of_tools_are_given_where_they_can_be_listed():
    found = {
        text: read_rule(text).tools
        for text in ("Bash(git *)", "Read(a)", "Edit(a)", "Task", "mcp__a__b", "mcp__a", "mcp__*")
    }
    assert found == {
        "Bash(git *)": ("Bash",),
        "Read(a)": ("Read", "NotebookRead", "Grep", "Glob", "LS"),
        "Edit(a)": ("Edit", "MultiEdit", "Write", "NotebookEdit"),
        "Task": ("Agent", "Task"),
        "mcp__a__b": ("mcp__a__b",),
        "mcp__a": (),
        "mcp__*": (),
    }


NO_RULES = ["", " ", "Bash(git *", "Bash)", "(git *)", "Bash git", "Bash(a) x", "ö", "Bash(\ud800)"]
NO_RULES += [f"Bash({'a' * MAX_RULE_CHARS})", "a" + " " * 100_000 + "!"]


@pytest.mark.parametrize("text", NO_RULES, ids=lambda text: ascii(text[:20]))
def test_a_text_that_is_not_a_rule_is_none(text):
    assert read_rule(text) is None


@pytest.mark.parametrize("rule", ["Agent(model:opus)", "Bash(run_in_background:true)", "Edit(mode:x)", "Skill(a:b)"])
def test_a_rule_about_a_parameter_is_about_every_call_of_its_tool(rule):
    assert read_rule(rule).pattern is None


plain = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(plain, st.text(max_size=20))
def test_a_rule_of_a_literal_and_a_star_matches_every_command_that_begins_with_it(literal, rest):
    assert matches(f"Bash({literal} *)", a_call("Bash", command=literal))
    assert matches(f"Bash({literal} *)", a_call("Bash", command=f"{literal} {rest}"))
    assert matches(f"Bash({literal}:*)", a_call("Bash", command=f"{literal}{rest}"))


@given(plain, st.sampled_from(["; ", " && ", " | ", "\n", "$(", "`", "A=1 ", "sudo "]))
def test_and_every_command_that_has_it_further_on(literal, before):
    assert matches(f"Bash({literal} *)", a_call("Bash", command=f"ls{before}{literal}"))


name = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/*?[]{}\\"), min_size=1, max_size=20)


@given(st.lists(name, min_size=1, max_size=3), st.lists(name, max_size=2))
def test_a_rule_of_a_path_matches_it_in_any_folder_and_all_that_is_in_it(parts, below):
    inner = "/".join(parts).strip(" \t\r\n~.")
    path = "/".join(["", "project", inner, *below])
    assert matches(f"Edit({inner})", a_call("Write", file_path=path))
    assert matches(f"Edit({inner}/**)", a_call("Write", file_path=f"{path}/x"))


@given(st.lists(name, min_size=1, max_size=3))
def test_a_rule_of_a_path_whose_characters_are_escaped_matches_it_too(parts):
    inner = "/".join(parts).strip(" \t\r\n~./")
    path = f"/project/{inner}/x"
    assert matches(f"Edit({''.join(f'{chr(92)}{char}' for char in inner)})", a_call("Write", file_path=path))


@given(st.text(max_size=60) | st.from_regex(r"[A-Za-z_*]{1,8}\([ -~]*\)", fullmatch=True))
def test_no_text_makes_reading_a_rule_fail(text):
    rule = read_rule(text)
    assert rule is None or isinstance(matches(text, a_call("Bash", command="git push")), bool)
