import { z } from 'zod'
import { check, strict } from '../../../input/checked.ts'
import { HookonceError } from '../../../model/errors.ts'
import { type AcquireOutcome, type AcquireRequest, decideAcquire } from '../../decide.ts'
import type { KeyRecord, KeyState } from '../../record.ts'
import type { Acquired, KeyId, KeyStore } from '../../store.ts'
import { type IoredisLike, type NodeRedisLike, type ScriptRunner, scriptRunner } from './client.ts'
import { type Command, commandSender, type Verb } from './commands.ts'
import { redisPledges } from './pledges.ts'

const optionsSchema = strict({
  /**
   * Your client: `Redis` or `Cluster` of ioredis, or a connected client or cluster of the package
   * redis.
   */
  client: z.custom<IoredisLike | NodeRedisLike>((value) => typeof value === 'object').optional(),
  /** The URL of one server. An ioredis client is opened for it. */
  url: z
    .string()
    .regex(/^rediss?:\/\//, 'must begin with redis:// or rediss://')
    .optional(),
  prefix: z.string().default('hookonce:key:'),
}).refine(({ client, url }) => (client === undefined) !== (url === undefined), {
  error: 'pass either your `client` or a `url`',
})

export type RedisKeysOptions = z.input<typeof optionsSchema>

/**
 * Keys in Redis 6.2 or later, or in a Redis Cluster. Two limits that no client can remove: a
 * failover to a replica that has not received a lock loses that lock, and a server that evicts keys
 * under memory pressure loses records. Set `maxmemory-policy noeviction`. If neither may happen,
 * use PostgreSQL.
 */
export function redisKeys(options: RedisKeysOptions): KeyStore {
  const { client, url, prefix } = check(optionsSchema, options, 'redisKeys()')
  let ownClient: Promise<OwnClient> | undefined
  let closed = false
  const callerRunner = client && scriptRunner(client)
  // Loaded now, so that a missing client is reported at startup and not at the first request.
  const loading = url === undefined ? undefined : loadClient()
  loading?.catch((error) => process.emitWarning(String(error)))

  async function runner(): Promise<ScriptRunner> {
    if (callerRunner) return callerRunner
    if (closed) throw new Error('the store was closed')
    ownClient ??= openClient(url ?? '', loading ?? loadClient())
    return (await ownClient).runner
  }
  const send = commandSender(runner)
  // The braces put everything of one key on one node of a cluster.
  const keyOf = (id: KeyId): string => `${prefix}{${id}}`
  const sendAndConfirm = (verb: Verb, id: KeyId, args: Command['args']): Promise<boolean> =>
    send(verb, { key: keyOf(id), args, read: (answer) => Number(answer) === 1 })

  /** Decides in one step what `begin` left open: a record that changes hands, or has expired. */
  function acquireExisting(key: string, request: AcquireRequest): Promise<Acquired> {
    const { fingerprint, holder, lockMs, ttlMs, onCrash } = request
    const args = [encoded(fingerprint), encoded(holder), String(lockMs), String(ttlMs), onCrash]
    return send('acquire', {
      key,
      args,
      read(answer, now) {
        const [value, decided] = listOf(answer)
        const record = recordOf(value)
        if (decided) return { outcome: String(decided) as AcquireOutcome, record, now }
        return { outcome: decideAcquire(record, request, now).outcome, record, now }
      },
    })
  }

  return {
    acquire(id, request) {
      const { fingerprint, holder, lockMs, ttlMs } = request
      const key = keyOf(id)
      return send('begin', {
        key,
        args: [`${lockMs} ${ttlMs}`, `${encoded(fingerprint)} ${encoded(holder)}\n`],
        read(answer, now) {
          const before = answer === null ? undefined : recordOf(answer)
          const { outcome, record } = decideAcquire(before, request, now)
          // Without a record before, `begin` has written this one. Otherwise it has written nothing.
          if (before === undefined || record === before) return { outcome, record, now }
          return acquireExisting(key, request)
        },
      })
    },
    extend: (id, fence, { lockMs, ttlMs }) =>
      sendAndConfirm('extend', id, [String(fence), String(lockMs), String(ttlMs)]),
    settle(id, fence, settlement) {
      const result = settlement.to === 'completed' ? viewOf(settlement.result) : ''
      const args = [String(fence), settlement.to, String(settlement.ttlMs), result]
      return send('finish', {
        key: keyOf(id),
        args,
        read: (answer) => (answer === null ? sendAndConfirm('settle', id, args) : true),
      })
    },
    read: (id) =>
      send('read', {
        key: keyOf(id),
        args: [],
        read: (answer) => (answer === null ? undefined : recordOf(answer)),
      }),
    steps: {
      save: (id, fence, name, result) =>
        sendAndConfirm('saveStep', id, [String(fence), name, viewOf(result)]),
      load: (id) =>
        send('loadSteps', {
          key: keyOf(id),
          args: [],
          read(answer) {
            const pairs = listOf(answer)
            const steps = new Map<string, Uint8Array>()
            for (let at = 0; at + 1 < pairs.length; at += 2)
              steps.set(String(pairs[at]), bytesOf(pairs[at + 1]))
            return steps
          },
        }),
    },
    pledges: redisPledges(runner, prefix),
    async close() {
      // A client passed by the caller stays open.
      closed = true
      if (ownClient) (await ownClient).disconnect()
    },
  }
}

function listOf(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply)) return reply
  throw new Error(`Redis returned ${typeof reply} instead of a list`)
}

function bytesOf(reply: unknown): Buffer {
  if (Buffer.isBuffer(reply)) return reply
  throw new Error(`Redis returned ${typeof reply} instead of bytes`)
}

/** A view of the same bytes, not a copy. */
function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Most texts are digests and UUIDs, which need no encoding. */
const PLAIN = /^[\w:.-]*$/
const encoded = (text: string): string => (PLAIN.test(text) ? text : encodeURIComponent(text))
const decoded = (text: string): string => (text.includes('%') ? decodeURIComponent(text) : text)

const NEWLINE = 0x0a
const RECORD = /^[a-z]+ \d+ \d+ \d+ [a-z]+ \d+ /

/** scripts.ts lists the fields of the first line. Texts are encoded, so they contain no spaces. */
function recordOf(reply: unknown): KeyRecord {
  const value = bytesOf(reply)
  const end = value.indexOf(NEWLINE)
  const line = value.toString('latin1', 0, end)
  if (!RECORD.test(line)) throw new Error('a key of this prefix does not hold a record')
  const fields = line.split(' ')
  const [state, fence, lockUntil, expiresAt, after, lockedAt, fingerprint = '', holder = ''] = fields
  return {
    state: state as KeyState,
    fence: Number(fence),
    fingerprint: decoded(fingerprint),
    holder: decoded(holder),
    after: after as KeyRecord['after'],
    lockedAt: Number(lockedAt),
    lockUntil: Number(lockUntil),
    expiresAt: Number(expiresAt),
    result: state === 'completed' ? value.subarray(end + 1) : undefined,
  }
}

interface OwnClient {
  readonly runner: ScriptRunner
  disconnect(): void
}

async function loadClient(): Promise<Pick<typeof import('ioredis'), 'Redis'>> {
  return await import(/* webpackIgnore: true */ 'ioredis').catch((error) => {
    throw new HookonceError(
      'CLIENT_MISSING',
      'redisKeys({ url }) needs ioredis: npm install ioredis, or pass your own `client`',
      { cause: error },
    )
  })
}

async function openClient(url: string, loading: ReturnType<typeof loadClient>): Promise<OwnClient> {
  const { Redis } = await loading
  // A command that cannot be sent fails soon. The caller of the store retries it.
  const client = new Redis(url, { maxRetriesPerRequest: 1 })
  // Commands report their own errors. Without a listener ioredis would also print each of them.
  client.on('error', () => undefined)
  return { runner: scriptRunner(client), disconnect: () => client.disconnect() }
}
