"""Agents start this for every event. It is compiled each time, so it is short: see `fast_path`."""

import sys

if __name__ == "__main__":
    top = __file__.rpartition("/entry/")[0]
    sys.path.insert(0, top.rpartition("/")[0])
    package = sys.modules["boathook.entry"] = type(sys)("boathook.entry")
    package.__path__ = [top + "/entry"]
    try:
        from boathook.entry.fast_path import enter

        enter(sys.argv[1:])
    except Exception as error:  # noqa: BLE001
        # A module or a library is missing, or for another Python: the command itself has the answer (see `install`).
        import json

        given = dict(zip(sys.argv[1::2], sys.argv[2::2]))  # noqa: B905
        answer, fix = given.get("--broken", "2"), given.get("--repair", "install boathook again")
        reason = f"boathook cannot start ({type(error).__name__}: {error}), so no hook was asked. Fix: {fix}"
        if '"REASON"' not in answer:
            sys.stderr.write(f"{reason}\n")
        if answer and not answer.isdigit():
            sys.stdout.write(answer.replace('"REASON"', json.dumps(reason)) + "\n")
        sys.exit(int(answer) if answer.isdigit() else 0)
