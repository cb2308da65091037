#!/bin/sh
cat > /dev/null
echo "context of the end-to-end proof: marker-pre-tool-call-e9a3"
