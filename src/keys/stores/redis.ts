import { z } from 'zod'
import { check, strict } from '../../model/checked.ts'
import { HookonceError } from '../../model/errors.ts'
import type { AcquireOutcome } from '../decide.ts'
import type { KeyRecord, KeyState } from '../record.ts'
import type { KeyId, KeyStore } from '../store.ts'
import { type IoredisLike, type NodeRedisLike, type RunsScripts, runsScripts } from './redis-client.ts'
import { scripts } from './redis-scripts.ts'

const optionsSchema = strict({
  /** Yours: `Redis` or `Cluster` of ioredis, or a connected client or cluster of the package redis. */
  client: z.custom<IoredisLike | NodeRedisLike>((value) => typeof value === 'object').optional(),
  /** Of one server; a client of ioredis is opened for it. */
  url: z
    .string()
    .regex(/^rediss?:\/\//, 'must begin with redis:// or rediss://')
    .optional(),
  prefix: z.string().default('hookonce:key:'),
}).refine(({ client, url }) => (client === undefined) !== (url === undefined), {
  error: 'needs either your `client` or a `url`',
})

export type RedisKeysOptions = z.input<typeof optionsSchema>

/**
 * Keys in Redis 6.2 or later, or a Redis Cluster. Two limits that no client can mend: a failover to a replica that has
 * not yet heard of a lock loses it, and a server that evicts keys under memory pressure loses records, so set
 * `maxmemory-policy noeviction`. Where neither may happen, use PostgreSQL.
 */
export function redisKeys(options: RedisKeysOptions): KeyStore {
  const { client, url, prefix } = check(optionsSchema, options, 'redisKeys()')
  let own: Promise<OwnClient> | undefined
  const theirs = client && runsScripts(client)

  async function ask(verb: keyof typeof scripts, id: KeyId, args: (string | number | Uint8Array)[]) {
    const runner: RunsScripts = theirs ?? (await opened())
    // In braces: everything of one key is on one node of a cluster.
    return runner.run(
      scripts[verb],
      `${prefix}{${id}}`,
      args.map((arg) => (typeof arg === 'object' ? Buffer.from(arg) : String(arg))),
    )
  }
  async function opened(): Promise<RunsScripts> {
    own ??= openClient(url ?? '')
    return (await own).runner
  }
  const didIt = async (...asking: Parameters<typeof ask>): Promise<boolean> =>
    Number(await ask(...asking)) === 1

  return {
    async acquire(id, { fingerprint, holder, lockMs, ttlMs, onCrash }) {
      const [outcome, now, ...record] = bulks(
        await ask('acquire', id, [fingerprint, holder, lockMs, ttlMs, onCrash]),
      )
      return {
        outcome: String(outcome) as AcquireOutcome,
        now: Number(String(now)),
        record: recordOf(record),
      }
    },
    extend: (id, fence, { lockMs, ttlMs }) => didIt('extend', id, [fence, lockMs, ttlMs]),
    settle: (id, fence, settlement) =>
      didIt('settle', id, [
        fence,
        settlement.to,
        settlement.ttlMs,
        settlement.to === 'completed' ? settlement.result : '',
      ]),
    async read(id) {
      const fields = bulks(await ask('read', id, []))
      return fields.length === 0 ? undefined : recordOf(fields)
    },
    steps: {
      save: (id, fence, name, result) => didIt('saveStep', id, [fence, name, result]),
      async load(id) {
        const pairs = bulks(await ask('loadSteps', id, []))
        const steps = new Map<string, Uint8Array>()
        for (let at = 0; at + 1 < pairs.length; at += 2)
          steps.set(String(pairs[at]), pairs[at + 1] ?? new Uint8Array())
        return steps
      },
    },
    async close() {
      // A client of the caller's stays open.
      const closing = own
      own = undefined
      if (closing) (await closing).disconnect()
    },
  }
}

function bulks(reply: unknown): (Buffer | null)[] {
  if (Array.isArray(reply)) return reply
  throw new Error(`Redis answered ${typeof reply} where a list was expected`)
}

function recordOf(fields: readonly (Buffer | null)[]): KeyRecord {
  const [state, fence, fingerprint, holder, after, lockedAt, lockUntil, expiresAt, result] = fields
  return {
    state: String(state) as KeyState,
    fence: Number(String(fence)),
    fingerprint: String(fingerprint),
    holder: String(holder),
    after: String(after) as KeyRecord['after'],
    lockedAt: Number(String(lockedAt)),
    lockUntil: Number(String(lockUntil)),
    expiresAt: Number(String(expiresAt)),
    result: result ?? undefined,
  }
}

interface OwnClient {
  readonly runner: RunsScripts
  disconnect(): void
}

async function openClient(url: string): Promise<OwnClient> {
  const { Redis } = await import('ioredis').catch((error) => {
    throw new HookonceError(
      'CLIENT_MISSING',
      'redisKeys({ url }) needs ioredis: npm install ioredis, or hand over your own `client`',
      { cause: error },
    )
  })
  // A command that cannot be sent fails soon: whoever asked is told, and asks again.
  const client = new Redis(url, { maxRetriesPerRequest: 1 })
  // Refusals reach the commands; without a listener each would be printed as well.
  client.on('error', () => undefined)
  return { runner: runsScripts(client), disconnect: () => client.disconnect() }
}
