"""Tongues of hosts and hooks, one file each; none knows another."""
