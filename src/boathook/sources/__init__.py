"""Files become hooks and diagnostics."""
