"""The page: what hooks do, in a browser on this machine. It only reads."""
