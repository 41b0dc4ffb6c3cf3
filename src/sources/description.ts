import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import { type Handshake, handshakes } from './handshake.ts'
import { headerName, locator, locators, place, settingsOf } from './places.ts'
import { checkSigned, isDigest, type Signature, signature, timestamp, unit } from './signature.ts'

/**
 * A provider, described: how it signs its deliveries and where it names its events. Pure data; the
 * compiler in schemes/ turns it and the secrets of one endpoint into a source. Whatever it does not
 * know fails here, at construction, and never at a delivery.
 */

// By name only: two events with equal bodies become one, so nobody gets this by leaving something
// out.
const bodyHash = z.literal('body-hash')

const KEY_PLACE = `expected header:<name> or json:<path>, an array of those, { hash: [places] }, 'body-hash', 'item-hash', or 'each-delivery'`

// The one event of a batch, in its sender's bytes, without the envelope: for senders whose envelope
// changes from attempt to attempt.
const itemHash = z.literal('item-hash')

// For pings that say "something changed" and nothing else: a repeat is a second event, for no two
// can be told apart.
const eachDelivery = z.literal('each-delivery')

/** A part of the JSON as it is written, an object or array too. */
const textOf = strict({
  textOf: locator.refine((place) => /^(?:json|item):/.test(place), 'expected json:<path> or item:<path>'),
})

// For senders without an event id. Every field must be there: a key made of fewer fields would
// merge events. What a sender leaves out at times is `optional`, and counts as empty. Where headers
// tell apart what has one body, 'body-hash' stands among the fields.
const hashed = strict({
  hash: z.array(z.union([place, bodyHash, itemHash, textOf])).min(1),
  optional: z
    .array(z.union([locator, textOf]))
    .min(1)
    .optional(),
})

// For senders that name some of their events and not others.
const conditional = strict({
  when: z.record(locator, z.array(z.string().min(1)).min(1)),
  key: z.union([hashed, bodyHash, itemHash, eachDelivery]),
})

const keyPlace = z.union(
  [
    locator,
    z
      .array(z.union([locator, hashed, conditional, bodyHash, itemHash, eachDelivery], { error: KEY_PLACE }))
      .min(1),
    hashed,
    bodyHash,
    itemHash,
    eachDelivery,
  ],
  { error: KEY_PLACE },
)

// The name of the first of these that holds something: Telegram's `message`, `callback_query`, …
const present = strict({ present: locators })

const typePlace = z.union(
  [
    locator,
    locators,
    // The first part must be there, later ones are left out when they are not: GitHub's `push` has
    // no action.
    strict({ join: z.array(z.union([place, present])).min(1), separator: z.string().max(8) }),
    present,
  ],
  {
    error:
      'expected header:<name> or json:<path>, an array of those, { join: [places], separator }, or { present: [places] }',
  },
)

const event = strict({
  key: keyPlace,
  type: typePlace.optional(),
  objectId: place.optional(),
  /** `unit` says what a number means; a string in ISO 8601 is understood in any case. */
  occurredAt: strict({ at: place, unit }).optional(),
  /** What tells which of two events about one object is newer; left out, it is `occurredAt`. */
  version: strict({ at: place, unit: z.enum(['number', 's', 'ms', 'iso', 'text']) }).optional(),
  /**
   * The part that the event speaks of; left out, it is the whole payload, or the item of a batch.
   */
  object: place.optional(),
})

const arrayPath = z.custom<`json:${string}[]`>(
  (value) => typeof value === 'string' && /^json:(?:[^.[\]]+(?:\[\])?\.)*(?:[^.[\]]+\[\]|\[\])$/.test(value),
  'expected the path of an array, such as json:[], json:events[] or json:entry[].changes[]',
)

/** Where the events of a batch are: in an array, in one of several, or one a line. */
const batch = z.union([arrayPath, z.array(arrayPath).min(1), z.literal('lines')], {
  error: `expected json:[], json:<path>[], an array of those, or 'lines'`,
})

const formWithJson = strict({ form: z.string().min(1) })

/**
 * What the body is. `{ form: 'payload' }`: JSON in a field of a form. `{ jsonOr: … }`: JSON, or
 * such a form.
 */
const body = z.union([
  z.enum(['json', 'form', 'xml', 'coded']),
  formWithJson,
  strict({ jsonOr: z.union([z.literal('form'), formWithJson]) }),
])

const about = strict({
  name: z.string().min(1),
  category: z.string().min(1),
  /** How sure we are: read in the vendor's code, stated in its documents, or hearsay. */
  confidence: z.enum(['verified', 'documented', 'uncertain']),
  evidence: z.array(z.string().min(1)).min(1),
  /** What of this was not seen in the evidence, in words. */
  unverified: z.array(z.string()).default([]),
  /** What to know before using it. */
  notes: z.array(z.string()).default([]),
})

export const descriptionShape = {
  provider: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'expected a short name in lower case, such as "acme"'),
  about: about.optional(),
  signature,
  timestamp: timestamp.optional(),
  body: body.default('json'),
  batch: batch.optional(),
  /**
   * A batch without events: 'record' keeps it as one event, 'acknowledge' is for providers that
   * check a URL or send a heartbeat with one.
   */
  emptyBatch: z.enum(['record', 'acknowledge']).default('record'),
  /** Whether each event of a batch carries its own signature. */
  signedPer: z.enum(['delivery', 'event']).default('delivery'),
  event,
  handshake: handshakes.optional(),
  /**
   * How the provider's API keys begin, which are taken for the webhook secret, and what is meant
   * instead.
   */
  apiKeys: strict({ prefixes: z.array(z.string().min(1)).min(1), advice: z.string().min(1) }).optional(),
  /** Values besides the secret that the options must give, each with what it is. */
  settings: z.record(z.string().regex(/^[A-Za-z]+$/), z.string().min(1)).default({}),
  // A week where a sender does not say: a Friday's outage is mended on Monday, and some retry for
  // five days.
  retryWindowHours: z.number().positive().default(168),
  /** How long the sender waits for its answer, where it says so. */
  answerWithinSeconds: z.number().positive().optional(),
  acceptedStatus: z.int().min(200).max(299).default(202),
  /** The body of the answer, where the provider wants a certain one. */
  acceptedBody: z.string().optional(),
  /** Headers of every answer to a genuine delivery; values may hold {setting:name}. */
  acceptedHeaders: z.record(headerName, z.string()).default({}),
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

/** What the parts of a description demand of each other. */
export function checkAgreement(described: Agreement, context: z.RefinementCtx): void {
  checkSigned(described, context)
  const complain = (path: string[], message: string): void =>
    context.addIssue({ code: 'custom', path, message })
  if (described.batch === undefined && described.signedPer === 'event')
    complain(['signedPer'], "'event' is for a batch")
  if (described.batch === undefined && JSON.stringify(described.event).includes('"item:'))
    complain(['event'], 'item:<path> is for a batch: use json:<path>, or say where the batch is')
  if (described.batch === undefined && JSON.stringify(described.event).includes('"item-hash"'))
    complain(['event', 'key'], "'item-hash' is for a batch: use 'body-hash'")
  for (const name of settingsRead(described)) {
    if (!Object.hasOwn(described.settings, name))
      complain(['settings'], `{setting:${name}} is used: say what it is`)
  }
}

interface Agreement {
  readonly signature: Signature
  readonly timestamp?: z.output<typeof timestamp> | undefined
  readonly batch?: unknown
  readonly signedPer: 'delivery' | 'event'
  readonly event: unknown
  readonly handshake?: readonly Handshake[] | undefined
  readonly settings: Readonly<Record<string, string>>
  readonly acceptedHeaders: Readonly<Record<string, string>>
}

function settingsRead({ signature, handshake = [], acceptedHeaders }: Agreement): string[] {
  const templates = [
    ...(isDigest(signature) ? [signature.content] : []),
    ...Object.values(acceptedHeaders),
    // Every text of the replies, computed ones too.
    ...handshake.map(({ reply }) => JSON.stringify(reply)),
  ]
  const tokens = handshake.some(({ token }) => token !== undefined) ? ['verifyToken'] : []
  return [...templates.flatMap(settingsOf), ...tokens]
}

/** Whether anything of a description needs the public URL of the endpoint. */
export function needsUrl({ signature, handshake = [] }: CheckedDescription): boolean {
  if (isDigest(signature) && signature.content.includes('{url}')) return true
  if (signature.algorithm === 'jwt' && signature.urlHash !== undefined) return true
  if (signature.algorithm === 'coded' && signature.needsUrl) return true
  return handshake.some(({ reply }) => JSON.stringify(reply).includes('{url}'))
}
