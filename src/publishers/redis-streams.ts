import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import type { Message, Publish } from './contract.ts'

/** A client of yours, of ioredis or of node-redis. It stays yours: connect it, listen to its errors, close it. */
export type RedisClient =
  | { call(command: string, ...args: (string | number)[]): Promise<unknown> }
  | { sendCommand(args: string[]): Promise<unknown> }

const schema = strict({
  client: z.custom<RedisClient>(isClient, 'must be a client of ioredis or of redis'),
  /** The stream of a message; by default its topic. */
  stream: z
    .custom<(message: Message) => string>((value) => typeof value === 'function', 'must be a function')
    .optional(),
  /** About how many entries a stream keeps; without it Redis keeps all of them. */
  maxEntries: z.int().positive().optional(),
  /** How long the id of a message is remembered. A day is longer than any outage of a process should be. */
  rememberSeconds: z.int().positive().default(86_400),
})

/*
 * Adds an entry once for each id, in one atomic step. XADD knows no idempotency key before Redis 8.6, so a key of its
 * own remembers the entry.
 */
const ADD_ONCE = `
local known = redis.call('GET', KEYS[2])
if known then return known end
local entry
if ARGV[2] == '0' then entry = redis.call('XADD', KEYS[1], '*', unpack(ARGV, 3))
else entry = redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', unpack(ARGV, 3)) end
redis.call('SET', KEYS[2], entry, 'EX', ARGV[1])
return entry`

/**
 * Adds each message to a stream: fields `id`, `topic`, `payload` (JSON), `key` and `headers` (JSON) where there are
 * any. A message that is published again within `rememberSeconds` does not make a second entry, as long as Redis has
 * not lost its memory of the first: a failover to a replica that was behind, or a restart without `appendfsync
 * always`, can lose either. Let the receiver look at `id`.
 *
 * ```ts
 * publishers: { '*': toRedisStream({ client: new Redis(process.env.REDIS_URL) }) }
 * ```
 */
export function toRedisStream(options: z.input<typeof schema>): Publish {
  const { client, stream, maxEntries = 0, rememberSeconds } = check(schema, options, 'toRedisStream()')
  return async (message) => {
    const name = stream?.(message) ?? message.topic
    await send(client, [
      'EVAL',
      ADD_ONCE,
      '2',
      name,
      memoryKey(name, message.id),
      String(rememberSeconds),
      String(maxEntries),
      ...fields(message),
    ])
  }
}

function fields({ id, topic, key, headers, body }: Message): string[] {
  return [
    ...['id', id, 'topic', topic, 'payload', body],
    ...(key === undefined ? [] : ['key', key]),
    ...(Object.keys(headers).length === 0 ? [] : ['headers', JSON.stringify(headers)]),
  ]
}

/** In the hash slot of the stream, so that one script may touch both in a cluster. */
function memoryKey(stream: string, id: string): string {
  const tag = /\{([^}]+)\}/.exec(stream)?.[1] ?? stream
  return `hookonce:{${tag}}:${id}`
}

function send(client: RedisClient, [command = '', ...args]: string[]): Promise<unknown> {
  // ioredis has a sendCommand as well, of another shape.
  return 'call' in client ? client.call(command, ...args) : client.sendCommand([command, ...args])
}

function isClient(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ('call' in value || 'sendCommand' in value)
}
