"""Writing the host agents' own configurations, so that they call this engine, and taking that out again."""
