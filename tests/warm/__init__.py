"""The warm engine."""
