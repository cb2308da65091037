"""Secrets of odd forms do not reach the ledger, and ordinary text reaches it unchanged."""

from __future__ import annotations

import base64
import json

import pytest

from boathook.ledger.redact import redact
from tests.growth import grows_in_proportion
from tests.scratch_project import CALL

AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEK1"
TWILIO = "SK" + "0123456789abcdef" * 2
DISCORD = "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs"
GITHUB = "ghp_" + "a1" * 18
SECRET = "abcdef123456xyz"


def encode(text: str, encoding: str = "ascii") -> str:
    return base64.b64encode(text.encode(encoding)).decode()


ASSIGNMENT = encode("DB_PASSWORD=" + SECRET)
POWERSHELL = encode(f'$password = "{SECRET}"', "utf-16-le")
# each with the text that must not be left
FORMS = {
    "an AWS secret, named in words": (f"the aws secret is {AWS_SECRET} today", AWS_SECRET),
    "an AWS secret behind its key": (f"AKIAIOSFODNN7EXAMPLE,{AWS_SECRET}\n", AWS_SECRET),
    "an AWS secret in the next line": (
        f"Access key\tSecret access key\nAKIAIOSFODNN7EXAMPLE\n{AWS_SECRET}",
        AWS_SECRET,
    ),
    "a Twilio key": (f"curl -u x https://api/{TWILIO}", TWILIO),
    "a Discord token": (f"bot.run('{DISCORD}')", DISCORD.split(".")[2]),
    "a key over two lines": ("export KEY_ID=AKIA\\\nIOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"),
    "a key over three lines": ("echo AK\\\nIAIOSF\\\nODNN7EXAMPLE", "ODNN7EXAMPLE"),
    "a value over two lines": ("export TOKEN=abcdef\\\n123456xyz ls", "123456xyz"),
    "a token in base64": (f"echo {encode(GITHUB)} | base64 -d", encode(GITHUB)[:-2]),
    "a token in base64 for addresses": (
        "x=" + base64.urlsafe_b64encode(b"??>>token=" + SECRET.encode()).decode().rstrip("="),
        encode("??>>token=" + SECRET)[8:28],
    ),
    "an assignment in base64": (f'{{"data": "{ASSIGNMENT}"}}', ASSIGNMENT),
    "a command in base64 for PowerShell": (f"powershell -enc {POWERSHELL}", POWERSHELL),
    "base64 in the second line of JSON text": ('{"a": "x\\n' + encode(GITHUB) + '"}', encode(GITHUB)[:-2]),
    "a cookie at the start": (f"Cookie: sid={SECRET}", SECRET),
    "a cookie in its own line": (f"GET / HTTP/1.1\nCookie: sid={SECRET}\nHost: x", SECRET),
    "a header at the start": (f"x-api-key: {SECRET}", SECRET),
    "a header in capitals": (f"X-API-Key: {SECRET}\r\nHost: x", SECRET),
    "a cookie of curl": (f"curl -b sid={SECRET} https://h", SECRET),
    "cookies of curl": (f"curl -sb 'a=1; sid={SECRET}' https://h", SECRET),
    "a cookie of curl, long": (f'curl --cookie "sid={SECRET}" https://h', SECRET),
    "a setting of aws": (f"aws configure set aws_secret_access_key {SECRET}", SECRET),
    "a setting of aws for a profile": (f"aws configure set --profile p aws_session_token '{SECRET}'", SECRET),
    "a setting of npm": (f"npm config set //registry.example.com/:_authToken {SECRET}", SECRET),
    "a password of redis": (f"redis-cli -h h -a {SECRET} ping", SECRET),
    "a password of redis, long": (f"redis-cli --pass '{SECRET}' ping", SECRET),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_hidden_in_a_text_and_in_a_value(form):
    text, secret = FORMS[form]
    assert secret in text
    for value in (text, {"command": text}, [{"a": text}]):
        hidden = redact(value)
        assert secret not in json.dumps(hidden)
        assert "[redacted " in json.dumps(hidden)
        assert redact(hidden) == hidden


@pytest.mark.any_user
@pytest.mark.parametrize("record", ["summary", "whole"])
def test_no_secret_is_in_the_files_of_the_ledger(project, record):
    project.write_hooks_toml("user", f'[hooks]\nrecord = "{record}"\n')
    project.write_hook("guard", script="exit 0")
    for text, _ in FORMS.values():
        project.dispatch(event={**CALL, "tool_input": {"command": text}})
    data = b"".join(path.read_bytes() for path in project.state.glob("ledger-*")).decode()
    assert [form for form, (_, secret) in FORMS.items() if secret in data] == []
    assert data.count('"type": "dispatch"') == len(FORMS)


# What is not a secret stays: names of commits, paths, classes, plain base64, options that have the same letters.
ORDINARY = [
    "git show 3f786850e387550fdab836ed7e6dc881de23001b in the aws repository",
    "aws s3 cp s3://bucket/releases/2026/11/boathook-1.0-linux-x86_64.tar.gz .",
    "the secret of aws is /usr/share/doc/amazon/license/terms/index",
    "cd /home/me/Projects2026/SecretService/src/main/java/com/example/Application1",
    f"echo {encode('an ordinary sentence, nothing else in it')} | base64 -d",
    f"data:image/png;base64,{base64.b64encode(bytes(range(256))).decode()}",
    "MyCompanyApplicationService.config.initializeApplicationContextNow",
    "TASKSK0123 DISK SKIP=1 SKELETON",
    "make \\\n  test \\\n  lint",
    "curl -b cookies.txt -c cookies.txt https://h",
    "git checkout -b feature && curl https://h",
    "aws configure set region eu-central-1",
    "git config set user.name somebody",
    "redis-cli -h host ping",
    "Content-Type: application/json",
    "x-request-id: 8d4d6f0e-1c2b-4a5d-9e8f-7a6b5c4d3e2f",
    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text):
    assert (redact(text), redact({"command": text})) == (text, {"command": text})


# As the how-to page says: without its name, its place or its form nothing shows that this is a secret.
STAYS = [
    AWS_SECRET,
    f"echo {encode('bob:hunter2 and more')}",
    f"echo {encode(encode(GITHUB))}",
    "echo AK''IAIOSFODNN7EXAMPLE",
    "my password is correct horse battery staple",
]


@pytest.mark.parametrize("text", STAYS)
def test_what_the_documentation_lists_is_not_recognised(text):
    assert redact(text) == text


PARTS = ["aws ", "awsX1y", "secret Ab1 ", "AKIAIOSFODNN7EXAMPLE ", "SK0", "MTk4NjIyNDgz", "MTk4.", "\\\n", "AKIA\\\n"]
PARTS += ["config set ", "config set a.token ", "redis-cli -a ", "redis-cli a ", "curl -b ", "curl -b a=", "Z2hwX2Ex"]
PARTS += [encode("token=abcdef ") + " ", encode("token=abc"), "\\n" + encode("secret: abcdefghij"), "aws " + "aB1" * 13]


@pytest.mark.parametrize("part", PARTS)
def test_the_time_grows_with_the_length_and_not_faster(part):
    assert grows_in_proportion(lambda length: redact((part * length)[:length]), 1 << 13)
