import { expect, test } from 'vitest'
import { deliver, restart, type Step, settle } from './schedules/steps.ts'
import { shrink } from './shrink.ts'

const NEVER = Number.POSITIVE_INFINITY

test('irrelevant steps are removed, and copies are reduced to two', async () => {
  const steps: Step[] = [settle, deliver(0, 8), restart, settle, deliver()]
  const fails = async (tried: readonly Step[]): Promise<string | undefined> =>
    tried.some((step) => step.kind === 'deliver' && step.copies >= 2) ? 'doubled' : undefined
  const { steps: shortest, failure } = await shrink(steps, 'doubled', { fails, deadlineMs: NEVER })
  expect([shortest, failure]).toEqual([[deliver(0, 2)], 'doubled'])
})

test('a schedule whose steps all matter stays, and the deadline ends the search', async () => {
  const steps = [deliver(), restart, deliver()]
  const isWhole = async (tried: readonly Step[]): Promise<string | undefined> =>
    tried.length === 3 ? 'doubled' : undefined
  expect((await shrink(steps, 'doubled', { fails: isWhole, deadlineMs: NEVER })).steps).toEqual(steps)
  const always = async (): Promise<string> => 'doubled'
  expect((await shrink(steps, 'doubled', { fails: always, deadlineMs: 0 })).steps).toEqual(steps)
})
