"""`python -m boathook`."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the current folder: a project's files must not be taken for libraries

from boathook.cli.main import main

main()
