"""Codes of an authenticator app: as the RFC computes them, each once, and not guessed."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from boathook.permits import totp
from boathook.permits.totp import (
    MAX_WRONG_CODES,
    STEP_SECONDS,
    WRONG_SECONDS,
    FactorError,
    compute_code,
    encode_secret,
    has_secret,
    make_app_address,
    make_secret,
    read_secret,
    use_code,
    write_secret,
)

# Appendix B of RFC 6238.
DIGITS = b"1234567890" * 7
RFC_SECRETS = {"sha1": DIGITS[:20], "sha256": DIGITS[:32], "sha512": DIGITS[:64]}
RFC_CODES = {
    59: ("94287082", "46119246", "90693936"),
    1111111109: ("07081804", "68084774", "25091201"),
    1111111111: ("14050471", "67062674", "99943326"),
    1234567890: ("89005924", "91819424", "93441116"),
    2000000000: ("69279037", "90698825", "38618901"),
    20000000000: ("65353130", "77737706", "47863826"),
}
NOW = 1_800_000_015.0
STEP = int(NOW) // STEP_SECONDS
SECRET = DIGITS[:20]


@pytest.fixture
def state(tmp_path: Path) -> str:
    write_secret(str(tmp_path), SECRET, 0)
    return str(tmp_path)


def use(state: str, code: str, now: float = NOW) -> str:
    return use_code(state, code, lambda: now)


def test_codes_are_those_of_the_rfc() -> None:
    for seconds, codes in RFC_CODES.items():
        found = [compute_code(secret, seconds // 30, 8, name) for name, secret in RFC_SECRETS.items()]
        assert tuple(found) == codes


def test_a_code_counts_one_step_early_or_late_and_no_further(tmp_path: Path) -> None:
    results = {}
    for offset in (-2, -1, 0, 1, 2):
        folder = str(tmp_path / str(offset))
        write_secret(folder, SECRET, 0)
        results[offset] = use(folder, compute_code(SECRET, STEP + offset)) == ""
    assert results == {-2: False, -1: True, 0: True, 1: True, 2: False}


def test_a_code_counts_once_and_no_earlier_one_after_it(state: str) -> None:
    assert use(state, compute_code(SECRET, STEP)) == ""
    for step in (STEP, STEP - 1):
        assert "was used already" in use(state, compute_code(SECRET, step))
    assert use(state, compute_code(SECRET, STEP + 1)) == ""


def test_the_code_that_confirmed_the_app_counts_as_used(tmp_path: Path) -> None:
    write_secret(str(tmp_path), SECRET, STEP)
    assert "was used already" in use(str(tmp_path), compute_code(SECRET, STEP))


def test_of_many_that_use_a_code_at_once_one_succeeds(state: str) -> None:
    barrier, code = threading.Barrier(8), compute_code(SECRET, STEP)

    def use_together(_: int) -> str:
        barrier.wait()
        return use(state, code)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(use_together, range(8)))
    assert results.count("") == 1


def test_after_five_wrong_codes_in_five_minutes_no_code_counts_for_a_while(state: str) -> None:
    right = compute_code(SECRET, STEP)
    wrong = f"{(int(right) + 1) % 10**6:06d}"
    for _ in range(MAX_WRONG_CODES):
        assert "the code is wrong" in use(state, wrong)
    assert "5 codes were wrong in 5 minutes. Wait 300 s" in use(state, right)
    later = NOW + WRONG_SECONDS + 1
    assert use(state, compute_code(SECRET, int(later) // STEP_SECONDS), later) == ""


def test_a_clock_that_was_set_back_does_not_refuse_for_longer(state: str) -> None:
    right = compute_code(SECRET, STEP)
    for _ in range(MAX_WRONG_CODES):
        use(state, f"{(int(right) + 1) % 10**6:06d}", NOW + 86400)
    assert "Wait 300 s" in use(state, right)


def test_what_is_not_a_code_does_not_count_as_a_wrong_one(state: str) -> None:
    for text in ("", "12345", "1234567", "abcdef", "١٢٣٤٥٦"):
        for _ in range(2):
            assert "a code has 6 digits" in use(state, text)
    code = compute_code(SECRET, STEP)
    assert use(state, f" {code[:3]} {code[3:]}\n") == ""


def test_the_secret_is_private_and_others_may_not_read_it(state: str) -> None:
    path = Path(state) / "factor/totp-secret"
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    assert (has_secret(state), read_secret(state)) == (True, SECRET)
    path.chmod(0o640)
    assert "Fix: chmod 600" in use(state, compute_code(SECRET, STEP))
    path.unlink()
    path.symlink_to("/dev/null")
    assert "must be a file of yours" in use(state, "123456")


def test_without_an_app_the_reason_names_the_command(tmp_path: Path) -> None:
    assert "boathook approvals totp" in use(str(tmp_path), "123456")
    assert not has_secret(str(tmp_path))


def test_files_that_cannot_be_read_refuse_every_code(state: str) -> None:
    (Path(state) / "factor/totp-uses.json").write_text("{")
    assert "so no code counts" in use(state, compute_code(SECRET, STEP))
    (Path(state) / "factor/totp-uses.json").unlink()
    for text in ("not base32!", "é" * 32, "AAAA", ""):
        (Path(state) / "factor/totp-secret").write_text(text)
        with pytest.raises(FactorError):
            read_secret(state)


def test_a_use_that_cannot_be_noted_does_not_count(state: str) -> None:
    # The note is written beside its place first.
    import os

    (Path(state) / f"factor/totp-uses.json.{os.getpid()}.new").mkdir()
    assert "could not be checked" in use(state, compute_code(SECRET, STEP))


def test_the_address_for_the_app_names_the_account_and_the_secret() -> None:
    address = make_app_address(SECRET, "me@home/1")
    assert address == (
        f"otpauth://totp/boathook:me%40home%2F1?secret={encode_secret(SECRET)}"
        "&issuer=boathook&algorithm=SHA1&digits=6&period=30"
    )
    assert (len(make_secret()), make_secret() != make_secret()) == (20, True)


def test_no_code_is_kept(state: str) -> None:
    code = compute_code(SECRET, STEP)
    use(state, code)
    fields = json.loads((Path(state) / "factor/totp-uses.json").read_text())
    assert fields == {"last_step": STEP, "wrong_times": []}


# Holds the lock of the codes until it is killed.
HOLDS_LOCK = """
import os, sys, time
os.lockf(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), os.F_LOCK, 0)
print("held", flush=True)
time.sleep(600)
"""


def test_a_code_does_not_count_while_another_one_is_checked(state: str) -> None:
    argv = [sys.executable, "-I", "-S", "-c", HOLDS_LOCK, f"{state}/factor/totp.lock"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        reason = use_code(state, compute_code(SECRET, STEP), lambda: NOW, 0.0)
        holder.kill()
    assert reason == "another code is being checked. Try again"
    assert use(state, compute_code(SECRET, STEP)) == ""


def test_a_code_waits_for_another_one_no_longer_than_a_second_or_than_is_left(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    class HeldLock:
        def __init__(self, _: str, seconds: float) -> None:
            waits.append(seconds)

        def __enter__(self) -> None:
            raise TimeoutError

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(totp, "WriterLock", HeldLock)
    for seconds in (60.0, 0.3, 0.0, -5.0):
        assert use_code(state, compute_code(SECRET, STEP), lambda: NOW, seconds).startswith("another code")
    assert waits == [1.0, 0.3, 0.0, 0.0]
