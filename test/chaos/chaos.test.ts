import { expect, test } from 'vitest'
import { BREAKS, type BreakName, runFor } from './broken-build.ts'
import { STANDBYS, type Standby } from './database.ts'
import { type ChaosRun, chaos } from './run.ts'

/* `npm run chaos` runs it for longer (docs/proof.md). */
const SEED = Number(process.env.CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31))
const RUN: ChaosRun = {
  deliveries: Number(process.env.CHAOS_DELIVERIES ?? 2_000),
  events: Number(process.env.CHAOS_EVENTS ?? 100),
  faults: Number(process.env.CHAOS_FAULTS ?? 7),
  minutes: process.env.CHAOS_MINUTES === undefined ? undefined : Number(process.env.CHAOS_MINUTES),
  seed: SEED,
  standby: standbyOf(process.env.CHAOS_STANDBY ?? 'none'),
  only: process.env.CHAOS_ONLY?.split(','),
}

function standbyOf(text: string): Standby {
  const found = STANDBYS.find((name) => name === text)
  if (!found) throw new Error(`CHAOS_STANDBY is "${text}"; it can be ${STANDBYS.join(', ')}`)
  return found
}

test(`with any faults, every acknowledged event takes effect once (CHAOS_SEED=${SEED})`, async () => {
  const { wrong, stories, summary } = await chaos(RUN)
  process.stdout.write(`${summary}\n`)
  expect(wrong, [summary, ...stories].join('\n\n')).toEqual([])
})

// Each run takes minutes, because the fault must hit the right moment.
const broken = process.env.CHAOS_BROKEN === undefined ? [] : (Object.keys(BREAKS) as BreakName[])

test.each(broken)('the checker detects a broken build: %s', async (name) => {
  const { wrong, stories, summary } = await chaos({ ...RUN, ...runFor(name), broken: name })
  process.stdout.write([`${name}: ${wrong.join('\n')}`, ...stories, summary, ''].join('\n'))
  expect(wrong).toContainEqual(expect.stringMatching(BREAKS[name].violates))
})
