#!/bin/sh
cat > /dev/null
if [ -e "$AGENT_WORK_DIR/gate-was-shut" ]; then exit 0; fi
touch "$AGENT_WORK_DIR/gate-was-shut"
echo "not yet done, says the end-to-end proof: marker-stop-60be" >&2
exit 2
