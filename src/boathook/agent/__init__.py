"""A reference agent: small, real, and every event of the life cycle happens in it."""
