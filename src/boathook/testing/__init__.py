"""For those who test hooks or another engine."""
