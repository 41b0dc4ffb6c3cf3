import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from './random.ts'
import type { World } from './world.ts'

const DECISION = { by: 'the person', why: 'asked the other side' }

/**
 * Decides on each unknown effect by what the other side knows. Not while a process stands still: its
 * call may still be under way, and nobody could know.
 */
export async function decideByTruth({ person, downstream, apps }: World): Promise<number> {
  if (apps.some(({ isFrozen }) => isFrozen)) return 0
  const unknown = await person.attention.list()
  for (const { key, downstreamKey } of unknown) {
    const truth = await fetch(`${downstream.url}/keys/${downstreamKey}`)
    if (truth.ok) await person.attention.confirmDone(key, { ...DECISION, result: await truth.json() })
    else await person.attention.confirmNotDone(key, DECISION)
  }
  return unknown.length
}

/** An operator who replays, pauses, resumes and decides while everything breaks. */
export async function actAsPerson(
  world: World,
  { random, isOver }: { readonly random: Random; readonly isOver: () => boolean },
): Promise<void> {
  const verbs = [replaySome, pauseForAMoment, decideByTruth] as const
  while (!isOver()) {
    // The database may be down: a person tries again later.
    await random
      .pick(verbs)(world, random)
      .catch(() => undefined)
    await delay(200 + random.below(400))
  }
}

/** What is done is not done again. */
async function replaySome({ person, pool }: World, random: Random): Promise<void> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from hookonce.receipt order by id offset $1 limit 3`,
    [random.below(200)],
  )
  for (const { id } of rows) await person.replay(id)
}

const SUBSCRIBERS = ['write', 'transaction', 'latest', 'ordered'] as const

/** A pause may have outlived the moment, because the database was down when it was to end. */
export async function resumeAll({ person }: World): Promise<void> {
  for (const subscriber of SUBSCRIBERS) await person.resume('test', subscriber, DECISION)
}

async function pauseForAMoment({ person }: World, random: Random): Promise<void> {
  const subscriber = random.pick(SUBSCRIBERS)
  try {
    await person.pause('test', subscriber, DECISION)
    await delay(random.below(300))
  } finally {
    await person.resume('test', subscriber, DECISION)
  }
}
