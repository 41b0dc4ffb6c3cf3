import { z } from 'zod'
import { check, strict } from '../../input/checked.ts'
import { MINUTE_MS } from '../../model/durations.ts'
import { HookonceError } from '../../model/errors.ts'
import type { Completable } from '../complete.ts'
import { type PledgedRequest, pledgeBytes, readRequest } from '../pledge.ts'
import type { KeyedRequest } from './message.ts'
import { type CheckedKeysOptions, CREDENTIALS, storeField } from './options.ts'

/*
 * A request that was begun and left, sent again by a completer as its client would have: to the same server, with the same
 * key. Whoever sent it is not kept: the completer says by whose right it acts.
 */

/** Says which record is to be resumed: the server refuses where its key turns out to be another one. */
export const PLEDGE_HEADER = 'idempotency-pledge'

/** What a body means depends on them. */
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
  /** What `pledge` says in the options of the keys. */
  name: z.string().min(1),
  /** The server: `http://127.0.0.1:3000`. */
  origin: z
    .url({ protocol: /^https?$/, error: 'must be a URL such as http://127.0.0.1:3000' })
    .refine((url) => new URL(url).origin === url.replace(/\/$/, ''), 'must have no path'),
  /** Who the completer is to that server: the tenant that it finds by them must be the one that sent the request. */
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

/** For a completer: requests that were left at a server whose keys have this `pledge`. */
export function requestsTo(options: RequestsToOptions): Completable {
  const { store, name, origin, headers, timeoutMs } = check(optionsSchema, options, 'requestsTo()')
  return {
    store,
    taskName: name,
    async resume({ id, bytes }) {
      const request = readRequest(bytes)
      // Anything else would name a server of its own.
      if (!request.target.startsWith('/'))
        throw new HookonceError('PLEDGE_GONE', `the target "${request.target}" is no path`)
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
      // To its end: the server may keep a reply only when it has been sent.
      await response.arrayBuffer()
      if (response.status >= 400) throw new Error(`${request.target} was answered ${response.status}`)
    },
  }
}
