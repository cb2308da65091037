"""The client's own C library does what that of the system does, with it and without."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_counts import count_examples
from tests.warm.warm_harness import PACKAGE, compile_client

# Uses each function on two texts and a number, and prints what it returns.
PROGRAM = r"""
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

static void show(const char *line) { if (write(1, line, strlen(line)) < 0) _exit(9); }
static long find(const char *text, const char *found) { return found ? found - text : -1; }
static int sign(int number) { return (number > 0) - (number < 0); }

int main(int count, char **words) {
    char line[4096], small[8];
    if (count == 2 && !strcmp(words[1], "--version")) return 0;
    const char *one = words[1], *other = words[2];
    unsigned long long number = 0;
    for (const char *digit = words[3]; *digit; digit++) number = number * 10 + (*digit - '0');
    size_t least = strlen(one) < strlen(other) ? strlen(one) : strlen(other);
    snprintf(line, sizeof line, "%d %d %d %d %d %d %d %d\n", sign(strcmp(one, other)), sign(strncmp(one, other, 3)),
             (int)find(one, strstr(one, other)), (int)find(one, strchr(one, other[0])), (int)find(one, strrchr(one, other[0])),
             (int)strcspn(one, other), (int)strlen(one), sign(memcmp(one, other, least)));
    show(line);
    snprintf(line, sizeof line, "%d|%u|%x|%04x|%llu|%lld|%016llx|%s|%.3s|%.*s|%.s|\n", (int)number, (unsigned)number,
             (unsigned)number, (unsigned)number & 0xff, number, (long long)number, number, one, one, (int)(number & 7), other, one);
    show(line);
    int size = snprintf(small, sizeof small, "%s%d", one, (int)number);
    snprintf(line, sizeof line, "%d %s\n", size, small);
    show(line);
    char copied[64];
    memset(copied, 'x', sizeof copied);
    memcpy(copied + 3, "copy", 4);
    copied[20] = 0;
    struct stat found;
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigprocmask(SIG_BLOCK, NULL, &before);
    struct sigaction action;
    signal(SIGUSR1, SIG_IGN);
    sigaction(SIGUSR1, NULL, &action);
    int is_ignored = action.sa_handler == SIG_IGN;
    sigaction(SIGUSR2, NULL, &action);
    int missing = stat("/no/such/file", &found), there = stat("/proc/self/exe", &found);
    snprintf(line, sizeof line, "%s %d %d %d %d %d%d%d %d%d\n", copied, missing, there,
             found.st_size > 1000, isatty(0), sigismember(&before, SIGHUP), sigismember(&before, SIGINT),
             sigismember(&before, SIGTERM), is_ignored,
             action.sa_handler == SIG_DFL);
    show(line);
    return 0;
}
"""

BROKEN = (
    '{"decision": "deny", "reason": "REASON"}',
    '{"a": "REASON", "b": "REASON"}',
    "2",
    "",
    '{"cancel": true}',
    "{}",
)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
some_words = st.tuples(texts, texts, st.integers(0, 2**64 - 1))


@pytest.fixture(scope="module", name="programs")
def build_programs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The program with the library of the client, and with that of the system."""
    programs = []
    for name, small in (("own", True), ("system", False)):
        folder = tmp_path_factory.mktemp(name)
        (folder / "program.c").write_text(PROGRAM)
        (folder / "small_libc.c").write_text((PACKAGE / "warm/small_libc.c").read_text())
        flags = ("-Wno-format", "-Wno-format-truncation")
        programs.append(compile_client(folder, *flags, source=folder / "program.c", small=small))
    return programs


@pytest.fixture(scope="module", name="clients")
def build_clients(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return [compile_client(tmp_path_factory.mktemp(f"client-{small}"), small=small) for small in (True, False)]


def run(*words: str | bytes) -> tuple[int, bytes, bytes]:
    done = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def test_the_client_is_linked_with_its_own_library_alone(clients: list[str]) -> None:
    own, system = (Path(path).stat().st_size for path in clients)
    assert own * 10 < system


@settings(max_examples=count_examples(40), deadline=None)
@given(some_words)
def test_each_function_returns_what_that_of_the_system_returns(
    programs: list[str], given_words: tuple[str, str, int]
) -> None:
    one, other, number = given_words
    results = [run(path, one.encode(), other.encode(), str(number)) for path in programs]
    assert results[0] == results[1]
    assert results[0][0] == 0
    assert results[0][1].count(b"\n") >= 4


@settings(max_examples=count_examples(20), deadline=None)
@given(st.sampled_from(BROKEN), texts)
def test_both_clients_answer_alike_for_a_broken_engine(clients: list[str], broken: str, fix: str) -> None:
    cold = ("/no/python", "-I", "-S", "/no/entry/hook_entry.py", "--broken", broken, "--repair", fix.encode())
    one, other = [run(path, *cold) for path in clients]
    assert one == other
    assert b"its interpreter cannot be started" in one[1] + one[2]


def test_a_refusal_that_cannot_be_written_ends_with_the_code_of_one(clients: list[str]) -> None:
    for client in clients:
        words = [client, "/no/python", "-I", "-S", "/no/entry/hook_entry.py", "--broken", BROKEN[0]]
        with open("/dev/full", "wb") as full:
            assert subprocess.run(words, stdout=full, stdin=subprocess.DEVNULL).returncode == 2


def test_what_the_client_becomes_gets_all_words_and_variables(clients: list[str], tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text('#!/bin/sh\nprintf "%s|" "$@" "$MINE"\nexit 7\n')
    script.chmod(0o755)
    words = [str(script), "-I", "-S", "/entry/hook_entry.py", "--engine", "warm", "an argument", ""]
    for client in clients:
        done = subprocess.run([client, *words], capture_output=True, env={**os.environ, "MINE": "variable"})
        assert done.stdout == b"-I|-S|/entry/hook_entry.py|--engine|cold|an argument||variable|"
        assert done.returncode == 7
