"""Questions to a person, who may answer, and what a person permits for a while: calls, and pauses of self-protection."""
