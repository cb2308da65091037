#!/bin/bash
# Copies a transcript before it is compacted or forgotten; the argument says which field of the event names it.

path=$(jq -r "$1 // empty")
if [[ ! -f $path ]]; then
  exit 0
fi

folder=$CLAUDE_PROJECT_DIR/.claude/transcripts
mkdir -p "$folder"
cp "$path" "$folder/$(date +%Y%m%dT%H%M%S)-$(basename "$path")"
