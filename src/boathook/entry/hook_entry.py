"""Agents start this for every event. It is compiled each time, so it is short: see `fast_path`."""

import sys


# A module or a library is missing, or for another Python: the command itself has the answer (see `install`).
def answer_broken(error: Exception, words: "list[str]", sentence: str = "") -> int:
    words = [*words, "2", "--broken", "2", "--repair", "install boathook again"]
    answer, fix = words[words.index("--broken") + 1], words[words.index("--repair") + 1]
    refuses = answer == "2" or '"deny"' in answer or '"cancel"' in answer
    try:
        import json

        sentence = sentence or f"boathook cannot start ({type(error).__name__}: {error}), so no hook was asked"
        reason = f"{sentence}. Fix: {fix}"
        if '"REASON"' not in answer:
            sys.stderr.write(f"{reason}\n")
            sys.stderr.flush()
        if answer and answer != "2":
            sys.stdout.write(answer.replace('"REASON"', json.dumps(reason)) + "\n")
            sys.stdout.flush()
    except Exception:  # noqa: BLE001
        # Nobody can read the answer, so the exit code is one.
        return 2 if refuses else 0
    return 2 if answer == "2" else 0


if __name__ == "__main__":
    top = __file__.rpartition("/entry/")[0]
    sys.path.insert(0, top.rpartition("/")[0])
    package = sys.modules["boathook.entry"] = type(sys)("boathook.entry")
    package.__path__ = [top + "/entry"]
    try:
        # Only the command can ask for it: a file could be made by any program of the user, which would then answer.
        if "--engine" in sys.argv and sys.argv[(sys.argv.index("--engine") + 1) % len(sys.argv)] == "warm":
            from boathook.entry.warm_client import ask_resident

            ask_resident(sys.argv)
        from boathook.entry.fast_path import enter

        enter(sys.argv[1:])
    except Exception as error:
        if sys.argv[-1] in ("--ask", "--supervise"):
            raise
        code = answer_broken(error, sys.argv, getattr(error, "sentence", ""))
        # What is left in a buffer must not change it.
        from posix import _exit

        _exit(code)
