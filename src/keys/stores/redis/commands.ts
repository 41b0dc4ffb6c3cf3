import { type GroupCommit, groupCommit } from '../../../work/group-commit.ts'
import type { ScriptRunner } from './client.ts'
import { scripts } from './scripts.ts'

/*
 * Concurrent requests with the same verb share one script call. For Redis and its client, the call
 * itself costs as much as the work for one key.
 */
export type Verb = keyof typeof scripts

export interface Command<Result = unknown> {
  readonly key: string
  readonly args: readonly (string | Buffer)[]
  /** Reads the answer. `now` is the time of the server. May send another command. */
  readonly read: (answer: unknown, now: number) => Result | Promise<Result>
}

export type SendCommand = <Result>(verb: Verb, command: Command<Result>) => Promise<Result>

/** A script blocks the server while it runs. With this many keys it takes half a millisecond. */
const MAX_KEYS = 32
const MAX_BYTES = 1024 * 1024
/** Several calls in flight, so that requests do not wait for the replies to others. */
const MAX_CALLS = 4

export function commandSender(runner: () => Promise<ScriptRunner>): SendCommand {
  const groups = new Map<Verb, GroupCommit<Command, unknown>>()
  let canBatch = true

  function groupOf(verb: Verb): GroupCommit<Command, unknown> {
    const known = groups.get(verb)
    if (known) return known
    const group = groupCommit((commands: readonly Command[]) => sendBatch(verb, commands), {
      maxItems: MAX_KEYS,
      maxInFlight: MAX_CALLS,
      maxBytes: MAX_BYTES,
      bytesOf: ({ args }) => args.reduce((sum, arg) => sum + arg.length, 0),
    })
    groups.set(verb, group)
    return group
  }

  /** An Error in place of a result rejects its command alone. */
  async function sendBatch(verb: Verb, commands: readonly Command[]): Promise<readonly unknown[]> {
    try {
      return await sendInOneCall(verb, commands)
    } catch (error) {
      if (commands.length === 1) throw error
      // A cluster rejects two keys in one call, unless they happen to share a slot.
      if (error instanceof Error && error.message.startsWith('CROSSSLOT')) canBatch = false
      // Retry one by one, which is safe for every verb. An error caused by one key must not fail
      // the others.
      const ends = await Promise.allSettled(commands.map((command) => sendAlone(verb, command)))
      return ends.map((end) => (end.status === 'fulfilled' ? end.value : errorOf(end.reason)))
    }
  }

  async function sendInOneCall(verb: Verb, commands: readonly Command[]): Promise<readonly unknown[]> {
    const { run } = await runner()
    const { withSteps } = scripts[verb]
    const keys: string[] = []
    const args: (string | Buffer)[] = []
    // Not flatMap, which here takes longer than the rest of the call.
    for (const command of commands) {
      keys.push(command.key)
      if (withSteps) keys.push(`${command.key}:steps`)
      args.push(...command.args)
    }
    const answers = await run(scripts[verb], keys, args)
    if (!Array.isArray(answers) || answers.length !== commands.length + 1)
      throw new Error(`Redis returned ${typeof answers} instead of a list of ${commands.length + 1}`)
    const now = timeOf(answers[0])
    return commands.map((command, at) => resultOf(command, answers[at + 1], now))
  }

  async function sendAlone(verb: Verb, command: Command): Promise<unknown> {
    const [result] = await sendInOneCall(verb, [command])
    if (result instanceof Error) throw result
    return result
  }

  // Each command reads its own answer, so the results have the types that the commands declare.
  return ((verb, command) =>
    canBatch ? groupOf(verb).add(command) : sendAlone(verb, command)) as SendCommand
}

function resultOf(command: Command, answer: unknown, now: number): unknown {
  try {
    return command.read(answer, now)
  } catch (error) {
    return errorOf(error)
  }
}

/** A number or its digits: some clients are configured to return digits. */
function timeOf(reply: unknown): number {
  const time = Number(reply)
  if (time > 0) return time
  throw new Error(`Redis must return a time; it returned a value of type ${typeof reply}`)
}

function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
