"""The records of events: written without secrets, read and verified."""
