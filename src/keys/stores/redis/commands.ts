import { type GroupCommit, groupCommit } from '../../../work/group-commit.ts'
import type { RunsScripts } from './client.ts'
import { scripts } from './scripts.ts'

/*
 * What many requests ask at the same time is asked in one call of the verb's script: for Redis and its client, a call
 * costs as much as what it does for one key.
 */
export type Verb = keyof typeof scripts

export interface Question {
  readonly key: string
  readonly args: readonly (string | Buffer)[]
}

/** While a script runs, nobody else is served: with so many keys it takes half a millisecond. */
const MOST_KEYS = 32
const MOST_BYTES = 1024 * 1024
/** So that nobody waits for the answers to others while there is enough to ask. */
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
      // A cluster takes no two keys in one call, unless they happen to share a slot.
      if (error instanceof Error && error.message.startsWith('CROSSSLOT')) together = false
      // One by one, which every verb allows: what is wrong with one of them must not befall the others.
      const ends = await Promise.allSettled(questions.map((question) => askAlone(verb, question)))
      return ends.map((end) => (end.status === 'fulfilled' ? end.value : new Refusal(end.reason)))
    }
  }

  async function askAll(verb: Verb, questions: readonly Question[]): Promise<readonly unknown[]> {
    const { run } = await runner()
    const keys: string[] = []
    const args: (string | Buffer)[] = []
    // Not by flatMap, which takes longer here than all the rest of asking.
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

/** In place of an answer, where others have theirs. */
class Refusal {
  readonly reason: unknown

  constructor(reason: unknown) {
    this.reason = reason
  }
}
