import { z } from 'zod'
import { check, strict } from '../input/checked.ts'
import type { JobRef } from '../ledger/jobs/job-ref.ts'
import type { NewMessage } from '../ledger/outbox/messages.ts'
import { HookonceError } from '../model/errors.ts'
import { shardOf } from '../model/receipt-id.ts'
import { contextHeaders, isTraceHeader, type TraceContext } from '../observe/trace-context.ts'
import { laneId, messageId } from './message-id.ts'

const topicSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,254}$/,
    'a topic is 1 to 255 letters, digits, ".", "_", ":", "/", "-"',
  )

const optionsSchema = strict({
  /**
   * Messages with the same topic and key are published in the order of their commits. Other
   * messages are published in parallel.
   */
  key: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[^\0]*$/, 'must not hold a NUL')
    .optional(),
  /**
   * Extra headers. The publisher sends them as HTTP headers, NATS headers, or fields of a stream
   * entry.
   */
  headers: z
    .record(
      z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/, 'not the name of a header'),
      z.string().regex(/^[\t\x20-\x7e]{0,4096}$/, 'the value of a header is printable ASCII'),
    )
    .optional(),
})

export type PublishOptions = z.input<typeof optionsSchema>

/** The outbox, as handlers of this process use it. */
export interface Outbox {
  /** Throws if no publisher takes this topic. */
  requirePublisher(topic: string): void
  /** Called after a commit of messages: wakes the relay of this process. */
  committed(): void
  /** The trace context of the publishing handler, if an observer takes traces. */
  readonly traceContext?: (() => TraceContext | undefined) | undefined
}

/** The job whose handler publishes. */
export interface MessageOrigin {
  readonly job: JobRef
  /** The epoch. A fresh replay, which repeats everything, raises it. */
  readonly epoch: number
  readonly subscriber: { readonly tenant: string; readonly name: string }
  readonly business: { readonly shards: number; readonly outbox: Outbox }
}

/** Collects the messages of one step, to be committed with it. */
export interface StepMessages {
  readonly messages: readonly NewMessage[]
  publish(topic: string, payload: unknown, options?: PublishOptions): string
  /**
   * Drops all but the first `count` messages, because the part of the step that published them is
   * rolled back.
   */
  keep(count: number): void
}

/** A message should contain facts and a reference to more data. Brokers have similar limits. */
const MAX_PAYLOAD_BYTES = 256 * 1024

/**
 * A message's id is derived from the job, its epoch, the step and its place in the step. A retried
 * step makes the same messages with the same ids.
 */
export function stepMessages(origin: MessageOrigin, step: string): StepMessages {
  const { job, epoch, subscriber, business } = origin
  const { tenant } = subscriber
  const messages: NewMessage[] = []
  return {
    messages,
    publish(topic, payload, options = {}) {
      check(topicSchema, topic, 'publish() topic')
      const { key = null, headers = null } = check(optionsSchema, options, `publish('${topic}') options`)
      business.outbox.requirePublisher(topic)
      const place = { receiptId: job.receiptId, subscriber: subscriber.name, epoch }
      const id = messageId(place, step, messages.length)
      // Without a key the message needs no order, so it gets its own lane.
      const lane = key === null ? id : laneId(tenant, topic, key)
      messages.push({
        shard: shardOf(lane, business.shards),
        id,
        lane,
        tenant,
        topic,
        key,
        payload: toJson(topic, payload),
        headers: tracedHeaders(headers, business.outbox.traceContext?.()),
        receiptId: job.receiptId,
        subscriber: job.subscriber,
      })
      return id
    },
    keep(count) {
      messages.length = count
    },
  }
}

type Headers = Record<string, string> | null

/** The message carries the trace context, unless the handler passed one. */
function tracedHeaders(headers: Headers, context: TraceContext | undefined): Headers {
  if (context === undefined) return headers
  const isGiven = Object.keys(headers ?? {}).some(isTraceHeader)
  return isGiven ? headers : { ...headers, ...contextHeaders(context) }
}

function toJson(topic: string, payload: unknown): string {
  const json = stringified(topic, payload)
  if (Buffer.byteLength(json) <= MAX_PAYLOAD_BYTES) return json
  throw new HookonceError(
    'MESSAGE_TOO_LARGE',
    `the payload of "${topic}" is larger than ${MAX_PAYLOAD_BYTES} bytes; publish an id, and let consumers read the data at its source`,
  )
}

function stringified(topic: string, payload: unknown): string {
  try {
    const json: string | undefined = JSON.stringify(payload)
    if (json !== undefined) return json
  } catch (error) {
    throw new HookonceError('CONFIG_INVALID', `publish('${topic}'): the payload is not JSON`, {
      cause: error,
    })
  }
  throw new HookonceError('CONFIG_INVALID', `publish('${topic}'): the payload is undefined`)
}
