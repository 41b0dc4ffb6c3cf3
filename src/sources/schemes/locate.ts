import type { Delivery } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { partsOf, pathSteps, type RequestLocator } from '../places.ts'
import { parseToken } from './jws.ts'

/** Reads one value of a delivery and its parsed body. */
export type Read<Value> = (delivery: Delivery, payload: unknown) => Value | undefined

type Places = RequestLocator | readonly RequestLocator[]
export type Batch = CheckedDescription['batch']

/** The raw value of the first place that holds a value. */
export function valueAt(place: Places, batch?: Batch): Read<unknown> {
  const reads = listOf(place).map((locator) => readerOf(locator, batch))
  const [only, ...others] = reads
  if (only !== undefined && others.length === 0) return only
  return (delivery, payload) => {
    for (const read of reads) {
      const value = read(delivery, payload)
      if (value !== undefined && value !== null) return value
    }
    return undefined
  }
}

/** The value as text, from the first place that holds a value. An id is a string or a number. */
export function textAt(place: Places, batch?: Batch): Read<string> {
  const reads = listOf(place).map((locator) => readerOf(locator, batch))
  return (delivery, payload) => {
    for (const read of reads) {
      const text = toText(read(delivery, payload))
      if (text !== undefined) return text
    }
    return undefined
  }
}

function listOf(place: Places): readonly RequestLocator[] {
  return typeof place === 'string' ? [place] : place
}

function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return isBlank(value) ? undefined : storable(value)
  return typeof value === 'number' && isExact(value) ? String(value) : undefined
}

// JSON.parse rounds integers beyond 2^53, and the largest to Infinity: two ids would become equal.
function isExact(value: number): boolean {
  return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)
}

function isBlank(text: string): boolean {
  return text === '' || text.trim() === ''
}

// NUL and unpaired surrogates are legal in JSON, but not in a database text. Such a text is stored
// in its JSON spelling, which escapes both. It stays unique and readable.
const UNSTORABLE = /[\0\p{Surrogate}]/u

function storable(text: string): string {
  return UNSTORABLE.test(text) ? JSON.stringify(text) : text
}

function readerOf(locator: RequestLocator, batch: Batch): Read<unknown> {
  const [kind, rest] = partsOf(locator)
  switch (kind) {
    case 'header': {
      const name = rest.toLowerCase()
      return (delivery) => delivery.header(name)
    }
    case 'query':
      return (delivery) => queryValue(delivery.url, rest)
    case 'claim':
      return claimReader(rest)
    case 'const':
      return () => rest
    case 'form':
      return (_delivery, payload) => valueIn(payload, [rest])
    case 'item':
      return itemReader(pathSteps(rest), batch)
    default: {
      const steps = pathSteps(rest)
      return (_delivery, payload) => valueIn(payload, steps)
    }
  }
}

function queryValue(url: string, name: string): string | undefined {
  const mark = url.indexOf('?')
  if (mark < 0) return undefined
  return new URLSearchParams(url.slice(mark + 1)).get(name) ?? undefined
}

/** `plaid-verification.iat` reads the token in a header. The signature has verified the token. */
function claimReader(path: string): Read<unknown> {
  const [header = '', claim = ''] = path.split('.')
  const name = header.toLowerCase()
  return (delivery) => valueIn(parseToken(delivery.header(name) ?? '')?.claims, [claim])
}

/** A field of the single event that remains of a batch. See batch.ts. */
function itemReader(steps: readonly string[], batch: Batch): Read<unknown> {
  const items = itemPaths(batch)
  return (_delivery, payload) => {
    for (const path of items) {
      const item = itemIn(payload, path)
      if (item !== undefined) return valueIn(item, steps)
    }
    return undefined
  }
}

/** The single event that remains of a batch. */
export function itemOf(batch: Batch): Read<unknown> {
  const items = itemPaths(batch)
  return (_delivery, payload) => {
    for (const path of items) {
      const item = itemIn(payload, path)
      if (item !== undefined) return item
    }
    return payload
  }
}

export function itemIn(payload: unknown, path: readonly string[]): unknown {
  return valueIn(payload, itemSteps(payload, path))
}

/** The steps to the single event that remains of a batch. */
export function itemSteps(payload: unknown, path: readonly string[]): string[] {
  // A provider that sometimes batches may also send the bare event.
  if (path.length === 1 && path[0] === '[]' && !Array.isArray(payload)) return []
  return path.map((step) => (step === '[]' ? '0' : step))
}

export function itemPaths(batch: Batch): string[][] {
  if (batch === undefined) return [[]]
  // In a body of lines, each line is an event. Depending on their configuration, the same senders
  // also send arrays.
  if (batch === 'lines') return [['[]']]
  return [batch].flat().map(arraySteps)
}

/** `json:entry[].changes[]` as steps, with arrays as `[]`: entry, [], changes, []. */
export function arraySteps(path: string): string[] {
  return path
    .slice('json:'.length)
    .replaceAll('[]', '.[]')
    .split('.')
    .filter((step) => step !== '')
}

export function valueIn(payload: unknown, steps: readonly string[]): unknown {
  let value = payload
  for (const step of steps) {
    // Own properties only: `constructor` or `__proto__` in a path must not find inherited values.
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string, unknown>)[step]
  }
  return value
}
