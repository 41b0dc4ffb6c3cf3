import { isUtf8 } from 'node:buffer'
import type { Delivery, Refusal } from '../contract.ts'
import type { CheckedDescription } from '../description.ts'
import { formFields } from './form.ts'
import { arraySteps } from './locate.ts'
import { describeUnparsable, parseJsonText, textOf } from './payload.ts'
import { refuse } from './refuse.ts'

/*
 * A batch is split into the deliveries that the provider would have sent had it sent each event alone: the body with
 * every array of events cut down to the one. So a recorded event of a batch is read by the same places as the batch,
 * forwards in a shape that the provider's own libraries take, and keeps the sender's bytes: numbers that JSON.parse
 * would round stay as they were written.
 */

// The largest documented batch holds 1,000 events.
const MAX_EVENTS = 5_000

// Every event keeps the envelope. A large envelope around many events would make the work grow as their product.
const MAX_GROWTH = 8
const FREE_CHARS = 1024 * 1024

type Split = (delivery: Delivery) => readonly Delivery[] | Refusal

export function splitter({ batch, body }: CheckedDescription): Split | undefined {
  if (batch === undefined) return undefined
  const texts = batch === 'lines' ? lines : arrayItems([batch].flat().map(arraySteps))
  const field = typeof body === 'object' ? body.form : undefined
  return (delivery) => {
    const text = field === undefined ? utf8(delivery.body) : formFields(delivery)?.[field]
    const parts = text === undefined ? undefined : texts(text)
    if (parts === undefined) return refuse('BODY_UNPARSABLE', describeUnparsable(delivery, body))
    if (parts === 'too-large')
      return refuse('BATCH_TOO_LARGE', `more than ${MAX_EVENTS} events, or too large an envelope`)
    return parts.map((part) => ({
      ...delivery,
      header: delivery.header,
      body: Buffer.from(field === undefined ? part : new URLSearchParams({ [field]: part }).toString()),
    }))
  }
}

function utf8(body: Uint8Array): string | undefined {
  return isUtf8(body) ? textOf(body) : undefined
}

type Parts = string[] | 'too-large' | undefined

function lines(text: string): Parts {
  // The same sources send arrays too, as configured.
  if (text.trimStart().startsWith('[')) return arrayItems([['[]']])(text)
  const parts = text.split('\n').filter((line) => line.trim() !== '')
  return parts.length > MAX_EVENTS ? 'too-large' : parts
}

function arrayItems(paths: readonly string[][]): (text: string) => Parts {
  const isRoot = paths.some(([first]) => first === '[]')
  return (text) => {
    // From here on the text is known to be JSON, which is what lets the scanner below be simple.
    const payload = parseJsonText(text)
    if (payload === undefined) return undefined
    // A bare event where arrays are sent too, unless an object has arrays of its own to look into.
    if (isRoot && paths.length === 1 && !Array.isArray(payload)) return [text]
    const found: string[] = []
    const budget = { chars: text.length * MAX_GROWTH + FREE_CHARS }
    const at = skipSpace(text, 0)
    const complete = cutDown({ text, paths, found, budget }, { at, end: endOf(text, at) }, ['', ''])
    return complete ? found : 'too-large'
  }
}

interface Cutting {
  readonly text: string
  readonly paths: readonly (readonly string[])[]
  readonly found: string[]
  readonly budget: { chars: number }
}

/** Where a value stands in the text. */
interface Span {
  readonly at: number
  readonly end: number
}

/** Finds the events under a value; `around` is what encloses it. False: too many, or too large. */
function cutDown(
  { text, paths, found, budget }: Cutting,
  span: Span,
  around: readonly [before: string, after: string],
): boolean {
  const { at, end } = span
  const deeper = paths.filter((path) => path.length > 0)
  if (deeper.length < paths.length) {
    // What may be an event or hold events is one when it holds none: WhatsApp's changes, with messages or without.
    const known = found.length
    if (deeper.length > 0 && !cutDown({ text, paths: deeper, found, budget }, span, around)) return false
    if (found.length > known) return true
    const event = around[0] + text.slice(at, end) + around[1]
    budget.chars -= event.length
    found.push(event)
    return budget.chars >= 0 && found.length <= MAX_EVENTS
  }
  // Nothing is looked for below: however deep it goes, it is stepped over.
  if (paths.length === 0) return true
  const below = (step: string): (readonly string[])[] =>
    paths.filter((path) => path[0] === step).map((path) => path.slice(1))

  if (text[at] === '[') {
    const inner: [string, string] = [`${around[0]}[`, `]${around[1]}`]
    const each = { text, paths: below('[]'), found, budget }
    return children(text, at).every((child) => cutDown(each, child, inner))
  }
  if (text[at] !== '{') return true
  // Of a name that is there twice, JSON.parse takes the last.
  const members = new Map(
    children(text, at)
      .filter(({ name }) => paths.some(([step]) => step === name))
      .map((child) => [child.name, child] as const),
  )
  for (const [name, member] of members) {
    // The other arrays of events are emptied: this delivery is about one event.
    let before = ''
    let after = ''
    let from = at
    for (const other of [...members.values()].sort((a, b) => a.at - b.at)) {
      const piece = text.slice(from, other.at)
      from = other.end
      const content = other === member ? '' : text[other.at] === '[' ? '[]' : 'null'
      if (other.at <= member.at) before += piece + content
      else after += piece + content
    }
    after += text.slice(from, end)
    const inner: [string, string] = [around[0] + before, after + around[1]]
    // Text that is built for nothing counts too.
    budget.chars -= inner[0].length + inner[1].length
    if (budget.chars < 0) return false
    if (!cutDown({ text, paths: below(name), found, budget }, member, inner)) return false
  }
  return true
}

interface Child extends Span {
  readonly name: string
}

/** The members of the object, or the elements of the array, at `at`. */
function children(text: string, at: number): Child[] {
  const isObject = text[at] === '{'
  const list: Child[] = []
  let next = skipSpace(text, at + 1)
  while (next < text.length && text[next] !== ']' && text[next] !== '}') {
    let name = ''
    if (isObject) {
      const end = endOf(text, next)
      const quoted = text.slice(next, end)
      name = quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1)
      next = skipSpace(text, skipSpace(text, end) + 1)
    }
    const end = endOf(text, next)
    list.push({ name, at: next, end })
    next = skipSpace(text, end)
    if (text[next] === ',') next = skipSpace(text, next + 1)
  }
  return list
}

function skipSpace(text: string, at: number): number {
  let next = at
  while (isSpace(text.charCodeAt(next))) next += 1
  return next
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]

/**
 * Just after the value that begins at `at`. By codes: every character of a batch passes here, and `text[at]` would make
 * a string of each.
 */
function endOf(text: string, at: number): number {
  let depth = 0
  let next = at
  do {
    const code = text.charCodeAt(next)
    if (code === QUOTE) next = endOfString(text, next)
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      depth += 1
      next += 1
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      depth -= 1
      next += 1
    } else if (depth > 0) next += 1
    else next = endOfWord(text, next)
  } while (depth > 0 && next < text.length)
  return next
}

function endOfString(text: string, at: number): number {
  let next = at + 1
  for (let code = text.charCodeAt(next); next < text.length && code !== QUOTE; code = text.charCodeAt(next))
    next += code === BACKSLASH ? 2 : 1
  return next + 1
}

function endOfWord(text: string, at: number): number {
  let next = at
  while (next < text.length) {
    const code = text.charCodeAt(next)
    if (code === COMMA || code === CLOSE_ARRAY || code === CLOSE_OBJECT || isSpace(code)) break
    next += 1
  }
  return next
}
