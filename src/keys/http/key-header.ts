import { HookonceError } from '../../model/errors.ts'

/*
 * `Idempotency-Key: "a1b2"` (a string of structured fields, as the IETF draft has it) and `Idempotency-Key: a1b2` (as
 * nearly everyone sends it) are the same key.
 */
const MOST_CHARACTERS = 255
const VISIBLE = /^[\x21-\x7e]+$/
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/

/** The key of a header, undefined where there is none. `values`: one for each time that the header came. */
export function parseKey(values: readonly string[]): string | undefined {
  const [value, ...more] = values
  if (value === undefined) return undefined
  if (more.length > 0) throw malformed('the header came more than once')
  const text = value.trim()
  const key = text.startsWith('"') ? unquoted(text) : text
  // A proxy may have joined two headers into one.
  if (!text.startsWith('"') && key.includes(','))
    throw malformed('it holds a comma: quote it, or leave it out')
  if (key === '') throw malformed('it is empty')
  if (key.length > MOST_CHARACTERS)
    throw malformed(`it has ${key.length} characters, and may have ${MOST_CHARACTERS}`)
  if (!VISIBLE.test(key)) throw malformed('it holds something else than visible ASCII characters')
  return key
}

/** Whether there is a key, and only one. */
export function isKey(values: readonly string[]): boolean {
  try {
    return parseKey(values) !== undefined
  } catch {
    // What is wrong with it is told by whoever parses it to use it.
    return false
  }
}

function unquoted(text: string): string {
  const inside = QUOTED.exec(text)?.[1]
  if (inside === undefined) throw malformed('its quotes do not match')
  return inside.replace(/\\(["\\])/g, '$1')
}

function malformed(why: string): HookonceError {
  return new HookonceError('KEY_MALFORMED', `the Idempotency-Key cannot be used: ${why}`)
}
