import { z } from 'zod'
import { check, strict } from '../../input/checked.ts'
import { MINUTE_MS } from '../../model/durations.ts'
import { HookonceError } from '../../model/errors.ts'
import type { Completable } from '../complete.ts'
import { type PledgedRequest, pledgeBytes, readRequest } from '../pledge.ts'
import type { KeyedRequest } from './message.ts'
import { type CheckedKeysOptions, CREDENTIALS, storeField } from './options.ts'

/*
 * An abandoned request that a completer sends again, as its client would: to the same server, with
 * the same key. The sender's credentials are not stored, so the completer supplies its own.
 */

/**
 * Names the record to resume. The server rejects the request if its key leads to another record.
 */
export const PLEDGE_HEADER = 'idempotency-pledge'

/** The meaning of a body depends on these headers. */
const KEPT = ['content-type', 'content-encoding', 'accept', 'accept-language']

export function requestPledge(
  request: KeyedRequest,
  { pledgeHeaders, fingerprint, ttlMs }: Pick<CheckedKeysOptions, 'pledgeHeaders' | 'fingerprint' | 'ttlMs'>,
): Uint8Array {
  const names = [...KEPT, ...pledgeHeaders, ...fingerprint.headers].filter((name) => !CREDENTIALS.test(name))
  const headers: Record<string, string> = {}
  for (const name of names) {
    const value = request.header(name)
    if (value !== undefined) headers[name] = value
  }
  return pledgeBytes({
    key: request.keyHeaders[0] ?? '',
    ttlMs,
    method: request.method,
    target: request.target,
    headers,
    body: Buffer.from(request.body).toString('base64'),
  })
}

const optionsSchema = strict({
  store: storeField,
  /** The `pledge` name from the options of the keys. */
  name: z.string().min(1),
  /** The server, for example `http://127.0.0.1:3000`. */
  origin: z
    .url({ protocol: /^https?$/, error: 'must be a URL such as http://127.0.0.1:3000' })
    .refine((url) => new URL(url).origin === url.replace(/\/$/, ''), 'must have no path'),
  /**
   * The completer's credentials. The server must derive the same tenant from them as for the
   * original request.
   */
  headers: z
    .custom<(request: PledgedRequest) => Headers_ | Promise<Headers_>>(
      (value) => typeof value === 'function',
      'must be a function',
    )
    .default(() => () => ({})),
  timeoutMs: z
    .int()
    .positive()
    .max(2 ** 31 - 1)
    .default(MINUTE_MS),
})
type Headers_ = Readonly<Record<string, string>>
export type RequestsToOptions = z.input<typeof optionsSchema>

/** Makes a completer send abandoned requests to a server whose keys use this `pledge` name. */
export function requestsTo(options: RequestsToOptions): Completable {
  const { store, name, origin, headers, timeoutMs } = check(optionsSchema, options, 'requestsTo()')
  return {
    store,
    taskName: name,
    async resume({ id, bytes }) {
      const request = readRequest(bytes)
      // Without a leading slash, the target could name a different server.
      if (!request.target.startsWith('/'))
        throw new HookonceError(
          'PLEDGE_GONE',
          `the target "${request.target}" of the pledged request is not a path`,
        )
      const response = await fetch(new URL(origin).origin + request.target, {
        method: request.method,
        headers: {
          ...request.headers,
          ...(await headers(request)),
          'idempotency-key': request.key,
          [PLEDGE_HEADER]: id,
        },
        body: Buffer.from(request.body, 'base64'),
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      })
      // Read to the end: the server may store a reply only after it has been sent.
      await response.arrayBuffer()
      if (response.status >= 400) throw new Error(`${request.target} answered ${response.status}`)
    },
  }
}
