"""What agents start for every event: `<python> -I -S …/boathook/entry/hook_entry.py --host H --event E`, the event on standard input.

A script is compiled at every start, so this one is short and the rest is imported. See `boathook.entry.fast_path`.
"""

import sys

top = __file__.rpartition("/boathook/")[0]
sys.path.insert(0, top)
# To import an empty package costs as much as a module, and most events need nothing else of these.
for name in ("boathook.catalog_cache", "boathook.core", "boathook.entry", "boathook.sources", "boathook.system"):
    package = sys.modules[name] = type(sys)(name)
    package.__path__ = [f"{top}/{name.replace('.', '/')}"]

from boathook.entry.fast_path import enter

if __name__ == "__main__":
    enter(sys.argv[1:])
