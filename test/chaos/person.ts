import { setTimeout as delay } from 'node:timers/promises'
import { receiptIds } from '../../src/model/receipt-id.ts'
import type { UnknownEffect } from '../../src/operate/attention.ts'
import { settleWaiting } from '../../src/operate/subscribers.ts'
import { keyOf } from './events.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

export const DECISION = { by: 'the person', why: 'asked the other side' }
/** The subjects that the operator replays, pauses and resumes. */
export const SUBSCRIBERS = ['write', 'transaction', 'latest', 'ordered'] as const

const receiptIdOf = receiptIds('default', 'test')

interface Act {
  readonly event: number
  readonly verb: string
  readonly subscriber: string
}

/** Records an action of the operator. It counts as done when the call has returned. */
async function acting({ history }: World, act: Act, perform: () => Promise<unknown>): Promise<void> {
  const fromMs = history.now()
  const end = (done: boolean): void =>
    history.add('act', { ...act, from_ms: fromMs, to_ms: history.now(), done })
  try {
    await perform()
  } catch (error) {
    end(false)
    throw error
  }
  end(true)
}

/** An operator who replays, pauses, resumes and decides while everything breaks. */
export async function actAsPerson(
  world: World,
  { random, isOver }: { readonly random: Random; readonly isOver: () => boolean },
): Promise<void> {
  const verbs = [replaySome, replayFresh, pauseForAMoment, decideSome, replayFailed] as const
  while (!isOver()) {
    // The database may be down. The operator tries again later.
    await random
      .pick(verbs)(world, random)
      .catch(() => undefined)
    await delay(200 + random.below(400))
  }
}

/** Finished work is not repeated. */
async function replaySome(world: World, random: Random): Promise<void> {
  for (let times = 0; times < 3; times += 1) {
    const event = 1 + random.below(world.newest)
    const subscriber = random.pick(SUBSCRIBERS)
    await acting(world, { event, verb: 'replay', subscriber }, () =>
      world.person.replay(receiptIdOf(keyOf(event)), { subscriber }),
    )
  }
}

const STATE = `select j.state::text as state from hookonce.job j
  join hookonce.subscriber s on s.id = j.subscriber
  where j.receipt_id = $1 and s.name = $2`

/**
 * Finished work is repeated. Only finished jobs: if a job failed before its work was done, a fresh
 * replay would not do the work a second time.
 */
async function replayFresh(world: World, random: Random): Promise<void> {
  const event = 1 + random.below(world.newest)
  const subscriber = random.pick(SUBSCRIBERS)
  const id = receiptIdOf(keyOf(event))
  const { rows } = await world.pool.query<{ state: string }>(STATE, [id, subscriber])
  if (rows[0]?.state !== 'processed') return
  await acting(world, { event, verb: 'fresh', subscriber }, () =>
    world.person.replay(id, { subscriber, fresh: DECISION }),
  )
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

/** A pause may have lasted longer, because the database was down when it should have ended. */
export async function resumeAll({ person, renamed }: World): Promise<void> {
  for (const subscriber of [...SUBSCRIBERS, renamed]) await person.resume('test', subscriber, DECISION)
}

/**
 * Decides on each unknown effect by the records of the called service. Not while a process is
 * frozen: its call may still be in progress, and its outcome unknowable.
 */
export async function decideByTruth(world: World): Promise<void> {
  if (world.apps.some(({ isFrozen }) => isFrozen)) return
  for (const effect of await world.person.attention.list()) await decideOn(world, effect, 'by truth')
}

/** Sometimes requests another call, or abandons the effect for now. */
async function decideSome(world: World, random: Random): Promise<void> {
  if (world.apps.some(({ isFrozen }) => isFrozen)) return
  for (const effect of await world.person.attention.list())
    await decideOn(world, effect, random.pick(['by truth', 'by truth', 'same key', 'abandon']))
}

type Decision = 'by truth' | 'same key' | 'abandon'

async function decideOn(
  world: World,
  { key, downstreamKey }: UnknownEffect,
  decision: Decision,
): Promise<void> {
  const { attention } = world.person
  const [, event] = key.split(':')
  const act = (verb: string, decide: () => Promise<unknown>): Promise<void> =>
    acting(world, { event: Number(event), verb, subscriber: '' }, decide)
  if (decision === 'abandon') return act('abandon', () => attention.abandon(key, DECISION))
  if (decision === 'same key') return act('retry-same-key', () => attention.retrySameKey(key, DECISION))
  const truth = await fetch(`${world.downstream.url}/keys/${downstreamKey}`)
  const result: unknown = truth.ok ? await truth.json() : undefined
  return truth.ok
    ? act('confirm-done', () => attention.confirmDone(key, { ...DECISION, result }))
    : act('confirm-not-done', () => attention.confirmNotDone(key, DECISION))
}

const FAILED = `select substr(r.event_key, 5)::integer as event, s.name as subscriber
  from hookonce.job j join hookonce.receipt r on r.shard = j.shard and r.id = j.receipt_id
  join hookonce.subscriber s on s.id = j.subscriber where j.state = 'failed' limit 100`

/** Replays everything that was abandoned. */
export async function replayFailed(world: World): Promise<void> {
  const { rows } = await world.pool.query<{ event: number; subscriber: string }>(FAILED)
  for (const { event, subscriber } of rows)
    await acting(world, { event, verb: 'replay', subscriber }, () =>
      world.person.replay(receiptIdOf(keyOf(event)), { subscriber }),
    )
}

const OLD_NAMES = `select distinct s.name from hookonce.subscriber s join hookonce.job j on j.subscriber = s.id
  where s.name like 'renamed %' and s.name <> $1 and j.state <> 'processed'`

/** After a rename, moves jobs that wait under an old name to the new one. */
export async function moveRenamed({ person, pool, renamed }: World): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(OLD_NAMES, [renamed])
  const ledger = await person.ledger()
  for (const { name } of rows) {
    const request = { tenant: 'default', source: 'test', subscriber: name, to: renamed, begun: true }
    await settleWaiting(ledger, request, DECISION)
  }
}
