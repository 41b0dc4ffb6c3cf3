import type { AttributeValue, UpdateItemInput } from '@aws-sdk/client-dynamodb'
import type { KeyRecord, KeyState } from '../../record.ts'

/*
 * A record as an item, and the conditions under which an item may be changed.
 *
 * After `ttl`, in seconds, the server may delete the item. `steps` exists from the first lock on,
 * because an update can add to a map but cannot create one on the way.
 */
export type Item = Readonly<Record<string, AttributeValue>>

export interface Change {
  readonly set: Item
  readonly remove?: readonly string[]
  /** One more entry in the map `steps`. */
  readonly step?: { readonly name: string; readonly result: Uint8Array }
  readonly where: Condition
}

export interface Condition {
  readonly text: string
  readonly values: Item
}

/**
 * The record has not changed since it was read; undefined means that there was none. Compares every
 * attribute that later writes change.
 */
export function isStill(seen: KeyRecord | undefined): Condition {
  if (seen === undefined) return { text: 'attribute_not_exists(#id)', values: {} }
  return {
    text: '#fence = :seenFence AND #state = :seenState AND #lockUntil = :seenLock AND #expiresAt = :seenExpiry',
    values: {
      ':seenFence': number(seen.fence),
      ':seenState': { S: seen.state },
      ':seenLock': number(seen.lockUntil),
      ':seenExpiry': number(seen.expiresAt),
    },
  }
}

/**
 * The holder's condition from decide.ts: the fence is current, and the record is neither settled
 * nor expired.
 */
export function isHeld(fence: number, states: readonly KeyState[], now: number): Condition {
  return {
    text: `#fence = :held AND #expiresAt > :now AND #state IN (${states.map((state) => `:${state}`).join(', ')})`,
    values: {
      ':held': number(fence),
      ':now': number(now),
      ...Object.fromEntries(states.map((state) => [`:${state}`, { S: state }])),
    },
  }
}

type Expressions = Required<
  Pick<
    UpdateItemInput,
    'UpdateExpression' | 'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'
  >
>

export function expressionsOf({ set, remove = [], step, where }: Change): Expressions {
  const names = Object.keys(set)
  const sets = names.map((name) => `#${name} = :to_${name}`)
  if (step) sets.push('#steps.#step = :step')
  const removes = remove.map((name) => `#${name}`)
  const text = `SET ${sets.join(', ')}${removes.length > 0 ? ` REMOVE ${removes.join(', ')}` : ''}`
  // Attribute names use placeholders, because many plain words (state, ttl) are reserved.
  const used = new Set([...`${text} ${where.text}`.matchAll(/#(\w+)/g)].map(([, name]) => name ?? ''))
  return {
    UpdateExpression: text,
    ConditionExpression: where.text,
    ExpressionAttributeNames: Object.fromEntries(
      [...used].map((name) => [`#${name}`, name === 'step' && step ? step.name : name]),
    ),
    ExpressionAttributeValues: {
      ...Object.fromEntries(names.map((name) => [`:to_${name}`, set[name] ?? { NULL: true }])),
      ...(step ? { ':step': { B: step.result } } : {}),
      ...where.values,
    },
  }
}

export function valuesOf(record: KeyRecord): Item {
  return {
    state: { S: record.state },
    fence: number(record.fence),
    fingerprint: { S: record.fingerprint },
    holder: { S: record.holder },
    after: { S: record.after },
    lockedAt: number(record.lockedAt),
    lockUntil: number(record.lockUntil),
    ...expiryOf(record.expiresAt),
  }
}

/** The server deletes by its own clock. An hour's margin keeps it from deleting a live record. */
const DELETED_LATER_SECONDS = 3600

export function expiryOf(expiresAt: number): Item {
  return {
    expiresAt: number(expiresAt),
    ttl: number(Math.ceil(expiresAt / 1000) + DELETED_LATER_SECONDS),
  }
}

export function recordOf(item: Item): KeyRecord {
  const text = (name: string): string => item[name]?.S ?? ''
  const count = (name: string): number => Number(item[name]?.N)
  return {
    state: text('state') as KeyState,
    fence: count('fence'),
    fingerprint: text('fingerprint'),
    holder: text('holder'),
    after: text('after') as KeyRecord['after'],
    lockedAt: count('lockedAt'),
    lockUntil: count('lockUntil'),
    expiresAt: count('expiresAt'),
    result: item.result?.B,
  }
}

export function stepsOf(item: Item): ReadonlyMap<string, Uint8Array> {
  const steps = Object.entries(item.steps?.M ?? {})
  return new Map(steps.map(([name, { B: result }]) => [name, result ?? new Uint8Array()]))
}

export function number(value: number): AttributeValue {
  return { N: String(value) }
}
