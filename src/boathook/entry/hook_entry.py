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
    except Exception as error:
        if sys.argv[-1] in ("--ask", "--supervise"):
            raise
        # A module or a library is missing, or for another Python: the command itself has the answer (see `install`).
        words = [*sys.argv, "2", "--broken", "2", "--repair", "install boathook again"]
        answer, fix = words[words.index("--broken") + 1], words[words.index("--repair") + 1]
        refuses = answer == "2" or '"deny"' in answer or '"cancel"' in answer
        try:
            import json

            reason = f"boathook cannot start ({type(error).__name__}: {error}), so no hook was asked. Fix: {fix}"
            if '"REASON"' not in answer:
                sys.stderr.write(f"{reason}\n")
            if answer and answer != "2":
                sys.stdout.write(answer.replace('"REASON"', json.dumps(reason)) + "\n")
                sys.stdout.flush()
        except Exception:  # noqa: BLE001
            # Nobody can read the answer, so the exit code is one. What is left in a buffer must not change it.
            from posix import _exit

            _exit(2 if refuses else 0)
        sys.exit(2 if answer == "2" else 0)
