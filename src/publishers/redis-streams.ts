import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import type { Message, Publish } from './contract.ts'

/** Your client, of ioredis or node-redis. You connect it, handle its errors and close it. */
export type RedisClient =
  | { call(command: string, ...args: (string | number)[]): Promise<unknown> }
  | { sendCommand(args: string[]): Promise<unknown> }

const schema = strict({
  client: z.custom<RedisClient>(isClient, 'must be a client of ioredis or of redis'),
  /** The stream of a message; by default its topic. */
  stream: z
    .custom<(message: Message) => string>((value) => typeof value === 'function', 'must be a function')
    .optional(),
  /** The approximate number of entries that a stream keeps. By default Redis keeps all of them. */
  maxEntries: z.int().positive().optional(),
  /** How long the id of a message is remembered. A day is longer than most outages. */
  rememberSeconds: z.int().positive().default(86_400),
})

/*
 * Adds one entry per id, in one atomic step. XADD has no idempotency key before Redis 8.6, so a
 * separate key remembers the entry.
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
 * Adds each message to a stream: fields `id`, `topic`, `payload` (JSON), and, if present, `key` and
 * `headers` (JSON). A message that is published again within `rememberSeconds` does not make a
 * second entry, unless Redis has lost the key that remembers the first: in a failover to a replica
 * that was behind, or in a restart without `appendfsync always`. The receiver must check `id`.
 *
 * ```ts
 * const client = new Redis(process.env.REDIS_URL)
 * hookonce({ sources, publishers: { '*': toRedisStream({ client }) } })
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

/** In the hash slot of the stream, so that one script can use both keys in a cluster. */
function memoryKey(stream: string, id: string): string {
  const tag = /\{([^}]+)\}/.exec(stream)?.[1] ?? stream
  return `hookonce:{${tag}}:${id}`
}

function send(client: RedisClient, [command = '', ...args]: string[]): Promise<unknown> {
  // ioredis also has a sendCommand, with different arguments.
  return 'call' in client ? client.call(command, ...args) : client.sendCommand([command, ...args])
}

function isClient(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ('call' in value || 'sendCommand' in value)
}
