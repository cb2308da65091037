"""Packs of hooks: where they come from, and how they are copied to the user's folder or to a project."""
