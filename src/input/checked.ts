import { z } from 'zod'
import { HookonceError } from '../model/errors.ts'

/** An object in which an unknown key is an error that says which keys there are. */
export function strict<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `unknown ${issue.keys.map((key) => `"${key}"`).join(', ')}; allowed: ${Object.keys(shape).join(', ')}`
        : undefined,
  })
}

/**
 * A name or key that is kept and found again. Longer ones would not fit an index, and nobody could read them;
 * PostgreSQL's text holds neither a NUL nor half a character.
 */
export const keptName = z
  .string()
  .min(1)
  .max(512)
  .regex(/^[^\0\p{Surrogate}]*$/u, 'must hold neither a NUL nor half a character')

/** Parses by a schema; what is wrong becomes one CONFIG_INVALID that names every option at fault. */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  name: string,
): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new HookonceError(
    'CONFIG_INVALID',
    `${name}: ${result.error.issues.flatMap((issue) => explain(issue)).join('; ')}`,
  )
}

function explain(issue: z.core.$ZodIssue, parents: readonly PropertyKey[] = []): string[] {
  const path = [...parents, ...issue.path]
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    // Speak of the alternative that was meant, the one whose outer shape fits; else of all of them.
    const meant = issue.errors.find((issues) =>
      issues.every(({ code, path }) => path.length > 0 || code === 'unrecognized_keys'),
    )
    if (meant !== undefined) return meant.flatMap((inner) => explain(inner, path))
  }
  // A name that is not allowed in a record: say why.
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => `${path.join('.')}: ${message}`)
  return [path.length > 0 ? `${path.join('.')}: ${issue.message}` : issue.message]
}
