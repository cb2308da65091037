"""Secrets in the environment: variables that a project's hook does not get unless it names them.

Only names are looked at. They are taken apart at `_`, so that neither KEYBOARD nor MONKEY_PATCH nor TOKENIZERS_PARALLELISM
is taken for a secret; nor are MAX_TOKENS and its like, which are counts.
"""

from __future__ import annotations

from boathook.core.hook import USER, Http, Prompt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from boathook.core.hook import Hook

WORDS = frozenset(
    b"TOKEN KEY KEYS SECRET SECRETS PASSWORD PASSWORDS PASSWD PASSPHRASE PASSCODE CREDENTIAL CREDENTIALS CREDS"
    b" PRIVATE JWT BEARER COOKIE DSN".split()
)  # anywhere in a name
LAST_WORDS = frozenset(b"PAT PASS PWD AUTH".split())  # at the end, behind other words
ENDINGS = (b"TOKEN", b"SECRET", b"PASSWORD", b"PASSWD", b"APIKEY", b"ACCESSKEY", b"SECRETKEY", b"PRIVATEKEY")
WHOLE = frozenset((b"SSHPASS", b"DATABASE_URL", b"DOCKER_AUTH_CONFIG"))
KEPT = frozenset((b"SSH_AUTH_SOCK", b"OLD_PWD"))
KEPT_STARTS = (b"XDG_", b"BOATHOOK_")


def looks_secret(name: bytes) -> bool:
    """Whether a variable of this name is likely to hold a secret."""
    plain = name.upper().replace(b"-", b"_")
    if plain in KEPT or plain.startswith(KEPT_STARTS):
        return False
    first, *words = plain.split(b"_")
    if plain in WHOLE or first in WORDS or first.endswith(ENDINGS):
        return True
    return bool(words) and (words[-1] in LAST_WORDS or any(word in WORDS or word.endswith(ENDINGS) for word in words))


def scrubbed(hook: Hook, env: Mapping[bytes, bytes]) -> tuple[str, ...]:
    """Name the variables that a hook does not get; user hooks get all, and so does our own process that puts questions."""
    if hook.scope == USER or isinstance(hook.handler, Prompt | Http):
        return ()
    named = {*hook.env, *hook.needs.env}
    found = (name.decode("utf-8", "surrogateescape") for name in env if looks_secret(name))
    return tuple(sorted(name for name in found if name not in named))
