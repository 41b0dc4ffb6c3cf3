import { HookonceError } from '../../model/errors.ts'

/*
 * `Idempotency-Key: "a1b2"` (a structured-field string, as in the IETF draft) and `Idempotency-Key:
 * a1b2` (as most clients send it) are the same key.
 */
const MAX_CHARACTERS = 255
const VISIBLE = /^[\x21-\x7e]+$/
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/

/**
 * Parses the key. Returns undefined if there is none. `values` has one entry per occurrence of the
 * header.
 */
export function parseKey(values: readonly string[]): string | undefined {
  const [value, ...more] = values
  if (value === undefined) return undefined
  if (more.length > 0) throw malformed('the header occurs more than once')
  const text = value.trim()
  const key = text.startsWith('"') ? unquoted(text) : text
  // A proxy may have joined two headers into one.
  if (!text.startsWith('"') && key.includes(','))
    throw malformed('it contains a comma; quote the key, or remove the comma')
  if (key === '') throw malformed('it is empty')
  if (key.length > MAX_CHARACTERS)
    throw malformed(`it has ${key.length} characters; the maximum is ${MAX_CHARACTERS}`)
  if (!VISIBLE.test(key)) throw malformed('it contains characters other than visible ASCII')
  return key
}

/** Whether the header holds exactly one valid key. */
export function isKey(values: readonly string[]): boolean {
  try {
    return parseKey(values) !== undefined
  } catch {
    // The caller that uses the key parses it again and reports the error.
    return false
  }
}

function unquoted(text: string): string {
  const inside = QUOTED.exec(text)?.[1]
  if (inside === undefined) throw malformed('its quotes do not match')
  return inside.replace(/\\(["\\])/g, '$1')
}

function malformed(why: string): HookonceError {
  return new HookonceError('KEY_MALFORMED', `the Idempotency-Key is invalid: ${why}`)
}
