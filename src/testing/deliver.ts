import { randomBytes } from 'node:crypto'
import type { Seat } from '../engine/seat.ts'
import { didYouMean } from '../input/closest.ts'
import { HookonceError } from '../model/errors.ts'
import type { Sources } from '../options.ts'
import type { Delivery } from '../sources/contract.ts'
import type { SampleEvent } from '../sources/sample.ts'
import { prepareToSign, sampleEvents, signableBody, signedSample } from '../sources/sample-events.ts'
import { type SampleField, withFields } from '../sources/sample-fields.ts'
import type { SignedDelivery, SigningSource } from '../sources/sign.ts'
import type { OpenClock } from './clock.ts'
import type { Door, Reply } from './door.ts'
import { type Duration, durationMs } from './duration.ts'

/** Fields of the body: objects are merged, all other values are replaced. */
export type Overrides = Readonly<Record<string, unknown>>

export interface DeliverOptions {
  /** The event key. Default: a random one. Two deliveries with one key are the same event. */
  readonly key?: string
  /** The id of the object that the event is about. Default: a random one. */
  readonly objectId?: string
  /** When the event happened. Default: now. */
  readonly occurredAt?: Date
  readonly headers?: Readonly<Record<string, string>>
  /**
   * The exact body, instead of a sample: no byte of it changes, unless the provider signs inside
   * the body. Allows no overrides, and only one type.
   */
  readonly body?: string | Uint8Array
  /** How often the same event is delivered. Default: 1. */
  readonly times?: number
  /** All copies are sent at the same time. */
  readonly concurrently?: boolean
  /**
   * With several types: `true` sends the last first; a list of positions, from 0, sets any order.
   */
  readonly reorder?: boolean | readonly number[]
  /** The clock moves forward by this duration before each delivery except the first. */
  readonly delay?: Duration
  /** The reply to the first delivery never arrives, so the provider sends it again. */
  readonly loseReply?: boolean
  /** Changes the delivery after it was signed: one byte of the body, or of the signature. */
  readonly tamper?: 'body' | 'signature' | ((delivery: SignedDelivery) => SignedDelivery)
  /** The time of the signature. Default: when it is sent. A negative duration is that long ago. */
  readonly at?: Date | Duration
}

/** One event, and the result for its sender. */
export interface Delivered {
  readonly source: string
  readonly type: string
  /** The event key. */
  readonly key: string
  readonly objectId: string
  /** The status of each delivery; undefined if no reply arrived. */
  readonly statuses: readonly (number | undefined)[]
  /** The status of the last reply that arrived. */
  readonly status: number | undefined
  /** The code of the refusal, if the last reply was one. */
  readonly code: string | undefined
  /** The id of the receipt; undefined if the delivery was refused. */
  readonly receiptId: string | undefined
}

export interface Deliver<S extends Sources> {
  /** Delivers a signed sample event of the provider, until it is answered. */
  <Name extends keyof S & string>(
    source: Name,
    type: string,
    overrides?: Overrides,
    options?: DeliverOptions,
  ): Promise<Delivered>
  /** Delivers several events of one object, one second apart. */
  <Name extends keyof S & string>(
    source: Name,
    types: readonly string[],
    overrides?: Overrides,
    options?: DeliverOptions,
  ): Promise<Delivered[]>
}

interface DelivererOptions {
  readonly seat: () => Seat
  readonly door: () => Door
  readonly clock: OpenClock
  readonly idle: () => Promise<void>
  readonly pathOf: (source: string) => string
}

/** A provider gives up after this many deliveries without an answer. */
const MAX_RESENDS = 5
const MAX_TIMES = 1_000

export function deliverer<S extends Sources>({ seat, door, clock, idle, pathOf }: DelivererOptions) {
  const pending = new Set<Promise<unknown>>()

  async function deliverAll(
    name: string,
    types: readonly string[],
    overrides: Overrides,
    options: DeliverOptions,
  ): Promise<Delivered[]> {
    const source = signingSource(seat(), name)
    checkBody(types, overrides, options)
    await prepareToSign(source)
    const events = eventsOf(source, types, options)
    const order = orderOf(types.length, options.reorder)
    const times = timesOf(options.times)
    const sends = order.flatMap((index) => Array.from({ length: times }, () => index))
    const replies = events.map((): Reply[] => [])
    let sent = 0
    const send = async (index: number): Promise<void> => {
      const event = events[index]
      if (!event) return
      const isFirst = sent === 0
      sent += 1
      if (!isFirst && options.delay !== undefined) await clock.advance(options.delay)
      const sign = () => signed(source, event, { name, overrides, options })
      replies[index]?.push(...(await untilAnswered(sign, isFirst && options.loseReply === true)))
    }
    if (options.concurrently) await Promise.all(sends.map(send))
    else for (const index of sends) await send(index)
    const named = (event: SampleEvent): EventName =>
      options.body === undefined
        ? event
        : eventIn(source, signed(source, event, { name, overrides, options }), event)
    return events.map((event, index) => delivered(name, named(event), replies[index] ?? []))
  }

  function signed(
    source: SigningSource,
    event: SampleEvent,
    { name, overrides, options }: { name: string; overrides: Overrides; options: DeliverOptions },
  ): SignedDelivery {
    const delivery = signedSample(source, event, {
      url: pathOf(name),
      edit: (sample) =>
        options.body === undefined
          ? withFields(sample, source.description.body, fieldsOf(overrides))
          : signableBody(source, options.body),
      timestampMs: signedAt(options.at, clock.nowMs),
      ...(options.headers ? { headers: options.headers } : {}),
    })
    return options.tamper === undefined ? delivery : tampered(delivery, options.tamper)
  }

  /** Like a provider: if there is no answer, or a 503, sends the event again. */
  async function untilAnswered(sign: () => SignedDelivery, loseFirst: boolean): Promise<Reply[]> {
    const replies: Reply[] = []
    for (let tries = 0; tries < MAX_RESENDS; tries += 1) {
      const reply = await door().send(sign(), loseFirst && tries === 0)
      replies.push(reply)
      if (reply.status !== undefined && reply.status !== 503) break
      // The process may have died: the next one answers.
      await idle()
    }
    return replies
  }

  const deliver = async (
    source: string,
    type: string | readonly string[],
    overrides: Overrides = {},
    options: DeliverOptions = {},
  ): Promise<Delivered | Delivered[]> => {
    const sending = deliverAll(source, [type].flat(), overrides, options)
    const entry = sending.catch(() => undefined).finally(() => pending.delete(entry))
    pending.add(entry)
    const all = await sending
    const [first] = all
    return typeof type === 'string' && first ? first : all
  }

  return {
    deliver: deliver as Deliver<S>,
    inFlight: () => Promise.all(pending),
  }
}

function signingSource({ options }: Seat, name: string): SigningSource {
  const source = Object.hasOwn(options.sources, name) ? options.sources[name] : undefined
  if (!source) {
    const known = Object.keys(options.sources)
    const fault = `no source is named "${name}"${didYouMean(name, known)} (there are: ${known.join(', ')})`
    throw new HookonceError('CONFIG_INVALID', `deliver(): ${fault}`)
  }
  if ('deliver' in source && 'description' in source) return source as SigningSource
  const fault = `the source "${name}" cannot sign; use one of hookonce/sources, or custom()`
  throw new HookonceError('CONFIG_INVALID', `deliver(): ${fault}`)
}

function eventsOf(source: SigningSource, types: readonly string[], options: DeliverOptions): SampleEvent[] {
  const [sample] = sampleEvents(source, { type: types[0] }, 1)
  const key = options.key ?? sample?.key ?? `evt_${randomBytes(8).toString('hex')}`
  const objectId = options.objectId ?? sample?.objectId ?? ''
  const firstMs = options.occurredAt?.getTime() ?? (sample?.occurredAtMs ?? 0) - (types.length - 1) * 1_000
  return types.map((type, index) => ({
    key: index === 0 ? key : `${key}-${index + 1}`,
    type,
    objectId,
    occurredAtMs: firstMs + index * 1_000,
  }))
}

function checkBody(types: readonly string[], overrides: Overrides, { body }: DeliverOptions): void {
  if (body === undefined) return
  if (types.length === 1 && Object.keys(overrides).length === 0) return
  const fault = 'body: a body is delivered as it is; pass one type and no overrides, or leave `body` out'
  throw new HookonceError('CONFIG_INVALID', `deliver(): ${fault}`)
}

type EventName = Pick<SampleEvent, 'key' | 'type' | 'objectId'>

/** The event in a delivery with a given body. Of a batch, the event with the wanted key. */
function eventIn(source: SigningSource, delivery: SignedDelivery, wanted: SampleEvent): EventName {
  const { headers, ...request } = delivery
  const whole: Delivery = { ...request, header: (name) => headers[name], receivedAtMs: Date.now() }
  const parts = source.split?.(whole) ?? [whole]
  const found = 'ok' in parts ? [] : parts.map((part) => source.identify(part)).filter((one) => one.ok)
  const event = found.find(({ key }) => key === wanted.key) ?? found[0]
  // The source cannot read the body, so its event is unknown, and the delivery is refused.
  return event ? { key: event.key, type: event.type, objectId: event.objectId ?? '' } : wanted
}

function orderOf(count: number, reorder: DeliverOptions['reorder']): readonly number[] {
  const given = Array.from({ length: count }, (_, index) => index)
  if (reorder === undefined || reorder === false) return given
  if (reorder === true) return given.reverse()
  if (reorder.every((index) => given.includes(index))) return reorder
  const fault = `reorder: [${reorder.join(', ')}] contains a position that does not exist; positions are 0 to ${count - 1}`
  throw new HookonceError('CONFIG_INVALID', `deliver(): ${fault}`)
}

function timesOf(times = 1): number {
  if (Number.isInteger(times) && times >= 1 && times <= MAX_TIMES) return times
  throw new HookonceError(
    'CONFIG_INVALID',
    `deliver(): times must be a whole number from 1 to ${MAX_TIMES}; it is ${times}`,
  )
}

function signedAt(at: DeliverOptions['at'], nowMs: number): number {
  if (at === undefined) return nowMs
  return at instanceof Date ? at.getTime() : nowMs + durationMs(at, 'deliver(): at')
}

function fieldsOf(overrides: Overrides, parents: readonly string[] = []): SampleField[] {
  return Object.entries(overrides).flatMap(([name, value]): SampleField[] => {
    const path = [...parents, name]
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject && Object.keys(value).length > 0 ? fieldsOf(value as Overrides, path) : [{ path, value }]
  })
}

function tampered(delivery: SignedDelivery, how: NonNullable<DeliverOptions['tamper']>): SignedDelivery {
  if (typeof how === 'function') return how(delivery)
  if (how === 'body') {
    // A space keeps JSON valid, but invalidates any signature over the bytes.
    const body = Buffer.concat([delivery.body, Buffer.from(' ')])
    const { 'content-length': _, ...headers } = delivery.headers
    return { ...delivery, body, headers }
  }
  const headers = Object.entries(delivery.headers).map(([name, value]) =>
    /sign|hmac|token|authorization|digest/i.test(name) ? [name, flipped(value)] : [name, value],
  )
  return { ...delivery, headers: Object.fromEntries(headers) }
}

/** Changes the last letter or digit. */
function flipped(value: string): string {
  return value.replace(/[A-Za-z0-9](?=[^A-Za-z0-9]*$)/, (last) => (last === '0' ? '1' : '0'))
}

function delivered(source: string, event: EventName, replies: readonly Reply[]): Delivered {
  const last = replies.findLast(({ status }) => status !== undefined)
  const answer = parsed(last?.body)
  return {
    source,
    type: event.type,
    key: event.key,
    objectId: event.objectId,
    statuses: replies.map(({ status }) => status),
    status: last?.status,
    code: textIn(answer, 'code') ?? textIn(answer, 'error'),
    receiptId: textIn(answer, 'receipt'),
  }
}

function parsed(body: string | undefined): unknown {
  try {
    return JSON.parse(body ?? '')
  } catch {
    return undefined
  }
}

function textIn(answer: unknown, field: string): string | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined
  const value: unknown = Reflect.get(answer, field)
  return typeof value === 'string' ? value : undefined
}
