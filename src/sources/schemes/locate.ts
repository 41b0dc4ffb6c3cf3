import type { Delivery } from '../contract.ts'
import type { Locator } from '../description.ts'

/** Reads one value of a delivery and its parsed body. */
export type Read<Value> = (delivery: Delivery, payload: unknown) => Value | undefined

/** A value as it is, from the first place that holds one. */
export function valueAt(place: Locator | readonly Locator[]): Read<unknown> {
  const reads = (typeof place === 'string' ? [place] : place).map(readerOf)
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

/** A value as text, from the first place that holds any: an id is a string or a number. */
export function textAt(place: Locator | readonly Locator[]): Read<string> {
  const reads = (typeof place === 'string' ? [place] : place).map(readerOf)
  return (delivery, payload) => {
    for (const read of reads) {
      const text = toText(read(delivery, payload))
      if (text !== undefined) return text
    }
    return undefined
  }
}

type Place =
  | Locator
  | readonly Locator[]
  | { readonly hash: readonly Locator[] }
  | { readonly join: readonly Locator[]; readonly separator: string }

/** The paths into the body that these places name. */
export function jsonPaths(places: readonly (Place | 'body-hash' | undefined)[]): string[][] {
  return places
    .flatMap(locatorsIn)
    .filter((locator) => locator.startsWith('json:'))
    .map(stepsOf)
}

function locatorsIn(place: Place | 'body-hash' | undefined): readonly Locator[] {
  if (place === undefined || place === 'body-hash') return []
  if (typeof place === 'string') return [place]
  if ('hash' in place) return place.hash
  return 'separator' in place ? place.join : place
}

function stepsOf(locator: Locator): string[] {
  return locator.slice('json:'.length).split('.')
}

function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return isBlank(value) ? undefined : storable(value)
  return typeof value === 'number' && isExact(value) ? String(value) : undefined
}

// JSON.parse rounds whole numbers beyond 2^53, and the largest to Infinity: two ids would become one.
function isExact(value: number): boolean {
  return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)
}

function isBlank(text: string): boolean {
  return text === '' || text.trim() === ''
}

// NUL and half surrogate pairs are legal in JSON, but not in the text of a database. Such a text is kept in its JSON
// spelling, which escapes both: still one text for one id, and readable.
const UNSTORABLE = /[\0\p{Surrogate}]/u

function storable(text: string): string {
  return UNSTORABLE.test(text) ? JSON.stringify(text) : text
}

function readerOf(locator: Locator): Read<unknown> {
  if (locator.startsWith('header:')) {
    const name = locator.slice('header:'.length).toLowerCase()
    return (delivery) => delivery.header(name)
  }
  const steps = stepsOf(locator)
  return (_delivery, payload) => {
    let value = payload
    for (const step of steps) {
      // Own properties only: `constructor` or `__proto__` in a path must not find what the sender did not send.
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
      value = (value as Record<string, unknown>)[step]
    }
    return value
  }
}
