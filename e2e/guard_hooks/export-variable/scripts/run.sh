#!/bin/sh
cat > /dev/null
echo "export BOATHOOK_E2E_EXPORTED=yes" >> "$CLAUDE_ENV_FILE"
