#!/bin/sh
cat > /dev/null
echo "context of the end-to-end proof: marker-post-tool-call-27f6"
