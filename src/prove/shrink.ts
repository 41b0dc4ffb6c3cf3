import type { Step } from './schedules/steps.ts'

/** The steps with one step less, or with fewer copies. Shortest first. */
function shorter(steps: readonly Step[]): (readonly Step[])[] {
  const without = steps.map((_, left) => steps.filter((_step, index) => index !== left))
  const fewer = steps.flatMap((step, index) => {
    if (step.kind !== 'deliver' || step.copies <= 2) return []
    const changed: Step = { ...step, copies: step.copies > 4 ? 4 : 2 }
    return [steps.map((each, at) => (at === index ? changed : each))]
  })
  return [...without, ...fewer].filter((candidate) => candidate.some(({ kind }) => sends(kind)))
}

function sends(kind: Step['kind']): boolean {
  return kind === 'deliver' || kind === 'lose-reply' || kind === 'kill' || kind === 'bad'
}

/** A race does not occur each time, so a shorter schedule is tried more than once. */
const TRIES = 2

/**
 * The shortest schedule that still fails, found within the time limit. `fails` plays a candidate
 * with fresh events.
 */
export async function shrink<Failure>(
  steps: readonly Step[],
  failure: Failure,
  { fails, deadlineMs }: { fails(steps: readonly Step[]): Promise<Failure | undefined>; deadlineMs: number },
): Promise<{ steps: readonly Step[]; failure: Failure }> {
  let shortest = { steps, failure }
  const tried = new Set<string>()
  for (;;) {
    const next = await firstFailing(shorter(shortest.steps))
    if (!next) return shortest
    shortest = next
  }

  async function firstFailing(candidates: readonly (readonly Step[])[]) {
    for (const candidate of candidates) {
      const text = JSON.stringify(candidate)
      if (tried.has(text)) continue
      tried.add(text)
      for (let count = 0; count < TRIES; count++) {
        if (Date.now() >= deadlineMs) return undefined
        const found = await fails(candidate)
        if (found !== undefined) return { steps: candidate, failure: found }
      }
    }
    return undefined
  }
}
