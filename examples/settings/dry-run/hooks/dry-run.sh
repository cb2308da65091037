#!/bin/bash
# Turns `git push` into `git push --dry-run`. The whole input is given back, for an input is replaced as a whole.

jq '
  .tool_input as $input
  | if $input.command | test("\\bgit push\\b(?! --dry-run)") then
      {
        hookSpecificOutput: {
          hookEventName: "PreToolUse",
          permissionDecision: "allow",
          permissionDecisionReason: "as a dry run",
          updatedInput: ($input | .command |= gsub("\\bgit push\\b(?! --dry-run)"; "git push --dry-run"))
        }
      }
    else
      empty
    end
'
