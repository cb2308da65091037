"""For authors of guards in Python: what a tool call does, and how to object to it."""

from boathook.guards.call import GuardedCall
from boathook.guards.guard_answer import GuardAnswer, ask, block
from boathook.guards.run_guard import run_guard

__all__ = ["GuardAnswer", "GuardedCall", "ask", "block", "run_guard"]
