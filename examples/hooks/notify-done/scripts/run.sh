#!/bin/sh
# Tells the person at the screen that the agent has finished.
cat >/dev/null
project=${AGENT_PROJECT_DIR:-.}
log=$project/.agents/log/notifications.log
text="The agent has finished in $(basename "$project")"
bell=''

if command -v notify-send >/dev/null && notify-send "$text"; then
    how=notify-send
elif command -v osascript >/dev/null && osascript -e 'on run words' -e 'display notification (item 1 of words)' -e 'end run' "$text"; then
    how=osascript
else
    how=bell
    bell=$(printf '\a')
fi

mkdir -p "$project/.agents/log" || exit
printf '%s %s session=%s by=%s%s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$text" "${AGENT_SESSION_ID:-none}" "$how" "$bell" >>"$log"
