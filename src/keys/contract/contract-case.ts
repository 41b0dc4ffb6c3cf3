import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { AcquireRequest } from '../decide.ts'
import type { KeyRecord } from '../record.ts'
import type { Acquired, KeyId, KeyStore } from '../store.ts'

export type Capability = 'steps' | 'sweep' | 'pledges'

/**
 * The contract of key stores as cases for any test runner:
 *
 * ```ts
 * for (const { name, run } of keyStoreContract(['steps'])) test(name, () => run(store))
 * ```
 *
 * Each case uses its own keys, so one store can serve all cases concurrently. Optional capabilities
 * are listed explicitly, so that no case is left out by mistake.
 */
export interface ContractCase {
  readonly name: string
  readonly needs?: Capability
  /**
   * Several clients change an existing record at once. Meaningless on a server without isolation.
   */
  readonly races?: true
  run(store: KeyStore): Promise<void>
}

/** Long enough for a whole case on a slow machine. */
export const LONG_MS = 60_000
/** Expires while a case waits for it. */
export const SHORT_MS = 120

export function freshId(): KeyId {
  return randomBytes(32).toString('hex')
}

export function request(more: Partial<AcquireRequest> = {}): AcquireRequest {
  return {
    fingerprint: '1:same',
    holder: randomUUID(),
    lockMs: LONG_MS,
    ttlMs: LONG_MS,
    onCrash: 'takeover',
    ...more,
  }
}

export async function acquired(
  store: KeyStore,
  id: KeyId,
  more: Partial<AcquireRequest> = {},
): Promise<Acquired> {
  const answer = await store.acquire(id, request(more))
  assert.equal(answer.outcome, 'acquired')
  assert.equal(answer.record.state, 'locked')
  return answer
}

/**
 * Retries until the outcome changes. Only the store's clock counts, so only the store can show that
 * time has passed.
 */
export async function acquireUntilNot(
  outcome: Acquired['outcome'],
  store: KeyStore,
  id: KeyId,
  more: Partial<AcquireRequest> = {},
): Promise<Acquired> {
  const asked = request(more)
  for (let attempt = 0; attempt < 500; attempt++) {
    const answer = await store.acquire(id, asked)
    if (answer.outcome !== outcome) return answer
    await delay(20)
  }
  throw new assert.AssertionError({ message: `the key is still ${outcome} after 500 attempts` })
}

/** Waits on the store's clock by means of another key. The keys of the case are not touched. */
export async function waitOnStoreClock(store: KeyStore, ms: number): Promise<void> {
  const clock = freshId()
  await acquired(store, clock, { lockMs: ms })
  await acquireUntilNot('locked', store, clock)
}

export async function waitUntilExpired(store: KeyStore, id: KeyId): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt++) {
    if ((await store.read(id)) === undefined) return
    await delay(20)
  }
  throw new assert.AssertionError({ message: 'the record has not expired after 500 attempts' })
}

export async function currentRecord(store: KeyStore, id: KeyId): Promise<KeyRecord> {
  const record = await store.read(id)
  assert.ok(record, 'the record is there')
  return record
}

export const released = { to: 'released', ttlMs: LONG_MS } as const
export const unknown = { to: 'unknown', ttlMs: LONG_MS } as const
export const completion = (text: string) =>
  ({ to: 'completed', result: Buffer.from(text), ttlMs: LONG_MS }) as const
