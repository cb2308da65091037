#!/bin/bash
# The agent is not done before `make test` passes. It is sent back once: then it may stop, whatever the tests say.

active=$(jq -r '.stop_hook_active')
if [[ $active == true ]]; then
  exit 0
fi

cd "$CLAUDE_PROJECT_DIR" || exit 1
# Tests import the project's own code, which hooks do not.
unset PYTHONSAFEPATH
if output=$(make --silent test 2>&1); then
  exit 0
fi

tail -n 20 <<<"$output" | jq -Rs '{decision: "block", reason: ("The tests fail:\n" + .)}'
