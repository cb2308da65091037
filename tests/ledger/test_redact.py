"""Redaction: no secret in what is written, everything else as it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import boathook
from boathook.core.json_text import dumps
from boathook.ledger.redact import UNSEARCHABLE, is_secret_name, may_hold_secrets, redact
from boathook.ledger.secrets import _SHAPED_RULES, SECRET_RULES, hide_secret
from tests.core.builders import json_values
from tests.example_counts import count_examples
from tests.growth import grows_in_proportion

ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
HEX = "0123456789abcdef"


def of(start: str, letters: str, least: int, more: int = 20) -> st.SearchStrategy[str]:
    return st.text(letters, min_size=least, max_size=least + more).map(lambda text: start + text)


SHAPES = {
    "AWS": of("AKIA", ALNUM[:26] + "0123456789", 16, 0),
    "GitHub": of("ghp_", ALNUM, 36, 0) | of("gho_", ALNUM, 36, 0),
    "GitHub, fine-grained": of("github_pat_", ALNUM + "_", 60),
    "GitLab": of("glpat-", ALNUM + "_-", 20),
    "OpenAI": of("sk-proj-", ALNUM + "_-", 40),
    "Anthropic": of("sk-ant-api03-", ALNUM + "_-", 40),
    "Slack": of("xoxb-", ALNUM + "-", 24),
    "Slack hook": of("https://hooks.slack.com/services/T0/", ALNUM, 24),
    "JWT": st.tuples(of("eyJ", ALNUM, 20), of("eyJ", ALNUM, 20), of("", ALNUM + "-_", 20)).map(".".join),
    "Stripe": of("sk_live_", ALNUM, 24),
    "SendGrid": st.tuples(of("SG.", ALNUM, 22), of("", ALNUM, 43)).map(".".join),
    "npm": of("npm_", ALNUM, 36),
    "PyPI": of("pypi-AgEIcHlwaS5vcmc", ALNUM, 60),
    "Google": of("AIza", ALNUM + "_-", 35),
    "Hugging Face": of("hf_", ALNUM, 34),
    "Vault": of("hvs.", ALNUM, 24),
    "DigitalOcean": of("dop_v1_", HEX, 64, 0),
    "Databricks": of("dapi", HEX, 32, 0),
    "Shopify": of("shpat_", HEX, 32, 0),
    "age": of("AGE-SECRET-KEY-1", ALNUM[:26], 58, 0),
    "Telegram": of("1234567890:AA", ALNUM, 33, 0),
    "a private key": of("-----BEGIN RSA PRIVATE KEY-----\n", ALNUM + "+/\n", 40).map(
        lambda text: text + "\n-----END RSA PRIVATE KEY-----"
    ),
}
PLACES = {
    "in a header": "curl -H 'Authorization: Bearer {}' https://h",
    "in a basic header": '-H "Authorization: Basic {}"',
    "in a URL": "git clone https://bob:{}@host/x.git",
    "as an assignment": "export DB_PASSWORD={} && run",
    "as a token variable": "GITHUB_TOKEN={} gh pr list",
    "in double quotes": 'password = "{}"',
    "in single quotes": "api_key: '{}'",
    "as a flag": "deploy --token {} --now",
    "as a flag with a sign": "deploy --client-secret={}",
    "as JSON": '{{"secret": "{}"}}',
    "as JSON in JSON": '{{\\"access_key\\": \\"{}\\"}}',
    "for curl": "curl -u bob:{} https://h",
    "in a query": "https://h/x?user=1&token={}",
    "in a cookie": "Cookie: sid={}",
    "of AWS": "aws_secret_access_key = {}",
    "as a short name": "DB_PASS={} ./run",
    "as a key of something": "export MY_KEY={}",
    "as a key in quotes": '"MY_KEY": "{}"',
    "as a base of keys": "SECRET_KEY_BASE={}",
    "as a numbered name": "api_token_v2={}",
    "in a query, short": "https://h/x?pass={}",
    "behind an escaped quote": 'TOKEN="ab\\"{}" ls',
    "in the second part of a word": """password='a'"{}" ls""",
    "behind a bare part of a word": """PASSWORD=a"{}" ls""",
    "behind a quoted part of a word": """PASSWORD="a"{} ls""",
    "in quotes of bash": "PASSWORD=$'{}' ls",
    "for mysql": "mysql -h host -u root -p{} shop",
    "for mysqldump, in quotes": "mysqldump -p'{}' shop",
    "for sshpass": "sshpass -p {} ssh host",
    "for sshpass, in quotes": "sshpass -p'{}' ssh host",
    "for docker": "docker login -u bob -p {} registry.io",
    "for curl, without a user": "curl -u:{} https://h",
    "for curl, among other flags": "curl -sSu bob:{} https://h",
    "in a netrc": "machine h\n  login bob\n  password {}\n",
    "in XML": "<db><password>{}</password></db>",
    "in XML with attributes": '<ns:password type="plain"> {} </ns:password>',
}
plain = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30)
PLAIN = {"string", "undefined"}  # the name of a type is not a password
passwords = st.text(ALNUM + "!#$%^*_-+.", min_size=6, max_size=40).filter(
    lambda text: not text.isdigit() and text.lower() not in PLAIN
)


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data())
@settings(max_examples=count_examples(30))
def test_a_token_is_hidden_in_any_place(shape, data):
    secret, before, behind = data.draw(SHAPES[shape]), data.draw(plain), data.draw(plain)
    assume(not before[-1:].isalnum() and secret[-16:] not in before + behind)
    found = redact({"command": f"{before}{secret}{behind}", "list": [secret], secret: 1})
    assert secret not in dumps(found)
    assert secret[-16:] not in dumps(found)
    assert redact(found) == found


@pytest.mark.parametrize("place", PLACES)
@given(data=st.data())
@settings(max_examples=count_examples(30))
def test_a_password_is_hidden_where_its_place_shows_it(place, data):
    secret = data.draw(passwords)
    text = PLACES[place].format(secret)
    assume(text.count(secret) == 1 and secret not in "[redacted secret, 12 characters, sha256 ]")
    found = redact(text)
    assert secret not in found
    assert redact(found) == found


HELD = {
    "behind an option": lambda secret: ["login", "--password", secret],
    "behind a short option": lambda secret: ["login", "-pass", secret],
    "of a pair": lambda secret: {"env": [{"name": "DB_PASSWORD", "value": secret}]},
    "of a pair turned round": lambda secret: [{"Value": secret, "Key": "MY_KEY"}],
    "of a header": lambda secret: {"headers": [{"name": "Cookie", "value": secret}]},
    "in a list of tokens": lambda secret: {"tokens": [secret]},
    "among secrets": lambda secret: {"secrets": {"one": secret}},
    "of a short name": lambda secret: {"db_pass": secret},
    "of a numbered name": lambda secret: {"api_token_v2": secret},
}


@pytest.mark.parametrize("place", HELD)
@given(secret=passwords)
@settings(max_examples=count_examples(30))
def test_a_password_is_hidden_where_a_value_holds_it(place, secret):
    found = redact(HELD[place](secret))
    assert found == HELD[place](hide_secret(secret, "secret"))
    assert redact(found) == found


@given(st.sampled_from(["password", "API_KEY", "apiKey", "x-auth-token", "clientSecret", "Authorization"]), st.data())
def test_what_has_the_name_of_a_secret_is_hidden_with_all_that_is_in_it(name, data):
    secret = data.draw(passwords)
    nested = data.draw(st.sampled_from([secret, [secret], {"value": secret}, {"x": [{"y": secret}]}]))
    found = dumps(redact({"a": {name: nested}, "path": "/x"}))
    assert secret not in found
    assert '"path": "/x"' in found


@given(json_values)
def test_redacting_twice_is_redacting_once_and_nothing_raises(value):
    once = redact(value)
    assert redact(once) == once
    json.dumps(once)


PARTS = [
    "token",
    "password",
    "_pass",
    "MY_KEY",
    "=",
    ":",
    " ",
    "\n",
    '"',
    "'",
    "\\",
    "$",
    "x1",
    ",",
    "}",
    "</",
    "<password>",
]
MORE_PARTS = [
    "mysql ",
    "-p",
    "sshpass ",
    "docker login ",
    "curl -u ",
    "login u ",
    "password ",
    "--",
    "[redacted secret, 1 ",
]


@given(st.lists(st.sampled_from([*PARTS, *MORE_PARTS]), max_size=14).map("".join))
@settings(max_examples=count_examples(500))
def test_what_looks_like_secrets_all_over_is_settled_at_once(text):
    assert redact(redact(text)) == redact(text)


@given(st.text())
def test_no_text_can_make_it_fail(text):
    assert redact(redact(text)) == redact(text)


ORDINARY = [
    "ls -la /tmp",
    {"command": "git commit -m 'count tokens'", "max_tokens": 4096, "token_count": 12},
    {"path": "src/task-management-system-with-a-long-name.py"},
    "def read(token: str) -> None: ...",
    "see https://example.com/a/b?c=d and mail me@example.com",
    "docker run -u 1000:1000 image",
    {"session_id": "8d4d6f0e-1c2b", "tool_name": "Shell", "secret": "", "password": None, "token": True},
    [1, 2.5, None, True, "ordinary words, nothing else"],
    "press any key: MONKEY=1 KEYBOARD=us PRIMARY_KEY=id",
    "first-pass: the lexer; bypass=1",
    "mkdir -pv mysql; docker run -p3306:3306 mysql:8",
    "mysql -P3306 -p shop",
    "then login with your password now; use <password> here <b>x</b>",
    {"tokens": 12, "primary_key": "id", "sort_key": "x", "key": "a", "database": "z", "codebase": "y"},
    [{"name": "file", "value": "x"}, "--key", "y", "--verbose", "x"],
    "docker login registry.io --password-stdin",
    "curl -u 1000:1000 https://h",
]


@pytest.mark.parametrize("value", ORDINARY, ids=str)
def test_a_value_that_is_not_a_secret_stays_as_it_is(value):
    assert redact(value) == value


def test_a_hidden_secret_shows_its_length_and_the_beginning_of_its_digest():
    assert redact({"token": "hunter2", "pin": 1234}) == {
        "token": "[redacted secret, 7 characters, sha256 f52fbd32]",
        "pin": "[redacted secret, 4 characters, sha256 03ac6742]",
    }
    assert redact("x ghp_" + "a" * 36) == "x " + hide_secret("ghp_" + "a" * 36, "GitHub token")


NAMES = {
    "password": True,
    "DB-PASSWORD": True,
    "DB_PASS": True,
    "MY_KEY": True,
    "SECRET_KEY_BASE": True,
    "api_token_v2": True,
    "next_token": True,
    "auth": True,
    "auth0": False,
    "author": False,
    "compass": False,
    "MONKEY": False,
    "PUBLIC_KEY": False,
    "my_key": False,
    "tokens": False,
}


def test_names_of_secrets_are_known_in_every_way_of_writing():
    assert {name: is_secret_name(name) for name in NAMES} == NAMES


def test_what_cannot_be_searched_is_not_written():
    deep: list = []
    for _ in range(5000):
        deep = [deep]
    assert redact(deep) == UNSEARCHABLE
    assert redact({"x": object()}) == UNSEARCHABLE


STARTS = ["eyJ", "://a:", "://@", "-----BEGIN ", "token=", 'token="', "sk-", "SG.aaaaaaaaaaa", "bearer ", "curl -u a:"]
STARTS += [
    "mysql ",
    "/mysql",
    "mysql -a ",
    "sshpass a ",
    "docker login ",
    "login a ",
    "<password>",
    "<a",
    "</password>",
]
STARTS += ["token='a'", 'token=a"', 'token="a\\', "_KEY=", "_pass=", "A_KEY", "token_key_key", "curl -u:"]


@pytest.mark.parametrize("start", [*STARTS, "\\", "--a-", "authorization:", "12345678:AA", "[redacted "])
def test_the_time_grows_with_the_length_and_not_faster(start):
    assert grows_in_proportion(lambda length: redact((start * length)[:length]), 1 << 14)


def test_every_rule_has_marks_that_the_first_look_knows():
    named = {"authorization": "authorization: x", "cookie": "cookie: x", "secret": "secret=x"}
    for name, marks, _ in (rule for rule in SECRET_RULES if rule not in _SHAPED_RULES):
        for mark in marks if name not in named else [named[name]]:
            assert may_hold_secrets(f"{mark} @"), (name, mark)


def test_patterns_are_imported_only_where_something_may_be_secret():
    code = "import sys; sys.path.insert(0, {!r}); from boathook.ledger.redact import redact; redact({!r});"
    code += " print('re' in sys.modules)"
    source = str(Path(boathook.__file__).parent.parent)
    found = [
        subprocess.run([sys.executable, "-I", "-S", "-c", code.format(source, text)], capture_output=True, text=True)
        for text in ("rm -rf /tmp/x; make test", "token=abc")
    ]
    assert [one.stdout for one in found] == ["False\n", "True\n"]
