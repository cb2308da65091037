"""Hooks in the files of agents: what differs between their forms, and one reader for all of them."""
