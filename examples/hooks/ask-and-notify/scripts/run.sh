#!/bin/sh
# Says that a question waits, and then asks it.
cat >/dev/null
# A topic of ntfy, such as https://ntfy.example/my-topic; empty: none.
address=''
text='A question of boathook waits for you'

if command -v notify-send >/dev/null; then
    notify-send "$text"
elif command -v osascript >/dev/null; then
    osascript -e 'on run words' -e 'display notification (item 1 of words)' -e 'end run' "$text"
fi >/dev/null 2>&1
if [ -n "$address" ]; then
    curl --silent --max-time 5 --data "$text" "$address" >/dev/null 2>&1
fi
echo '{"decision": "ask", "reason": "This deploys or publishes something."}'
