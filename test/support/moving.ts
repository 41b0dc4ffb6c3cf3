import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { operatorsOf } from '../../src/hookonce.ts'
import type { Hookonce, Options } from '../../src/index.ts'
import { isSet, type LedgerSet } from '../../src/ledger/ledger-set.ts'
import { type MoveStep, moveTenant } from '../../src/operate/move-tenant.ts'
import type { TestDatabase } from './database.ts'
import { deliverTo, fleetHooks } from './fleet.ts'
import type { testSource } from './source.ts'

/* Moves of the tenant alpha, while its effects and messages are counted. */

/** Two tenants in one ledger. */
const MOVING = { alpha: 'hookonce_1', beta: 'hookonce_1' }
export const MOVE_REASON = { by: 'test', why: 'more room' }

type MovingHooks = Hookonce<Readonly<Record<string, ReturnType<typeof testSource>>>>

export interface CountedHooks {
  readonly hooks: MovingHooks
  /** By tenant and event: how often. */
  readonly effects: Map<string, number>
  readonly published: Map<string, number>
  readonly set: LedgerSet
}

interface CountingOptions extends Partial<Pick<Options, 'encryption' | 'prepare'>> {
  readonly placement?: Readonly<Record<string, string>>
}

/** Started hooks whose effects and messages are counted. */
export async function counting(
  db: TestDatabase,
  { placement = {}, ...more }: CountingOptions = {},
): Promise<CountedHooks> {
  const effects = new Map<string, number>()
  const published = new Map<string, number>()
  const add = (to: Map<string, number>, key: string): void => void to.set(key, (to.get(key) ?? 0) + 1)
  const hooks = fleetHooks(db, Object.keys(MOVING), {
    // Only the first process names the places: a move changes them.
    ledgers: { count: 3, tenants: MOVING, placement },
    outbox: { publishers: { '*': ({ payload }) => add(published, String(payload)) } },
    ...more,
  })
  for (const tenant of Object.keys(MOVING))
    hooks.on(
      tenant,
      '*',
      async (event, ctx) => {
        await ctx.effect(`effect:${event.key}`, () => add(effects, `${tenant} ${event.key}`))
        ctx.publish('done', `${tenant} ${event.key}`, { key: event.key.slice(-1) })
      },
      { ordered: (event) => event.key.slice(-1) },
    )
  await hooks.start()
  const all = await operatorsOf(hooks)
  if (!isSet(all)) throw new Error('there is only one ledger')
  return { hooks, effects, published, set: all }
}

/** As a sender does: again until it is accepted. */
export async function deliverUntilAccepted(
  hooks: MovingHooks,
  tenant: string,
  id: string,
  onRefused: () => void = () => undefined,
): Promise<void> {
  for (;;) {
    const status = await deliverTo(hooks, tenant, id)
    if (status < 300) return
    expect(status).toBe(503)
    onRefused()
    await delay(50)
  }
}

/** Rows of a tenant in a ledger. */
export function rowsOf(db: TestDatabase, ledger: string, tenant: string): Promise<number> {
  return db.number(
    `select (select count(*) from ${ledger}.receipt where tenant = $1)
      + (select count(*) from ${ledger}.effect where tenant = $1)
      + (select count(*) from ${ledger}.outbox where tenant = $1)
      + (select count(*) from ${ledger}.data_key where tenant = $1)
      + (select count(*) from ${ledger}.subscriber where tenant = $1)`,
    [tenant],
  )
}

/** Processed jobs of the tenant that moves. */
export function processedIn(db: TestDatabase, ledger: string): Promise<number> {
  return db.number(
    `select count(*) from ${ledger}.job j join ${ledger}.receipt r on r.shard = j.shard and r.id = j.receipt_id
     where r.tenant = 'alpha' and j.state = 'processed'`,
  )
}

/** A move that dies at this step, as by kill -9: nothing cleans up after it. */
export async function dieAt(set: LedgerSet, to: string, step: MoveStep): Promise<void> {
  const onStep = (reached: MoveStep): void => {
    if (reached === step) throw new Error(`died while ${step}`)
  }
  await expect(moveTenant(set, { tenant: 'alpha', to, onStep }, MOVE_REASON)).rejects.toThrow(
    `died while ${step}`,
  )
}

export interface MovingLoad {
  /** Events that were accepted, for each tenant. */
  readonly keys: readonly string[]
  readonly refusals: number
  stop(): Promise<void>
}

/** Sends events of both tenants, and repeats of alpha's. */
export function movingLoad(hooks: MovingHooks): MovingLoad {
  const keys: string[] = []
  const state = { keys, refusals: 0 }
  let isSending = true
  const refused = (): void => {
    state.refusals += 1
  }
  const sent = (async () => {
    while (isSending) {
      const key = `evt_${keys.length}`
      await deliverUntilAccepted(hooks, 'alpha', key, refused)
      keys.push(key)
      // Repeats of events from before the move are still duplicates after it.
      if (keys.length % 3 === 0) {
        const known = keys[Math.floor(keys.length / 2)] ?? key
        await deliverUntilAccepted(hooks, 'alpha', known, refused)
      }
      expect(await deliverTo(hooks, 'beta', key)).toBe(202)
    }
  })()
  return Object.assign(state, {
    stop() {
      isSending = false
      return sent
    },
  })
}

/** What is expected in `effects` and `published`. */
export function onceEach(keys: readonly string[]): [string, number][] {
  const all = Object.keys(MOVING).flatMap((tenant) =>
    keys.map((key): [string, number] => [`${tenant} ${key}`, 1]),
  )
  return all.sort()
}
