"""What a shell command would start, with which words, in which folder, and which paths it would change. Nothing is run."""
