"""`python -m boathook`."""

import sys

if not sys.flags.safe_path:
    # The current folder: a project's files must not be imported as libraries.
    del sys.path[0]

from boathook.cli.main import main

main()
