import { z } from 'zod'
import { PLAIN } from '../../input/plain-issues.ts'
import { HookonceError } from '../../model/errors.ts'
import { InvalidRequest } from './problem.ts'

const NONE = z.strictObject({})

/** Checks the parameters of a URL. Unknown parameters and repeated parameters are errors. */
export function parseQuery(schema: z.ZodObject = NONE, url: string): Record<string, unknown> {
  const given = new Map<string, unknown>()
  // A value may also contain a question mark.
  const [, search = ''] = /^[^?]*\?(.*)$/s.exec(url) ?? []
  for (const [name, text] of new URLSearchParams(search)) {
    if (given.has(name))
      throw new HookonceError(
        'REQUEST_INVALID',
        `query parameter ${name} is given more than once; pass it once`,
      )
    const field = Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined
    given.set(name, field ? fromText(field, text) : text)
  }
  // An assignment to `__proto__` would set no property, so the unknown parameter would be accepted.
  const checked = schema.safeParse(Object.fromEntries(given), PLAIN)
  if (!checked.success) throw new InvalidRequest('query', checked.error.issues)
  return checked.data
}

/** A URL holds text. The schema refuses text that is neither a number nor a boolean. */
function fromText(field: z.core.$ZodType, text: string): unknown {
  const { def } = field._zod
  if ('innerType' in def) return fromText(def.innerType as z.core.$ZodType, text)
  if (def.type === 'number') return /^-?\d{1,15}(\.\d{1,9})?$/.test(text) ? Number(text) : text
  if (def.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  return text
}
