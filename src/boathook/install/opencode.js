// made by `boathook install opencode`; `boathook uninstall opencode` removes it
import { spawn } from "node:child_process"
import { accessSync, constants, statSync } from "node:fs"

// filled in by the installer: the command, its answer to each event if boathook cannot start, and what is wrong then
const COMMAND = []
const BROKEN_FORMS = {}
const BROKEN_REASON = ""
// boathook has shorter timeouts of its own
const TIMEOUT_MS = 600_000
const REFUSED_CODE = "2"

const log = (text) => console.error(`boathook: ${text}`)

// What an event gets if boathook cannot start: a tool call is refused, everything else goes on.
function answerBroken(event, message) {
  const reason = `${BROKEN_REASON} (${message})`
  if (BROKEN_FORMS[event] === REFUSED_CODE) return { refused: reason }
  log(`${event}: ${reason}`)
  return null
}

// Returns what is wrong with the interpreter or our file, "" if both are there. An empty one would allow everything.
function findMissing() {
  const entry = COMMAND.slice(1).find((word) => !word.startsWith("-"))
  try {
    accessSync(COMMAND[0], constants.X_OK)
    accessSync(entry, constants.R_OK)
    const empty = [COMMAND[0], entry].find((path) => statSync(path).size === 0)
    return empty ? `${empty} is empty` : ""
  } catch (error) {
    return error.message
  }
}

// Sends one event to boathook. Returns its answer; null if there is none, which is logged and never thrown.
function ask(event, fields) {
  return new Promise((resolve) => {
    const args = [...COMMAND.slice(1), "--event", event, "--broken", BROKEN_FORMS[event] ?? ""]
    const missing = findMissing()
    if (missing) return resolve(answerBroken(event, missing))
    let child
    try {
      child = spawn(COMMAND[0], args, { stdio: ["pipe", "pipe", "pipe"] })
    } catch (error) {
      return resolve(answerBroken(event, error.message))
    }
    const out = []
    const err = []
    let isLate = false
    let hasStarted = true
    const timer = setTimeout(() => {
      isLate = true
      child.kill()
    }, TIMEOUT_MS)
    child.on("error", (error) => {
      hasStarted = false
      clearTimeout(timer)
      resolve(answerBroken(event, error.message))
    })
    child.stdin.on("error", () => {})
    child.stdout.on("data", (data) => out.push(data))
    child.stderr.on("data", (data) => err.push(data))
    child.on("close", (code, signal) => {
      if (!hasStarted) return
      clearTimeout(timer)
      const message = Buffer.concat(err).toString().trim()
      const isOurs = message.startsWith("boathook")
      // Python itself ends with 2 if it cannot open our file; a hook may write the same as its reason, so we look again
      const isUnopened = message.startsWith(`${COMMAND[0]}: can't open file`) && findMissing() !== ""
      if (code === 2 && !isUnopened) return resolve({ refused: message || "blocked by a hook" })
      // our own errors with 1 let an event pass
      if (isLate || (code === 1 && isOurs)) {
        log(`${event}: ${message || "no answer in time"}; hooks did not run`)
        return resolve(null)
      }
      if (code !== 0) return resolve(answerBroken(event, message || `exit code ${code ?? signal}`))
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
    return answerBroken(event, "its answer cannot be read")
  }
}

const joinTexts = (parts) =>
  parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")

function replaceFields(target, source) {
  for (const key of Object.keys(target)) if (!(key in source)) delete target[key]
  Object.assign(target, source)
}

// OpenCode's tool `batch` runs other tools without telling plugins: they are asked about here, before the batch itself.
function listCalls(tool, args) {
  const inner = tool === "batch" && Array.isArray(args?.tool_calls) ? args.tool_calls : []
  const calls = inner.filter((call) => typeof call?.tool === "string")
  return [...calls.map((call) => [call.tool, (call.parameters ??= {})]), [tool, args]]
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
      for (const [name, args] of listCalls(input.tool, output.args)) {
        const answer = await ask("pre-tool-call", makeCall({ ...input, tool: name }, args))
        if (answer?.refused) throw new Error(answer.refused)
        if (answer?.modified_input) replaceFields(args, answer.modified_input)
      }
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
