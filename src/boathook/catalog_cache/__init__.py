"""The compiled catalogue: its format, how it is loaded and how it is written."""
