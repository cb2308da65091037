"""Tests of hooks: `tests.txt` beside a HOOK.md, its reader, and what runs its cases through the engine."""
