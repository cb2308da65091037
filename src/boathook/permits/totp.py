"""Codes of an authenticator app (TOTP, RFC 6238): the secret, the check of a code, and how often it may be wrong."""

# The secret can be read by everything that runs as the same user: it stops mistakes, and an agent that helps itself, not malware.

from __future__ import annotations

import base64
import hmac
import json
import os
import stat
import time
from collections.abc import Callable

from boathook.core.value import Value
from boathook.ledger.writer import WriterLock
from boathook.system.files import FileError, is_private, read_regular, write_private

STEP_SECONDS = 30
CODE_DIGITS = 6
MAX_WRONG_CODES = 5
WRONG_SECONDS = 300
# How many steps a clock may be wrong by, each way.
_DRIFT_STEPS = 1
_SECRET_BYTES = 20
# A call may be waiting for the answer that a code is for, and must be denied in time.
_LOCK_SECONDS = 1.0
_FOLDER, _SECRET_NAME, _USES_NAME, _LOCK_NAME = "factor", "totp-secret", "totp-uses.json", "totp.lock"
_NOT_CONNECTED = "no authenticator app is connected. Connect one, in a terminal of your own: boathook approvals totp"


class FactorError(Exception):
    """Why a factor does not hold, as a sentence for a person."""


class _CodeUses(Value):
    """The step of the last code that was right, and when codes were wrong."""

    last_step: int = -1
    wrong_times: tuple[float, ...] = ()


def make_secret() -> bytes:
    return os.urandom(_SECRET_BYTES)


def encode_secret(secret: bytes) -> str:
    """Return a secret as apps take it."""
    return base64.b32encode(secret).decode().rstrip("=")


def make_app_address(secret: bytes, account: str) -> str:
    """Return the address that adds a secret to an app."""
    from urllib.parse import quote

    about = f"secret={encode_secret(secret)}&issuer=boathook&algorithm=SHA1&digits={CODE_DIGITS}&period={STEP_SECONDS}"
    return f"otpauth://totp/boathook:{quote(account, safe='')}?{about}"


def compute_code(secret: bytes, step: int, digits: int = CODE_DIGITS, algorithm: str = "sha1") -> str:
    """Return the code of a step of time, as RFC 4226 and RFC 6238 define it."""
    digest = hmac.digest(secret, step.to_bytes(8, "big"), algorithm)
    start = digest[-1] & 15
    number = int.from_bytes(digest[start : start + 4], "big") & 0x7FFFFFFF
    return f"{number % 10**digits:0{digits}d}"


def find_step(secret: bytes, code: str, now: float) -> int | None:
    """Return the step of time whose code this is, None if it is the code of no step that counts now."""
    current = int(now) // STEP_SECONDS
    steps = [step for step in range(current - _DRIFT_STEPS, current + _DRIFT_STEPS + 1) if step >= 0]
    # All are compared, so that the time it takes tells nothing.
    matching = [step for step in steps if hmac.compare_digest(compute_code(secret, step).encode(), code.encode())]
    return matching[-1] if matching else None


def read_code(text: str) -> str:
    """Return a code that a person typed, with or without spaces in it; "" if it is not one."""
    code = "".join(text.split())
    return code if code.isascii() and code.isdigit() and len(code) == CODE_DIGITS else ""


def has_secret(state: str) -> bool:
    """Whether an app was connected; a file that cannot be used counts, because a person must look at it."""
    return os.path.lexists(f"{state}/{_FOLDER}/{_SECRET_NAME}")


def read_secret(state: str) -> bytes:
    """Return the secret; FactorError if there is none, or if others can read it."""
    path = f"{state}/{_FOLDER}/{_SECRET_NAME}"
    if not os.path.lexists(path):
        raise FactorError(_NOT_CONNECTED)
    status = os.lstat(path)
    if not is_private(status, stat.S_IFREG):
        raise FactorError(f"{path} must be a file of yours that only you can read. Fix: chmod 600 {path}")
    try:
        text = read_regular(path, 1 << 10).decode("ascii", "replace").strip()
        secret = base64.b32decode(text + "=" * (-len(text) % 8))
    except (FileError, ValueError) as error:
        raise FactorError(
            f"{path} cannot be used ({error}). Remove it, then connect an app: boathook approvals totp"
        ) from None
    if len(secret) < _SECRET_BYTES:
        raise FactorError(f"the secret in {path} is too short. Remove it, then connect an app: boathook approvals totp")
    return secret


def write_secret(state: str, secret: bytes, used_step: int) -> None:
    """Keep a secret, in the place of the old one; the code that confirmed it counts as used. OSError if that is impossible."""
    _make_folder(state)
    with WriterLock(f"{state}/{_FOLDER}/{_LOCK_NAME}", _LOCK_SECONDS):
        uses = _read_uses(state)
        _write_uses(state, uses.replace(last_step=max(uses.last_step, used_step)))
        write_private(f"{state}/{_FOLDER}/{_SECRET_NAME}", encode_secret(secret).encode() + b"\n")


def use_code(state: str, text: str, now: Callable[[], float] = time.time, seconds: float = _LOCK_SECONDS) -> str:
    """Use up a code: return "" if it is right and new, else why it does not count. It waits no longer than `seconds` for others."""
    code = read_code(text)
    if not code:
        return f"a code has {CODE_DIGITS} digits: type the one that your authenticator app shows"
    try:
        secret = read_secret(state)
        with WriterLock(f"{state}/{_FOLDER}/{_LOCK_NAME}", max(0.0, min(seconds, _LOCK_SECONDS))):
            return _use_locked(state, secret, code, now())
    except FactorError as error:
        return str(error)
    except TimeoutError:
        return "another code is being checked. Try again"
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return f"the code could not be checked, because {state}/{_FOLDER} cannot be used ({reason})"


def _use_locked(state: str, secret: bytes, code: str, now: float) -> str:
    uses = _read_uses(state)
    # A time in the future is from before a clock was set back.
    wrong_times = tuple(min(moment, now) for moment in uses.wrong_times if now - moment < WRONG_SECONDS)
    if len(wrong_times) >= MAX_WRONG_CODES:
        seconds = max(1, round(min(wrong_times) + WRONG_SECONDS - now))
        return f"{MAX_WRONG_CODES} codes were wrong in {WRONG_SECONDS // 60} minutes. Wait {seconds} s, then try again"
    step = find_step(secret, code, now)
    if step is None:
        # It is on the disk before the answer: a program that guesses cannot end us first.
        _write_uses(state, uses.replace(wrong_times=(*wrong_times, now)))
        return "the code is wrong, or too old. Type the one that your authenticator app shows now"
    if step <= uses.last_step:
        return "this code was used already. Wait for the next one"
    _write_uses(state, _CodeUses(step, wrong_times))
    return ""


def _make_folder(state: str) -> None:
    os.makedirs(f"{state}/{_FOLDER}", mode=0o700, exist_ok=True)


def _read_uses(state: str) -> _CodeUses:
    """Return what was used so far; FactorError if it cannot be known, because then every code could be used again."""
    path = f"{state}/{_FOLDER}/{_USES_NAME}"
    if not os.path.lexists(path):
        return _CodeUses()
    try:
        fields = json.loads(read_regular(path, 1 << 12))
        times = tuple(float(moment) for moment in fields["wrong_times"])
        return _CodeUses(int(fields["last_step"]), times[-MAX_WRONG_CODES:])
    except (FileError, ValueError, TypeError, KeyError) as error:
        raise FactorError(f"{path} cannot be read ({error}), so no code counts. Remove it if you know why") from None


def _write_uses(state: str, uses: _CodeUses) -> None:
    fields = {"last_step": uses.last_step, "wrong_times": list(uses.wrong_times)}
    write_private(f"{state}/{_FOLDER}/{_USES_NAME}", json.dumps(fields).encode())
