"""Python callables as hooks."""
