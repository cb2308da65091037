"""What a person permits for a while: pauses of self-protection, and single calls that hooks objected to."""
