import { createHash } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { addMessages, type NewMessage } from '../../src/ledger/outbox/messages.ts'
import type { MessageFact, Observer } from '../../src/observe/observer.ts'
import { type Relay, type RelayOptions, startRelay } from '../../src/publish/relay.ts'
import type { Publish } from '../../src/publishers/contract.ts'
import { isolation } from '../../src/work/isolation.ts'
import { TimeLimit } from '../../src/work/within.ts'
import type { TestDatabase } from './database.ts'
import { until } from './until.ts'

/** A message like one that a handler publishes. */
export function newMessage(
  id: string,
  more: { topic?: string; key?: string; payload?: unknown } = {},
): NewMessage {
  const { topic = 't', key = null, payload = id } = more
  const lane = key === null ? uuid(id) : uuid(`${topic}/${key}`)
  return {
    shard: Number.parseInt(lane.slice(0, 2), 16) % 16,
    id: uuid(id),
    lane,
    tenant: 'default',
    topic,
    key,
    payload: JSON.stringify(payload),
    headers: null,
    receiptId: uuid('receipt'),
    subscriber: 1,
  }
}

function uuid(text: string): string {
  return createHash('md5')
    .update(text)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

export function commitMessages(db: TestDatabase, ...messages: NewMessage[]): Promise<void> {
  return addMessages(db.pool, messages)
}

/** A relay in this process, on the database's own pool. Stopped at the end of the test. */
export async function relayOn(
  db: TestDatabase,
  publish: Publish | Record<string, Publish>,
  options: Partial<RelayOptions> = {},
): Promise<{ relay: Relay; facts: MessageFact[] }> {
  const facts: MessageFact[] = []
  const observer: Observer = {
    delivery: () => undefined,
    attempt: () => undefined,
    rescue: () => undefined,
    message: (fact) => void facts.push(fact),
    trouble: () => undefined,
  }
  const publishers = typeof publish === 'function' ? { '': publish } : publish
  const relay = await startRelay({
    pool: db.pool,
    shards: 16,
    publishers: Object.entries(publishers).map(([prefix, one]) => ({
      takes: (topic) => topic.startsWith(prefix),
      publish: one,
    })),
    concurrency: 8,
    timeoutMs: 30_000,
    retry: { maxAttempts: 5, maxAgeMs: 1e9, baseDelayMs: 1, maxDelayMs: 1 },
    leaseMs: 30_000,
    pollMs: 20,
    isolation: isolation(10_000),
    observer,
    ...options,
  })
  onTestFinished(() => relay.stop(new TimeLimit(0)))
  return { relay, facts }
}

export async function allPublished(db: TestDatabase): Promise<void> {
  await until('no message waits', async () => {
    return (await db.number(`select count(*) from hookonce.outbox where state = 'waiting'`)) === 0
  })
}
