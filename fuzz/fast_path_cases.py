"""Compare the fast path with the engine on random hooks and tool calls: `make fuzz-fast-path [CASES=100000] [SEED=n]`.

A case is one call of one agent, with hooks that name tools, kinds of tools and patterns. It is lost if the fast path says that
there is nothing to do, and the engine would run or report a hook. Exit 1 if a case is lost; it is printed, with the seed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from boathook.catalog_cache.write import write_compiled
from boathook.core.catalog import Catalog, Plan
from boathook.core.event import SPELLINGS
from boathook.core.hook import ARMED, GONE, HIDDEN, UNTRUSTED, Hook, Script
from boathook.core.matcher import Matcher, compile_pattern
from boathook.core.tool_kinds import TOOL_KINDS
from boathook.dialects.dialect import NATIVE, find_hook_dialect, find_host_dialect
from boathook.entry.fast_path import _prove_nothing_to_do
from boathook.entry.options import parse_options
from boathook.hosts.host import Host, HostEvent, list_host_names, load_host
from boathook.hosts.tool_names import TOOL_INPUT_KEYS, list_known_tools
from boathook.sources.source import SOURCES
from boathook.system.locations import read_environment, resolve_locations

CASES_PER_CATALOG = 50
TOOLS = (
    "",
    "",
    "",
    "^(WriteFile|EditFile)$",
    "^Shell$",
    "Write",
    "Delete",
    "^PatchFile$",
    "mcp__fs__",
    "Read|Grep",
    "[a-z]",
)
PATTERNS = ("", "", "\\.env$", "rm -rf", "^a\nb$", "SECRET", "push.*x", "(?i)GIT", "http://")
WORDS = (
    "ls",
    "rm -rf /",
    ".env",
    "a.py",
    "SECRET",
    "git push x",
    "http://localhost",
    "apply_patch --help",
    "naïve",
    "a",
    "b",
)
SERVER_TOOLS = (
    *(
        "write_file",
        "edit_file",
        "move_file",
        "read_file",
        "run_command",
        "browser_click",
        "fetch",
        "apply_patch",
        "Write",
    ),
    *("create_issue", "delete", "x", "get_web", "execute__y", "write", "search"),
)
SERVERS = ("fs", "my_fs", "my-fs", "web", "my fs", "my.fs")
FORMS = ("mcp__%s__%s", "mcp_%s_%s", "%s-%s", "%s_%s", "@%s/%s", "%s___%s", "MCP:%s%s")
KEYS = (
    *(
        "command",
        "cmd",
        "commands",
        "path",
        "file_path",
        "filePath",
        "content",
        "new_string",
        "old_str",
        "patch",
        "input",
    ),
    *(
        "patchText",
        "url",
        "source",
        "destination",
        "edits",
        "files",
        "notebook_path",
        "code",
        "query",
        "operations",
        "x",
    ),
)
SECTIONS = (
    "*** Add File: .env\n+SECRET\n",
    "*** Update File: a.py\n@@\n-x\n+a\n+b\n",
    "*** Update File: a.py\n*** Move to: .env\n@@\n-x\n+y\n",
    "*** Delete File: a.py\n",
)


class Counts(NamedTuple):
    cases: int
    quiet: int
    lost: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts = compare_cases(Path(folder), options.seed, options.cases)
    print(f"seed {options.seed}: {counts.cases} cases, {counts.quiet} answered on the fast path, {counts.lost} lost")
    return int(counts.lost > 0)


def compare_cases(folder: Path, seed: int, cases: int) -> Counts:
    """Compare so many cases that depend only on the seed; what is lost is printed."""
    chance, project = random.Random(seed), folder / "project"
    (project / ".agents/hooks").mkdir(parents=True)
    before, variables = os.getcwd(), {**os.environ}
    own = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "CACHE", "STATE", "DATA")}
    os.environ.update({"HOME": str(folder), **own})
    os.chdir(project)
    try:
        quiet = lost = 0
        for number in range(cases):
            if number % CASES_PER_CATALOG == 0:
                catalog = make_catalog(chance, project)
            host, event, payload = make_call(chance, project)
            data = json.dumps(payload).encode()
            if _prove_nothing_to_do(parse_options(["--host", host, "--event", event]), data) is None:
                continue
            quiet += 1
            if not is_engine_silent(catalog, host, event, data):
                lost += 1
                print(f"lost: {host} {event} {data.decode()}\n  hooks: {[hook.matcher for hook in catalog.hooks]}")
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(variables)
    return Counts(cases, quiet, lost)


def make_catalog(chance: random.Random, project: Path) -> Catalog:
    hooks = tuple(make_hook(chance, number) for number in range(chance.randrange(1, 5)))
    catalog = Catalog(hooks, projects=(("HOOK.md", str(project)), ("settings.json", "")))
    locations = resolve_locations(SOURCES, str(project), read_environment())
    if not write_compiled(catalog, (), locations, time.time()):
        raise RuntimeError("the compiled catalogue cannot be written")
    return catalog


def make_hook(chance: random.Random, number: int) -> Hook:
    kinds = tuple(chance.sample(TOOL_KINDS, chance.choice((0, 1, 1, 1, 2))))
    tool, pattern = chance.choice(("", chance.choice(TOOLS))), chance.choice(("", chance.choice(PATTERNS)))
    name = chance.choice(("pre-tool-call", "pre-tool-call", "post-tool-call", "permission-request"))
    return Hook(
        f"h{number}",
        SPELLINGS[name],
        name,
        "user",
        Script(f"/h{number}"),
        f"/h{number}/HOOK.md",
        find_hook_dialect(NATIVE),
        matcher=Matcher(compile_pattern(tool), compile_pattern(pattern), tool_kinds=kinds),
        state=chance.choice((ARMED, ARMED, ARMED, UNTRUSTED, GONE, HIDDEN)),
        state_reason="why",
    )


def make_call(chance: random.Random, folder: Path) -> tuple[str, str, dict[str, Any]]:
    host = load_host(chance.choice(list_host_names()))
    row = chance.choice([row for row in host.events if row.kind.has_tool])
    places = {ours: theirs for theirs, ours in row.renames}
    payload: dict[str, Any] = {"cwd": str(folder), "work_dir": str(folder), "workspaceRoots": [str(folder)]}
    name = make_tool_name(chance, host)
    values = {"tool_name": name, "tool_input": make_input(chance, host, row, name)}
    for ours, value in values.items():
        outer, _, inner = places.get(ours, ours).rpartition(".")
        fields: dict[str, Any] = payload.setdefault(outer, {}) if outer else payload
        fields[inner] = value
    return host.name, row.name, payload


def make_tool_name(chance: random.Random, host: Host) -> str:
    if chance.random() < 0.4:
        return chance.choice(FORMS) % (chance.choice(SERVERS), chance.choice(SERVER_TOOLS))
    shells_and_patches = [theirs for theirs, (ours, _) in host.tools.items() if ours in ("Shell", "PatchFile")]
    if shells_and_patches and chance.random() < 0.4:
        return chance.choice(shells_and_patches)
    return chance.choice([*host.tools, *host.tools, *list_known_tools(), *SERVER_TOOLS])


def make_input(chance: random.Random, host: Host, row: HostEvent, name: str) -> Any:
    ours, renames = host.tools.get(name, (name, ()))
    theirs = [key.removesuffix("[]") for key, _ in renames if key]
    own = [key for key in TOOL_INPUT_KEYS.get(ours, ()) if key not in [key for _, key in renames]]
    if chance.random() < 0.5 and (theirs or own):
        return {key: make_value(chance, 1) for key in (*theirs, *own[:3])}
    keys = [chance.choice((*KEYS, *theirs, *row.input_keys)) for _ in range(chance.randrange(4))]
    return {key: make_value(chance, 2) for key in keys}


def make_value(chance: random.Random, depth: int) -> Any:
    choice = chance.random()
    if choice < 0.4:
        patch = "".join(chance.sample(SECTIONS, chance.randrange(1, 4)))
        text = f"*** Begin Patch\n{patch}*** End Patch"
        return f"apply_patch <<E\n{text}\nE" if chance.random() < 0.5 else text
    if choice < 0.8 or not depth:
        return chance.choice(WORDS)
    if choice < 0.9:
        return [make_value(chance, depth - 1) for _ in range(chance.randrange(3))]
    return {chance.choice(KEYS): make_value(chance, depth - 1)}


def is_engine_silent(catalog: Catalog, host: str, name: str, data: bytes) -> bool:
    event = find_host_dialect(host).read_event(data, name)
    return catalog.plan(event) == Plan() and not any(skip.is_warning for skip in catalog.find_skips(event))


if __name__ == "__main__":
    raise SystemExit(main())
