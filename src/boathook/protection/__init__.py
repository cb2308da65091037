"""Self-protection: the built-in guard that objects when the agent would disarm boathook. See ADR 27."""
