"""Hooks in HOOK.md folders."""
