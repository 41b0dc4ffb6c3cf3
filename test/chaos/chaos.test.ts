import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { BREAKS, type BreakName, brokenBuild } from './broken-build.ts'
import { faultsIn } from './checker.ts'
import { nemesis } from './nemesis.ts'
import { actAsPerson, decideByTruth, resumeAll } from './person.ts'
import { randomOf } from './random.ts'
import { senders } from './senders.ts'
import { openWorld, type World } from './world.ts'

/*
 * Senders, several processes, a recording other side, a person, and a nemesis. `npm run chaos` makes
 * a long run of it.
 */
const EVENTS = Number(process.env.CHAOS_EVENTS ?? 150)
const FAULTS = Number(process.env.CHAOS_FAULTS ?? 12)
const SEED = Number(process.env.CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31))

interface ChaosRun {
  readonly events: number
  readonly faults: number
  readonly seed: number
  readonly broken?: BreakName
}

/** Returns what the checker found, and what the nemesis did. */
async function chaos({
  events,
  faults,
  seed,
  broken,
}: ChaosRun): Promise<{ wrong: string[]; story: string }> {
  const world = await openWorld({ processes: 3, dist: broken && brokenBuild(broken) })
  const done: string[] = []
  const sending = senders(world.apps, {
    events,
    random: randomOf(seed),
    allowed: () => Math.ceil(((done.length + 1) * events) / faults),
  })
  // A person's durable commits would take to the disk what the broken build left behind.
  let isOver = broken === 'asynchronous commit'
  const acting = actAsPerson(world, { random: randomOf(seed + 1), isOver: () => isOver })
  await Promise.all([sending.run(), nemesis({ world, random: randomOf(seed + 2) }, { faults, done })])
  isOver = true
  await acting
  await rest(world)
  const { sent, deliveries } = sending
  const counted = `${sent.length} events, ${deliveries} deliveries, ${world.downstream.calls.length} calls`
  const story = `CHAOS_SEED=${seed}: ${counted}, ${done.length} faults: ${done.join(', ')}`
  return { wrong: await faultsIn(world, sending), story }
}

test(`whatever breaks, every acknowledged event takes effect once (CHAOS_SEED=${SEED})`, async () => {
  const { wrong, story } = await chaos({ events: EVENTS, faults: FAULTS, seed: SEED })
  process.stdout.write(`${story}\n`)
  expect(wrong, story).toEqual([])
})

// Each takes minutes, because the nemesis must strike at the wrong moment.
const broken = process.env.CHAOS_BROKEN === undefined ? [] : (Object.keys(BREAKS) as BreakName[])

test.each(broken)('the checker notices a build that is broken: %s', async (name) => {
  const { wrong, story } = await chaos({ events: EVENTS, faults: FAULTS, seed: SEED, broken: name })
  process.stdout.write(`${name}: ${wrong.join('; ')}\n${story}\n`)
  expect(wrong).not.toEqual([])
})

const REST_MS = 120_000
const OPEN = `select (select count(*) from hookonce.job where state not in ('processed', 'failed'))
  + (select count(*) from hookonce.outbox where state = 'waiting') as open`

/**
 * Waits until nothing is left to do, and decides on what only a person can decide. Returns in any
 * case: the checker says what is not finished.
 */
async function rest(world: World): Promise<void> {
  const end = performance.now() + REST_MS
  await resumeAll(world)
  while (performance.now() < end) {
    await decideByTruth(world)
    const { rows } = await world.pool.query<{ open: string }>(OPEN)
    if (Number(rows[0]?.open) === 0) return
    await delay(100)
  }
}
