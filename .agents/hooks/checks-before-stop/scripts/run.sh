#!/bin/sh
# Exit code 2 sends the agent back to work, with the reason on stderr.
cat > /dev/null
cd "$AGENT_PROJECT_DIR" || exit 1
if [ ! -e .venv/.ready ]; then
    echo "there is no .venv here, so nothing was checked: make .venv/.ready" >&2
    exit 0
fi
[ -n "$(git status --porcelain)" ] || exit 0
if output=$(make quick-check 2>&1); then
    exit 0
fi
printf 'make quick-check failed:\n%s\n' "$(printf '%s\n' "$output" | tail -n 20)" >&2
exit 2
