"""The 14 behaviours of every bridge: the rows of the matrix in docs/reference/bridges.md, in its order."""

from __future__ import annotations

BEHAVIOURS = {
    "block": "A hook blocks a tool call; the model reads the reason",
    "rewrite input": "A hook changes the arguments of a call",
    "rewrite output": "A hook changes what the model reads as the result",
    "context": "Context of hooks reaches the model, after all results of parallel calls; messages reach the person",
    "ask": "A hook asks: the framework's own approval, then the run goes on; each hook runs once",
    "stop gate": "A hook sends the agent back to work, three times at most",
    "prompt": "A hook blocks the prompt; the model is never asked",
    "session": "Session and turn begin and end once, with one session id",
    "failure": "Hooks see a tool that fails, and a run that fails",
    "parallel": "Of two calls at once, one is blocked and the other runs",
    "streaming": "All of it while the answer is streamed",
    "delegation": "Agents that an agent delegates to are guarded, too",
    "isolation": "Two runs at once do not mix",
    "cancel": "A cancelled run ends its turn and its session",
}
# What a bridge may cost per tool call, against the same agent without it (bench/bridge_overhead.py measures it).
COST = "cost"
COST_GOALS = {"20 Python hooks that do not match": 1.1, "one Python hook": 1.15}
# The tool calls of a run that is measured: enough that its start and its end count for little, and no more than agents often make.
MEASURED_CALLS = 30
# A case of the cost without boathook: what the seam of the framework takes by itself, for adapters with `build_idle`.
IDLE = "the framework's own middleware, doing nothing"
# A case of the bridge, in the same runs, against that.
AGAINST_IDLE = "20 Python hooks that do not match, against that middleware"
# Columns and behaviours, or scenes of one, for which a bridge may do nothing at all, because the framework has no place for it.
# Everything else that a framework cannot do must be refused when the bridge is attached, or raise in the run.
ACCEPTED = {
    ("langgraph ToolNode", "prompt"),
    ("langgraph ToolNode", "stop gate"),
    ("langgraph ToolNode", "session"),
    # A prompt again, and a run that ends before the first tool call.
    ("langgraph ToolNode", "context_for_a_prompt_reaches_the_model"),
    ("langgraph ToolNode", "hooks_see_that_a_run_failed"),
    # Steps begin with a request to the model.
    ("langgraph ToolNode", "a_hook_that_stops_before_a_step_ends_the_run"),
    ("langgraph ToolNode", "context_of_a_step_reaches_its_request_and_a_block_does_not_prevent_it"),
}
