"""Hooks in process: callables and middleware around an agent's operations, in one order with the hooks of files."""
