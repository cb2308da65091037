"""The reference agent: small but real, with every event of the life cycle."""
