import * as buffer from 'node:buffer'
import { isJsonEnd, skipSpace, skipString, skipValue, stringAt } from '../schemes/outline.ts'
import { MARKER } from './marker.ts'
import { type Key, Matcher, type Progress } from './matcher.ts'
import type { Path } from './rules.ts'

const JSON_MARKER = Buffer.from(JSON.stringify(MARKER))

/**
 * Deeper than the data of any provider. Only `**` searches that deep, and each level takes a stack
 * frame.
 */
const MAX_DEPTH = 256

export type RedactJson = (body: Uint8Array) => Uint8Array | undefined

/**
 * Replaces the values at these paths in the bytes of a JSON document. All other bytes stay
 * unchanged. If a name occurs twice, both values are replaced. Undefined: the body is not JSON in
 * UTF-8, or too deep to search.
 */
export function jsonRedactor(paths: readonly Path[]): RedactJson {
  const matcher = new Matcher(paths)
  return (body) => {
    if (!buffer.isUtf8(body)) return undefined
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    const walk = new Walk(bytes, matcher)
    const end = walk.value(skipSpace(bytes, 0), matcher.start, 0)
    return end >= 0 && isJsonEnd(bytes, end) ? walk.redacted() : undefined
  }
}

/** Positions are -1 if the text is not JSON, as in outline.ts. */
class Walk {
  readonly #body: Buffer
  readonly #matcher: Matcher
  readonly #pieces: Uint8Array[] = []
  #keptTo = 0

  constructor(body: Buffer, matcher: Matcher) {
    this.#body = body
    this.#matcher = matcher
  }

  /** The position after the value that begins at `at`. */
  value(at: number, progress: Progress | undefined, depth: number): number {
    const body = this.#body
    if (progress === undefined) return skipValue(body, at)
    if (this.#matcher.isHidden(progress)) {
      const end = skipValue(body, at)
      if (end >= 0) this.#hide(at, end)
      return end
    }
    const opening = body[at]
    if (opening !== OPEN_OBJECT && opening !== OPEN_ARRAY) return skipValue(body, at)
    return depth === MAX_DEPTH ? -1 : this.#inside(at, progress, depth + 1)
  }

  /** Walks through the members of an object or the elements of an array. */
  #inside(start: number, progress: Progress, depth: number): number {
    const body = this.#body
    const isObject = body[start] === OPEN_OBJECT
    const closing = isObject ? CLOSE_OBJECT : CLOSE_ARRAY
    let at = skipSpace(body, start + 1)
    if (body[at] === closing) return at + 1
    for (let index = 0; ; index += 1) {
      let key: Key = index
      if (isObject) {
        const end = skipString(body, at)
        const colon = end < 0 ? -1 : skipSpace(body, end)
        if (colon < 0 || body[colon] !== COLON) return -1
        key = stringAt(body, at, end)
        at = skipSpace(body, colon + 1)
      }
      at = this.value(at, this.#matcher.below(progress, key), depth)
      if (at < 0) return -1
      at = skipSpace(body, at)
      if (body[at] === closing) return at + 1
      if (body[at] !== COMMA) return -1
      at = skipSpace(body, at + 1)
    }
  }

  #hide(at: number, end: number): void {
    this.#pieces.push(this.#body.subarray(this.#keptTo, at), JSON_MARKER)
    this.#keptTo = end
  }

  redacted(): Uint8Array {
    if (this.#pieces.length === 0) return this.#body
    return Buffer.concat([...this.#pieces, this.#body.subarray(this.#keptTo)])
  }
}

const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY, COMMA, COLON] = [
  0x7b, 0x7d, 0x5b, 0x5d, 0x2c, 0x3a,
]
