#!/bin/sh
cat > /dev/null
echo started > "$AGENT_WORK_DIR/background-started"
sleep 5
echo finished > "$AGENT_WORK_DIR/background-finished"
