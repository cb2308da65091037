#!/bin/sh
cat > /dev/null
echo "context of the end-to-end proof: marker-pre-agent-turn-5b07"
