import { randomUUID } from 'node:crypto'
import { SECOND_MS } from '../../model/durations.ts'
import { HookonceError } from '../../model/errors.ts'
import { harmless, warnUnobserved } from '../events.ts'
import { keyId } from '../identity.ts'
import { type Outcome, type RunContext, run, type TaskPledge } from '../run.ts'
import type { KeyId } from '../store.ts'
import { fingerprint, refingerprint } from './fingerprint.ts'
import { keep, restore } from './keep.ts'
import { isKey, parseKey } from './key-header.ts'
import {
  EXPOSED,
  exposed,
  headerOf,
  type KeyedHead,
  type KeyedRequest,
  type Reply,
  withHeaders,
} from './message.ts'
import type { CheckedKeysOptions } from './options.ts'
import { PLEDGE_HEADER, requestPledge } from './pledged-request.ts'
import { detailOf, internalError, isProblem, type ProblemCode, problem } from './problem.ts'
import type { KeyedBodyLimits } from './read-body.ts'

/*
 * One request with a key: parse → tenant → read the body → acquire → handler → store → answer.
 * Adapters supply the request, the handler and a way to send the reply. All decisions are here and
 * in run.ts.
 */

/** The other methods are idempotent by definition. */
const KEYED_METHODS = new Set(['POST', 'PATCH'])

export function isKeyedMethod(method: string): boolean {
  return KEYED_METHODS.has(method.toUpperCase())
}

export interface Exchange {
  readonly request: KeyedHead
  /** The framework's own request object. The caller's functions receive it. */
  readonly origin: unknown
  /** Called only after the key and the tenant are known, because anyone can send a body. */
  readonly readBody: (limits: KeyedBodyLimits) => Promise<Uint8Array>
  readonly handle: (context: RunContext) => Promise<Reply>
}

export async function answerKeyed(options: CheckedKeysOptions, exchange: Exchange): Promise<Reply> {
  const { request, handle } = exchange
  const { key, refused } = keyOf(options, request.keyHeaders)
  if (refused) return refused
  if (key === undefined) return handle(unprotected())
  return withKeyHeader(request.keyHeaders[0] ?? key, await answerWithKey(key, options, exchange))
}

/** The key of a request, or the reply if the key is missing or malformed. */
export function keyOf(
  { required, problemBase: base }: Pick<CheckedKeysOptions, 'required' | 'problemBase'>,
  keyHeaders: readonly string[],
): { readonly key?: string | undefined; readonly refused?: Reply } {
  try {
    const key = parseKey(keyHeaders)
    return key === undefined && required === 'on' ? { refused: problem('KEY_MISSING', { base }) } : { key }
  } catch (error) {
    if (!(error instanceof HookonceError && isProblem(error.code))) throw error
    return { refused: problem(error.code, { base, detail: detailOf(error) }) }
  }
}

/** The reply to a request whose body was rejected while reading. Undefined for any other error. */
export function refuseBody(
  error: unknown,
  { problemBase: base }: Pick<CheckedKeysOptions, 'problemBase'>,
): Reply | undefined {
  if (!(error instanceof HookonceError)) return undefined
  if (error.code === 'OVERLOADED') return problem(error.code, { base, ...retryAfter(LAST_RETRY_S) })
  if (error.code !== 'BODY_TOO_LARGE' && error.code !== 'BODY_STALLED') return undefined
  return problem(error.code, { base, detail: detailOf(error) })
}

async function answerWithKey(key: string, options: CheckedKeysOptions, exchange: Exchange): Promise<Reply> {
  const { request, origin, readBody } = exchange
  const { tenant, maxBodyBytes, bodyTimeoutMs, deadlines } = options
  const id = keyId(tenant === 'global' ? tenant : await tenantOf(tenant, origin), key)
  const resumed = request.header(PLEDGE_HEADER)
  // With other credentials this would be a different key, and the request would run as a new one.
  if (resumed !== undefined && resumed !== id) return problem('PLEDGE_GONE', { base: options.problemBase })
  const share = options.held.share()
  try {
    const body = await readBody({ maxBodyBytes, bodyTimeoutMs, deadlines, share }).catch((error) => {
      const refused = refuseBody(error, options)
      if (refused) return refused
      throw error
    })
    if (!(body instanceof Uint8Array)) return body
    return await answerWithBody(
      { ...request, body },
      { id, isResumed: resumed !== undefined },
      options,
      exchange,
    )
  } finally {
    share.release()
  }
}

type Refuse = (code: ProblemCode, more?: { headers?: Record<string, string> }) => Reply

interface KeyIdentity {
  readonly id: KeyId
  /** A completer sent this request. */
  readonly isResumed: boolean
}

async function answerWithBody(
  request: KeyedRequest,
  { id, isResumed }: KeyIdentity,
  options: CheckedKeysOptions,
  { origin, handle }: Exchange,
): Promise<Reply> {
  const { store, reconcile } = options
  const observe = harmless(options.observe)
  const requestId = options.requestId?.(origin as never)
  const about = { id, requestId, observe }
  const refuse: Refuse = (code, more = {}) => problem(code, { base: options.problemBase, ...more })
  let hasBegun = false
  /** Under `store5xx: 'on'` a thrown error is also stored, as the 500 that the client receives. */
  function failed(error: unknown): Reply {
    observe({ what: 'failed', error })
    warnUnobserved(options.observe, error)
    return internalError()
  }
  try {
    const outcome = await run<Reply>({
      store,
      id,
      fingerprint: fingerprint(request, options.fingerprint),
      refingerprint: (stored) => refingerprint(request, options.fingerprint, stored),
      ...(requestId === undefined ? {} : { label: requestId }),
      policy: options,
      observe,
      resumes: isResumed,
      pledge: isResumed ? undefined : pledgeOf(request, options),
      async run(context) {
        hasBegun = true
        const handling = handle(context)
        const reply = await (options.store5xx === 'on' ? handling.catch(failed) : handling)
        return keep(reply, options, about)
      },
      ...(reconcile === undefined
        ? {}
        : {
            async reconcile(record) {
              hasBegun = true
              const found = await reconcile(record)
              if (found === 'release') return 'run'
              return found === 'unknown' ? found : keep(found.complete, options, about)
            },
          }),
    })
    return await answer(outcome, options, origin, refuse)
  } catch (error) {
    // Only before the handler ran: afterwards the same error could be the handler's own.
    if (hasBegun || !(error instanceof HookonceError)) throw error
    if (error.code === 'PLEDGE_GONE') return refuse(error.code)
    if (error.code !== 'KEY_STORE_DOWN') throw error
    const runsUnprotected = options.onStoreDown === 'run' && !isResumed
    observe({ what: 'store_down', ran: runsUnprotected, error })
    return runsUnprotected ? handle(unprotected()) : refuse('KEY_STORE_DOWN', retryAfter(LAST_RETRY_S))
  }
}

/** A completer manages the pledge that it acts on, so its requests make none. */
function pledgeOf(request: KeyedRequest, options: CheckedKeysOptions): TaskPledge | undefined {
  const { pledge: name, completeAfterMs: dueMs } = options
  return name === undefined ? undefined : { name, dueMs, bytes: () => requestPledge(request, options) }
}

async function answer(
  outcome: Outcome<Reply>,
  options: CheckedKeysOptions,
  origin: unknown,
  refuse: Refuse,
): Promise<Reply> {
  switch (outcome.outcome) {
    case 'ran':
      return outcome.value
    case 'completed': {
      const { reply, location } = await restore(outcome.record.result ?? new Uint8Array(), options)
      if (!reply) return refuse('RESULT_NOT_STORED', location === undefined ? {} : { headers: { location } })
      return withHeaders(reply, { 'idempotent-replayed': 'true' })
    }
    case 'locked': {
      const { headers } = retryAfter((outcome.record.lockUntil - outcome.now) / SECOND_MS)
      if (!options.progress) return refuse('KEY_IN_PROGRESS', { headers })
      const location = options.progress(origin as never)
      return { status: 202, headers: Object.entries({ ...headers, location }), body: new Uint8Array() }
    }
    case 'mismatch':
      return refuse('KEY_REUSED')
    // No Retry-After and no 5xx, because clients would retry forever.
    case 'unknown':
      return refuse('OUTCOME_UNKNOWN')
    case 'lost':
      return refuse('LOCK_LOST', retryAfter(FIRST_RETRY_S))
  }
}

async function tenantOf(
  tenant: Exclude<CheckedKeysOptions['tenant'], 'global'>,
  origin: unknown,
): Promise<string> {
  const name = await tenant(origin as never)
  if (typeof name === 'string' && name !== '') return name
  throw new HookonceError(
    'CONFIG_INVALID',
    'the `tenant` function must return a non-empty string; it returned none for this request',
  )
}

/** Soon enough to reply while the client still waits, late enough not to add load. */
const FIRST_RETRY_S = 1
const LAST_RETRY_S = 5

export function retryAfter(seconds: number): { headers: Record<string, string> } {
  const wait = Math.min(Math.max(Math.ceil(seconds), FIRST_RETRY_S), LAST_RETRY_S)
  return { headers: { 'retry-after': String(wait) } }
}

/** Replies that were made before the key was parsed also repeat the key header, if it is valid. */
export function withValidKeyHeader(keyHeaders: readonly string[], reply: Reply): Reply {
  const [header] = keyHeaders
  return header !== undefined && isKey(keyHeaders) ? withKeyHeader(header, reply) : reply
}

const OWN_HEADERS = 'Idempotency-Key, Idempotent-Replayed'

function withKeyHeader(header: string, reply: Reply): Reply {
  const already = headerOf(reply, EXPOSED)
  const names = already === undefined ? OWN_HEADERS : exposed(already, OWN_HEADERS)
  return withHeaders(reply, { 'idempotency-key': header, [EXPOSED]: names })
}

/** The context of a request without a key: nothing is locked, so no lock can be lost. */
export function unprotected(): RunContext {
  return {
    signal: new AbortController().signal,
    fence: 0,
    tx: undefined,
    step: async (_name, run) => run({ idempotencyKey: randomUUID() }),
  }
}
