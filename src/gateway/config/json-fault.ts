/** Finds the place where a text stops being JSON, and what is expected there. */
export interface JsonFault {
  readonly offset: number
  readonly expected: string
}

const SPACE = /[ \t\r\n]*/y
const TOKEN =
  /[{}[\],:]|"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.])/uy

type Expected = keyof typeof TEXTS

const TEXTS = {
  value: 'a value',
  valueOrEnd: 'a value or "]"',
  keyOrEnd: 'a key in double quotes or "}"',
  key: 'a key in double quotes',
  colon: '":"',
  commaOrBrace: '"," or "}"',
  commaOrBracket: '"," or "]"',
  end: 'the end of the file',
} as const

/**
 * Undefined for valid JSON. JSON.parse decides about validity; this function finds the place. The
 * message of JSON.parse has no place, or quotes the file, which may hold a secret.
 */
export function jsonFault(text: string): JsonFault | undefined {
  const open: ('{' | '[')[] = []
  let expected: Expected = 'value'
  let offset = skipSpace(text, 0)
  while (offset < text.length) {
    TOKEN.lastIndex = offset
    const token: string | undefined = TOKEN.exec(text)?.[0]
    const next: Expected | undefined = token === undefined ? undefined : after(token, expected, open)
    if (token === undefined || next === undefined) return { offset, expected: TEXTS[expected] }
    expected = next
    offset = skipSpace(text, offset + token.length)
  }
  return expected === 'end' ? undefined : { offset, expected: TEXTS[expected] }
}

/** The tokens that may follow this token. Undefined if the token itself is unexpected. */
function after(token: string, expected: Expected, open: ('{' | '[')[]): Expected | undefined {
  const takesValue = expected === 'value' || expected === 'valueOrEnd'
  if (token === '{' || token === '[') {
    if (!takesValue) return undefined
    open.push(token)
    return token === '{' ? 'keyOrEnd' : 'valueOrEnd'
  }
  if (token === '}' || token === ']') {
    const ends = token === '}' ? ['keyOrEnd', 'commaOrBrace'] : ['valueOrEnd', 'commaOrBracket']
    if (!ends.includes(expected)) return undefined
    open.pop()
    return afterValue(open)
  }
  if (token === ':') return expected === 'colon' ? 'value' : undefined
  if (token === ',')
    return expected === 'commaOrBrace' ? 'key' : expected === 'commaOrBracket' ? 'value' : undefined
  if (expected === 'key' || expected === 'keyOrEnd') return token.startsWith('"') ? 'colon' : undefined
  return takesValue ? afterValue(open) : undefined
}

function afterValue(open: readonly ('{' | '[')[]): Expected {
  const around = open.at(-1)
  return around === undefined ? 'end' : around === '{' ? 'commaOrBrace' : 'commaOrBracket'
}

function skipSpace(text: string, offset: number): number {
  SPACE.lastIndex = offset
  return offset + (SPACE.exec(text)?.[0].length ?? 0)
}
