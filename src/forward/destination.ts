import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { allowedHost } from '../http/address-policy.ts'
import { targetSecret, targetUrl } from '../http/target.ts'
import { type Fault, strict } from '../input/checked.ts'
import { circuitSchema, rateSchema } from '../input/limiter-options.ts'
import { PLAIN } from '../input/plain-issues.ts'
import { positive, retryFields } from '../input/retry-options.ts'
import { HANDLER_MS, HOUR_MS, MINUTE_MS } from '../model/durations.ts'
import { locator } from '../sources/places.ts'
import { isOurs } from './header-names.ts'
import { headerPattern } from './headers.ts'
import { loadTransform, modulePlace, type TransformPlace } from './load-transform.ts'
import type { Transform } from './transform.ts'

/*
 * A destination is an app in any language that gets events by HTTP. This schema describes it in the
 * configuration; secrets are references, such as `env:NAME` or `file:/path`.
 */

const secretReference = (use: string) =>
  z.string({ error: `pass the secret as "env:NAME" or "file:/path": ${use}` })

const signingReference = secretReference('it signs forwarded events')

const SECRET_FORM =
  'pass the secret as "env:NAME" or "file:/path", or two of those while one is rotated: it signs forwarded events'
const SECRET_COUNT = 'pass one secret, or two while one is rotated'

const authSchema = z.discriminatedUnion(
  'type',
  [
    strict({ type: z.literal('bearer'), token: secretReference('it is the bearer token') }),
    strict({
      type: z.literal('basic'),
      username: z.string().regex(/^[^:\p{Cc}]+$/u, 'a user name has neither ":" nor control characters'),
      password: secretReference('it is the password'),
    }),
    strict({
      type: z.literal('header'),
      name: z
        .string()
        .toLowerCase()
        .regex(/^[a-z0-9!#$%&'*+.^_`|~-]+$/, 'expected the name of a header')
        .refine((name) => !isOurs(name), 'hookonce sets this header itself; choose another name'),
      value: secretReference('it is the value of the header'),
    }),
  ],
  { error: 'expected { "type": "bearer" | "basic" | "header", … }' },
)

const ORDER_PLACE = 'expected json:<path> or header:<name>, such as json:data.object.id'

/** Other places would need data that events do not have. */
const orderPlace = z
  .union([z.templateLiteral(['json:', z.string()]), z.templateLiteral(['header:', z.string()])], {
    error: ORDER_PLACE,
  })
  .refine((place) => locator.safeParse(place).success, ORDER_PLACE)

/** Requests in flight, and connections. A destination that hangs occupies no more than this. */
export const CONCURRENCY = 32

export const destinationSchema = strict({
  url: targetUrl.describe(
    'the URL that hookonce posts events to: `http` or `https`, without a user or password',
  ),
  /** With two, each request carries both signatures. */
  secret: z
    .union([signingReference, z.array(signingReference)], { error: SECRET_FORM })
    .refine((given) => [1, 2].includes([given].flat().length), SECRET_COUNT)
    .describe(
      '`env:NAME` or `file:/path` of the secret that signs requests: `whsec_<base64>` of at least 24 bytes. Create one with `echo "whsec_$(openssl rand -base64 32)"`. An array of two [while you rotate it](#rotate-the-signing-secret)',
    ),
  sources: z.array(z.string()).optional().meta({
    description:
      'the names of the sources whose events are forwarded, or patterns with `*`. For more than this, write [routes](gateway.md#routes)',
    defaultsTo: 'all',
  }),
  types: z
    .string()
    .default('*')
    .describe('the event types that are forwarded: a name, or a pattern with `*`'),
  headers: z
    .array(headerPattern)
    .optional()
    .describe(
      'additional headers of the original delivery to forward: names, or prefixes such as `x-shopify-*`. The headers that the source reads are always forwarded',
    ),
  auth: authSchema
    .optional()
    .describe('how requests [authenticate](#authenticate-to-the-destination), besides the signature'),
  timeoutMs: positive
    .max(HOUR_MS)
    .optional()
    .meta({
      description:
        'the time for one attempt, from the transform to the status of the response: waiting for a connection, DNS, connecting and sending are included. At most an hour',
      defaultsTo: `${HANDLER_MS / MINUTE_MS} min`,
    }),
  retry: strict(retryFields).partial().optional().meta({
    description:
      '`maxAttempts`, `maxAgeMs`, `baseDelayMs`, `maxDelayMs`, or some of them; or `scheduleMs`, the delay before each retry: `[5000, 300000, 1800000]`',
    defaultsTo: '20 attempts in 72 hours',
  }),
  concurrency: z
    .int()
    .positive()
    .optional()
    .meta({
      description:
        'concurrent requests per process, over all sources: with `--workers 4`, four times as many. A destination that hangs occupies no more than this',
      defaultsTo: String(CONCURRENCY),
    }),
  rate: rateSchema
    .optional()
    .describe(
      '`{ "perSecond": 10 }`: requests that begin per second, over all processes; for `burst`, see [rate](library.md#limit-a-subscriber-circuit-rate-and-concurrency)',
    ),
  circuit: circuitSchema.optional().meta({
    description:
      'holds the events while most requests fail: `{ "failureRate": 0.5, "minSamples": 10, … }`, see [circuit](library.md#limit-a-subscriber-circuit-rate-and-concurrency), or `"off"`',
    defaultsTo: 'on',
  }),
  maxConnections: z
    .int()
    .positive()
    .max(1_000)
    .optional()
    .meta({
      description: 'connections per process. Further requests wait for a free connection',
      defaultsTo: String(CONCURRENCY),
    }),
  orderBy: orderPlace
    .optional()
    .describe(
      '`json:<path>` or `header:<name>`: events with the same value there are forwarded one at a time, in the order they were recorded. Events without a value are not ordered',
    ),
  transform: z
    .union([z.string().min(1), z.custom<Transform>((value) => typeof value === 'function')], {
      error: 'must be a function, or the path of a module whose default export is one',
    })
    .optional()
    .describe('a function, or the path of a module, that [changes the request](#change-the-request)'),
  allowPrivate: z
    .array(allowedHost)
    .optional()
    .describe(
      '[hosts, addresses and ranges](#private-addresses) that are not public and that hookonce may reach',
    ),
})

type CheckedDestination = z.output<typeof destinationSchema>

/** The authentication of requests, with resolved secrets. */
export type Auth = z.output<typeof authSchema>

/** A destination with its secrets and its transform loaded. */
export interface Destination extends Omit<CheckedDestination, 'secret' | 'transform'> {
  readonly name: string
  /** `whsec_…`. If there are two, the first is the newer one. */
  readonly secret: string | readonly string[]
  /** A transform in a file runs in its own thread. */
  readonly transform?: Transform | TransformPlace | undefined
}

/** Collects the faults of a configuration, each with its place in the file. */
export interface FaultReport {
  report(fault: Fault): void
  /** The secret of a reference. Undefined: the reference is faulty, and the fault was reported. */
  secret(reference: string, path: readonly PropertyKey[], use: string): string | undefined
  /** The result of `make`. Undefined: `make` threw, and the error was reported. */
  attempt<Result>(path: readonly PropertyKey[], make: () => Promise<Result>): Promise<Result | undefined>
}

export interface DestinationContext {
  /** The file of the configuration. Paths of modules are relative to its directory. */
  readonly file: string
  readonly faults: FaultReport
}

/** Resolves the references of a destination. The result must not be used if there was a fault. */
export async function loadDestination(
  name: string,
  checked: CheckedDestination,
  { file, faults }: DestinationContext,
): Promise<Destination> {
  const place = ['destinations', name]
  const { auth, transform } = checked

  function secretAt(path: readonly PropertyKey[], reference: string, { use, schema }: SecretTerms): string {
    const secret = faults.secret(reference, path, use)
    if (secret === undefined) return ''
    const message = schema.safeParse(secret, PLAIN).error?.issues[0]?.message
    if (message !== undefined) faults.report({ path, message })
    return secret
  }

  return {
    ...checked,
    name,
    secret:
      typeof checked.secret === 'string'
        ? secretAt([...place, 'secret'], checked.secret, SIGNING)
        : checked.secret.map((reference, index) => secretAt([...place, 'secret', index], reference, SIGNING)),
    auth:
      auth &&
      loadAuth(auth, (reference, key) =>
        secretAt([...place, 'auth', key], reference, key === 'password' ? PASSWORD : HEADER_VALUE),
      ),
    transform: await faults.attempt([...place, 'transform'], async () => {
      if (transform === undefined) return undefined
      // A function can be loaded again from the module of the configuration, in a thread.
      const found =
        typeof transform === 'string'
          ? modulePlace(transform, dirname(file))
          : { file: resolve(file), path: [...place, 'transform'] }
      if (typeof transform === 'string') await loadTransform(found)
      return found
    }),
  }
}

interface SecretTerms {
  /** The purpose of the secret. */
  readonly use: string
  readonly schema: z.ZodType<string>
}

/* Errors do not quote the secret. A password is sent as base64, so it may hold any letter. */
const AUTHENTICATES = 'it authenticates forwarded events'
const SIGNING: SecretTerms = { use: 'it signs forwarded events', schema: targetSecret }
const PASSWORD: SecretTerms = {
  use: AUTHENTICATES,
  schema: z.string().regex(/^\P{Cc}+$/u, 'the secret must be one line'),
}
const HEADER_VALUE: SecretTerms = {
  use: AUTHENTICATES,
  schema: z.string().regex(/^[\x20-\x7e]+$/, 'the secret must be one line of ASCII characters'),
}

function loadAuth(auth: Auth, secretOf: (reference: string, key: string) => string): Auth {
  switch (auth.type) {
    case 'bearer':
      return { ...auth, token: secretOf(auth.token, 'token') }
    case 'basic':
      return { ...auth, password: secretOf(auth.password, 'password') }
    case 'header':
      return { ...auth, value: secretOf(auth.value, 'value') }
  }
}

/** The fault of a destination's URL, without the URL itself, which may hold a password. */
export function destinationUrlFault(text: string): string | undefined {
  return targetUrl.safeParse(text, PLAIN).error?.issues[0]?.message
}
