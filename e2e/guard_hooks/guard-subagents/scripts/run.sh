#!/bin/sh
cat > /dev/null
echo "refused for the end-to-end proof: marker-subagents-91c6" >&2
exit 2
