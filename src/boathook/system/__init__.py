"""Folders, files, programs and hashes of this machine."""
