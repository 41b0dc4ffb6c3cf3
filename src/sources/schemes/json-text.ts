/*
 * Finds values in the text of a JSON document without changing a byte. Every function requires text
 * that JSON.parse accepts, which keeps them simple.
 */

/** The position of a value in the text. */
export interface Span {
  readonly at: number
  readonly end: number
}

export interface Child extends Span {
  readonly name: string
}

/** The text of the value at a path (`['data', '0', 'id']`), as the sender wrote it. */
export function valueText(text: string, steps: readonly string[]): string | undefined {
  let at = skipSpace(text, 0)
  for (const step of steps) {
    if (text[at] !== '{' && text[at] !== '[') return undefined
    const isObject = text[at] === '{'
    const list = children(text, at)
    // JSON.parse uses the last of duplicate names.
    const next = isObject ? list.findLast(({ name }) => name === step) : list[Number(step)]
    if (next === undefined) return undefined
    at = next.at
  }
  return text.slice(at, endOf(text, at))
}

/** The members of the object, or the elements of the array, at `at`. */
export function children(text: string, at: number): Child[] {
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

export function skipSpace(text: string, at: number): number {
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
 * The position after the value that begins at `at`. Works on char codes: every character of a batch
 * is read here, and `text[at]` would create a string for each.
 */
export function endOf(text: string, at: number): number {
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
