"""Measure `secret-scan`: which kinds of secrets of a table of rules it finds, and what it finds in ordinary source.

The table is a `gitleaks.toml`, which is not part of this repository. For each of its rules that knows a secret by its own form,
five secrets are made up from the regular expression; a rule that needs the name of a service nearby is left out.
A folder is ordinary source, in which every find is printed, to be judged: a real key in test data is right, all else is wrong.

    python scripts/measure_secrets.py gitleaks.toml /usr/lib/python3 /usr/share/doc --show
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import random
import re
import string
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from measure_pack import STANDARD_PACK, Guard, load_guards

from boathook.guards import GuardedCall

SECRET_SCORES = Path(__file__).parents[1] / "docs" / "reference" / "secret-scores.json"
_SAMPLES, _TRIES = 5, 400
# What gitleaks writes between the name of a service and its secret.
_NAME_NEARBY = "(?:=|>|:{1,3}=|"
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\(\?([a-zA-Z-]+)\)|\(|\)|\||.", re.DOTALL)
_CLASSES = {"[:alnum:]": "A-Za-z0-9", "[:alpha:]": "A-Za-z", "[:digit:]": "0-9", "[:xdigit:]": "A-Fa-f0-9"}
_ANY_SIGNS = string.ascii_letters + string.digits
_CATEGORIES = {
    "CATEGORY_DIGIT": string.digits,
    "CATEGORY_WORD": _ANY_SIGNS + "_",
    "CATEGORY_SPACE": " ",
    "CATEGORY_NOT_SPACE": _ANY_SIGNS + "-_.",
    "CATEGORY_NOT_WORD": " -.",
    "CATEGORY_NOT_DIGIT": string.ascii_letters,
}
_MAX_MORE = 24
_MAX_FILE_BYTES = 4_000_000


class SecretRule(NamedTuple):
    """A rule of the table, with the alternatives of its expression that need no name nearby."""

    name: str
    pattern: str
    entropy: float


def read_rules(path: Path) -> tuple[list[SecretRule], int]:
    """Return the rules that know a secret by its own form, and the number of all rules."""
    rows = tomllib.loads(path.read_text())["rules"]
    rules = []
    for row in rows:
        patterns = [one for one in split_alternatives(row.get("regex", "")) if _NAME_NEARBY not in one]
        if pattern := "|".join(filter(None, patterns)):
            rules.append(SecretRule(row["id"], pattern, float(row.get("entropy", 0))))
    return rules, len(rows)


def split_alternatives(pattern: str) -> list[str]:
    """Return the outermost alternatives of a regular expression of Go, each as Python writes it."""
    alternatives, text, flags = [], "", ""
    # For each open group, the flags that hold in it; `(?i)` in the middle of one holds up to its end.
    groups: list[str] = []
    for match in _TOKEN.finditer(pattern):
        token = match[0]
        if match[1]:
            text += (")" if flags else "") + f"(?{match[1]}:"
            flags = match[1]
        elif token == "(":
            groups.append(flags)
            text, flags = f"{text}(", ""
        elif token == ")":
            text += ")" if flags else ""
            text, flags = f"{text})", groups.pop()
        elif token == "|":
            text += ")" if flags else ""
            if not groups:
                alternatives.append(text)
                text = ""
            else:
                text += "|"
            text += f"(?{flags}:" if flags else ""
        else:
            text += _translate_token(token)
    return [*alternatives, text + (")" if flags else "")]


def _translate_token(token: str) -> str:
    for name, signs in _CLASSES.items():
        token = token.replace(name, signs)
    return {"\\z": "\\Z"}.get(token, token)


class SampleMaker:
    """Makes up texts that a regular expression matches."""

    # The parser of regular expressions is not a public part of Python.
    _parser: Any = importlib.import_module("re._parser")

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self._groups: dict[int, str] = {}
        self._has_mixed_case = self._random.random() < 0.5

    def make(self, pattern: str) -> str:
        return self._write(self._parser.parse(pattern), ignores_case=False)

    def _write(self, parts: Any, *, ignores_case: bool) -> str:
        return "".join(self._write_part(str(name), value, ignores_case=ignores_case) for name, value in parts)

    def _write_part(self, name: str, value: Any, *, ignores_case: bool) -> str:
        if name == "LITERAL":
            return chr(value)
        if name == "IN":
            return self._choose_sign(value, ignores_case=ignores_case)
        if name == "ANY":
            # Outside of a repetition, somebody forgot to write a backslash before the dot.
            return "."
        if name == "NOT_LITERAL":
            return self._random.choice(_ANY_SIGNS)
        if name == "BRANCH":
            return self._write(self._random.choice(value[1]), ignores_case=ignores_case)
        if name == "SUBPATTERN":
            number, added, removed, parts = value
            ignores_case = (ignores_case or bool(added & re.IGNORECASE)) and not removed & re.IGNORECASE
            self._groups[number] = self._write(parts, ignores_case=ignores_case)
            return self._groups[number]
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            low, high, parts = value
            # Blanks are not repeated for long.
            is_short = name == "MIN_REPEAT" or "CATEGORY_SPACE" in str(parts[0][1])
            count = self._random.randint(low, min(int(high), low if is_short else low + _MAX_MORE))
            if str(parts[0][0]) == "ANY":
                return "".join(self._random.choices(_ANY_SIGNS, k=count))
            return "".join(self._write(parts, ignores_case=ignores_case) for _ in range(count))
        return self._groups.get(value, "") if name == "GROUPREF" else ""

    def _choose_sign(self, parts: Any, *, ignores_case: bool) -> str:
        signs = ""
        for part, value in parts:
            if str(part) == "LITERAL":
                signs += chr(value)
            elif str(part) == "RANGE":
                signs += "".join(map(chr, range(value[0], value[1] + 1)))
            elif str(part) == "CATEGORY":
                signs += _CATEGORIES[str(value)]
        if str(parts[0][0]) == "NEGATE":
            signs = "".join(sign for sign in _ANY_SIGNS + "-_ .<" if sign not in signs)
        sign = self._random.choice(signs)
        is_wide = any(str(part) == "RANGE" for part, _ in parts)
        is_changed = is_wide and ignores_case and self._has_mixed_case and self._random.random() < 0.5
        return sign.swapcase() if is_changed else sign


def list_samples(rule: SecretRule) -> list[str]:
    """Return lines with secrets that a rule finds and that look drawn by chance, [] if none can be made."""
    compiled = re.compile(rule.pattern)
    samples: list[str] = []
    for number in range(_TRIES):
        line = f'x = "{SampleMaker(f"{rule.name} {number}").make(rule.pattern)}"\n'
        match = compiled.search(line)
        secret = next(filter(None, (*match.groups(), match[0]))) if match else ""
        if secret and measure_entropy(secret) >= max(rule.entropy, 2.0):
            samples.append(line)
        if len(samples) == _SAMPLES:
            break
    return samples


def measure_entropy(text: str) -> float:
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def is_found(scan: Guard, text: str) -> str:
    """Return why the scan objects to writing a text, "" if it does not."""
    tool_input = {"file_path": "src/settings.py", "content": text}
    fields = {"event_type": "pre-tool-call", "tool_name": "WriteFile", "tool_input": tool_input, "work_dir": "/srv/app"}
    answer = scan(GuardedCall(fields, project="/srv/app", home="/home/ada"))
    return answer.reason if answer else ""


def iter_source(folders: list[Path]) -> Iterator[tuple[Path, str]]:
    """Yield the text files of folders, each once."""
    seen: set[str] = set()
    for folder in folders:
        for top, inner, names in os.walk(folder):
            inner[:] = sorted(name for name in inner if name not in (".git", "__pycache__"))
            for path in (Path(top, name) for name in sorted(names)):
                real = os.path.realpath(path)
                if real in seen or not path.is_file() or path.is_symlink():
                    continue
                seen.add(real)
                data = path.read_bytes()[:_MAX_FILE_BYTES]
                if b"\0" not in data[:8192]:
                    yield path, data.decode("utf-8", "replace")


def measure_rules(scan: Guard, path: Path, *, shows: bool) -> dict[str, int]:
    rules, count = read_rules(path)
    scores = Counter({"rules": count, "own form": len(rules), "samples": 0, "all": 0, "some": 0, "none": 0})
    for rule in rules:
        samples = list_samples(rule)
        missed = [line for line in samples if not is_found(scan, line)]
        if not samples:
            scores["no samples"] += 1
            word = "no samples"
        else:
            word = "none" if len(missed) == len(samples) else "some" if missed else "all"
            scores[word] += 1
            scores["samples"] += len(samples)
        if shows and word != "all":
            print(f"{word:10} {rule.name}: {rule.pattern[:300]}", *missed[:2], sep="\n    ")
    return dict(scores)


def measure_source(scan: Guard, folders: list[Path]) -> dict[str, int]:
    scores = Counter({"files": 0, "bytes": 0, "finds": 0})
    for path, text in iter_source(folders):
        scores["files"] += 1
        scores["bytes"] += len(text.encode("utf-8", "replace"))
        if reason := is_found(scan, text):
            scores["finds"] += 1
            print(f"FOUND {path}: {reason.partition('. ')[0]}")
    return dict(scores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", type=Path, help="a gitleaks.toml")
    parser.add_argument("folders", nargs="*", type=Path, help="folders of ordinary source")
    parser.add_argument("--show", action="store_true", help="print the rules and samples that are not found")
    parser.add_argument(
        "--right",
        type=int,
        default=0,
        metavar="COUNT",
        help="how many of the finds are real keys, once you judged them",
    )
    parser.add_argument("--write", action="store_true", help="write the counts for docs/reference/standard-pack.md")
    arguments = parser.parse_args()
    scan = load_guards(STANDARD_PACK, ["secret-scan"])["secret-scan"]
    scores: dict[str, dict[str, int]] = {"table": measure_rules(scan, arguments.rules, shows=arguments.show)}
    if arguments.folders:
        scores["source"] = {**measure_source(scan, arguments.folders), "right": arguments.right}
    json.dump(scores, sys.stdout, indent=1)
    print()
    if arguments.write:
        SECRET_SCORES.write_text(json.dumps(scores, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
