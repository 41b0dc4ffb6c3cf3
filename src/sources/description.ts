import { z } from 'zod'
import { check, strict } from '../model/checked.ts'

/**
 * A provider, described: how it signs its deliveries and where it names its events. Pure data; the compiler in
 * schemes/ turns it and the secrets of one endpoint into a source. Whatever it does not know fails here, at
 * construction, and never at a delivery.
 */

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/

const headerName = z.string().regex(HEADER_NAME, 'expected the name of a header').toLowerCase()

/** Where one value lives: `header:x-event-id`, or `json:data.object.id` (own properties and array indexes). */
export type Locator = `header:${string}` | `json:${string}`

function isLocator(value: unknown): value is Locator {
  if (typeof value !== 'string') return false
  if (value.startsWith('header:')) return HEADER_NAME.test(value.slice('header:'.length))
  return value.startsWith('json:') && value.slice('json:'.length).split('.').every(Boolean)
}

const locator = z.custom<Locator>(isLocator, 'expected header:<name> or json:<path>, such as json:data.id')

const locators = z.array(locator).min(1)

/** One place, or several of which the first that holds something counts. */
const place = z.union([locator, locators], {
  error: 'expected header:<name>, json:<path>, or an array of those',
})

const keyPlace = z.union(
  [
    locator,
    locators,
    // For senders without an event id. Every field must be there: a key made of fewer fields would merge events.
    strict({ hash: locators }),
    // By name only: two events with equal bodies become one, so nobody gets this by leaving something out.
    z.literal('body-hash'),
  ],
  { error: `expected header:<name> or json:<path>, an array of those, { hash: [places] }, or 'body-hash'` },
)

const typePlace = z.union(
  [
    locator,
    locators,
    // The first part must be there, later ones are left out when they are not: GitHub's `push` has no action.
    strict({ join: locators, separator: z.string().max(8) }),
  ],
  { error: 'expected header:<name> or json:<path>, an array of those, or { join: [places], separator }' },
)

const headerFormat = z.discriminatedUnion('kind', [
  strict({ kind: z.literal('bare'), prefix: z.string().default('') }),
  // `t=1,v1=aa,v1=bb` and `v1,AA= v1,BB=` alike: named items, of which several may be signatures.
  strict({
    kind: z.literal('list'),
    itemSeparator: z.string().length(1),
    fieldSeparator: z.string().length(1),
    signatureField: z.string().min(1),
  }),
])

const signature = strict({
  algorithm: z.enum(['hmac-sha1', 'hmac-sha256', 'hmac-sha512']),
  header: headerName,
  encoding: z.enum(['hex', 'base64', 'base64url']),
  format: headerFormat.default({ kind: 'bare', prefix: '' }),
  /** What is signed: literal text with {body}, {timestamp} and {header:name}. */
  content: z.string().default('{body}').superRefine(checkContent),
  /** How the text of the secret becomes the key. */
  secretEncoding: z.enum(['utf8', 'base64', 'hex']).default('utf8'),
  /** Taken off the secret first, where it is there. */
  secretPrefix: z.string().default(''),
})

const unit = z.enum(['s', 'ms', 'iso'])

const timestamp = strict({
  at: z.custom<`header:${string}` | `field:${string}`>(
    (value) =>
      typeof value === 'string' &&
      (/^field:./.test(value) || (isLocator(value) && value.startsWith('header:'))),
    'expected header:<name>, or field:<name> of the signature header',
  ),
  unit,
  // 300 s: what Stripe, Slack and Standard Webhooks use; enough for clocks that drift, short for a replay.
  toleranceSeconds: z.number().positive().default(300),
})

const event = strict({
  key: keyPlace,
  type: typePlace.optional(),
  objectId: place.optional(),
  /** `unit` says what a number means; a string in ISO 8601 is understood in any case. */
  occurredAt: strict({ at: place, unit }).optional(),
  /** What tells which of two events about one object is newer; left out, it is `occurredAt`. */
  version: strict({ at: place, as: z.enum(['timestamp', 'number', 'text']) }).optional(),
  /** The part that the event speaks of; left out, it is the whole payload. */
  object: place.optional(),
})

export const descriptionShape = {
  provider: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'expected a short name in lower case, such as "acme"'),
  signature,
  timestamp: timestamp.optional(),
  event,
  // A week where a sender does not say: a Friday's outage is mended on Monday, and some retry for five days.
  retryWindowHours: z.number().positive().default(168),
  acceptedStatus: z.int().min(200).max(299).default(202),
  refusedStatus: z.int().min(400).max(499).default(401),
}

const descriptionSchema = strict(descriptionShape).superRefine(checkAgreement)

/** A provider as it is written down: what has a default may be left out. */
export type ProviderDescription = z.input<typeof descriptionSchema>

/** A provider as the compiler reads it: checked, every default filled in. */
export type CheckedDescription = z.output<typeof descriptionSchema>

export function checkDescription(description: ProviderDescription): CheckedDescription {
  return check(descriptionSchema, description, description.provider)
}

const PLACEHOLDER = /\{([^{}]*)\}/g

/** The content template, in pieces: literal text is everything between the placeholders. */
export function contentPieces(content: string): { literal: string; placeholder: string | undefined }[] {
  const pieces: { literal: string; placeholder: string | undefined }[] = []
  let at = 0
  for (const match of content.matchAll(PLACEHOLDER)) {
    pieces.push({ literal: content.slice(at, match.index), placeholder: match[1] ?? '' })
    at = match.index + match[0].length
  }
  pieces.push({ literal: content.slice(at), placeholder: undefined })
  return pieces
}

function checkContent(content: string, context: z.RefinementCtx): void {
  const pieces = contentPieces(content)
  for (const { literal, placeholder } of pieces) {
    if (/[{}]/.test(literal)) context.addIssue(`unbalanced brace near "${literal}"`)
    if (placeholder === undefined || placeholder === 'body' || placeholder === 'timestamp') continue
    if (placeholder.startsWith('header:') && isLocator(placeholder)) continue
    context.addIssue(`unknown {${placeholder}}; allowed: {body}, {timestamp}, {header:<name>}`)
  }
  // A signature that leaves the body out would let anyone change it.
  if (pieces.filter(({ placeholder }) => placeholder === 'body').length !== 1) {
    context.addIssue('{body} must be signed, once')
  }
}

interface Agreement {
  readonly signature: z.output<typeof signature>
  readonly timestamp?: z.output<typeof timestamp> | undefined
}

/** What the parts of a description demand of each other. */
export function checkAgreement({ signature, timestamp }: Agreement, context: z.RefinementCtx): void {
  const signed = signature.content.includes('{timestamp}')
  if (signed && timestamp === undefined) {
    context.addIssue({
      code: 'custom',
      path: ['timestamp'],
      message: '{timestamp} is signed: say where it is',
    })
  }
  if (!signed && timestamp !== undefined) {
    // Anyone could put a fresh date on an old delivery.
    context.addIssue({
      code: 'custom',
      path: ['timestamp'],
      message: 'a timestamp that is not signed proves nothing: put {timestamp} into signature.content',
    })
  }
  if (timestamp?.at.startsWith('field:') && signature.format.kind !== 'list') {
    context.addIssue({
      code: 'custom',
      path: ['timestamp', 'at'],
      message: 'field:<name> needs signature.format of kind "list"',
    })
  }
}
