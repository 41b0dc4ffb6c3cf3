/*
 * JSON as a tree that keeps the text of every number: JavaScript would round integers beyond 2^53.
 */

export type JsonNode =
  | { readonly kind: 'object'; readonly entries: readonly (readonly [name: string, value: JsonNode])[] }
  | { readonly kind: 'array'; readonly items: readonly JsonNode[] }
  | { readonly kind: 'string'; readonly value: string }
  /** Numbers, booleans and null, in their original spelling. */
  | { readonly kind: 'number' | 'word'; readonly text: string }

/** Deeper documents are shown as text. */
const MAX_DEPTH = 200

/** Undefined: the text is not JSON, or too deep for a tree. */
export function parseJson(text: string): JsonNode | undefined {
  try {
    return new Parser(text).document()
  } catch (error) {
    if (error instanceof NotJson) return undefined
    throw error
  }
}

class NotJson extends Error {}

const SPACE = /[ \t\n\r]*/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /true|false|null/y
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y

class Parser {
  readonly #text: string
  #place = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): JsonNode {
    const value = this.#value(0)
    this.#skip()
    if (this.#place < this.#text.length) throw new NotJson()
    return value
  }

  #value(depth: number): JsonNode {
    if (depth > MAX_DEPTH) throw new NotJson()
    this.#skip()
    const sign = this.#text[this.#place]
    if (sign === '{') return this.#object(depth)
    if (sign === '[') return this.#array(depth)
    if (sign === '"') return { kind: 'string', value: this.#string() }
    const word = this.#take(WORD)
    if (word !== undefined) return { kind: 'word', text: word }
    return { kind: 'number', text: this.#take(NUMBER) ?? fail() }
  }

  #object(depth: number): JsonNode {
    const entries: [string, JsonNode][] = []
    this.#list('}', () => {
      this.#skip()
      const name = this.#string()
      this.#sign(':')
      entries.push([name, this.#value(depth + 1)])
    })
    return { kind: 'object', entries }
  }

  #array(depth: number): JsonNode {
    const items: JsonNode[] = []
    this.#list(']', () => items.push(this.#value(depth + 1)))
    return { kind: 'array', items }
  }

  #list(end: string, item: () => void): void {
    this.#place += 1
    this.#skip()
    if (this.#text[this.#place] === end) {
      this.#place += 1
      return
    }
    for (;;) {
      item()
      this.#skip()
      if (this.#text[this.#place] === end) break
      this.#sign(',')
    }
    this.#place += 1
  }

  #string(): string {
    return JSON.parse(this.#take(STRING) ?? fail()) as string
  }

  #sign(sign: string): void {
    this.#skip()
    if (this.#text[this.#place] !== sign) throw new NotJson()
    this.#place += 1
  }

  #skip(): void {
    this.#take(SPACE)
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#place
    const found = pattern.exec(this.#text)?.[0]
    this.#place += found?.length ?? 0
    return found
  }
}

function fail(): never {
  throw new NotJson()
}
