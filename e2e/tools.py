"""Tools that agents offer to their models and that no table of `boathook.hosts.host` maps, and why that lets nothing past a guard.

A tool that is neither here nor in its host's table makes `make e2e` fail: it may run commands or write files under a name that
guards do not know. Whoever adds one here has looked at what it does.
"""

from __future__ import annotations

AGENTS_OWN = "the calls of that agent come to hooks themselves"  # seen in all nine
BACKGROUND = "looks at, waits for or ends what was started by a call that hooks saw"
GOALS = "notes about the work, inside of the agent"
LATER = "a prompt for later; the calls that follow come to hooks themselves"
PLANS = "changes how the agent goes about its work"
SEARCH = "only finds tools; their calls come to hooks under their own names"
SERVER = "asks a server that a person added"
SHOWN = "only shows something to the person"
SKILL = "reads instructions that were installed; the calls that follow come to hooks themselves"
TEAM = "notes and messages between agents whose calls come to hooks themselves"
WORKTREE = "makes or leaves a git worktree of its own; what is done in it comes to hooks"

HARMLESS: dict[str, dict[str, str]] = {
    "claude": {
        "CronCreate": LATER,
        "CronDelete": LATER,
        "CronList": LATER,
        "DeferredToolPlaceholder": "does nothing, by its description",
        "EnterWorktree": WORKTREE,
        "ExitWorktree": WORKTREE,
        "ListAgents": AGENTS_OWN,
        "ReportFindings": SHOWN,
        "ScheduleWakeup": LATER,
        "SendMessage": AGENTS_OWN,
        "Skill": SKILL,
        "TaskStop": BACKGROUND,
        "ToolSearch": SEARCH,
    },
    "codex": {
        "close_agent": AGENTS_OWN,
        "create_goal": GOALS,
        "get_goal": GOALS,
        "list_mcp_resource_templates": SERVER,
        "list_mcp_resources": SERVER,
        "read_mcp_resource": SERVER,
        "resume_agent": AGENTS_OWN,
        "send_input": AGENTS_OWN,
        "tool_search": SEARCH,
        "update_goal": GOALS,
        "wait_agent": AGENTS_OWN,
    },
    "copilot": {
        "fetch_copilot_cli_documentation": "reads the help that it came with",
        "list_agents": AGENTS_OWN,
        "list_bash": BACKGROUND,
        "read_agent": AGENTS_OWN,
        "read_bash": BACKGROUND,
        "session_store_sql": "reads what it stored of earlier sessions, by its description read-only",
        "skill": SKILL,
        "sql": "a database of the session: its todos; it refuses ATTACH and VACUUM INTO, which would write files",
        "stop_bash": BACKGROUND,
        "write_agent": AGENTS_OWN,
    },
    "gemini": {
        "activate_skill": SKILL,
        "complete_task": "ends a subagent with its report",
        "enter_plan_mode": PLANS,
        "list_background_processes": BACKGROUND,
        "read_background_output": BACKGROUND,
        "update_topic": SHOWN,
    },
    "kimi-code": {
        "CreateGoal": GOALS,
        "CronCreate": LATER,
        "CronDelete": LATER,
        "CronList": LATER,
        "EnterPlanMode": PLANS,
        "ExitPlanMode": PLANS,
        "GetGoal": GOALS,
        "SetGoalBudget": GOALS,
        "Skill": SKILL,
        "TaskList": BACKGROUND,
        "TaskOutput": BACKGROUND,
        "TaskStop": BACKGROUND,
        "UpdateGoal": GOALS,
        "WaitFor": BACKGROUND,
    },
    "kimi-cli": {
        "EnterPlanMode": PLANS,
        "ExitPlanMode": PLANS,
        "TaskList": BACKGROUND,
        "TaskOutput": BACKGROUND,
        "TaskStop": BACKGROUND,
    },
    "qwen": {
        "cron_create": LATER,
        "cron_delete": LATER,
        "cron_list": LATER,
        "enter_worktree": WORKTREE,
        "exit_worktree": WORKTREE,
        "get_goal": GOALS,
        "list_agents": AGENTS_OWN,
        "loop_wakeup": LATER,
        "read_mcp_resource": SERVER,
        "record_artifact": SHOWN,
        "report_findings": SHOWN,
        "send_message": AGENTS_OWN,
        "skill": SKILL,
        "task_stop": BACKGROUND,
        "tool_call": SEARCH,
        "tool_search": SEARCH,
        "update_goal": GOALS,
    },
    "cline": {
        "team_attach_outcome_fragment": TEAM,
        "team_await_runs": TEAM,
        "team_broadcast": TEAM,
        "team_cancel_run": TEAM,
        "team_cleanup": TEAM,
        "team_create_outcome": TEAM,
        "team_finalize_outcome": TEAM,
        "team_list_outcomes": TEAM,
        "team_list_runs": TEAM,
        "team_mission_log": TEAM,
        "team_read_mailbox": TEAM,
        "team_review_outcome_fragment": TEAM,
        "team_send_message": TEAM,
        "team_shutdown_teammate": TEAM,
        "team_status": TEAM,
        "team_task": TEAM,
    },
    "opencode": {"skill": SKILL},
}

# Not harmless, but no table can change that: the page says so. Seen with the pinned version.
UNHEARD: dict[str, dict[str, str]] = {
    "codex": {
        "write_stdin": "Codex CLI calls no hook for write_stdin, which types into a shell that a command left open"
    },
}
