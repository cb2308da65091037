#!/bin/sh
# Says where the work stands. At the start of a session, plain text is context for the model.

git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit 0

echo "Branch: $(git symbolic-ref --short -q HEAD || echo none)"
commits=$(git log -n 5 --format='- %s' 2>/dev/null)
[ -z "$commits" ] || printf 'Last commits:\n%s\n' "$commits"
changes=$(git status --short)
[ -z "$changes" ] || printf 'Not committed:\n%s\n' "$changes"
exit 0
