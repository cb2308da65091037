"""The warm engine: a resident process that has imported everything and answers events in forks of itself."""
