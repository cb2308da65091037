"""Fuzzing: bytes of strangers go in, and neither an exception nor a long wait comes out."""
