"""What an agent starts for every event: the fast path, and behind it one run of the engine."""
