import { z } from 'zod'
import { check, strict } from '../../../input/checked.ts'
import { HookonceError } from '../../../model/errors.ts'
import { decideAcquire, isExpired, type Settlement } from '../../decide.ts'
import type { KeyRecord } from '../../record.ts'
import type { KeyId, KeyStore } from '../../store.ts'
import { clientClock, unexpiredLock } from '../client-clock.ts'
import { type Dynamo, openDynamo } from './client.ts'
import type { DynamoLike } from './dynamo-like.ts'
import {
  type Change,
  expiryOf,
  type Item,
  isHeld,
  isStill,
  number,
  recordOf,
  stepsOf,
  valuesOf,
} from './item.ts'

/** The table and the client. */
export const dynamoTableFields = {
  /** Your client. Without it, a new client reads region and credentials from the environment. */
  client: z
    .custom<DynamoLike>((value) => typeof value === 'object' && value !== null && 'send' in value, {
      error: 'must be a DynamoDBClient of @aws-sdk/client-dynamodb',
    })
    .optional(),
  table: z
    .string()
    .regex(/^[\w.-]{3,255}$/, 'must be a name of 3 to 255 letters, digits, _ - and .')
    .default('hookonce_key'),
}

const optionsSchema = strict({ ...dynamoTableFields, ...clientClock })

export type DynamoKeysOptions = z.input<typeof optionsSchema>

/** DynamoDB limits an item to 400 KB. This leaves 16 KiB for everything except the result. */
const MAX_RESULT_BYTES = 384 * 1024
/** Each lost race means that another client made progress. Ten in a row do not happen by chance. */
const MAX_RACES = 10

/**
 * Keys in a DynamoDB table whose partition key is the string `id`: see `ensureDynamoTable`.
 * DynamoDB conditions cannot read the server's clock, so times come from the clients, whose clocks
 * must agree to within `skewMs`.
 */
export function dynamoKeys(options: DynamoKeysOptions = {}): KeyStore {
  const { client, table, skewMs, now: clock } = check(optionsSchema, options, 'dynamoKeys()')
  let opened: Promise<Dynamo> | undefined
  function dynamo(): Promise<Dynamo> {
    opened ??= openDynamo(client)
    return opened
  }

  async function get(id: KeyId): Promise<Item | undefined> {
    return (await dynamo()).get({ TableName: table, Key: { id: { S: id } }, ConsistentRead: true })
  }
  /**
   * Returns undefined if the write succeeded. Otherwise returns the current item, if the server
   * sends it.
   */
  async function write(id: KeyId, change: Change): Promise<{ item: Item | undefined } | undefined> {
    return (await dynamo()).update({ TableName: table, Key: { id: { S: id } } }, change)
  }
  async function live(id: KeyId): Promise<Item | undefined> {
    const item = await get(id)
    return item && !isExpired(recordOf(item), clock()) ? item : undefined
  }

  return {
    async acquire(id, requested) {
      const request = unexpiredLock(requested, skewMs)
      // Most keys are new, so the first attempt is a write that succeeds only for a new key.
      let seen: KeyRecord | undefined
      for (let tries = 0; tries < MAX_RACES; tries++) {
        const now = clock()
        const decision = decideAcquire(seen, request, now, skewMs)
        if (decision.record === seen) return { ...decision, now }
        const isNewLife = decision.record.after === 'nothing' && decision.record.fence !== seen?.fence
        const conflict = await write(id, {
          set: { ...valuesOf(decision.record), ...(isNewLife ? { steps: { M: {} } } : {}) },
          remove: ['result'],
          where: isStill(seen),
        })
        if (!conflict) return { ...decision, now }
        // Some servers do not return the item with the failed condition.
        const item = conflict.item ?? (await get(id))
        seen = item && recordOf(item)
      }
      throw new HookonceError(
        'KEY_STORE_DOWN',
        `other runs changed the key ${MAX_RACES} times while this one tried to acquire it`,
      )
    },
    async extend(id, fence, requested) {
      const { lockMs, ttlMs } = unexpiredLock(requested, skewMs)
      const now = clock()
      const conflict = await write(id, {
        set: { lockUntil: number(now + lockMs), ...expiryOf(now + lockMs + ttlMs) },
        where: isHeld(fence, ['locked'], now),
      })
      return conflict === undefined
    },
    async settle(id, fence, settlement) {
      const now = clock()
      const conflict = await write(id, {
        ...settlementChange(settlement, now),
        where: isHeld(fence, ['locked', 'unknown'], now),
      })
      return conflict === undefined
    },
    async read(id) {
      const item = await live(id)
      return item && recordOf(item)
    },
    steps: {
      async save(id, fence, name, result) {
        const conflict = await write(id, {
          set: {},
          step: { name, result },
          where: isHeld(fence, ['locked'], clock()),
        })
        return conflict === undefined
      },
      async load(id) {
        const item = await live(id)
        return item ? stepsOf(item) : new Map()
      },
    },
    maxResultBytes: MAX_RESULT_BYTES,
    async close() {
      const closing = opened
      opened = undefined
      if (closing) (await closing).close()
    },
  }
}

function settlementChange(settlement: Settlement, now: number): Pick<Change, 'set' | 'remove'> {
  const set = { state: { S: settlement.to }, ...expiryOf(now + settlement.ttlMs) }
  if (settlement.to !== 'completed') return { set, remove: ['result'] }
  return { set: { ...set, result: { B: settlement.result }, steps: { M: {} } } }
}
