import { z } from 'zod'
import { strict } from '../input/checked.ts'
import { checkTemplate, headerName, isRequestLocator, requestLocator } from './places.ts'

/*
 * How a provider proves that it sent a delivery. Every kind defines where the proof is (`header`,
 * or `at` for other places) and which parts it covers.
 */

const DIGESTS = [
  'hmac-md5',
  'hmac-sha1',
  'hmac-sha256',
  'hmac-sha384',
  'hmac-sha512',
  // Older schemes: a plain hash over a text that contains the {secret}, instead of an HMAC.
  'sha1',
  'sha256',
  'sha512',
] as const

const PUBLIC_KEYS = ['ed25519', 'ecdsa-p256-sha256', 'rsa-sha1', 'rsa-sha256', 'rsa-sha512'] as const

const encoding = z.enum(['hex', 'base64', 'base64url'])

/** `base64-hex`: the hexadecimal text, encoded once more in base64. */
const signatureEncoding = z.enum([...encoding.options, 'base64-hex'])

const where = {
  /** The header with the signature, or several of which any may hold it. */
  header: z.union([headerName, z.array(headerName).min(1).max(16)]).optional(),
  /**
   * The place of the signature if it is not in a header: `json:signature.signature`, `item:`,
   * `form:`, `query:`.
   */
  at: requestLocator.optional(),
}

const secretText = {
  /** How the text of the secret becomes the key. A public key is recognised by its form. */
  secretEncoding: z.enum(['utf8', 'utf8-nfkd', 'base64', 'hex']).default('utf8'),
  /** Removed from the secret first, if present. */
  secretPrefix: z.string().default(''),
}

const format = z.discriminatedUnion('kind', [
  strict({ kind: z.literal('bare'), prefix: z.string().default('') }),
  // `t=1,v1=aa,v1=bb` or `v1,AA= v1,BB=`: named items, several of which may be signatures.
  strict({
    kind: z.literal('list'),
    /** One separator character, or two alternatives. */
    itemSeparator: z.string().min(1).max(2),
    fieldSeparator: z.string().length(1),
    signatureField: z.string().min(1),
    /** The item that lists the signed headers, for {signedHeaders}. */
    headersField: z.string().min(1).optional(),
  }),
  // `1700000000000,aa,bb` or `aa,bb`: signatures without names, after the date if one is described.
  strict({ kind: z.literal('values'), separator: z.string().length(1) }),
])

const NAMED = [
  'body',
  'bodySha256',
  'timestamp',
  'url',
  'path',
  'method',
  'secret',
  'signedHeaders',
  'sortedForm',
  'field:<name>',
]

const digest = strict({
  algorithm: z.enum([...DIGESTS, ...PUBLIC_KEYS]),
  ...where,
  encoding: signatureEncoding,
  format: format.default({ kind: 'bare', prefix: '' }),
  /**
   * Ed25519 in another item of the list, beside the HMAC. A secret with one of these prefixes is an
   * Ed25519 key and is compared only with that item. The public key verifies. The private key also
   * signs, for tests.
   */
  asymmetric: strict({
    signatureField: z.string().min(1),
    publicPrefix: z.string().min(1),
    privatePrefix: z.string().min(1),
  }).optional(),
  /**
   * The signed content: literal text with {body} or {bodySha256}, {timestamp}, {url}, {path},
   * {method}, {field:name}, {header:name}, {json:path}, …
   */
  content: z
    .string()
    .default('{body}')
    .superRefine((content, context) => checkTemplate(content, NAMED, context)),
  /**
   * 'not-body' states that the provider does not sign the body: anyone who holds one delivery can
   * change it.
   */
  covers: z.enum(['body', 'not-body']).default('body'),
  ...secretText,
})

/** The secret itself is sent with each delivery. */
const token = strict({ algorithm: z.literal('token'), ...where, prefix: z.string().default('') })

/** HTTP basic authentication. The secret is `user:password`. */
const basic = strict({ algorithm: z.literal('basic') })

const claim = strict({ claim: z.string().min(1), encoding })

/** A JSON Web Token. Its claims may contain the hash of the body. */
const jwt = strict({
  algorithm: z.literal('jwt'),
  ...where,
  prefix: z.string().default(''),
  algorithms: z.array(z.enum(['HS256', 'HS384', 'HS512'])).min(1),
  issuer: z.string().optional(),
  /** The claim with the SHA-256 of the body. Without it, the body is not covered. */
  bodyHash: claim.optional(),
  /** The claim with the SHA-256 of the URL. */
  urlHash: claim.optional(),
  // Clocks differ, so `exp`, `nbf` and `iat` are checked with this margin.
  toleranceSeconds: z.number().positive().default(300),
  ...secretText,
})

/** A scheme that data cannot express. `how` describes it for the provider's page. */
const coded = strict({
  algorithm: z.literal('coded'),
  how: z.string().min(1),
  /** Whether the date of the delivery is checked. */
  dated: z.boolean().default(false),
  toleranceSeconds: z.number().positive().default(300),
  /**
   * 'none': keys are fetched, and there is no shared secret. 'credential': the secret gives access
   * to the keys and signs nothing. 'public-key': the secret is the provider's public key.
   */
  secret: z.enum(['needed', 'none', 'credential', 'public-key']).default('needed'),
  /** Whether each delivery names the key to fetch. */
  namesKey: z.boolean().default(false),
  /** Whether the registered URL is signed. */
  needsUrl: z.boolean().default(false),
  covers: z.enum(['body', 'not-body']).default('body'),
})

export const signature = z.discriminatedUnion('algorithm', [digest, token, basic, jwt, coded], {
  error: `expected one of ${[...DIGESTS, ...PUBLIC_KEYS, 'token', 'basic', 'jwt', 'coded'].map((name) => `"${name}"`).join('|')}`,
})

export type Signature = z.output<typeof signature>
export type DigestSignature = z.output<typeof digest>
export type TokenSignature = z.output<typeof token> | z.output<typeof basic>
export type JwtSignature = z.output<typeof jwt>

export function isDigest(signature: Signature): signature is DigestSignature {
  return 'content' in signature
}

export function isPublicKey(algorithm: string): boolean {
  return (PUBLIC_KEYS as readonly string[]).includes(algorithm)
}

/** Whether the secret is the provider's public key. */
export function takesPublicKey(signature: Signature): boolean {
  return signature.algorithm === 'coded'
    ? signature.secret === 'public-key'
    : isPublicKey(signature.algorithm)
}

/** The headers that contain the secret itself, by lower-case name. */
export function secretHeaders(signature: Signature): string[] {
  if (signature.algorithm === 'basic') return ['authorization']
  if (signature.algorithm !== 'token') return []
  const named = signature.at?.startsWith('header:') ? [signature.at.slice('header:'.length)] : []
  return [signature.header ?? [], named].flat(2).map((name) => name.toLowerCase())
}

/** Whether the holder of the secret can sign. Otherwise only the provider can. */
export function isSignable(signature: Signature): boolean {
  return signature.algorithm !== 'coded' || signature.secret === 'needed' || signature.secret === 'public-key'
}

/** Whether the signature detects a changed body. */
export function coversBody(signature: Signature): boolean {
  if (signature.algorithm === 'jwt') return signature.bodyHash !== undefined
  // A form whose fields are all signed is covered, although not byte by byte.
  if (isDigest(signature) && signature.content.includes('{sortedForm}')) return true
  return 'covers' in signature && signature.covers === 'body'
}

export const unit = z.enum(['s', 'ms', 'iso'])

export const timestamp = strict({
  at: z.custom<`header:${string}` | `field:${string}` | `json:${string}`>(
    (value) =>
      typeof value === 'string' &&
      (/^field:./.test(value) || (/^(header|json):/.test(value) && isRequestLocator(value))),
    'expected header:<name>, json:<path>, or field:<name> of the signature header',
  ),
  unit,
  // Stripe, Slack and Standard Webhooks use 300 s. It tolerates clock drift and leaves little time
  // for a replay.
  toleranceSeconds: z.number().positive().default(300),
})

export type Timestamp = z.output<typeof timestamp>
export type Unit = z.output<typeof unit>

interface SignedParts {
  readonly signature: Signature
  readonly timestamp?: Timestamp | undefined
}

/** Checks that signature and date are consistent. */
export function checkSigned({ signature, timestamp }: SignedParts, context: z.RefinementCtx): void {
  const addIssue = (path: string[], message: string): void =>
    context.addIssue({ code: 'custom', path, message })
  if ('header' in signature && (signature.header === undefined) === (signature.at === undefined))
    addIssue(['signature', 'header'], 'set either `header`, or `at` for another place of the signature')
  if (timestamp !== undefined && !isDigest(signature))
    addIssue(['timestamp'], `is not supported for a signature of kind "${signature.algorithm}"`)
  if (!isDigest(signature)) return

  const bodies = signature.content.split(/\{body(?:Sha256)?\}/).length - 1
  // If the body is not signed, anyone can change it.
  if (bodies !== (signature.covers === 'body' ? 1 : 0))
    addIssue(
      ['signature', 'content'],
      signature.covers === 'body'
        ? 'must contain {body} or {bodySha256} exactly once'
        : "contains the body; remove `covers: 'not-body'`",
    )
  const isPlainHash = /^sha\d+$/.test(signature.algorithm)
  if (isPlainHash !== signature.content.includes('{secret}'))
    addIssue(
      ['signature', 'content'],
      isPlainHash
        ? 'must contain {secret}, because a plain hash proves nothing without it'
        : '{secret} is only for plain hashes; here the secret is the key',
    )
  if (signature.asymmetric && !(signature.format.kind === 'list' && signature.algorithm.startsWith('hmac-')))
    addIssue(
      ['signature', 'asymmetric'],
      'is only for a list with an HMAC; use the algorithm "ed25519" instead',
    )
  const listsHeaders = signature.format.kind === 'list' && signature.format.headersField !== undefined
  if (listsHeaders !== signature.content.includes('{signedHeaders}'))
    addIssue(['signature', 'format'], '{signedHeaders} and format.headersField must be used together')
  if (signature.content.includes('{field:') && signature.format.kind !== 'list')
    addIssue(['signature', 'content'], '{field:<name>} needs signature.format of kind "list"')
  checkDate(signature, timestamp, addIssue)
}

function checkDate(
  signature: DigestSignature,
  timestamp: Timestamp | undefined,
  addIssue: (path: string[], message: string) => void,
): void {
  const rendered = signature.content.includes('{timestamp}')
  if (rendered && timestamp === undefined)
    addIssue(['timestamp'], 'is required, because {timestamp} is signed')
  if (timestamp === undefined) return
  const inSignedBody = timestamp.at.startsWith('json:') && signature.covers === 'body'
  if (!rendered && !inSignedBody) {
    // If the date is not signed, anyone can put a fresh date on an old delivery.
    addIssue(
      ['timestamp'],
      'must be signed, because anyone can change an unsigned date: add {timestamp} to signature.content',
    )
  }
  if (timestamp.at.startsWith('field:') && signature.format.kind === 'bare')
    addIssue(['timestamp', 'at'], 'field:<name> needs signature.format of kind "list" or "values"')
  if (signature.format.kind === 'values' && /^field:(?!1$)/.test(timestamp.at))
    addIssue(['timestamp', 'at'], 'expected field:1, because the date is the first of the values')
}
