"""Who may answer a question, who asks a person, and for how long: rules on values."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boathook.core.ask_rule import ASK_WAYS, choose_ask_way, compute_wait_seconds, describe_person_answer
from boathook.core.verdict import ASK_RESULTS
from boathook.core.waiting_question import PersonAnswer, WaitingQuestion
from boathook.dialects.dialect import find_host_dialect
from boathook.hosts.setup import list_setups
from boathook.permits.agent_evidence import AgentEvidence
from boathook.permits.peer_check import (
    AgentProcesses,
    PeerFacts,
    count_agent_processes,
    find_agent_processes,
    find_refusal,
)
from boathook.system.ancestors import make_ancestor
from boathook.system.process_facts import ProcessFacts, is_process_alive, list_processes_above, read_process_facts

HOOK, AGENT, SHELL = (ProcessFacts(pid, pid * 10, pid - 1, 11, 0) for pid in (13, 12, 11))
OUTER, PERSON = ProcessFacts(5, 50, 1, 5, 0), ProcessFacts(20, 200, 5, 20, 34817)
QUESTION_OF_AGENT = AgentProcesses((HOOK, AGENT, SHELL))


def make_peer(*line: ProcessFacts, **fields) -> PeerFacts:
    return PeerFacts(**{"user": os.geteuid(), "line": line, **fields})


@pytest.mark.parametrize(
    ("peer", "reason"),
    [
        (make_peer(PERSON, OUTER), ""),
        (make_peer(PERSON, OUTER, user=os.geteuid() + 1), "it runs as another user"),
        (make_peer(), "the system does not show which process it is"),
        (make_peer(PERSON, AGENT, SHELL), "it was started by the agent that asks"),
        (make_peer(PERSON, SHELL), "it was started by the agent that asks"),
        (make_peer(AGENT.replace(terminal=34817)), "it was started by the agent that asks"),
        # Another process that has the number of the agent now.
        (make_peer(PERSON, AGENT.replace(start=1)), ""),
        (make_peer(PERSON, evidence=AgentEvidence("codex", 7)), "it was started by an agent (codex)"),
        (
            make_peer(PERSON, evidence=AgentEvidence(variables=("GEMINI_CLI",))),
            "it was started by an agent (GEMINI_CLI)",
        ),
        (make_peer(PERSON.replace(terminal=0)), "it has no terminal"),
    ],
)
def test_who_may_answer(peer, reason):
    assert find_refusal(peer, QUESTION_OF_AGENT) == reason


def test_the_terminal_of_the_agent_counts_only_while_it_lives():
    own = read_process_facts(os.getpid())
    assert own is not None
    agent = AgentProcesses((own,))
    peer = make_peer(PERSON.replace(terminal=own.terminal or 34817))
    at_its_terminal = "it is at the terminal of the agent that asks. Use another one" if own.terminal else ""
    assert find_refusal(peer, agent) == at_its_terminal
    ended = AgentProcesses((own.replace(start=own.start + 1),))
    assert find_refusal(peer, ended) == ""


def test_the_processes_of_an_agent_are_those_of_its_session():
    own = read_process_facts(os.getpid())
    assert own is not None
    found = find_agent_processes(os.getpid())
    assert found.inner[0] == own
    assert {*found.inner} <= {own, *list_processes_above(own)}
    assert is_process_alive(own.pid, own.start)
    assert not is_process_alive(own.pid, own.start + 1)
    assert find_agent_processes(1 << 30).inner == ()


# From the hook upwards: the name of a program, its session and its terminal; then how many above the hook are the agent's.
@pytest.mark.parametrize(
    ("line", "count"),
    [
        # Its session has a terminal: a program with many terminals has started that.
        ([("hook", 8, 1), ("agent", 8, 1), ("bash", 8, 1), ("tmux", 3, 0), ("systemd", 2, 0)], 2),
        # An agent of an unknown name that starts hooks in a session of their own.
        ([("hook", 9, 0), ("agent", 8, 1), ("bash", 8, 1), ("tmux", 3, 0)], 1),
        ([("hook", 9, 0), ("sh", 9, 0), ("agent", 8, 1), ("bash", 8, 1)], 2),
        # Agents in agents, each with a session of its own: up to the topmost.
        ([("hook", 9, 0), ("codex", 8, 0), ("sh", 7, 0), ("claude", 6, 1), ("bash", 6, 1)], 3),
        ([("hook", 8, 1), ("codex", 8, 1), ("bash", 8, 1), ("tmux", 3, 0), ("claude", 2, 2), ("bash", 2, 2)], 4),
        # Below an editor and below what starts everything, a person has terminals, too.
        ([("hook", 9, 0), ("cursor", 8, 0), ("systemd", 2, 0)], 0),
        ([("hook", 8, 0), ("agent", 8, 0), ("cursor", 8, 0), ("systemd", 2, 0)], 1),
        ([("hook", 8, 0), ("agent", 8, 0), ("systemd", 2, 0), ("init", 1, 0)], 1),
    ],
)
def test_the_processes_of_an_agent_go_up_to_what_started_its_session_and_to_the_topmost_agent(line, count):
    top = len(line)
    own, *above = (ProcessFacts(top - n, 1, top - n - 1, session, tty) for n, (_, session, tty) in enumerate(line))
    ancestors = [make_ancestor(one.pid, [name], [name]) for one, (name, _, _) in zip(above, line[1:], strict=True)]
    assert count_agent_processes(own, above, ancestors) == count


@given(st.sampled_from(("", *ASK_WAYS)), st.booleans(), st.booleans())
def test_a_setting_decides_and_without_one_the_first_way_that_reaches_a_person(setting, host_asks, listens):
    way = choose_ask_way(setting, host_asks=host_asks, has_listener=lambda: listens)
    assert way == (setting or ("host" if host_asks else "wait" if listens else "deny"))


@given(st.floats(0, 10_000), st.floats(0, 10_000), st.floats(1, 300))
def test_a_wait_always_ends_before_the_agent_stops_waiting(host_seconds, elapsed, limit):
    seconds = compute_wait_seconds(host_seconds, elapsed, limit)
    assert seconds == 0 or (host_seconds >= 45 and 1 <= seconds <= limit <= 300)
    assert seconds == 0 or seconds + elapsed <= host_seconds - 4.999


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ANSWERS = st.fixed_dictionaries(dict.fromkeys(("id", "digest", "is_yes", "via", "checked", "factor"), JSON))


@given(JSON | ANSWERS)
def test_what_is_not_an_answer_or_a_question_is_a_type_error(value):
    for kind in (PersonAnswer, WaitingQuestion):
        try:
            kind.parse(value)
        except TypeError:
            continue
        assert kind is PersonAnswer
        assert value["is_yes"] in (True, False)


def test_every_result_has_its_own_text_and_only_one_is_a_consent():
    texts = {result: describe_person_answer(result, 60) for result in ASK_RESULTS}
    assert len({*texts.values()}) == len(ASK_RESULTS)
    assert "This is not consent." in texts["unanswered"]
    assert "denied" not in texts["unanswered"]


@pytest.mark.parametrize(
    ("host", "installed", "default"),
    [("claude", 600, 600), ("codex", 600, 600), ("copilot", 600, 30), ("gemini", 600, 60), ("cline", 120, 120),
     ("windsurf", 0, 0), ("opencode", 600, 600), ("kimi-code", 600, 30)],
)  # fmt: skip
def test_an_agent_waits_as_long_as_its_entry_or_its_own_default(host, installed, default):
    (setup,) = (one for one in list_setups() if one.name == host)
    event = setup.events[0]
    command = f"python hook_entry.py run --host {host} --event {event} --broken x"
    timeout = {setup.timeout_key: setup.compute_timeout(event)} if setup.timeout_key else {}
    text = json.dumps({"hooks": {event: [{"hooks": [{setup.command_key: command, **timeout}]}]}})
    assert [setup.find_wait_seconds(event, texts) for texts in ([text], [])] == [installed, default]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ('{"hooks": {"PreToolUse": [{"hooks": [{"command": "COMMAND", "timeout": 20}]}]}}', 20),
        ('{"a": {"timeout": 5, "command": "other"}, "b": [{"timeout": 20.5, "x": {"command": "COMMAND"}}]}', 20.5),
        ('// of mine\n{"url": "http://x", /* "timeout": 1 */ "command": "COMMAND", "timeout": 20}', 20),
        ('[[hooks]]\ncommand = "COMMAND"\ntimeout = 20\n', 20),
        ('[{"command": "COMMAND", "timeout": 20}, {"command": "COMMAND", "timeout": 9}]', 7),
        ('{"x": [{"command": "COMMAND", "timeout": 20}, {"command": "COMMAND", "timeout": 9}]}', 9),
        # Without a number that counts, the default of the agent does.
        ('{"command": "COMMAND"}', 7), ('{"command": "COMMAND", "timeout": "20"}', 7), ("{", 7), ("", 7),
        ('{"command": "COMMAND", "timeout": true}', 7),
    ],
)  # fmt: skip
def test_the_timeout_in_the_entry_as_it_is_now_counts(text, seconds):
    (setup,) = (one for one in list_setups() if one.name == "claude")
    command = "python hook_entry.py run --host claude --event PreToolUse --broken x"
    found = setup.replace(default_seconds=7).find_wait_seconds("PreToolUse", [text.replace("COMMAND", command)])
    assert found == seconds


def test_claude_code_asks_a_person_only_where_there_is_one():
    dialect = find_host_dialect("claude")
    event = dialect.read_event(
        b'{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}'
    )
    assert dialect.asks_person(event, {})
    assert dialect.asks_person(event, {b"CLAUDE_CODE_SESSION_ATTENDED": b"1"})
    assert not dialect.asks_person(event, {b"CLAUDE_CODE_SESSION_ATTENDED": b"0"})
    own = {b"CLAUDE_PROJECT_DIR": b"/x", b"AI_AGENT": b"claude-code_2-1-325_agent"}
    assert dialect.asks_person(event, own)
    assert not dialect.asks_person(event, {**own, b"CLAUDE_CODE_SESSION_ATTENDED": b"0"})
    codex = find_host_dialect("codex")
    assert not codex.asks_person(codex.read_event(b'{"hook_event_name": "PreToolUse", "tool_name": "Bash"}'), {})
