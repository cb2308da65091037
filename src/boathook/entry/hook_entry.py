"""Agents start this for every event. It is compiled each time, so it is short: see `fast_path`."""

import sys

if __name__ == "__main__":
    top = __file__.rpartition("/entry/")[0]
    sys.path.insert(0, top.rpartition("/")[0])
    package = sys.modules["boathook.entry"] = type(sys)("boathook.entry")
    package.__path__ = [top + "/entry"]
    from boathook.entry.fast_path import enter

    enter(sys.argv[1:])
