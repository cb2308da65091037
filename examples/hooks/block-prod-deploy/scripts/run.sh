#!/bin/sh
# The matcher in HOOK.md has already found a production deployment; all that is left is to say no.
cat >/dev/null # take the event, so that the sender's pipe does not break
echo "This touches production. Ask a person to run it; staging is free to use." >&2
exit 2
