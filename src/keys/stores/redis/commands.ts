import { type GroupCommit, groupCommit } from '../../../work/group-commit.ts'
import type { RunsScripts } from './client.ts'
import { scripts } from './scripts.ts'

/*
 * Concurrent requests with the same verb share one script call. For Redis and its client, the call
 * itself costs as much as the work for one key.
 */
export type Verb = keyof typeof scripts

export interface Question {
  readonly key: string
  readonly args: readonly (string | Buffer)[]
}

/** A script blocks the server while it runs. With this many keys it takes half a millisecond. */
const MOST_KEYS = 32
const MOST_BYTES = 1024 * 1024
/** Several calls in flight, so that requests do not wait for the replies to others. */
const MOST_CALLS = 4

export function asker(
  runner: () => Promise<RunsScripts>,
): (verb: Verb, question: Question) => Promise<unknown> {
  const groups = new Map<Verb, GroupCommit<Question, unknown>>()
  let together = true

  function groupOf(verb: Verb): GroupCommit<Question, unknown> {
    const known = groups.get(verb)
    if (known) return known
    const group = groupCommit((questions: readonly Question[]) => askTogether(verb, questions), {
      maxItems: MOST_KEYS,
      maxInFlight: MOST_CALLS,
      maxBytes: MOST_BYTES,
      bytesOf: ({ args }) => args.reduce((sum, arg) => sum + arg.length, 0),
    })
    groups.set(verb, group)
    return group
  }

  async function askTogether(verb: Verb, questions: readonly Question[]): Promise<readonly unknown[]> {
    try {
      return await askAll(verb, questions)
    } catch (error) {
      if (questions.length === 1) throw error
      // A cluster rejects two keys in one call, unless they happen to share a slot.
      if (error instanceof Error && error.message.startsWith('CROSSSLOT')) together = false
      // Retry one by one, which is safe for every verb. An error caused by one key must not fail
      // the others.
      const ends = await Promise.allSettled(questions.map((question) => askAlone(verb, question)))
      return ends.map((end) => (end.status === 'fulfilled' ? end.value : new Refusal(end.reason)))
    }
  }

  async function askAll(verb: Verb, questions: readonly Question[]): Promise<readonly unknown[]> {
    const { run } = await runner()
    const keys: string[] = []
    const args: (string | Buffer)[] = []
    // Not flatMap, which here takes longer than the rest of the call.
    for (const question of questions) {
      keys.push(question.key, `${question.key}:steps`)
      args.push(...question.args)
    }
    const answers = await run(scripts[verb], keys, args)
    if (Array.isArray(answers) && answers.length === questions.length) return answers
    throw new Error(`Redis answered ${typeof answers} where a list of ${questions.length} was expected`)
  }

  async function askAlone(verb: Verb, question: Question): Promise<unknown> {
    const [answer] = await askAll(verb, [question])
    return answer
  }

  return async (verb, question) => {
    if (!together) return askAlone(verb, question)
    const answer = await groupOf(verb).add(question)
    if (answer instanceof Refusal) throw answer.reason
    return answer
  }
}

/** Stands in for an answer if this request failed and others of the same call succeeded. */
class Refusal {
  readonly reason: unknown

  constructor(reason: unknown) {
    this.reason = reason
  }
}
