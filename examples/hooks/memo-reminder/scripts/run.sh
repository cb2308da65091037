#!/bin/sh
# Once per session: a reminder to note down what the next session should know.
cat >/dev/null
project=${AGENT_PROJECT_DIR:-.}
memo=$project/.agents/MEMO.md
marks=$project/.agents/log/memo-reminder
session=$(printf '%s' "${AGENT_SESSION_ID:-none}" | tr -c 'A-Za-z0-9_-' '_' | cut -c 1-100)

[ -e "$marks/$session" ] && exit 0
mkdir -p "$marks" || exit
touch "$marks/$session" || exit

count=0
[ -f "$memo" ] && count=$(grep -c '^## ' "$memo")

cat <<TEXT
Before you finish: is there something that the next session should know? An obstacle, an idea left for later, a place
that deserves a closer look. Write each under a heading of its own in .agents/MEMO.md. Notes there now: $count.
TEXT
