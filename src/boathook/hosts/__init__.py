"""The agents that call this engine, one file each."""
