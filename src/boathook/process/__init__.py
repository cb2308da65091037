"""Running hooks as processes."""
