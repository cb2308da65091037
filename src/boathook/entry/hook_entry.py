"""What agents start: `<python> -I -S …/boathook/entry/hook_entry.py --host H --event E`, with an event on standard input.

A script is compiled at every start, so this one is short and the rest is imported. See `boathook.entry.fast_path`.
"""

if __name__ == "__main__":
    import sys

    top = __file__.rpartition("/boathook/")[0]
    sys.path.insert(0, top)
    # These packages are empty, and to import one takes as long as to import a module: 5 % of a start for all of them.
    for name in ("boathook.catalog_cache", "boathook.core", "boathook.entry", "boathook.sources", "boathook.system"):
        package = sys.modules[name] = type(sys)(name)
        package.__path__ = [f"{top}/{name.replace('.', '/')}"]
    from boathook.entry.fast_path import enter

    enter(sys.argv[1:])
