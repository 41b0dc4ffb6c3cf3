import * as buffer from 'node:buffer'

/**
 * The outline of a JSON body: the result of JSON.parse, reduced to the wanted paths.
 *
 * To acknowledge a delivery, a receiver needs only its identity: a few short values. Building the
 * rest costs more than verifying the signature (17 of 120 µs for 1.6 kB, and as much again for
 * garbage collection), and the worker parses the body later anyway. The whole body is still checked
 * against the grammar: a body has no outline exactly if JSON.parse rejects it.
 */
export type Outline = (body: Uint8Array) => object | undefined

interface Wanted {
  readonly name: string
  readonly bytes: Uint8Array
  /** Whether the value itself is wanted. Otherwise a value inside it is wanted. */
  isLeaf: boolean
  readonly inside: Wanted[]
}

type Properties = Record<string, unknown>

export function outlineOf(paths: readonly (readonly string[])[]): Outline {
  const root = wanted('')
  for (const path of paths) {
    let at = root
    for (const name of path) {
      const known = at.inside.find((child) => child.name === name)
      const next = known ?? wanted(name)
      if (!known) at.inside.push(next)
      at = next
    }
    at.isLeaf = true
  }

  return (body) => {
    // Decoding would replace invalid bytes, and two different bodies could become equal.
    if (!buffer.isUtf8(body)) return undefined
    const first = body[skipSpace(body, 0)]
    if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return undefined
    const reader = new Reader(body)
    const found = reader.value(root)
    if (reader.at < 0 || !isJsonEnd(body, reader.at)) return undefined
    return found as object
  }
}

function wanted(name: string): Wanted {
  return { name, bytes: Buffer.from(name), isLeaf: false, inside: [] }
}

/**
 * Follows the wanted paths and skips everything else. `at` becomes -1 when the text is not valid
 * JSON.
 */
class Reader {
  at = 0
  readonly #body: Buffer

  constructor(body: Uint8Array) {
    this.#body = Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  }

  value(want: Wanted): unknown {
    this.at = skipSpace(this.#body, this.at)
    const opening = this.#body[this.at]
    const start = this.at
    if (want.isLeaf) {
      this.at = skipValue(this.#body, start)
      return this.at < 0 ? undefined : this.#parsed(start, this.at)
    }
    if (opening === OPEN_OBJECT) return this.#object(want)
    if (opening === OPEN_ARRAY) return this.#array(want)
    this.at = skipValue(this.#body, start)
    return undefined
  }

  #object(want: Wanted): Properties {
    const body = this.#body
    const found: Properties = {}
    let at = skipSpace(body, this.at + 1)
    if (body[at] === CLOSE_OBJECT) {
      this.at = at + 1
      return found
    }
    for (;;) {
      const end = skipString(body, at)
      const child = end < 0 ? undefined : this.#wantedAt(want, at, end)
      const colon = end < 0 ? -1 : skipSpace(body, end)
      if (colon < 0 || body[colon] !== COLON) return this.#fail(found)
      if (child) {
        this.at = colon + 1
        set(found, child.name, this.value(child))
        at = this.at
      } else at = skipValue(body, colon + 1)
      if (at < 0) return this.#fail(found)
      at = skipSpace(body, at)
      if (body[at] === COMMA) at = skipSpace(body, at + 1)
      else if (body[at] === CLOSE_OBJECT) {
        this.at = at + 1
        return found
      } else return this.#fail(found)
    }
  }

  #array(want: Wanted): Properties {
    const body = this.#body
    const found: Properties = {}
    let at = skipSpace(body, this.at + 1)
    if (body[at] === CLOSE_ARRAY) {
      this.at = at + 1
      return found
    }
    for (let index = 0; ; index += 1) {
      const child = want.inside.find(({ name }) => name === String(index))
      if (child) {
        this.at = at
        set(found, child.name, this.value(child))
        at = this.at
      } else at = skipValue(body, at)
      if (at < 0) return this.#fail(found)
      at = skipSpace(body, at)
      if (body[at] === COMMA) at += 1
      else if (body[at] === CLOSE_ARRAY) {
        this.at = at + 1
        return found
      } else return this.#fail(found)
    }
  }

  /** Finds the wanted name between these quotes. */
  #wantedAt(want: Wanted, start: number, end: number): Wanted | undefined {
    const body = this.#body
    const length = end - start - 2
    for (const child of want.inside) {
      if (child.bytes.length === length && isAt(body, start + 1, child.bytes)) return child
    }
    // A name with escapes may be another spelling of a wanted name.
    if (!hasEscape(body, start, end)) return undefined
    const name = this.#parsed(start, end)
    return want.inside.find((child) => child.name === name)
  }

  #parsed(start: number, end: number): unknown {
    const body = this.#body
    // Plain strings and short integers are common, and every call of JSON.parse has a high fixed
    // cost.
    if (body[start] === QUOTE && !hasEscape(body, start, end))
      return body.toString('utf8', start + 1, end - 1)
    if (end - start <= SAFE_DIGITS && isDigit(body[start])) {
      const whole = wholeNumber(body, start, end)
      if (whole !== undefined) return whole
    }
    return JSON.parse(body.toString('utf8', start, end))
  }

  #fail(found: Properties): Properties {
    this.at = -1
    return found
  }
}

/**
 * Like JSON.parse: sets an own property, even for `__proto__`. Of duplicate names the last wins.
 */
function set(found: Properties, name: string, value: unknown): void {
  if (name !== '__proto__') found[name] = value
  else Object.defineProperty(found, name, { value, enumerable: true, configurable: true, writable: true })
}

function isAt(body: Uint8Array, at: number, bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i += 1) if (body[at + i] !== bytes[i]) return false
  return true
}

function hasEscape(body: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (body[at] === BACKSLASH) return true
  return false
}

/** A number is exact up to this many digits. */
const SAFE_DIGITS = 15

function wholeNumber(body: Uint8Array, start: number, end: number): number | undefined {
  let value = 0
  for (let at = start; at < end; at += 1) {
    const byte = body[at] as number
    if (!isDigit(byte)) return undefined
    value = value * 10 + byte - ZERO
  }
  return value
}

const [QUOTE, BACKSLASH, COMMA, COLON, SPACE, ZERO, NINE] = [0x22, 0x5c, 0x2c, 0x3a, 0x20, 0x30, 0x39]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]

/*
 * Every byte of a body passes through the code below, so it is written for speed: small functions
 * that the engine inlines, no allocation per value, and no check for the end of the body. Bytes
 * after the end are `undefined` and match nothing.
 */

/** Whether only whitespace follows. */
export function isJsonEnd(body: Uint8Array, at: number): boolean {
  return skipSpace(body, at) === body.length
}

/** The string between these positions, which include its quotes. */
export function stringAt(body: Buffer, start: number, end: number): string {
  if (!hasEscape(body, start, end)) return body.toString('utf8', start + 1, end - 1)
  return String(JSON.parse(body.toString('utf8', start, end)))
}

/** The position after one value of any kind and depth, or -1. */
export function skipValue(body: Uint8Array, start: number): number {
  let at = start
  // The open brackets around `at`, innermost last. Not recursive, because senders choose the depth.
  let open: number[] | undefined
  let around: number | undefined
  for (;;) {
    at = skipSpace(body, at)
    const first = body[at]
    if (first === QUOTE) at = skipString(body, at)
    else if (first === OPEN_OBJECT || first === OPEN_ARRAY) {
      at = skipSpace(body, at + 1)
      if (body[at] !== closing(first)) {
        if (around !== undefined) {
          open ??= []
          open.push(around)
        }
        around = first
        if (first === OPEN_OBJECT) at = skipName(body, at)
        if (at < 0) return -1
        continue
      }
      at += 1
    } else at = skipScalar(body, at)
    if (at < 0) return -1

    // After a value: close finished brackets until something follows.
    for (;;) {
      if (around === undefined) return at
      at = skipSpace(body, at)
      const next = body[at]
      at += 1
      if (next === COMMA) break
      if (next !== closing(around)) return -1
      around = open?.pop()
    }
    if (around === OPEN_OBJECT) at = skipName(body, skipSpace(body, at))
    if (at < 0) return -1
  }
}

/** In ASCII a closing bracket follows its opening bracket by two. */
function closing(opening: number): number {
  return opening + 2
}

/** The position after `"name" :`, or -1. */
function skipName(body: Uint8Array, start: number): number {
  const end = skipString(body, start)
  if (end < 0) return -1
  const at = skipSpace(body, end)
  return body[at] === COLON ? at + 1 : -1
}

/**
 * Bytes allowed unescaped in a string: everything except quotes, backslashes and control
 * characters.
 */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0,
)

export function skipString(body: Uint8Array, start: number): number {
  if (body[start] !== QUOTE) return -1
  let at = start + 1
  for (;;) {
    const byte = body[at] as number
    if (PLAIN[byte] === 1) at += 1
    else if (byte === QUOTE) return at + 1
    else if (byte === BACKSLASH) at = skipEscape(body, at)
    else return -1
    if (at < 0) return -1
  }
}

const ESCAPES = new Set(Buffer.from('"\\/bfnrt'))
const HEX = new Set(Buffer.from('0123456789abcdefABCDEF'))
const U = 0x75

function skipEscape(body: Uint8Array, at: number): number {
  const escaped = body[at + 1] as number
  if (ESCAPES.has(escaped)) return at + 2
  if (escaped !== U) return -1
  for (let i = 2; i < 6; i += 1) if (!HEX.has(body[at + i] as number)) return -1
  return at + 6
}

/** Skips a number, `true`, `false` or `null`. */
function skipScalar(body: Uint8Array, start: number): number {
  let at = start
  while (isDigit(body[at])) at += 1
  // Integers are the common case. A zero may stand alone, but not before other digits.
  if (at > start && !isNumberPart(body[at])) return at - start === 1 || body[start] !== ZERO ? at : -1
  for (const literal of LITERALS) if (isAt(body, start, literal)) return start + literal.length
  while (isNumberPart(body[at])) at += 1
  const text = Buffer.from(body.buffer, body.byteOffset + start, at - start).toString('latin1')
  return NUMBER.test(text) ? at : -1
}

const LITERALS = ['true', 'false', 'null'].map((text) => Buffer.from(text))
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE
}

/** Digits and `+ - . E e`. */
function isNumberPart(byte: number | undefined): boolean {
  return isDigit(byte) || byte === 0x2b || byte === 0x2d || byte === 0x2e || byte === 0x45 || byte === 0x65
}

export function skipSpace(body: Uint8Array, at: number): number {
  // Most senders write no whitespace.
  return (body[at] as number) > SPACE ? at : skipSpaces(body, at)
}

function skipSpaces(body: Uint8Array, start: number): number {
  let at = start
  while (body[at] === SPACE || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09) at += 1
  return at
}
