import type { IncomingMessage } from 'node:http'
import { parseKey } from '../../keys/http/key-header.ts'
import { once } from '../../keys/once.ts'
import type { TransactionalKeyStore } from '../../keys/store.ts'
import { postgresKeys } from '../../keys/stores/postgres/store.ts'
import { HookonceError } from '../../model/errors.ts'
import { homeOf } from '../../operate/across.ts'
import type { Ledgers } from '../../operate/tables.ts'
import type { Caller } from './caller.ts'
import { problemOf } from './problem.ts'
import type { Reply } from './reply.ts'
import type { Route } from './route.ts'

/*
 * Idempotency-Key for the POST requests of the API, by hookonce/keys over the ledger's database. A
 * repeated request gets the first reply, and nothing happens twice.
 */

export interface Keyed {
  /** Without the header, runs `answer` each time. */
  once(request: IncomingMessage, asked: KeyedRequest, answer: () => Promise<Reply>): Promise<Reply>
  close(): Promise<void>
}

export interface KeyedRequest {
  readonly caller: Caller
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
  readonly body: string
}

/** The number of expired keys that each keyed request removes: more than it adds. */
const SWEPT_WITH_EACH = 10

export function keyedReplies(ledger: () => Promise<Ledgers>): Keyed {
  let store: TransactionalKeyStore<unknown> | undefined
  return {
    async once(request, { caller, route, params, body }, answer) {
      const key = parseKey(request.headersDistinct['idempotency-key'] ?? [])
      if (key === undefined) return answer()
      const { pool } = await homeOf(await ledger())
      store ??= postgresKeys({ database: pool, prepare: 'off' })
      const reply = await once(store, key, () => settled(answer), {
        // Keys of different callers never collide. The name of a token can be reused later, so its
        // id is used.
        tenant: `admin api: ${caller.id} ${caller.tenant ?? '*'}`,
        input: [route.method, route.path, params, body],
        handler: 'opaque',
        label: `${route.method} ${route.path}`,
      })
      await store.sweep?.(SWEPT_WITH_EACH)
      return reply
    },
    async close() {
      await store?.close()
    },
  }
}

/** A refusal is also a result: the same request would be refused again. */
async function settled(answer: () => Promise<Reply>): Promise<Reply> {
  try {
    return await answer()
  } catch (error) {
    const problem = problemOf(error)
    if (!(error instanceof HookonceError) || problem.retryable) throw error
    return { status: problem.status, headers: { 'content-type': 'application/problem+json' }, json: problem }
  }
}
