// made by `boathook install opencode`; `boathook uninstall opencode` removes it
import { spawn } from "node:child_process"

const COMMAND = [] // filled in by the installer
// boathook has shorter timeouts of its own
const TIMEOUT_MS = 600_000

const log = (text) => console.error(`boathook: ${text}`)

// Sends one event to boathook. Returns its answer; null if there is none, which is logged and never thrown.
function ask(event, fields) {
  return new Promise((resolve) => {
    const fail = (message) => {
      log(`${event}: ${message}; hooks did not run`)
      resolve(null)
    }
    let child
    try {
      child = spawn(COMMAND[0], [...COMMAND.slice(1), "--event", event], { stdio: ["pipe", "pipe", "pipe"] })
    } catch (error) {
      return fail(error.message)
    }
    const out = []
    const err = []
    const timer = setTimeout(() => child.kill(), TIMEOUT_MS)
    child.on("error", (error) => {
      clearTimeout(timer)
      fail(error.message)
    })
    child.stdin.on("error", () => {})
    child.stdout.on("data", (data) => out.push(data))
    child.stderr.on("data", (data) => err.push(data))
    child.on("close", (code) => {
      clearTimeout(timer)
      const message = Buffer.concat(err).toString().trim()
      if (code === 2) return resolve({ refused: message || "blocked by a hook" })
      if (code !== 0) return fail(message || `exit code ${code}`)
      if (message) log(message)
      resolve(parseAnswer(event, Buffer.concat(out).toString().trim()))
    })
    child.stdin.end(JSON.stringify({ event_type: event, ...fields }))
  })
}

function parseAnswer(event, text) {
  try {
    const answer = text ? JSON.parse(text) : {}
    if (answer.system_message) log(answer.system_message)
    return answer
  } catch {
    log(`${event}: the answer cannot be read`)
    return null
  }
}

const joinTexts = (parts) =>
  parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")

function replaceFields(target, source) {
  for (const key of Object.keys(target)) if (!(key in source)) delete target[key]
  Object.assign(target, source)
}

export const Boathook = async ({ directory }) => {
  // sessions of subagents, which are not sessions of the person
  const children = new Set()
  const makeFields = (id) => ({ session_id: id ?? "", work_dir: directory })
  const makeCall = (input, args) => ({
    ...makeFields(input.sessionID),
    tool_name: input.tool,
    tool_input: args ?? {},
    tool_use_id: input.callID ?? "",
  })

  const handlers = {
    "session.created": ({ info }) => {
      if (info.parentID) return void children.add(info.id)
      return ask("pre-session", { ...makeFields(info.id), source: "startup" })
    },
    "session.deleted": ({ info }) => {
      if (!children.delete(info.id)) return ask("post-session", { ...makeFields(info.id), exit_reason: "deleted" })
    },
    "session.idle": ({ sessionID }) => {
      if (!children.has(sessionID)) return ask("pre-agent-turn-stop", makeFields(sessionID))
    },
    "session.error": ({ sessionID, error }) =>
      ask("turn-failure", { ...makeFields(sessionID), error: error?.data?.message ?? error?.name ?? "" }),
    "session.compacted": ({ sessionID }) => ask("post-context-compact", makeFields(sessionID)),
    "message.part.updated": ({ part }) => {
      if (part?.type !== "tool" || part.state?.status !== "error") return
      const input = { sessionID: part.sessionID, tool: part.tool, callID: part.callID }
      return ask("post-tool-call-failure", { ...makeCall(input, part.state.input), error: part.state.error ?? "" })
    },
  }

  return {
    event: async ({ event }) => {
      try {
        await handlers[event.type]?.(event.properties ?? {})
      } catch (error) {
        log(`${event.type}: ${error.message}`)
      }
    },
    "chat.message": async (input, output) => {
      const answer = await ask("pre-agent-turn", { ...makeFields(input.sessionID), prompt: joinTexts(output.parts) })
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
      const answer = await ask("pre-tool-call", makeCall(input, output.args))
      if (answer?.refused) throw new Error(answer.refused)
      if (answer?.modified_input) replaceFields(output.args, answer.modified_input)
    },
    "tool.execute.after": async (input, output) => {
      const answer = await ask("post-tool-call", { ...makeCall(input, input.args), tool_output: output.output ?? "" })
      if (answer?.modified_output !== undefined) {
        const modified = answer.modified_output
        output.output = typeof modified === "string" ? modified : JSON.stringify(modified)
      }
      const context = answer?.additional_context ?? answer?.refused
      if (context) output.output = `${output.output ?? ""}\n\n${context}`
    },
    "experimental.session.compacting": async (input, output) => {
      const answer = await ask("pre-context-compact", makeFields(input.sessionID))
      if (answer?.additional_context) output.context.push(answer.additional_context)
    },
  }
}
