// made by `boathook install opencode`; `boathook uninstall opencode` takes it away
import { spawn } from "node:child_process"

const COMMAND = [] // the door of boathook, filled in by the installer
const DEADLINE = 600_000 // boathook keeps its own, shorter ones

const tell = (text) => console.error(`boathook: ${text}`)

// Sends one event to boathook. Gives what it answers; null if it could not be asked, which is told and never thrown.
function ask(event, fields) {
  return new Promise((resolve) => {
    const give = (why) => {
      tell(`${event}: ${why}; hooks did not run`)
      resolve(null)
    }
    let child
    try {
      child = spawn(COMMAND[0], [...COMMAND.slice(1), "--event", event], { stdio: ["pipe", "pipe", "pipe"] })
    } catch (fault) {
      return give(fault.message)
    }
    const out = []
    const err = []
    const timer = setTimeout(() => child.kill(), DEADLINE)
    child.on("error", (fault) => {
      clearTimeout(timer)
      give(fault.message)
    })
    child.stdin.on("error", () => {})
    child.stdout.on("data", (data) => out.push(data))
    child.stderr.on("data", (data) => err.push(data))
    child.on("close", (code) => {
      clearTimeout(timer)
      const said = Buffer.concat(err).toString().trim()
      if (code === 2) return resolve({ refused: said || "blocked by a hook" })
      if (code !== 0) return give(said || `exit code ${code}`)
      if (said) tell(said)
      resolve(read(event, Buffer.concat(out).toString().trim()))
    })
    child.stdin.end(JSON.stringify({ event_type: event, ...fields }))
  })
}

function read(event, text) {
  try {
    const answer = text ? JSON.parse(text) : {}
    if (answer.system_message) tell(answer.system_message)
    return answer
  } catch {
    tell(`${event}: the answer cannot be read`)
    return null
  }
}

const words = (parts) =>
  parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")

function refill(target, source) {
  for (const key of Object.keys(target)) if (!(key in source)) delete target[key]
  Object.assign(target, source)
}

export const Boathook = async ({ directory }) => {
  const children = new Set() // sessions of subagents: they begin and end no session of the person's
  const base = (id) => ({ session_id: id ?? "", work_dir: directory })
  const call = (input, args) => ({
    ...base(input.sessionID),
    tool_name: input.tool,
    tool_input: args ?? {},
    tool_use_id: input.callID ?? "",
  })

  const heard = {
    "session.created": ({ info }) => {
      if (info.parentID) return void children.add(info.id)
      return ask("pre-session", { ...base(info.id), source: "startup" })
    },
    "session.deleted": ({ info }) => {
      if (!children.delete(info.id)) return ask("post-session", { ...base(info.id), exit_reason: "deleted" })
    },
    "session.idle": ({ sessionID }) => {
      if (!children.has(sessionID)) return ask("pre-agent-turn-stop", base(sessionID))
    },
    "session.error": ({ sessionID, error }) =>
      ask("turn-failure", { ...base(sessionID), error: error?.data?.message ?? error?.name ?? "" }),
    "session.compacted": ({ sessionID }) => ask("post-context-compact", base(sessionID)),
    "message.part.updated": ({ part }) => {
      if (part?.type !== "tool" || part.state?.status !== "error") return
      const input = { sessionID: part.sessionID, tool: part.tool, callID: part.callID }
      return ask("post-tool-call-failure", { ...call(input, part.state.input), error: part.state.error ?? "" })
    },
  }

  return {
    event: async ({ event }) => {
      try {
        await heard[event.type]?.(event.properties ?? {})
      } catch (fault) {
        tell(`${event.type}: ${fault.message}`)
      }
    },
    "chat.message": async (input, output) => {
      const answer = await ask("pre-agent-turn", { ...base(input.sessionID), prompt: words(output.parts) })
      if (!answer?.additional_context) return
      output.parts.push({
        id: `prt_boathook${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`,
        sessionID: input.sessionID,
        messageID: output.message.id,
        type: "text",
        text: answer.additional_context,
        synthetic: true,
      })
    },
    "tool.execute.before": async (input, output) => {
      const answer = await ask("pre-tool-call", call(input, output.args))
      if (answer?.refused) throw new Error(answer.refused)
      if (answer?.modified_input) refill(output.args, answer.modified_input)
    },
    "tool.execute.after": async (input, output) => {
      const answer = await ask("post-tool-call", { ...call(input, input.args), tool_output: output.output ?? "" })
      if (answer?.modified_output !== undefined) {
        const made = answer.modified_output
        output.output = typeof made === "string" ? made : JSON.stringify(made)
      }
      const said = answer?.additional_context ?? answer?.refused
      if (said) output.output = `${output.output ?? ""}\n\n${said}`
    },
    "experimental.session.compacting": async (input, output) => {
      const answer = await ask("pre-context-compact", base(input.sessionID))
      if (answer?.additional_context) output.context.push(answer.additional_context)
    },
  }
}
