"""Run hooks as processes."""
