import type { CheckedDescription } from './description.ts'
import { type Locator, partsOf, pathSteps } from './places.ts'
import { arraySteps } from './schemes/locate.ts'
import { writeBody } from './schemes/payload.ts'
import { formatTimestamp } from './schemes/timestamp.ts'
import type { Sample } from './sign.ts'
import type { Unit } from './signature.ts'

/** The values that the sample event must contain. */
export interface SampleEvent {
  readonly key: string
  readonly type: string
  readonly objectId: string
  readonly occurredAtMs: number
}

/**
 * Builds an unsigned body and headers in which the places of a description find the events. With
 * `payloadOf`, the event is written into that payload. Without it, the body holds only the required
 * fields.
 */
export function sampleOf(
  description: CheckedDescription,
  events: readonly SampleEvent[],
  payloadOf?: (event: SampleEvent) => object,
): Required<Pick<Sample, 'body' | 'headers'>> {
  const { batch, body } = description
  const headers: Record<string, string> = {}
  const bodies = events.map((event) =>
    singleBody({ description, headers, payload: payloadOf?.(event) }, event),
  )
  const [first = {}] = bodies
  if (batch === 'lines') return { headers, body: bodies.map((one) => JSON.stringify(one)).join('\n') }
  const payload = batch === undefined ? first : mergedBatch(first, bodies, itemSteps(batch))
  return { headers, body: writeBody(payload as object, body) }
}

interface SampleInput {
  readonly description: CheckedDescription
  readonly headers: Record<string, string>
  readonly payload: object | undefined
}

function singleBody({ description, headers, payload }: SampleInput, event: SampleEvent): unknown {
  const { batch } = description
  const empty = batch !== undefined && itemSteps(batch)[0] === '[]' ? [] : {}
  const root: { body: unknown } = { body: payload ?? empty }
  const put = (place: Locator, value: unknown): void => {
    const [kind, rest] = partsOf(place)
    if (kind === 'header') headers[rest.toLowerCase()] = String(value)
    else if (kind === 'form') setAt(root, ['body', rest], value)
    else if (kind === 'json') setAt(root, ['body', ...pathSteps(rest)], value)
    else if (kind === 'item') setAt(root, ['body', ...itemAt(batch), ...pathSteps(rest)], value)
  }
  if (batch !== undefined && batch !== 'lines') setAt(root, ['body', ...itemAt(batch)], {})
  for (const { place, value } of valuesOf(description.event, event)) put(place, value)
  return root.body
}

/**
 * Every place of the event with its value, the least important first. If two share a place, the
 * later one wins.
 */
function valuesOf(
  event: CheckedDescription['event'],
  sample: SampleEvent,
): { place: Locator; value: unknown }[] {
  const list: { place: Locator; value: unknown }[] = []
  const add = (places: unknown, value: unknown): void => {
    const first: unknown = Array.isArray(places) ? places[0] : places
    if (typeof first === 'string' && first.includes(':')) list.push({ place: first as Locator, value })
  }
  const dated = (unit: Unit): unknown => {
    const text = formatTimestamp(sample.occurredAtMs, unit)
    return unit === 'iso' ? text : Number(text)
  }
  const { key, type, occurredAt, version, objectId, object } = event
  add(object, { id: sample.objectId })
  if (typeof key === 'object' && !Array.isArray(key)) for (const place of key.hash) add(place, sample.key)
  const [firstKey] = Array.isArray(key) ? key : []
  if (typeof firstKey === 'object' && 'hash' in firstKey)
    for (const place of firstKey.hash) add(place, sample.key)
  add(objectId, sample.objectId)
  if (version !== undefined) {
    const { unit } = version
    add(version.at, unit === 'number' ? 1 : unit === 'text' ? 'v1' : dated(unit))
  }
  if (occurredAt !== undefined) add(occurredAt.at, dated(occurredAt.unit))
  if (typeof type === 'object' && !Array.isArray(type)) {
    if ('present' in type) {
      const named = type.present.find((place) => place.endsWith(sample.type))
      add(named ?? type.present, { id: sample.objectId })
    } else for (const [place, part] of joined(type, sample.type)) add(place, part)
  } else add(type, sample.type)
  if (typeof key === 'string' || typeof firstKey === 'string') add(key, sample.key)
  return list
}

/**
 * The parts of a type that is joined from several places: `pull_request.opened` is an event and an
 * action.
 */
function joined({ join, separator }: Joined, type: string): [place: unknown, part: string][] {
  const parts = separator === '' ? [type] : type.split(separator)
  return join.flatMap((place, index): [unknown, string][] => {
    const part = index === join.length - 1 ? parts.slice(index).join(separator) : parts[index]
    return part ? [[place, part]] : []
  })
}

type Joined = Extract<CheckedDescription['event']['type'], { readonly separator: string }>

function itemSteps(batch: NonNullable<CheckedDescription['batch']>): string[] {
  return batch === 'lines' ? [] : arraySteps([batch].flat()[0] ?? '')
}

function itemAt(batch: CheckedDescription['batch']): string[] {
  return batch === undefined ? [] : itemSteps(batch).map((step) => (step === '[]' ? '0' : step))
}

/** The first body with the items of all bodies. */
function mergedBatch(first: unknown, bodies: readonly unknown[], steps: readonly string[]): unknown {
  const path = steps.map((step) => (step === '[]' ? '0' : step))
  const items = bodies.map((body) => valueUnder(body, path))
  const root = { body: first }
  setAt(root, ['body', ...path.slice(0, -1)], items)
  return root.body
}

function valueUnder(value: unknown, path: readonly string[]): unknown {
  return path.reduce((inner, step) => (inner as Record<string, unknown> | undefined)?.[step], value)
}

function setAt(root: object, path: readonly string[], value: unknown): void {
  let at = root as Record<string, unknown>
  for (const [index, step] of path.entries()) {
    if (index === path.length - 1) {
      // An existing object is kept, because a part of it was written earlier.
      const isKept = typeof value === 'object' && typeof at[step] === 'object' && !Array.isArray(value)
      if (!isKept) at[step] = value
      return
    }
    if (typeof at[step] !== 'object' || at[step] === null)
      at[step] = /^\d+$/.test(path[index + 1] ?? '') ? [] : {}
    at = at[step] as Record<string, unknown>
  }
}
