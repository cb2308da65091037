"""SHA-256 without `hashlib`, whose import costs more than a start of `run`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        # Up to Python 3.11.
        from _sha256 import sha256
    except ImportError:
        try:
            from _sha2 import sha256
        except ImportError:
            from hashlib import sha256

__all__ = ["hexdigest", "sha256"]


def hexdigest(data: bytes) -> str:
    return sha256(data).hexdigest()
