"""Bridges: hooks in agents of Python frameworks, one module for each. Nothing here is imported until you import it."""

from boathook.errors import BridgeError

__all__ = ["BridgeError"]
