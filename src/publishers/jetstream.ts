import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import type { Message, Publish } from './contract.ts'

/** The headers of NATS, as `headers()` of either client makes them. */
interface NatsHeaders {
  set(name: string, value: string): void
}

/** A JetStream client: of `@nats-io/jetstream`, or `connection.jetstream()` of `nats`. */
interface JetStreamClient {
  publish(
    subject: string,
    payload: Uint8Array,
    // Each client has its own class for headers, which its own `headers()` makes.
    options: { msgID: string; headers: never; timeout?: number },
  ): Promise<unknown>
}

const schema = strict({
  client: z.custom<JetStreamClient>(isClient, 'must be a JetStream client: jetstream(connection)'),
  /** The function `headers` of the package that made the connection. */
  headers: z.custom<() => NatsHeaders>(
    (value) => typeof value === 'function',
    'must be the function `headers`',
  ),
  /** The subject of a message; by default its topic. */
  subject: z
    .custom<(message: Message) => string>((value) => typeof value === 'function', 'must be a function')
    .optional(),
})

/**
 * Publishes each message to JetStream and waits until the stream has stored it. Its id is the
 * `Nats-Msg-Id`: a message that is published again within the stream's `duplicate_window` (by
 * default two minutes) is stored once. After that window it is stored again under the same id: the
 * receiver must check the id.
 *
 * ```ts
 * const connection = await connect({ servers: process.env.NATS_URL })
 * const client = jetstream(connection)
 * hookonce({ sources, publishers: { 'invoice.*': toJetStream({ client, headers }) } })
 * ```
 */
export function toJetStream(options: z.input<typeof schema>): Publish {
  const { client, headers: newHeaders, subject } = check(schema, options, 'toJetStream()')
  return async (message) => {
    const headers = newHeaders()
    for (const [name, value] of Object.entries(message.headers)) headers.set(name, value)
    headers.set('hookonce-topic', message.topic)
    if (message.key !== undefined) headers.set('hookonce-key', encodeURIComponent(message.key))
    await client.publish(subject?.(message) ?? message.topic, Buffer.from(message.body), {
      msgID: message.id,
      headers: headers as never,
    })
  }
}

function isClient(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && 'publish' in value && typeof value.publish === 'function'
  )
}
