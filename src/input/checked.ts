import { z } from 'zod'
import { HookonceError } from '../model/errors.ts'
import { PLAIN, unknownKeys } from './plain-issues.ts'

/** An object in which an unknown key is an error that lists the allowed keys. */
export function strict<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? unknownKeys(issue.keys, Object.keys(shape)) : undefined,
  })
}

/**
 * A name or key that is stored and looked up. A longer text would not fit an index. PostgreSQL's
 * text holds neither NUL characters nor unpaired surrogates.
 */
export const keptName = z
  .string()
  .min(1)
  .max(512)
  .regex(/^[^\0\p{Surrogate}]*$/u, 'must contain neither a NUL nor an unpaired surrogate')

/** One fault of given options. */
export interface Fault {
  /** The faulty option. */
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** The faulty key in the object at `path`, if the fault is the key itself and not its value. */
  readonly key?: string | undefined
}

/** A CONFIG_INVALID that lists the faulty options. */
export class InvalidOptions extends HookonceError {
  readonly faults: readonly Fault[]

  constructor(name: string, faults: readonly Fault[]) {
    super('CONFIG_INVALID', `${name}: ${faults.map(faultText).join('; ')}`)
    this.faults = faults
  }
}

export function faultText({ path, message }: Fault): string {
  return path.length > 0 ? `${path.join('.')}: ${message}` : message
}

/** Parses with a schema. One CONFIG_INVALID names every faulty option. */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  name: string,
): z.output<Schema> {
  const result = schema.safeParse(value, PLAIN)
  if (result.success) return result.data
  throw new InvalidOptions(name, faultsOf(result.error.issues))
}

/** Translates an issue of the validator. The schema must be parsed with `PLAIN`. */
export function faultsOf(issues: readonly z.core.$ZodIssue[], parents: readonly PropertyKey[] = []): Fault[] {
  return issues.flatMap((issue) => faultsOfIssue(issue, parents))
}

function faultsOfIssue(issue: z.core.$ZodIssue, parents: readonly PropertyKey[]): Fault[] {
  const path = [...parents, ...issue.path]
  if (issue.code === 'invalid_union') {
    // Reports the faults of the closest alternative. If no alternative is close, reports the union
    // itself.
    const meant = closestAlternative(issue.errors)
    if (meant !== undefined) return faultsOf(meant, path)
  }
  // A name that is not allowed in a record.
  if (issue.code === 'invalid_key') {
    const key = String(path.at(-1))
    return issue.issues.map(({ message }) => ({ path, message, key }))
  }
  const key = issue.code === 'unrecognized_keys' ? issue.keys[0] : undefined
  return [{ path, message: messageOf(issue), key }]
}

type Issues = readonly z.core.$ZodIssue[]

/**
 * The alternative of the right type with the fewest unknown or missing names: an object with `any`
 * matches the alternative that has `any`. If several are equally close, the first.
 */
function closestAlternative(alternatives: readonly Issues[]): Issues | undefined {
  let closest: Issues | undefined
  let fewest = Number.POSITIVE_INFINITY
  for (const issues of alternatives) {
    const isOtherType = issues.some(({ code, path }) => path.length === 0 && code !== 'unrecognized_keys')
    const strangers = issues.map(strangeNames).reduce((sum, count) => sum + count, 0)
    if (isOtherType || strangers >= fewest) continue
    closest = issues
    fewest = strangers
  }
  return closest
}

function strangeNames(issue: z.core.$ZodIssue): number {
  if (issue.code === 'unrecognized_keys') return issue.path.length === 0 ? issue.keys.length : 0
  return issue.path.length === 1 && isMissing(issue) ? 1 : 0
}

function isMissing(issue: z.core.$ZodIssue): boolean {
  return 'input' in issue && issue.input === undefined
}

/** A schema's own message describes the expected value, but not that the value is missing. */
function messageOf(issue: z.core.$ZodIssue): string {
  const { message } = issue
  if (!isMissing(issue)) return message
  if (message.startsWith('must be ')) return `is missing; it ${message}`
  return message.startsWith('expected ') ? `is missing; ${message}` : message
}
