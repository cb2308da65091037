"""Installing boathook in agents."""
