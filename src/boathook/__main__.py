"""`python -m boathook`."""

from boathook.cli.main import main

main()
