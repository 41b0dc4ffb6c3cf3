import { type GroupCommit, groupCommit } from '../../../work/group-commit.ts'
import type { ScriptRunner } from './client.ts'
import { scripts } from './scripts.ts'

/*
 * Concurrent requests with the same verb share one script call. For Redis and its client, the call
 * itself costs as much as the work for one key.
 */
export type Verb = keyof typeof scripts

export interface Command {
  readonly key: string
  readonly args: readonly (string | Buffer)[]
}

/** A script blocks the server while it runs. With this many keys it takes half a millisecond. */
const MAX_KEYS = 32
const MAX_BYTES = 1024 * 1024
/** Several calls in flight, so that requests do not wait for the replies to others. */
const MAX_CALLS = 4

export function commandSender(
  runner: () => Promise<ScriptRunner>,
): (verb: Verb, command: Command) => Promise<unknown> {
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
      return ends.map((end) => (end.status === 'fulfilled' ? end.value : new CommandFailure(end.reason)))
    }
  }

  async function sendInOneCall(verb: Verb, commands: readonly Command[]): Promise<readonly unknown[]> {
    const { run } = await runner()
    const keys: string[] = []
    const args: (string | Buffer)[] = []
    // Not flatMap, which here takes longer than the rest of the call.
    for (const command of commands) {
      keys.push(command.key, `${command.key}:steps`)
      args.push(...command.args)
    }
    const answers = await run(scripts[verb], keys, args)
    if (Array.isArray(answers) && answers.length === commands.length) return answers
    throw new Error(`Redis returned ${typeof answers} instead of a list of ${commands.length}`)
  }

  async function sendAlone(verb: Verb, command: Command): Promise<unknown> {
    const [answer] = await sendInOneCall(verb, [command])
    return answer
  }

  return async (verb, command) => {
    if (!canBatch) return sendAlone(verb, command)
    const answer = await groupOf(verb).add(command)
    if (answer instanceof CommandFailure) throw answer.reason
    return answer
  }
}

/** Replaces the answer if this request failed and others of the same call succeeded. */
class CommandFailure {
  readonly reason: unknown

  constructor(reason: unknown) {
    this.reason = reason
  }
}
