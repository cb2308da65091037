"""The native protocol: events in and out, answers in and out (S3, S18, S19, S20)."""

from __future__ import annotations

import json
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from boathook.core.event import SPELLINGS, Event
from boathook.core.json_text import MAX_DEPTH
from boathook.core.outcome import ABSENT, Decision, Outcome
from boathook.core.text import clean_text
from boathook.core.verdict import FAILED, UNREADABLE, AnswerError, Call, Exit, Verdict
from boathook.dialects.native import NativeHost, make_event, read_answer, write_event
from boathook.errors import DialectError
from tests.core.builders import a_call, a_hook, fields, json_objects, json_values, kinds
from tests.growth import grows_in_proportion
from tests.scratch_project import CALL as TOOL_CALL

HOST = NativeHost("native")
read_event, write_answer = HOST.read_event, HOST.write_answer
NONE, ALLOW, ASK, BLOCK, STOP = map(Decision, range(5))
PRE = Call(a_hook(), a_call())
POST = Call(a_hook(), a_call(kind="post-tool-call"))
TURN = Call(a_hook(), Event.of("pre-agent-turn", prompt="x"))


def make_outcome(decision: Decision, reason: str = "", **effects) -> Outcome:
    return Outcome(decision, ((decision, reason),) if reason else (), **effects)


# Events

events = st.builds(
    Event,
    kinds,
    st.text(),
    st.text(),
    st.text(),
    json_objects,
    fields.map(lambda found: found | ({"tool_name": str(found["tool_name"])} if "tool_name" in found else {})),
)


@given(events, st.data())
def test_an_event_that_is_written_reads_back_the_same_in_every_spelling(event, data):
    spelling = data.draw(st.sampled_from([event.kind.name, *event.kind.spellings]))
    assert read_event(write_event(event, spelling)) == event
    assert read_event(write_event(event, spelling), event.kind.name) == event


@given(events)
def test_an_event_is_one_line_of_utf_8_json(event):
    written = write_event(event, "Stop")
    assert written.endswith(b"\n")
    assert written.count(b"\n") == 1
    assert written.decode().rstrip("\n") == json.dumps(event.to_fields("Stop"), ensure_ascii=False)


def test_fields_the_engine_does_not_know_are_kept():
    event = read_event(b'{"event_type": "PreToolUse", "tool_name": "Shell", "x": {"y": null}, "session_id": "s"}')
    assert event == Event(SPELLINGS["pre-tool-call"], session_id="s", data={"tool_name": "Shell", "x": {"y": None}})


def test_a_field_that_was_left_out_is_not_invented():
    assert read_event(b'{"event_type": "Stop"}') == Event(SPELLINGS["Stop"])
    assert read_event(b"{}", "before_stop") == Event(SPELLINGS["Stop"])


@pytest.mark.parametrize(("one", "other"), [("PreToolUse", "before_tool"), ("Stop", "Stop")])
def test_the_argument_and_the_data_may_spell_one_event_in_two_ways(one, other):
    assert read_event(json.dumps({"event_type": one}).encode(), other).kind is SPELLINGS[one]


WRONG_EVENTS = {
    "nothing": (b"", None, "standard input is empty: send the event as one JSON object"),
    "no JSON": (b"{", None, "the event on standard input is not JSON: Expecting property name enclosed in double"),
    "bytes": (b"\xff", None, "the event on standard input is not JSON: not UTF-8 at byte 0"),
    "two documents": (b"{} {}", None, "the event on standard input is not JSON: a second document after the JSON"),
    "a repeated key": (b'{"a": 1, "a": 1}', None, "the event on standard input is not JSON: repeated key 'a'"),
    "a list": (b"[]", "Stop", "the event on standard input is a list, not a JSON object"),
    "null": (b"null", "Stop", "the event on standard input is null, not a JSON object"),
    "text": (b'"x"', "Stop", "the event on standard input is text, not a JSON object"),
    "a number": (b"1.5", "Stop", "the event on standard input is a number, not a JSON object"),
    "a flag": (b"true", "Stop", "the event on standard input is a flag, not a JSON object"),
    "no name": (
        b"{}",
        None,
        "which event? Name it as an argument, or as 'event_type' in the JSON (boathook events lists them)",
    ),
    "an unknown name": (b"{}", "PreToolUs", "unknown event 'PreToolUs' (did you mean 'PreToolUse'?)"),
    "an empty name": (b"{}", "", "unknown event ''. List the events with: boathook events"),
    "an unknown name inside": (
        b'{"event_type": "x"}',
        None,
        "unknown event 'x'. List the events with: boathook events",
    ),
    "two names": (
        b'{"event_type": "Stop"}',
        "PreToolUse",
        "the argument says 'PreToolUse', but 'event_type' in the JSON says 'Stop'",
    ),
    "a number for text": (b'{"session_id": 1}', "Stop", "the event's 'session_id' must be text, not a number"),
    "a list for text": (b'{"timestamp": []}', "Stop", "the event's 'timestamp' must be text, not a list"),
    "an object for text": (b'{"work_dir": {}}', "Stop", "the event's 'work_dir' must be text, not an object"),
    "a flag for text": (b'{"tool_name": true}', "Stop", "the event's 'tool_name' must be text, not a flag"),
    "text for an object": (b'{"context": "x"}', "Stop", "the event's 'context' must be an object, not text"),
}


@pytest.mark.parametrize(("data", "name", "message"), WRONG_EVENTS.values(), ids=WRONG_EVENTS)
def test_data_that_is_not_an_event_is_refused_with_a_reason(data, name, message):
    with pytest.raises(DialectError) as error:
        read_event(data, name)
    assert str(error.value)[: len(message)] == message


@given(st.binary(max_size=60), st.none() | st.sampled_from(["Stop", "x"]))
def test_junk_for_an_event_is_refused_and_nothing_else(data, name):
    try:
        event = read_event(data, name)
    except DialectError:
        return
    assert (type(json.loads(data)), event.kind.name) == (dict, "pre-agent-turn-stop")


@given(json_objects, st.none() | st.sampled_from(sorted(SPELLINGS)))
def test_any_object_is_an_event_or_refused(found, name):
    try:
        event = make_event(found, name)
    except DialectError:
        return
    assert event.kind is SPELLINGS[name or found["event_type"]]


# Answers: how a hook ended


def junk(detail: str) -> AnswerError:
    return AnswerError(UNREADABLE, f"the answer is not valid: {detail}")


ENDS = {
    "exit 0, silent": (Exit(0), make_outcome(NONE)),
    "exit 0, blank": (Exit(0, b" \n\t"), make_outcome(NONE)),
    "exit 0, noise on stderr": (Exit(0, stderr=b"noise"), make_outcome(NONE)),
    "exit 2 with stderr": (Exit(2, stderr=b"no\n"), make_outcome(BLOCK, "no")),
    "exit 2 with JSON": (Exit(2, b'{"reason": "json"}'), make_outcome(BLOCK, "json")),
    "exit 2 with both": (Exit(2, b'{"reason": "json"}', b"err"), make_outcome(BLOCK, "err")),
    "exit 2, silent": (Exit(2), make_outcome(BLOCK, "blocked by hook 'guard'")),
    "exit 2 saying allow": (Exit(2, b'{"decision": "allow"}'), make_outcome(BLOCK, "blocked by hook 'guard'")),
    "exit 2 with junk": (Exit(2, b"{{{\xff"), make_outcome(BLOCK, "blocked by hook 'guard'")),
    "exit 2 with text": (Exit(2, b"plain"), make_outcome(BLOCK, "blocked by hook 'guard'")),
    "exit 2 with a list": (Exit(2, b'["reason"]'), make_outcome(BLOCK, "blocked by hook 'guard'")),
    "exit 2 with a number": (Exit(2, b'{"reason": 7}'), make_outcome(BLOCK, "blocked by hook 'guard'")),
    "exit 2 with a null": (Exit(2, b'{"reason": null}'), make_outcome(BLOCK, "blocked by hook 'guard'")),
    "exit 2 beyond the limit": (Exit(2, b"x", overflow=True), make_outcome(BLOCK, "blocked by hook 'guard'")),
    "exit 2 with colours": (Exit(2, stderr=b"\x1b[31mno\x1b[0m\r\n"), make_outcome(BLOCK, "no")),
    "exit 2 with blank stderr": (Exit(2, b'{"reason": "r"}', b" \n"), make_outcome(BLOCK, "r")),
    "exit 2 with bytes": (Exit(2, stderr=b"a\xffb"), make_outcome(BLOCK, "a\ufffdb")),
    "exit 1": (Exit(1), AnswerError(FAILED, "exit code 1 (only exit 2 blocks)")),
    "exit 1 with stderr": (Exit(1, stderr=b"oops"), AnswerError(FAILED, "exit code 1 (only exit 2 blocks): oops")),
    "exit 1 saying deny": (Exit(1, b'{"decision": "deny"}'), AnswerError(FAILED, "exit code 1 (only exit 2 blocks)")),
    "exit 3": (Exit(3, stderr=b"\x1b[1moops"), AnswerError(FAILED, "exit code 3: oops")),
    "exit 127": (Exit(127), AnswerError(FAILED, "exit code 127")),
    "a signal": (Exit(-9), AnswerError(FAILED, "killed by signal 9")),
    "no end": (Exit(None), AnswerError(FAILED, "it did not run")),
    "too long": (Exit(0, b"{}", overflow=True), AnswerError(UNREADABLE, "the answer is longer than 1 MiB")),
}


@pytest.mark.parametrize(("end", "expected"), ENDS.values(), ids=ENDS)
def test_the_exit_decides_what_the_rest_means(end, expected):
    assert answer_to(PRE, end) == to_answer(expected)


def answer_to(call: Call, end: Exit, *, strict: bool = False):
    try:
        outcome, notes = read_answer(call, end, strict=strict)
    except AnswerError as error:
        return to_answer(error)
    return outcome, notes


def to_answer(expected):
    return (expected.status, expected.message) if isinstance(expected, AnswerError) else (expected, ())


def test_a_reason_is_cut_at_its_limit():
    cut = "x" * 8192 + "… [cut, 9,000 characters]"
    assert answer_to(PRE, Exit(2, stderr=b"x" * 9000)) == (make_outcome(BLOCK, cut), ())
    deny = json.dumps({"decision": "deny", "reason": "x" * 9000}).encode()
    assert answer_to(PRE, Exit(0, deny)) == (make_outcome(BLOCK, cut), ())


# Answers: what is on stdout at exit 0

DENY, INFO = '{"decision": "deny"}', '{"level": "info"}\n'
BURIED = "text before the JSON object at"
KEYS = ["decision", "reason", "log", "additional_context", "system_message", "stop_reason"]
KEYS += ["modified_input", "modified_output", "continue"]
ANSWERS = {
    "text": ("hello\nthere", make_outcome(NONE, contexts=("hello\nthere",))),
    "text with colours": ("\x1b[1mhello\x1b[0m", make_outcome(NONE, contexts=("hello",))),
    "an object that is not an answer": (
        'see\n{"level": "info"}',
        make_outcome(NONE, contexts=('see\n{"level": "info"}',)),
    ),
    "an answer behind a line": (f"log\n{DENY}", junk(f"{BURIED} line 2 column 1")),
    "an answer between lines": (f"log\n{DENY}\nbye", junk(f"{BURIED} line 2 column 1")),
    "a long answer behind a line": ('log\n{\n  "decision": "deny"\n}', junk(f"{BURIED} line 2 column 1")),
    "an indented answer behind a line": (f"log\n  {DENY}", junk(f"{BURIED} line 2 column 3")),
    "a long answer between lines": ('log\n{\n  "decision": "deny"\n}\nbye', junk(f"{BURIED} line 2 column 1")),
    "an answer behind many objects": (f"log\n{INFO * 20}{DENY}", junk(f"{BURIED} line 22 column 1")),
    "a number": ("42", make_outcome(NONE, contexts=("42",))),
    "a word of JSON": ("true", make_outcome(NONE, contexts=("true",))),
    "text with a brace in it": ("see {x}", make_outcome(NONE, contexts=("see {x}",))),
    "text of control characters only": ("\x01\x02", make_outcome(NONE)),
    "a byte-order mark": ('\ufeff{"decision": "allow"}', make_outcome(ALLOW)),
    "an empty object": ("{}", make_outcome(NONE)),
    "white space around": (' \n{"decision": "ask"}\n\n', make_outcome(ASK)),
    "allow": ('{"decision": "allow"}', make_outcome(ALLOW)),
    "approve": ('{"decision": "approve", "reason": "fine"}', make_outcome(ALLOW, "fine")),
    "deny": ('{"decision": "deny", "reason": "no"}', make_outcome(BLOCK, "no")),
    "block": ('{"decision": "block", "reason": "no"}', make_outcome(BLOCK, "no")),
    "deny without reason": ('{"decision": "deny"}', make_outcome(BLOCK, "blocked by hook 'guard'")),
    "ask": ('{"decision": "ask", "reason": "sure?"}', make_outcome(ASK, "sure?")),
    "upper case": ('{"decision": "DENY", "reason": "no"}', make_outcome(BLOCK, "no")),
    "a reason alone": ('{"reason": "because"}', make_outcome(NONE)),
    "a log": ('{"log": "seen\\u0007"}', make_outcome(NONE, logs=("seen",))),
    "context": ('{"additional_context": " know this "}', make_outcome(NONE, contexts=("know this",))),
    "a message": ('{"system_message": "look"}', make_outcome(NONE, messages=("look",))),
    "empty texts": ('{"additional_context": "", "system_message": " ", "log": "", "reason": ""}', make_outcome(NONE)),
    "an input": ('{"modified_input": {"command": "ls -l"}}', make_outcome(NONE, input={"command": "ls -l"})),
    "an empty input": ('{"modified_input": {}}', make_outcome(NONE, input={})),
    "an input with allow": (
        '{"decision": "allow", "modified_input": {"a": 1}}',
        make_outcome(ALLOW, input={"a": 1}),
    ),
    "continue": ('{"continue": true}', make_outcome(NONE)),
    "stop": ('{"continue": false, "stop_reason": "enough"}', make_outcome(STOP, "enough")),
    "stop by its reason": ('{"continue": false, "reason": "why"}', make_outcome(STOP, "why")),
    "stop without reason": ('{"continue": false}', make_outcome(STOP)),
    "stop and deny": (
        '{"continue": false, "stop_reason": "enough", "decision": "deny", "reason": "no"}',
        Outcome(STOP, ((BLOCK, "no"), (STOP, "enough"))),
    ),
    "a stop reason alone": ('{"stop_reason": "enough"}', make_outcome(NONE)),
    "other keys": ('{"colour": "blue", "decision": "allow", "n": [1]}', make_outcome(ALLOW)),
    "nulls": (
        json.dumps(dict.fromkeys(KEYS)),
        make_outcome(NONE),
    ),
    "an unknown decision": (
        '{"decision": "maybe"}',
        junk("unknown decision 'maybe' (known: allow, deny, block, ask)"),
    ),
    "an empty decision": ('{"decision": ""}', junk("unknown decision '' (known: allow, deny, block, ask)")),
    "a flag for a decision": ('{"decision": true}', junk("'decision' must be text, not a flag")),
    "a list for a reason": ('{"reason": ["x"]}', junk("'reason' must be text, not a list")),
    "a number for a log": ('{"log": 1}', junk("'log' must be text, not a number")),
    "an object for context": ('{"additional_context": {}}', junk("'additional_context' must be text, not an object")),
    "a flag for a message": ('{"system_message": false}', junk("'system_message' must be text, not a flag")),
    "a number for a stop reason": ('{"stop_reason": 0}', junk("'stop_reason' must be text, not a number")),
    "text for an input": ('{"modified_input": "x"}', junk("'modified_input' must be an object, not text")),
    "a list for an input": ('{"modified_input": []}', junk("'modified_input' must be an object, not a list")),
    "text for continue": ('{"continue": "no"}', junk("'continue' must be true or false, not text")),
    "a number for continue": ('{"continue": 0}', junk("'continue' must be true or false, not a number")),
    "a list": ("[]", junk("the top level is a list, not an object")),
    "a text": ('"deny"', junk("the top level is text, not an object")),
    "text behind": ('{"decision": "deny"} ok', junk("text after the JSON value at line 1 column 21")),
    "two documents": ("{}\n{}", junk("a second document after the JSON value at line 1 column 3")),
    "a repeated key": ('{"decision": "allow", "decision": "deny"}', junk("repeated key 'decision'")),
    "a repeated key inside": ('{"x": {"y": 1, "y": 2}}', junk("repeated key 'y'")),
    "not a number": ('{"x": NaN}', junk("NaN is not JSON")),
    "infinity": ('{"x": -Infinity}', junk("-Infinity is not JSON")),
    "a number beyond limits": ('{"x": 1e400}', junk("number 1e400 is beyond limits")),
    "digits beyond limits": ('{"x": ' + "1" * 5000 + "}", junk("number of 5000 digits is beyond limits")),
    "nesting": ('{"x": ' + "[" * 100_000, junk(f"nested too deep (more than {MAX_DEPTH} levels)")),
    "an open brace": ("{", junk("Expecting property name enclosed in double quotes at line 1 column 2")),
    "a NUL": ('{"x": "\0"}', junk("NUL at character 7")),
    "a NUL in text": ("hello\0", junk("NUL at character 5")),
}


@pytest.mark.parametrize(("stdout", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_at_exit_0_means_what_the_table_lists(stdout, expected):
    assert answer_to(PRE, Exit(0, stdout.encode())) == to_answer(expected)


def test_an_answer_that_is_not_utf_8_is_unreadable():
    assert answer_to(PRE, Exit(0, b"hello \xff")) == to_answer(junk("not UTF-8 at byte 6"))


NOTED = {
    "an input after the call": (
        POST,
        {"modified_input": {"a": 1}},
        {},
        "modified_input has no effect on post-tool-call",
    ),
    "an input without a tool": (
        TURN,
        {"modified_input": {"a": 1}},
        {},
        "modified_input has no effect on pre-agent-turn",
    ),
    "an output before the call": (PRE, {"modified_output": "x"}, {}, "modified_output has no effect on pre-tool-call"),
    "an output after the call": (POST, {"modified_output": [1]}, {"output": [1]}, ""),
    "an output that is false": (POST, {"modified_output": False}, {"output": False}, ""),
    "an input for a permission": (
        Call(a_hook(), a_call(kind="permission-request")),
        {"modified_input": {"a": 1}},
        {"input": {"a": 1}},
        "",
    ),
}


@pytest.mark.parametrize(("call", "answer", "effects", "note"), NOTED.values(), ids=NOTED)
def test_a_change_has_an_effect_where_its_event_allows_it_and_leaves_a_note_elsewhere(call, answer, effects, note):
    end = Exit(0, json.dumps(answer).encode())
    assert answer_to(call, end) == (Outcome(**effects), (note,) if note else ())


STRICT_NOTE = "'deny' has no effect: with strict_exit_codes only exit 2 blocks"
STRICT = {
    "deny": ('{"decision": "deny", "reason": "no", "log": "l"}', make_outcome(NONE, logs=("l",)), (STRICT_NOTE,)),
    "allow": ('{"decision": "allow"}', make_outcome(ALLOW), ()),
    "ask": ('{"decision": "ask"}', make_outcome(ASK), ()),
    "stop": ('{"continue": false, "stop_reason": "s"}', make_outcome(STOP, "s"), ()),
}


@pytest.mark.parametrize(("stdout", "outcome", "notes"), STRICT.values(), ids=STRICT)
def test_with_strict_exit_codes_a_deny_has_no_effect_and_is_noted(stdout, outcome, notes):
    assert answer_to(PRE, Exit(0, stdout.encode()), strict=True) == (outcome, notes)


def test_with_strict_exit_codes_exit_2_still_blocks():
    assert answer_to(PRE, Exit(2, stderr=b"no"), strict=True) == (make_outcome(BLOCK, "no"), ())


# Anything at all

SNIPPETS = [
    b"{",
    b"}",
    b"[",
    b'"',
    b"decision",
    b": ",
    b"deny",
    b"null",
    b",",
    b"1e999",
    b"\xff",
    b"\0",
    b" ",
    b"\n",
    b"\\u",
]
noise = st.binary(max_size=80) | st.lists(st.sampled_from(SNIPPETS), max_size=12).map(b"".join)


@given(noise, noise, st.sampled_from([0, 0, 0, 1, 2, -9, None]), st.booleans(), st.booleans())
def test_junk_for_an_answer_is_a_failure_and_never_anything_else(stdout, stderr, code, strict, overflow):
    found = answer_to(PRE, Exit(code, stdout, stderr, overflow=overflow), strict=strict)[0]
    if code == 0:
        assert found == UNREADABLE or isinstance(found, Outcome)
    else:
        assert (found.decision if isinstance(found, Outcome) else found) == (BLOCK if code == 2 else FAILED)


objects = st.dictionaries(st.sampled_from(KEYS), json_values | st.sampled_from(["allow", "deny", "ask"]), max_size=5)


@given(objects, st.sampled_from([PRE, POST, TURN]))
@example({"reason": ["x"] * 9000}, PRE)
def test_any_object_is_an_answer_or_a_failure_at_every_exit(answer, call):
    data = json.dumps(answer).encode()
    assert answer_to(call, Exit(2, data))[0].decision == BLOCK
    found = answer_to(call, Exit(0, data))
    assert found[0] == UNREADABLE or isinstance(found[0], Outcome)


# Answers for hosts

line = st.text(alphabet=st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=20)
clean_lines = st.lists(line.map(str.strip).filter(bool), max_size=3).map(tuple)


def _verdict(event: Event, decision: Decision, reasons, change, contexts, messages) -> Verdict:
    if decision == NONE:
        reasons = ()
    if decision == BLOCK:  # exit 2 carries the reason and nothing else
        change, contexts, messages = ABSENT, (), ()
    pre = event.kind.rewrites_input
    after = event.with_data(tool_input=change) if pre and change is not ABSENT else event
    output = ABSENT if pre else change
    outcome = Outcome(decision, tuple((decision, r) for r in reasons), ABSENT, output, contexts, messages)
    return Verdict(after, event, outcome)


verdicts = st.builds(
    _verdict,
    st.sampled_from([PRE.event, POST.event]),
    st.sampled_from([NONE, ALLOW, ASK, BLOCK, STOP]),
    clean_lines,
    st.just(ABSENT) | json_objects,
    clean_lines,
    clean_lines,
)
DEFAULTS = {BLOCK: "blocked by a hook", STOP: "stopped by a hook"}


@given(verdicts)
def test_an_answer_for_a_host_is_itself_a_valid_answer_with_the_same_meaning(verdict):
    outcome, notes = read_answer(Call(a_hook(), verdict.original), write_answer(verdict))
    reason = "\n".join(verdict.reasons) or DEFAULTS.get(verdict.decision, "")
    contexts, messages = "\n".join(verdict.additional_context), "\n".join(verdict.system_message)
    assert notes == ()
    assert outcome == Outcome(
        verdict.decision,
        ((verdict.decision, clean_text(reason)),) if reason else (),
        ABSENT if verdict.modified_input is None else verdict.modified_input,
        verdict.outcome.output,
        (contexts,) if contexts else (),
        (messages,) if messages else (),
    )


def answer_of(outcome: Outcome, after: Event | None = None) -> Exit:
    return write_answer(Verdict(after or a_call(), a_call(), outcome))


WRITTEN = {
    "no opinion": (Outcome(), Exit(0)),
    "allow": (make_outcome(ALLOW), Exit(0, b'{"decision": "allow"}\n')),
    "ask": (make_outcome(ASK, "sure?"), Exit(0, b'{"decision": "ask", "reason": "sure?"}\n')),
    "block": (make_outcome(BLOCK, "né"), Exit(2, stderr="né\n".encode())),
    "block without reason": (make_outcome(BLOCK), Exit(2, stderr=b"blocked by a hook\n")),
    "two blocks": (make_outcome(BLOCK, "a") | make_outcome(BLOCK, "b"), Exit(2, stderr=b"a\nb\n")),
    "block with a lone surrogate": (make_outcome(BLOCK, "\ud800"), Exit(2, stderr=b"\\ud800\n")),
    "stop": (make_outcome(STOP, "enough"), Exit(0, b'{"continue": false, "stop_reason": "enough"}\n')),
    "stop without reason": (make_outcome(STOP), Exit(0, b'{"continue": false, "stop_reason": "stopped by a hook"}\n')),
    "context": (make_outcome(NONE, contexts=("a", "b")), Exit(0, b'{"additional_context": "a\\nb"}\n')),
    "message": (make_outcome(NONE, messages=("m",)), Exit(0, b'{"system_message": "m"}\n')),
    "output": (make_outcome(NONE, output=[1]), Exit(0, b'{"modified_output": [1]}\n')),
    "logs stay here": (make_outcome(NONE, logs=("l",)), Exit(0)),
}


@pytest.mark.parametrize(("outcome", "expected"), WRITTEN.values(), ids=WRITTEN)
def test_a_verdict_is_written_as_the_protocol_wants(outcome, expected):
    assert answer_of(outcome) == expected


def test_a_rewritten_input_is_written_whole():
    assert answer_of(Outcome(), a_call("ls -l")) == Exit(0, b'{"modified_input": {"command": "ls -l"}}\n')


# Answers that hide one, and answers that could take long


@pytest.mark.parametrize(
    "output",
    [
        'INFO {"decision":"deny"}',
        'checking\n{"decision":"deny",}',
        'checking\n{"decision":"allow","decision":"deny"}',
        "{ not json\n" * 70 + '{"decision":"deny"}',
    ],
    ids=["on the same line", "not quite JSON", "a repeated key", "behind much that is not JSON"],
)
def test_a_buried_deny_is_unreadable_and_never_context(project, output):
    project.write_hook("guard", "cat answer", scope="project")
    (project.path / "answer").write_text("x " + output)
    verdict = project.dispatch("by command", TOOL_CALL, "--trust-all")
    assert ([run["status"] for run in verdict["runs"]], verdict["additional_context"]) == (["unreadable"], [])


def test_an_answer_full_of_braces_is_read_in_time():
    call = Call(a_hook(), Event.of("pre-tool-call", session_id="s", work_dir="/", timestamp="t"))
    read = partial(read_answer, call)
    assert grows_in_proportion(lambda count: read(Exit(0, b"x" + b"{" * count)), 100_000)
