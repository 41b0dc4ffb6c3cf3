import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import { type Handshake, handshakes } from './handshake.ts'
import { headerName, locator, locators, place, settingsOf } from './places.ts'
import { checkSigned, isDigest, type Signature, signature, timestamp, unit } from './signature.ts'

/**
 * The description of a provider: how it signs its deliveries and where it names its events. It is
 * pure data. The compiler in schemes/ combines it with the secrets of one endpoint into a source.
 * Invalid descriptions fail here, at construction, and never at a delivery.
 */

// Must be requested by name, because two events with equal bodies become one.
const bodyHash = z.literal('body-hash')

const KEY_PLACE = `expected header:<name> or json:<path>, an array of those, { hash: [places] }, 'body-hash', 'item-hash', or 'each-delivery'`

// The hash of a single event of a batch, over the sender's bytes and without the envelope. For
// senders whose envelope changes from attempt to attempt.
const itemHash = z.literal('item-hash')

// For pings without details ("something changed"). A repeat is a second event, because the two
// cannot be distinguished.
const eachDelivery = z.literal('each-delivery')

/** A part of the JSON as the sender wrote it. May be an object or an array. */
const textOf = strict({
  textOf: locator.refine((place) => /^(?:json|item):/.test(place), 'expected json:<path> or item:<path>'),
})

// For senders without an event id. Every field must be present, because a key of fewer fields would
// merge events. A field that a sender sometimes omits is `optional`, and counts as empty if it is
// missing. If headers distinguish events with equal bodies, add 'body-hash' to the fields.
const hashed = strict({
  hash: z.array(z.union([place, bodyHash, itemHash, textOf])).min(1),
  optional: z
    .array(z.union([locator, textOf]))
    .min(1)
    .optional(),
})

// For senders that give an id only to some of their events.
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

// The name of the first place that holds a value: Telegram's `message`, `callback_query`, …
const present = strict({ present: locators })

const typePlace = z.union(
  [
    locator,
    locators,
    // The first part is required. Missing later parts are omitted: GitHub's `push` has no action.
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
  /** `unit` is the unit of a number. ISO 8601 strings are always understood. */
  occurredAt: strict({ at: place, unit }).optional(),
  /** Decides which of two events about one object is newer. Default: `occurredAt`. */
  version: strict({ at: place, unit: z.enum(['number', 's', 'ms', 'iso', 'text']) }).optional(),
  /** The part that the event is about. Default: the whole payload, or the item of a batch. */
  object: place.optional(),
  /**
   * Every event type that the provider documents; `*` stands for any characters. A subscriber to
   * another type causes a warning, never an error: the list may be older than the provider.
   */
  types: z.array(z.string().min(1)).min(1).readonly().optional(),
})

const arrayPath = z.custom<`json:${string}[]`>(
  (value) => typeof value === 'string' && /^json:(?:[^.[\]]+(?:\[\])?\.)*(?:[^.[\]]+\[\]|\[\])$/.test(value),
  'expected the path of an array, such as json:[], json:events[] or json:entry[].changes[]',
)

/** Where the events of a batch are: in an array, in one of several arrays, or one per line. */
const batch = z.union([arrayPath, z.array(arrayPath).min(1), z.literal('lines')], {
  error: `expected json:[], json:<path>[], an array of those, or 'lines'`,
})

const formWithJson = strict({ form: z.string().min(1) })

/**
 * The kind of the body. `{ form: 'payload' }`: JSON in a form field. `{ jsonOr: … }`: JSON, or such
 * a form.
 */
const body = z.union([
  z.enum(['json', 'form', 'xml', 'coded']),
  formWithJson,
  strict({ jsonOr: z.union([z.literal('form'), formWithJson]) }),
])

const about = strict({
  name: z.string().min(1),
  category: z.string().min(1),
  /**
   * The quality of the evidence: read in the vendor's code, stated in its documents, or
   * second-hand.
   */
  confidence: z.enum(['verified', 'documented', 'uncertain']),
  evidence: z.array(z.string().min(1)).min(1),
  /** A description of the parts that the evidence does not cover. */
  unverified: z.array(z.string()).default([]),
  /** Notes for users of this provider. */
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
   * A batch without events: 'record' keeps it as one event. 'acknowledge' is for providers that use
   * it to check a URL or as a heartbeat.
   */
  emptyBatch: z.enum(['record', 'acknowledge']).default('record'),
  /** Whether each event of a batch has its own signature. */
  signedPer: z.enum(['delivery', 'event']).default('delivery'),
  event,
  handshake: handshakes.optional(),
  /**
   * Prefixes of the provider's API keys, which are often mistaken for the webhook secret, and
   * advice on what to use instead.
   */
  apiKeys: strict({ prefixes: z.array(z.string().min(1)).min(1), advice: z.string().min(1) }).optional(),
  /** Values besides the secret that the options must provide, each with its meaning. */
  settings: z.record(z.string().regex(/^[A-Za-z]+$/), z.string().min(1)).default({}),
  // The default for senders that do not state it: a week. A Friday outage is fixed on Monday, and
  // some senders retry for five days.
  retryWindowHours: z.number().positive().default(168),
  /** How long the sender waits for an answer, if documented. */
  answerWithinSeconds: z.number().positive().optional(),
  acceptedStatus: z.int().min(200).max(299).default(202),
  /** The body of the answer, if the provider requires a certain body. */
  acceptedBody: z.string().optional(),
  /** Headers of every answer to a genuine delivery. Values may contain {setting:name}. */
  acceptedHeaders: z.record(headerName, z.string()).default({}),
  refusedStatus: z.int().min(400).max(499).default(401),
}

const descriptionSchema = strict(descriptionShape).superRefine(checkAgreement)

/** A provider as written in the catalogue: fields with defaults may be omitted. */
export type ProviderDescription = z.input<typeof descriptionSchema>

/** A checked provider, with every default filled in. */
export type CheckedDescription = z.output<typeof descriptionSchema>

export function checkDescription(description: ProviderDescription): CheckedDescription {
  return check(descriptionSchema, description, description.provider)
}

/** Checks that the parts of a description are consistent. */
export function checkAgreement(described: RelatedParts, context: z.RefinementCtx): void {
  checkSigned(described, context)
  const addIssue = (path: string[], message: string): void =>
    context.addIssue({ code: 'custom', path, message })
  if (described.batch === undefined && described.signedPer === 'event')
    addIssue(['signedPer'], "'event' is only for a batch")
  if (described.batch === undefined && JSON.stringify(described.event).includes('"item:'))
    addIssue(['event'], 'item:<path> is only for a batch; use json:<path>, or set `batch`')
  if (described.batch === undefined && JSON.stringify(described.event).includes('"item-hash"'))
    addIssue(['event', 'key'], "'item-hash' is only for a batch; use 'body-hash'")
  for (const name of settingsRead(described)) {
    if (!Object.hasOwn(described.settings, name))
      addIssue(['settings'], `{setting:${name}} is used; describe it here`)
  }
}

interface RelatedParts {
  readonly signature: Signature
  readonly timestamp?: z.output<typeof timestamp> | undefined
  readonly batch?: unknown
  readonly signedPer: 'delivery' | 'event'
  readonly event: unknown
  readonly handshake?: readonly Handshake[] | undefined
  readonly settings: Readonly<Record<string, string>>
  readonly acceptedHeaders: Readonly<Record<string, string>>
}

function settingsRead({ signature, handshake = [], acceptedHeaders }: RelatedParts): string[] {
  const templates = [
    ...(isDigest(signature) ? [signature.content] : []),
    ...Object.values(acceptedHeaders),
    // Every text of the replies, including computed texts.
    ...handshake.map(({ reply }) => JSON.stringify(reply)),
  ]
  const tokens = handshake.some(({ token }) => token !== undefined) ? ['verifyToken'] : []
  return [...templates.flatMap(settingsOf), ...tokens]
}

/** Whether a description needs the public URL of the endpoint. */
export function needsUrl({ signature, handshake = [] }: CheckedDescription): boolean {
  if (isDigest(signature) && /\{(?:url|path)\}/.test(signature.content)) return true
  if (signature.algorithm === 'jwt' && signature.urlHash !== undefined) return true
  if (signature.algorithm === 'coded' && signature.needsUrl) return true
  return handshake.some(({ reply }) => JSON.stringify(reply).includes('{url}'))
}
