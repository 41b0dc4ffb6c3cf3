import type { Delivery, Refusal } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { type Child, children, endOf, type Span, skipSpace } from './json-text.ts'
import { arraySteps, valueIn } from './locate.ts'
import { describeUnparsable, jsonReader, parseJsonText } from './payload.ts'
import { refuse } from './refuse.ts'

/*
 * Splits a batch into the deliveries that the provider would have sent for each event alone: the
 * body with every event array reduced to one event. A recorded event is therefore read by the same
 * places as the batch, and can be forwarded to the provider's own libraries. It keeps the sender's
 * bytes, including numbers that JSON.parse would round.
 *
 * A genuine delivery is always recorded. Every element of unknown shape is an event, and so is a
 * whole delivery without any event. The exception is an empty batch from a provider that checks its
 * URL with one.
 */

// The largest documented batch holds 1,000 events.
const MAX_EVENTS = 5_000

// Every event keeps the envelope, so a large envelope times many events would multiply the work.
const MAX_GROWTH = 8
const FREE_CHARS = 1024 * 1024

type Split = (delivery: Delivery) => readonly Delivery[] | Refusal

export function splitter({ batch, body, emptyBatch }: CheckedDescription): Split | undefined {
  if (batch === undefined) return undefined
  const texts = batch === 'lines' ? lines : arrayItems([batch].flat().map(arraySteps), emptyBatch)
  const jsonOf = jsonReader(body)
  return (delivery) => {
    const json = jsonOf(delivery)
    // A form without JSON holds one event.
    if (json === 'form') return [delivery]
    const parts = json === undefined ? undefined : texts(json.text)
    if (json === undefined || parts === undefined)
      return refuse('BODY_UNPARSABLE', describeUnparsable(delivery, body))
    if (parts === 'too-large')
      return refuse('BATCH_TOO_LARGE', `more than ${MAX_EVENTS} events, or an envelope that is too large`)
    const { field } = json
    return parts.map((part) => ({
      ...delivery,
      header: delivery.header,
      body: Buffer.from(field === undefined ? part : new URLSearchParams({ [field]: part }).toString()),
    }))
  }
}

type Parts = string[] | 'too-large' | undefined

function lines(text: string): Parts {
  // Depending on their configuration, the same senders also send arrays.
  if (text.trimStart().startsWith('[')) return arrayItems([['[]']], 'record')(text)
  const parts = text.split('\n').filter((line) => line.trim() !== '')
  if (parts.length === 0) return undefined
  return parts.length > MAX_EVENTS ? 'too-large' : parts
}

function arrayItems(
  paths: readonly string[][],
  emptyBatch: CheckedDescription['emptyBatch'],
): (text: string) => Parts {
  return (text) => {
    const payload = parseJsonText(text)
    if (payload === undefined) return undefined
    const found: string[] = []
    const budget = { chars: text.length * MAX_GROWTH + FREE_CHARS }
    const at = skipSpace(text, 0)
    const isComplete = findEvents({ text, paths, found, budget }, { at, end: endOf(text, at) }, ['', ''])
    if (!isComplete) return 'too-large'
    if (found.length > 0) return found
    // A genuine delivery without a known event counts as one event. Otherwise it would not be
    // recorded.
    return emptyBatch === 'acknowledge' && isEmptyBatch(payload, paths) ? [] : [text]
  }
}

/** Whether the event array exists and is empty. */
function isEmptyBatch(payload: object, paths: readonly string[][]): boolean {
  return paths.some((path) => {
    const array = valueIn(payload, path.slice(0, path.indexOf('[]')))
    return Array.isArray(array) && array.length === 0
  })
}

interface EventSearch {
  readonly text: string
  readonly paths: readonly (readonly string[])[]
  readonly found: string[]
  readonly budget: { chars: number }
}

type Envelope = readonly [before: string, after: string]

/**
 * Keeps one value as an event, with its envelope. Returns false if there are too many events, or
 * they are too large.
 */
function keep({ text, found, budget }: EventSearch, { at, end }: Span, envelope: Envelope): boolean {
  const event = envelope[0] + text.slice(at, end) + envelope[1]
  budget.chars -= event.length
  found.push(event)
  return budget.chars >= 0 && found.length <= MAX_EVENTS
}

/**
 * Finds the events under a value. `envelope` surrounds it. An array element on the path that
 * contains no event is an event itself: a WhatsApp change without messages, or an element of
 * unknown shape. Returns false if there are too many events, or they are too large.
 */
function findEvents(search: EventSearch, span: Span, envelope: Envelope): boolean {
  const { text, paths, found } = search
  const { at } = span
  const deeper = paths.filter((path) => path.length > 0)
  // No path leads further down, so the value is skipped, however deep it is.
  if (deeper.length === 0) return true
  if (text[at] === '{') return findEventsInObject({ ...search, paths: deeper }, span, envelope)
  if (text[at] !== '[') return true
  const each = { ...search, paths: below(deeper, '[]') }
  if (each.paths.length === 0) return true
  const inner: Envelope = [`${envelope[0]}[`, `]${envelope[1]}`]
  return children(text, at).every((child) => {
    const known = found.length
    if (!findEvents(each, child, inner)) return false
    return found.length > known || keep(each, child, inner)
  })
}

function below(paths: readonly (readonly string[])[], step: string): (readonly string[])[] {
  return paths.filter((path) => path[0] === step).map((path) => path.slice(1))
}

function findEventsInObject(search: EventSearch, { at, end }: Span, envelope: Envelope): boolean {
  const { text, paths, found, budget } = search
  // JSON.parse uses the last of duplicate names.
  const members = new Map(
    children(text, at)
      .filter(({ name }) => paths.some(([step]) => step === name))
      .map((child) => [child.name, child] as const),
  )
  const inOrder = [...members.values()].sort((a, b) => a.at - b.at)
  const before = found.length
  const unknown: [Span, Envelope][] = []
  for (const member of inOrder) {
    const inner = withOthersEmptied(text, { at, end }, inOrder, member)
    const whole: Envelope = [envelope[0] + inner[0], inner[1] + envelope[1]]
    // Text that is built but not used counts too.
    budget.chars -= whole[0].length + whole[1].length
    if (budget.chars < 0) return false
    const known = found.length
    if (!findEvents({ ...search, paths: below(paths, member.name) }, member, whole)) return false
    if (found.length === known && !isEmpty(text.slice(member.at, member.end))) unknown.push([member, whole])
  }
  // A member without events is emptied in the other events' envelopes, so it is kept as an event
  // itself. If there is no event at all, the caller keeps the whole body.
  if (found.length === before) return true
  return unknown.every(([member, whole]) => keep(search, member, whole))
}

function isEmpty(text: string): boolean {
  return /^(?:\[\s*\]|\{\s*\}|null)$/.test(text)
}

/**
 * The envelope of one member, with the other event arrays emptied, so that each delivery holds one
 * event.
 */
function withOthersEmptied(text: string, span: Span, members: readonly Child[], member: Child): Envelope {
  let before = ''
  let after = ''
  let from = span.at
  for (const other of members) {
    const piece = text.slice(from, other.at)
    from = other.end
    const content = other === member ? '' : text[other.at] === '[' ? '[]' : 'null'
    if (other.at <= member.at) before += piece + content
    else after += piece + content
  }
  return [before, after + text.slice(from, span.end)]
}
