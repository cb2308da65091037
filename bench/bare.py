"""The hook entry without trust and ledger: what `make bench` holds the hook entry against to see what these two cost."""

import sys

sys.path.insert(0, sys.argv.pop(1))

from boathook.engine import Engine
from boathook.entry.fast_path import enter

Engine._record = lambda self, verdict, *_: verdict  # type: ignore[method-assign]  # noqa: ARG005

if __name__ == "__main__":
    enter(sys.argv[1:])
