"""The end-to-end proof: real agents, headless and offline, under the hooks of `e2e/hooks`. Start it with `make e2e`."""
