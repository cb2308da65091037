#!/bin/bash
# No edits of secrets, of lock files, and of what git keeps for itself.

path=$(jq -r '.tool_input.file_path // .tool_input.notebook_path // empty')

refuse() {
  echo "$path is protected: $1" >&2
  exit 2
}

case "/$path" in
  */.env.example) ;;
  */.env | */.env.*) refuse "it holds secrets; ask the user to change it" ;;
  */.git/*) refuse "it belongs to git; use git commands" ;;
  */package-lock.json | */yarn.lock | */pnpm-lock.yaml | */poetry.lock | */uv.lock | */Cargo.lock)
    refuse "the package manager writes it; change what is required instead"
    ;;
esac
exit 0
