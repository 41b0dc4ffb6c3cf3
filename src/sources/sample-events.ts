import { randomBytes } from 'node:crypto'
import { HookonceError } from '../model/errors.ts'
import type { Delivery } from './contract.ts'
import { fixtureOf } from './fixtures/index.ts'
import { type SampleEvent, sampleOf } from './sample.ts'
import type { Sample, SignedDelivery, SigningSource } from './sign.ts'

/* Sample events of a provider, for `hookonce trigger` and for test events of the gateway. */

export interface SampleRequest {
  /** Default: the usual type of the provider. */
  readonly type?: string | undefined
  /** The event key. Default: a random one. */
  readonly key?: string | undefined
}

/** Samples of several events of one object, one second apart. */
export function sampleEvents(
  { provider }: Pick<SigningSource, 'provider'>,
  { type, key = `evt_${randomBytes(8).toString('hex')}` }: SampleRequest,
  count: number,
): SampleEvent[] {
  const fixture = fixtureOf(provider)
  const sampleType = type ?? fixture?.type ?? 'sample'
  const prefix = fixture ? fixture.objectPrefix(sampleType) : 'obj_'
  const objectId = prefix + randomBytes(4).readUInt32BE()
  const now = Date.now()
  return Array.from({ length: count }, (_, index) => ({
    key: index === 0 ? key : `${key}-${index + 1}`,
    type: sampleType,
    objectId,
    occurredAtMs: now - (count - 1 - index) * 1_000,
  }))
}

interface SampleOptions extends Pick<Sample, 'timestampMs' | 'headers'> {
  readonly url: string
  readonly edit?: (body: Sample['body']) => Sample['body']
}

/** The signed delivery of a sample event. `edit` changes its body before it is signed. */
export function signedSample(
  source: SigningSource,
  event: SampleEvent,
  { url, edit = (body) => body, timestampMs, headers }: SampleOptions,
): SignedDelivery {
  const fixture = fixtureOf(source.provider)
  const sample = sampleOf(source.description, [event], fixture && ((one) => fixture.payload(one)))
  return source.deliver({
    headers: { ...sample.headers, ...headers },
    body: edit(sample.body),
    url,
    ...(timestampMs === undefined ? {} : { timestampMs }),
  })
}

/**
 * The part of a recorded body that is signed. Some providers wrap the event in an envelope with a
 * signature: only the event can be signed with another secret.
 */
export function signableBody(source: SigningSource, body: Sample['body']): Sample['body'] {
  if (source.description.body !== 'coded') return body
  const headers: Readonly<Record<string, string>> = { 'content-type': 'application/x-www-form-urlencoded' }
  const delivery: Delivery = {
    method: 'POST',
    url: '/',
    header: (name) => headers[name],
    body: Buffer.from(body),
    receivedAtMs: Date.now(),
  }
  const opened = source.identify(delivery)
  return opened.ok && opened.unread === undefined ? JSON.stringify(opened.payload) : body
}

/** Reads a secret from its file now instead of at the first delivery. */
export async function prepareToSign(source: SigningSource): Promise<void> {
  const blank = {
    method: 'POST',
    url: '/',
    header: () => undefined,
    body: new Uint8Array(),
    receivedAtMs: Date.now(),
  }
  const refusal = await source.prepare?.(blank)
  if (refusal?.code === 'KEYS_UNAVAILABLE') throw new HookonceError(refusal.code, refusal.detail)
}
