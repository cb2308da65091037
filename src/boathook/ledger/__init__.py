"""The record of every event: written, redacted, read."""
