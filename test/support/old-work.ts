import { effectDownstreamKey } from '../../src/effects/downstream-key.ts'
import { receiptIds, scopedId, shardOf } from '../../src/model/receipt-id.ts'
import type { TestDatabase } from './database.ts'

/*
 * Unfinished work of builds with an older schema: plain inserts that name only the columns and
 * tables of that version, with the values that its statements wrote.
 */

/** The schema versions that added a state in which a job can be interrupted. */
const STEPS = 2
const EFFECTS = 3
const OUTBOX = 4
const ORDER = 5
const SUSPECTS = 8
const LIMITERS = 10
const ROLLUPS = 13
const ENCRYPTION = 14
const ALERTS = 15

const SHARDS = 16
const TENANT = 'default'
const idOf = receiptIds(TENANT, 'test')

type Row = Readonly<Record<string, unknown>>

async function insert(db: TestDatabase, table: string, row: Row): Promise<void> {
  const names = Object.keys(row)
  const places = names.map((_, index) => `$${index + 1}`)
  await db.rows(
    `insert into hookonce.${table} (${names.join(', ')}) values (${places.join(', ')})`,
    Object.values(row),
  )
}

/** The data of a worker at the time of the upgrade. */
type Lease = 'live' | 'dead' | 'silent'

interface OldJob {
  readonly type: string
  readonly state: string
  /** The version that can leave a job like this. */
  readonly since?: number
  readonly lease?: Lease
  /** The number of claims, which is also its fence. */
  readonly attempt?: number
  readonly crashes?: number
  readonly lastStep?: string
}

/** An event whose payload is encrypted. */
const SEALED = 'w.sealed'
/** The master key of the encrypted payload. */
export const OLD_MASTER_KEY = 'BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc='
/**
 * The values that the first encrypting version wrote: data key 1, and headers and body under it.
 */
const OLD_DATA_KEY = {
  tenant: TENANT,
  purpose: 'payload',
  master: '805c61d3b125100c',
  wrapped: Buffer.from(
    'AfVWhsfPv8aYMc6zlxseR0AssyUp+7cuC/P/sqOjooOujJff0CoYWyEGsF8pSP9EQH8wIdvNgzAJ7l0hoQ==',
    'base64',
  ),
}
const OLD_SEALED =
  'AQs3yj/PKoVTqmzlRvw0heOo3SQVkTG0WGORAvCmqdb3TbJgAUyZz2ldsuQQ5hpRAEH/s50942NgfxLjU2+mlgwiLQXbBxHXJNTD2aC38HN5Mi40eoy+uYIk+Cf+bF0c9xZ+hd77FA=='

const JOBS: readonly OldJob[] = [
  { type: 'w.received', state: 'received' },
  { type: 'w.live', state: 'processing', attempt: 1, lease: 'live' },
  { type: 'w.dead', state: 'processing', attempt: 1, lease: 'dead' },
  { type: 'w.silent', state: 'processing', attempt: 1, lease: 'silent' },
  { type: 'w.retrying', state: 'retrying', attempt: 1 },
  { type: 'w.crashed', state: 'retrying', attempt: 2, crashes: 2 },
  { type: 'w.processed', state: 'processed', attempt: 1 },
  { type: 'w.failed', state: 'failed', attempt: 2 },
  { type: 'w.step', state: 'retrying', attempt: 1, since: STEPS },
  { type: 'w.last', state: 'processed', attempt: 1, lastStep: 'transaction', since: STEPS },
  { type: 'w.keyed', state: 'processing', attempt: 1, lease: 'dead', since: EFFECTS },
  { type: 'w.once', state: 'processing', attempt: 1, lease: 'dead', since: EFFECTS },
  { type: 'w.done', state: 'retrying', attempt: 1, since: EFFECTS },
  { type: 'w.attention', state: 'attention', attempt: 1, since: EFFECTS },
  { type: 'w.stale', state: 'received', since: EFFECTS },
  { type: SEALED, state: 'received', since: ENCRYPTION },
]

/** Events of one order key, in the order in which they were received. */
export const ORDERED = ['o.1', 'o.2', 'o.3']

/** The types of the jobs that a schema can hold, except the ordered jobs. */
export function oldJobs(version: number): readonly OldJob[] {
  return JOBS.filter(({ since = 1 }) => since <= version)
}

export const receiptOf = (type: string): string => idOf(eventKey(type))
const eventKey = (type: string): string => `evt_${type}`
const shardOfType = (type: string): number => shardOf(receiptOf(type), SHARDS)

const minutesAgo = (minutes: number): Date => new Date(Date.now() - minutes * 60_000)

/** Seeds the ledger. Returns the id of the worker that still holds its lease. */
export async function seedOldWork(db: TestDatabase, version: number): Promise<number> {
  await insert(db, 'source', {
    tenant: TENANT,
    name: 'test',
    key_seconds: 7_776_000,
    body_seconds: 2_592_000,
  })
  const app = await seedSubscriber(db, 'app', 'w.*')
  const ordered = await seedSubscriber(db, 'ordered', 'o.*')
  const workers = {
    live: await seedWorker(db, version, { lease_until: minutesAgo(-60) }),
    dead: await seedWorker(db, version, { lease_until: minutesAgo(2), dead_at: minutesAgo(1) }),
    silent: await seedWorker(db, version, { lease_until: minutesAgo(2) }),
  }
  if (version >= ENCRYPTION) await insert(db, 'data_key', OLD_DATA_KEY)
  for (const job of oldJobs(version)) await seedJob(db, { job, subscriber: app, workers })
  await seedOrdered(db, version, ordered, workers.dead)
  if (version >= STEPS) await seedStep(db, app)
  if (version >= EFFECTS) await seedEffects(db, app)
  if (version >= OUTBOX) await seedMessages(db, app, workers.dead)
  if (version >= LIMITERS) await seedOpenCircuit(db, app, workers.dead)
  if (version >= ROLLUPS) await seedRollups(db)
  if (version >= ALERTS) await seedAlert(db)
  await insert(db, 'duplicate', {
    receipt_id: receiptOf('w.received'),
    shard: shardOfType('w.received'),
    count: 1,
  })
  await insert(db, 'rejection', {
    source: 'test',
    code: 'SIGNATURE_MISMATCH',
    count: 3,
    last_detail: 'no match',
  })
  return workers.live
}

async function seedRollups(db: TestDatabase): Promise<void> {
  for (const size of [1, 10, 60])
    await insert(db, 'rollup', {
      size,
      at: new Date(0),
      tenant: TENANT,
      source: 'test',
      subscriber: 'app',
      failed: 1,
    })
}

/** An open alert that was announced. */
async function seedAlert(db: TestDatabase): Promise<void> {
  await insert(db, 'alert', {
    id: receiptOf('w.failed'),
    opened_at: minutesAgo(2),
    last_seen_at: minutesAgo(1),
    notified_at: minutesAgo(2),
    announced: true,
    rule: 'failures',
    tenant: TENANT,
    source: 'test',
    subscriber: 'app',
    says: '1 of 1 finished jobs failed for good in the last 15 minutes',
  })
}

function seedSubscriber(db: TestDatabase, name: string, pattern: string): Promise<number> {
  return db.number(
    `insert into hookonce.subscriber (tenant, source, name, pattern) values ($1, 'test', $2, $3) returning id`,
    [TENANT, name, pattern],
  )
}

async function seedWorker(db: TestDatabase, version: number, lease: Row): Promise<number> {
  await insert(db, 'worker', {
    host: 'old',
    pid: 1,
    ...lease,
    ...(version >= SUSPECTS ? { lease_ms: 30_000, serves: [] } : {}),
  })
  return db.number('select max(id) from hookonce.worker')
}

/** The process of the probe has died. */
async function seedOpenCircuit(db: TestDatabase, subscriber: number, prober: number): Promise<void> {
  await insert(db, 'limiter', {
    name: `${TENANT}/test/app`,
    has_circuit: true,
    state: 'half-open',
    reason: 'Error: not now',
    generation: 2,
    prober,
    probe_until: minutesAgo(-60),
  })
  await db.rows(
    `update hookonce.subscriber s set limiter = l.id, held_at = l.since from hookonce.limiter l where s.id = $1`,
    [subscriber],
  )
}

async function seedReceipt(db: TestDatabase, type: string, receivedAt: Date): Promise<void> {
  await insert(db, 'receipt', {
    shard: shardOfType(type),
    id: receiptOf(type),
    received_at: receivedAt,
    secret: 1,
    tenant: TENANT,
    source: 'test',
    event_key: eventKey(type),
    event_type: type,
    ...(type === SEALED
      ? { sealed: Buffer.from(OLD_SEALED, 'base64'), data_key: 1 }
      : {
          headers: 'content-type: application/json',
          body: Buffer.from(JSON.stringify({ id: eventKey(type), type })),
        }),
  })
}

interface SeededJob {
  readonly job: OldJob
  readonly subscriber: number
  readonly workers: Readonly<Record<Lease, number>>
}

async function seedJob(db: TestDatabase, { job, subscriber, workers }: SeededJob): Promise<void> {
  const { type, state, attempt = 0, crashes = 0, lease, lastStep } = job
  const name = { shard: shardOfType(type), receipt_id: receiptOf(type), subscriber }
  const isFinished = ['processed', 'failed', 'attention'].includes(state)
  await seedReceipt(db, type, minutesAgo(5))
  await insert(db, 'job', {
    ...name,
    state,
    attempt,
    crashes,
    fence: attempt,
    worker: lease ? workers[lease] : null,
    born_at: minutesAgo(5),
    due_at: minutesAgo(5),
    started_at: attempt > 0 ? minutesAgo(4) : null,
    finished_at: isFinished ? minutesAgo(3) : null,
    ...(lastStep === undefined ? {} : { last_step: lastStep }),
  })
  const isTold = attempt > 0 && (state === 'retrying' || state === 'failed' || state === 'attention')
  if (isTold)
    await insert(db, 'attempt', {
      ...name,
      fence: attempt,
      number: attempt,
      started_at: minutesAgo(4),
      outcome: state,
      error: 'Error: not now',
    })
}

/** Up to version 4 a subscriber had no order, so its jobs are plain. */
async function seedOrdered(
  db: TestDatabase,
  version: number,
  subscriber: number,
  deadWorker: number,
): Promise<void> {
  const lane = scopedId('lane', String(subscriber), 'key')
  const firstSeq = Date.now() * 1_000
  for (const [place, type] of ORDERED.entries()) {
    await seedReceipt(db, type, minutesAgo(5 - place))
    const name = { shard: shardOfType(type), receipt_id: receiptOf(type), subscriber }
    const isFirst = place === 0
    const run = isFirst
      ? { state: 'processing', worker: deadWorker, fence: 1, attempt: 1, started_at: minutesAgo(4) }
      : { state: 'received' }
    const order = { lane, lane_seq: firstSeq + place, due_at: isFirst ? minutesAgo(4) : 'infinity' }
    await insert(db, 'job', version >= ORDER ? { ...name, ...run, ...order } : { ...name, state: 'received' })
  }
  if (version >= ORDER)
    await insert(db, 'lane', { shard: shardOf(lane, SHARDS), id: lane, seq: firstSeq + 2, added: 1 })
}

async function seedStep(db: TestDatabase, subscriber: number): Promise<void> {
  await insert(db, 'step', {
    shard: shardOfType('w.step'),
    receipt_id: receiptOf('w.step'),
    subscriber,
    fence: 1,
    name: 'transaction',
    result: JSON.stringify({ charge: 'ch_old' }),
  })
}

/** The key of the effect that the job of this type requests. */
export const effectKey = (type: string): string => `mail:${type}`

export const oldDownstreamKey = (type: string): string =>
  effectDownstreamKey({ tenant: TENANT, key: effectKey(type), epoch: 0 })

/** The entity whose known version is newer than that of the stale event. */
export const ENTITY = 'in_1'

async function seedEffects(db: TestDatabase, subscriber: number): Promise<void> {
  const effects = [
    { type: 'w.keyed', mode: 'keyed', state: 'started' },
    { type: 'w.once', mode: 'atMostOnce', state: 'started' },
    { type: 'w.done', mode: 'keyed', state: 'done', result: JSON.stringify('sent by the old binary') },
    {
      type: 'w.attention',
      mode: 'atMostOnce',
      state: 'unknown',
      reason: 'it was called and no reply was recorded',
    },
  ]
  for (const { type, ...effect } of effects) {
    const id = scopedId(TENANT, effectKey(type))
    await insert(db, 'effect', {
      shard: shardOf(id, SHARDS),
      id,
      tenant: TENANT,
      key: effectKey(type),
      receipt_id: receiptOf(type),
      subscriber,
      fence: 1,
      epoch: 0,
      started_at: minutesAgo(4),
      downstream_key: oldDownstreamKey(type),
      ...effect,
    })
    if (effect.state === 'unknown')
      await insert(db, 'attention', {
        shard: shardOfType(type),
        receipt_id: receiptOf(type),
        subscriber,
        effect_shard: shardOf(id, SHARDS),
        effect_id: id,
      })
  }
  const entity = scopedId('entity', TENANT, ENTITY)
  await insert(db, 'entity', {
    shard: shardOf(entity, SHARDS),
    id: entity,
    tenant: TENANT,
    name: ENTITY,
    kind: 'number',
    version: '10',
    deleted: false,
  })
}

/** One waiting lane and one lane of a dead relay, two messages each. */
async function seedMessages(db: TestDatabase, subscriber: number, deadWorker: number): Promise<void> {
  for (const [key, lease] of [
    ['waiting', {}],
    ['leased', { worker: deadWorker, fence: 1, attempt: 1, started_at: minutesAgo(4) }],
  ] as const) {
    const lane = scopedId('lane', TENANT, 'news', key)
    const shard = shardOf(lane, SHARDS)
    await insert(db, 'outbox_lane', {
      shard,
      id: lane,
      topic: 'news',
      tail: 2,
      due_at: minutesAgo(4),
      ...lease,
    })
    for (const seq of [1, 2])
      await insert(db, 'outbox', {
        shard,
        id: scopedId('message', key, String(seq)),
        lane,
        seq,
        receipt_id: receiptOf('w.processed'),
        subscriber,
        tenant: TENANT,
        topic: 'news',
        key,
        payload: JSON.stringify(`${key} ${seq}`),
      })
  }
}
