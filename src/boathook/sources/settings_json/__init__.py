"""Hooks in settings.json files."""
