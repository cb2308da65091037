#!/bin/sh
cat > /dev/null
echo '{"decision": "ask", "reason": "marker-careful-b3d9"}'
