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
    if (isRoot && !Array.isArray(payload)) return [text]
    const found: string[] = []
    const budget = { chars: text.length * MAX_GROWTH + FREE_CHARS }
    const complete = cutDown({ text, paths, found, budget }, skipSpace(text, 0), ['', ''])
    return complete ? found : 'too-large'
  }
}

interface Cutting {
  readonly text: string
  readonly paths: readonly (readonly string[])[]
  readonly found: string[]
  readonly budget: { chars: number }
}

/** Finds the events under the value at `at`; `around` is what encloses it. False: too many, or too large. */
function cutDown(
  { text, paths, found, budget }: Cutting,
  at: number,
  around: readonly [before: string, after: string],
): boolean {
  if (paths.some((path) => path.length === 0)) {
    const event = around[0] + text.slice(at, endOf(text, at)) + around[1]
    budget.chars -= event.length
    found.push(event)
    return budget.chars >= 0 && found.length <= MAX_EVENTS
  }
  const below = (step: string): (readonly string[])[] =>
    paths.filter((path) => path[0] === step).map((path) => path.slice(1))

  if (text[at] === '[') {
    const inner: [string, string] = [`${around[0]}[`, `]${around[1]}`]
    return children(text, at).every(({ value }) =>
      cutDown({ text, paths: below('[]'), found, budget }, value, inner),
    )
  }
  if (text[at] !== '{') return true
  // Of a name that is there twice, JSON.parse takes the last.
  const members = new Map(
    children(text, at)
      .filter(({ name }) => paths.some(([step]) => step === name))
      .map((child) => [child.name, child] as const),
  )
  const end = endOf(text, at)
  for (const [name, { value }] of members) {
    // The other arrays of events are emptied: this delivery is about one event.
    let before = ''
    let after = ''
    let from = at
    for (const other of [...members.values()].sort((a, b) => a.value - b.value)) {
      const piece = text.slice(from, other.value)
      from = endOf(text, other.value)
      const content = other.value === value ? '' : text[other.value] === '[' ? '[]' : 'null'
      if (other.value <= value) before += piece + content
      else after += piece + content
    }
    after += text.slice(from, end)
    const inner: [string, string] = [around[0] + before, after + around[1]]
    // Text that is built for nothing counts too.
    budget.chars -= inner[0].length + inner[1].length
    if (budget.chars < 0) return false
    if (!cutDown({ text, paths: below(name), found, budget }, value, inner)) return false
  }
  return true
}

interface Child {
  readonly name: string
  readonly value: number
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
    list.push({ name, value: next })
    next = skipSpace(text, endOf(text, next))
    if (text[next] === ',') next = skipSpace(text, next + 1)
  }
  return list
}

function skipSpace(text: string, at: number): number {
  let next = at
  while (text[next] === ' ' || text[next] === '\n' || text[next] === '\r' || text[next] === '\t') next += 1
  return next
}

/** Just after the value that begins at `at`. */
function endOf(text: string, at: number): number {
  let depth = 0
  let next = at
  do {
    const char = text[next]
    if (char === '"') next = endOfString(text, next)
    else if (char === '{' || char === '[') {
      depth += 1
      next += 1
    } else if (char === '}' || char === ']') {
      depth -= 1
      next += 1
    } else if (depth > 0) next += 1
    else next = endOfWord(text, next)
  } while (depth > 0 && next < text.length)
  return next
}

function endOfString(text: string, at: number): number {
  let next = at + 1
  while (next < text.length && text[next] !== '"') next += text[next] === '\\' ? 2 : 1
  return next + 1
}

function endOfWord(text: string, at: number): number {
  let next = at
  while (next < text.length && !',]} \n\r\t'.includes(text[next] ?? ' ')) next += 1
  return next
}
