"""The protocols of hosts and hooks: how events and answers are written as bytes."""
