"""Generates docs/reference/bridges.md, the matrix of bridges, from what `make bridges WRITE=1` has seen (tests/bridges/results).

And the lists of the pages in docs/how-to/frameworks.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from boathook.bridges.attachment import MISSING_EVENTS  # noqa: E402
from tests.bridges.behaviours import BEHAVIOURS, COST, COST_GOALS, IDLE, MEASURED_CALLS  # noqa: E402

RESULTS = ROOT / "tests/bridges/results"
PAGES = ROOT / "docs/how-to/frameworks"
BRIDGES = ROOT / "src/boathook/bridges"
INDEX = ROOT / "docs/README.md"
LISTED = re.compile(r"(<!-- generated: frameworks; `make docs` -->\n).*?(<!-- end -->)", re.DOTALL)
YES, CANNOT, MISSED, NO_WAY = "yes", "cannot", "missed", "–"
# What was seen with one framework: {"framework", "versions", "notes": {column: {behaviour: text}}, "columns": {column: cells}};
# and what it costs: {"conditions": {"rounds", "is_idle"}, "overhead": {column: {case: ratio}}}.
Result = dict[str, Any]
# By behaviour, way of running and scene: "", or why it is not possible.
Cells = dict[str, dict[str, dict[str, str]]]


def read_results() -> list[Result]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]


def write_bridges_page(made: str) -> str:
    """Return the page: versions, the matrix, and why something cannot be done."""
    results = read_results()
    lines = [
        "# What was tested in Python frameworks",
        "",
        made,
        "",
        "The same scenes in every framework, with a real release and a scripted model, offline: with the bridge, and again without",
        "it, where the opposite must happen. *cannot* means that boathook refuses to be attached, or that the run raises an error",
        "when it gets there, unless the reason says otherwise. *(accepted)* means that it attaches without an error; the page of",
        "the framework says what happens instead. *yes, except* means that only some of its scenes are possible.",
        "",
        "How to attach a bridge: [in a Python framework](../how-to/frameworks/README.md).",
        "",
    ]
    return "\n".join([*lines, *write_tables(results), *write_missing_events(), *write_overhead(results)]) + "\n"


def write_missing_events() -> Iterator[str]:
    """Return the table of events that frameworks do not report."""
    yield from ("", "## Events that do not come", "")
    yield "A hook for one of these never runs there. When you attach it, boathook logs a warning with the hook and the event."
    yield from ("", "| bridge | events |", "|---|---|")
    for framework, events in MISSING_EVENTS.items():
        yield f"| {framework} | {', '.join(f'`{event}`' for event in events) or 'none'} |"
    yield from (
        "",
        "`langgraph` is `guard_tools(ToolNode)`. Hooks for `post-session` of claude-agent-sdk run only in `guard_session`.",
    )


def write_tables(results: list[Result]) -> Iterator[str]:
    """Return the lines of the tables."""
    columns: dict[str, Cells] = {column: cells for result in results for column, cells in result["columns"].items()}
    notes: dict[str, dict[str, str]] = {
        column: texts for result in results for column, texts in result.get("notes", {}).items()
    }
    reasons = list_reasons(columns, notes)
    yield from ("| framework | versions | ways of running |", "|---|---|---|")
    for result in results:
        versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
        for column, cells in result["columns"].items():
            yield f"| {column} | {versions} | {', '.join(list_ways(cells))} |"
    yield from ("", f"| behaviour | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|")
    for behaviour, sentence in BEHAVIOURS.items():
        cells = [
            write_cell(found.get(behaviour, {}), reasons, notes.get(column, {}).get(behaviour, ""))
            for column, found in columns.items()
        ]
        yield f"| **{behaviour}**: {sentence} | {' | '.join(cells)} |"
    yield ""
    yield from (f"{number}. {why}" for number, why in enumerate(reasons, 1))


def list_reasons(columns: dict[str, Cells], notes: dict[str, dict[str, str]]) -> list[str]:
    """Return why something cannot be done, and the notes, in the order of their numbers."""
    found: dict[str, None] = {}
    for column, cells in columns.items():
        for behaviour, ways in cells.items():
            found |= dict.fromkeys(why for scenes in ways.values() for why in scenes.values() if why)
            note = notes.get(column, {}).get(behaviour)
            found |= {note: None} if note else {}
    return [*found]


def write_overhead(results: list[Result]) -> Iterator[str]:
    """Return the table of what bridges cost."""
    overhead = {column: cases for result in results for column, cases in result.get("overhead", {}).items()}
    names = list(dict.fromkeys(case for cases in overhead.values() for case in cases))
    if not overhead:
        return
    yield from ("", "## What it costs", "")
    yield "Processor time per tool call, against the same agent without the bridge (`make bridges BENCH=1`). The model is a script,"
    yield "so a framework that does little itself has high ratios. With 40 rounds, 0.03 more or less is chance on an idle machine,"
    yield "and 0.05 on one that others use."
    yield f"A run has {MEASURED_CALLS} calls: enough that its start and its end count for little, and no more than agents often"
    yield "make. With more calls the ratio of agent-framework grows, because any middleware makes it read the whole conversation"
    yield "once more at each request ([ADR 36](../adr/0036-bridges.md))."
    yield from ("", *describe_conditions(results))
    yield from ("", f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|")
    goals = (f"at most {COST_GOALS[name]:.2f}x" if name in COST_GOALS else NO_WAY for name in names)
    yield f"| *goal* | {' | '.join(goals)} |"
    for column, cases in overhead.items():
        yield f"| {column} | {' | '.join(write_ratio(name, cases.get(name)) for name in names)} |"
    if any(IDLE in cases for cases in overhead.values()):
        yield from (
            "",
            f"*{IDLE}* is measured without boathook, where a framework's middleware is the place for hooks:",
            "with every middleware and callback that the contract needs.",
        )
    texts = (text[COST] for result in results for text in result.get("notes", {}).values() if COST in text)
    for text in texts:
        yield from ("", text)


def describe_conditions(results: Iterable[Result]) -> Iterator[str]:
    """Return under which conditions the frameworks were measured, one item for each."""
    columns: dict[str, list[str]] = {}
    for result in results:
        known = result.get("conditions")
        machine = "an idle machine" if known and known["is_idle"] else "a machine that others used"
        text = f"Medians of {known['rounds']} rounds on {machine}" if known else "Conditions that were not recorded"
        columns.setdefault(text, []).extend(result.get("overhead", ()))
    yield from (f"- {text}: {', '.join(names)}." for text, names in columns.items() if names)


def write_ratio(case: str, ratio: float | None) -> str:
    """Return what a bridge costs in a case, and whether that misses the goal."""
    if ratio is None:
        return NO_WAY
    return f"{ratio:.2f}x" + (f", {MISSED}" if ratio > COST_GOALS.get(case, ratio) else "")


def list_ways(cells: Cells) -> list[str]:
    """Return the ways of running that were tested, in the order sync, async, stream."""
    return sorted({way for ways in cells.values() for way in ways}, key=lambda way: (way == "stream", way != "sync"))


def write_cell(ways: dict[str, dict[str, str]], reasons: list[str], note: str = "") -> str:
    """Return a cell: what is possible in all ways of running, or in each if they differ, and the number of the note."""
    verdicts = {way: write_verdict(scenes, reasons) for way, scenes in ways.items()}
    if not verdicts:
        return NO_WAY
    first, *others = dict.fromkeys(verdicts.values())
    text = "; ".join(f"{way}: {verdict}" for way, verdict in verdicts.items()) if others else first
    return f"{text} ({reasons.index(note) + 1})" if note else text


def write_verdict(scenes: dict[str, str], reasons: list[str]) -> str:
    """Return what is possible of the scenes of a behaviour: all, none, or some, with the numbers of the reasons."""
    missing = [why for why in scenes.values() if why]
    if not missing:
        return YES
    numbers = ", ".join(f"({reasons.index(why) + 1})" for why in dict.fromkeys(missing))
    return f"{CANNOT} {numbers}" if len(missing) == len(scenes) else f"{YES}, except {numbers}"


def describe_bridges() -> Iterator[str]:
    """Return the lines of the Python API about bridges: their public names, read from the code, which needs the frameworks."""
    options = "`names`, `arguments`, `session_id`, `work_dir` and `allow_unguarded`"
    yield from ("## Bridges", "", f"Each module needs its framework. `BridgeOptions` are {options}.", "")
    yield from ("How to attach them: [in a Python framework](../how-to/frameworks/README.md).", "")
    for path in sorted(BRIDGES.glob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        shown = re.search(
            rf"^from boathook\.bridges\.{path.stem} import (.+)$", ast.get_docstring(module) or "", re.MULTILINE
        )
        if shown is None:
            continue
        yield from (f"### boathook.bridges.{path.stem}", "")
        for name in shown.group(1).split(", "):
            node = next(node for node in module.body if getattr(node, "name", "") == name)
            assert isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            yield from ("```py", write_bridge_signature(node), "```", "", ast.get_docstring(node) or "", "")


def write_bridge_signature(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return how a class or a function of a bridge is called."""
    function = node
    if isinstance(node, ast.ClassDef):
        function = next(each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    assert not isinstance(function, ast.ClassDef)
    parameters = ast.unparse(function.args).removeprefix("self, ").replace("=", " = ")
    keyword = {ast.ClassDef: "class", ast.AsyncFunctionDef: "async with"}.get(type(node), "def")
    end = f" -> {ast.unparse(node.returns)}" if isinstance(node, ast.FunctionDef) and node.returns is not None else ""
    return f"{keyword} {node.name}({parameters}){end}"


def list_pages() -> Iterator[tuple[str, Path]]:
    """Return the pages of frameworks with their titles."""
    for path in sorted(PAGES.glob("*.md")):
        if path.name != "README.md":
            yield path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# "), path


# Lines of glue code that people wrote for five abilities before there were bridges, and the line that replaces them.
GLUE_LINES = (
    ("google-adk", 63, "App(…, plugins=[BoathookPlugin()])"),
    ("langchain", 78, "create_agent(…, middleware=[BoathookMiddleware()])"),
    ("OpenAI Agents SDK", 50, "agent = guard(agent)"),
    ("pydantic-ai", 51, "Agent(…, capabilities=[Guarded()])"),
    ("strands", 41, "Agent(…, hooks=[BoathookHooks()])"),
)


def write_framework_pages(made: str) -> Iterator[tuple[Path, str]]:
    """Return the list of frameworks, and the index of the documentation with these pages in it."""
    lines = [
        "# In a Python framework",
        "",
        made,
        "",
        "A bridge attaches your hooks to the agents of a framework, in one line: HOOK.md, settings.json, packs, Python functions.",
        "Each is an extra of this package, and imports its framework only when you import it. boathook is not on a package",
        "index yet: install it from a clone, `pip install 'PATH/TO/CLONE[NAME]'`.",
        "",
        *(f"- [{title}]({path.name})" for title, path in list_pages()),
        "",
        "Lines of code that attach hooks, without blank lines and comments. By hand is glue code for five abilities (block with a",
        "reason, rewrite, context for the model, stop gate, prompt events), as it was written before there were bridges:",
        "",
        "| framework | by hand | with the bridge |",
        "|---|---|---|",
        *(f"| {name} | {before} | 1: `{line}` |" for name, before, line in GLUE_LINES),
        "",
        "What all of them have in common:",
        "",
        "- Messages that hooks write for the user are logged immediately, at level INFO, by the logger `boathook`. Python shows no",
        "  messages of this level unless you ask for them: `logging.basicConfig(level=logging.INFO)`.",
        "- The same log says at the first run how many hooks are attached; if there are none, that is a warning.",
        "- A hook for an event that the framework does not report never runs; a warning names it when it is attached.",
        "- At a step (a request to the model), a hook can stop the run but cannot block just that step.",
        "- A run that waits for a person's answer goes on only with the same hooks and the same options of the bridge. If you",
        "  change them meanwhile, or another bridge with the same `Hooks` comes with the answer, an approval does not count (a",
        "  warning says so): hooks decide about the call again, and may ask again. In google-adk and openai-agents, which ask",
        "  once about a call, such a question is a block.",
        "- An approval counts once in a process. If the program goes on from the same place once more, from a stored state or a",
        "  checkpoint, or in two tasks at once, the person is asked again (langchain, strands) or the call is blocked.",
        "  In pydantic-ai that holds for one conversation: do not give the same answers to a run with another",
        "  `conversation_id`, where they count once more.",
        "- `context.state` is what the framework has for a run: pydantic-ai's `RunContext`, the `context` that you gave to",
        "  `Runner.run` of openai-agents, google-adk's `InvocationContext`, agent-framework's `AgentContext`; otherwise None.",
        "- What each framework can and cannot do, and how that was tested: [the matrix](../../reference/bridges.md).",
        "- A loop of your own: [guard your own agent](../../tutorial/guard-your-own-agent.md).",
    ]
    yield PAGES / "README.md", "\n".join(lines) + "\n"
    items = "".join(f"- [{title}](how-to/frameworks/{path.name})\n" for title, path in list_pages())
    yield INDEX, LISTED.sub(lambda found: found[1] + items + found[2], INDEX.read_text(encoding="utf-8"))


def make_result(framework: str, report: dict[str, Any]) -> tuple[Result, list[str]]:
    """Return what a report of the tests shows, and a line for everything that failed."""
    columns: dict[str, Cells] = {}
    failures: list[str] = []
    for cell in report["cells"]:
        ways = columns.setdefault(cell["column"], {}).setdefault(cell["behaviour"], {})
        scenes = ways.setdefault(cell["way"], {})
        # A scene is played twice, and only with the bridge it may not be possible.
        scenes[cell["scene"]] = cell["cannot"] or scenes.get(cell["scene"], "")
        if not cell["passed"]:
            failures.append(f"{cell['column']}, {cell['behaviour']}, {cell['way']}: {' '.join(cell['error'])}")
    result = {name: report[name] for name in ("versions", "notes")}
    return {"framework": framework, **result, "columns": columns}, failures


def format_tables(results: Iterable[Result]) -> str:
    """Return the tables for a terminal."""
    known = [*results]
    return "\n".join([*write_tables(known), *write_overhead(known)])
