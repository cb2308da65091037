"""The fast way in: `<python> -I -S …/boathook/entry/hook_entry.py --host H --event E`, with an event on standard input.

A script is compiled at every start, so this one is short and the rest is imported. See `boathook.entry.fast_path`.
"""

import sys

sys.path.insert(0, __file__.rpartition("/boathook/")[0])

from boathook.entry.fast_path import enter

if __name__ == "__main__":
    enter(sys.argv[1:])
