"""What people trusted, byte by byte."""
