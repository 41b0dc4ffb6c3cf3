import { expect, test } from 'vitest'
import type { Delivery, Refusal, Source } from '../../src/sources/contract.ts'
import { diagnose } from '../../src/sources/diagnose/diagnose.ts'
import { sampleOf } from '../../src/sources/sample.ts'
import type { SignedDelivery } from '../../src/sources/sign.ts'
import { isDigest, isSignable } from '../../src/sources/signature.ts'
import type { Random } from '../chaos/random.ts'
import { everyProvider, type Listed, secretFor } from '../support/catalogue.ts'
import { fuzz } from './cases.ts'
import { chance, mutatedBytes, mutatedText, mutatedValue, nastyText, wellFormed } from './mutate.ts'

/*
 * Deliveries of every provider, genuine ones and ones that a stranger signed with another secret,
 * changed in headers, body, encoding, URL, method and time.
 */
const NOW_MS = 1_700_000_000_000

interface Target extends Listed {
  readonly source: Source
  readonly genuine: readonly SignedDelivery[]
  /** A delivery that is signed with another secret is never accepted, whatever is changed. */
  readonly strange: readonly SignedDelivery[]
  /** Whether the signature covers the bytes of the body. */
  readonly coversBody: boolean
  /** Headers that verification reads. */
  readonly names: readonly string[]
}

function targetOf(listed: Listed): Target {
  const { make, description, options } = listed
  const source = make(options)
  const stranger = make({ ...options, secret: secretFor(description.signature, 1) })
  const samples = [1, 2, 3].map((n) => {
    const event = { key: `evt_${n}`, type: 'thing.made', objectId: `obj_${n}`, occurredAtMs: NOW_MS }
    const events = description.batch === undefined ? [event] : Array.from({ length: n }, () => event)
    return { ...sampleOf(description, events), timestampMs: NOW_MS, url: '/in/x' }
  })
  const genuine = isSignable(description.signature) ? samples.map((sample) => source.deliver(sample)) : []
  const unsigned = samples.map(
    ({ headers, body, url }): SignedDelivery => ({ method: 'POST', url, headers, body: Buffer.from(body) }),
  )
  const strange = genuine.length > 0 ? samples.map((sample) => stranger.deliver(sample)) : unsigned
  const { signature } = description
  const coversBody =
    isDigest(signature) && signature.covers === 'body' && signature.content.includes('{body}')
  const names = new Set(['content-type', 'authorization'])
  for (const one of [...genuine, ...strange]) {
    const delivery = arriving(one)
    source.verify({
      ...delivery,
      header(name) {
        names.add(name)
        return delivery.header(name)
      },
    })
  }
  return { ...listed, source, genuine, strange, coversBody, names: [...names] }
}

interface Mutable {
  method: string
  url: string
  headers: Record<string, string | undefined>
  body: Uint8Array
  receivedAtMs: number
}

function arriving({ method, url, headers, body }: SignedDelivery): Delivery {
  return { method, url, body, header: (name) => headers[name], receivedAtMs: NOW_MS }
}

function mutateHeader(random: Random, { headers }: Mutable, names: readonly string[]): void {
  const present = Object.keys(headers)
  const name = chance(random, 4) || present.length === 0 ? random.pick(names) : random.pick(present)
  const value = headers[name] ?? ''
  headers[name] = random.pick<() => string | undefined>([
    () => undefined,
    () => nastyText(random),
    () => `${value}, ${value}`,
    () => mutatedText(random, value),
    () => mutatedText(random, value),
    () => headers[random.pick(names)],
    () => Buffer.from(value, 'base64').toString('hex'),
    () => Buffer.from(value, 'hex').toString('base64url'),
    () => `${value}=`,
  ])()
}

function mutateBody(random: Random, delivery: Mutable): void {
  const text = Buffer.from(delivery.body).toString('utf8')
  delivery.body = random.pick<() => Buffer>([
    () => mutatedBytes(random, delivery.body),
    () => Buffer.from(mutatedText(random, text)),
    () => Buffer.from(inJson(random, text)),
    () => Buffer.from(inJson(random, text)),
    () => Buffer.from(`payload=${encodeURIComponent(wellFormed(inJson(random, text)))}`),
    () => Buffer.from(`${text}\n${inJson(random, text)}`),
  ])()
}

function inJson(random: Random, text: string): string {
  try {
    return JSON.stringify(mutatedValue(random, JSON.parse(text))) ?? ''
  } catch {
    // A form, or XML.
    return mutatedText(random, text)
  }
}

function mutate(random: Random, delivery: Mutable, names: readonly string[]): void {
  random.pick<() => void>([
    () => mutateHeader(random, delivery, names),
    () => mutateHeader(random, delivery, names),
    () => mutateBody(random, delivery),
    () => mutateBody(random, delivery),
    () => {
      delivery.url = chance(random, 2) ? mutatedText(random, delivery.url) : `/in/x?${nastyText(random)}`
    },
    () => {
      delivery.method = random.pick(['GET', 'HEAD', 'PUT', 'constructor'])
    },
    () => {
      delivery.receivedAtMs += random.pick([-1e12, -86_400_000, -1_000, 1_000, 86_400_000, 1e12])
    },
  ])()
}

/** The complete work of a receiver on a delivery before it is recorded. */
function examine(source: Source, delivery: Delivery): ReturnType<Source['verify']> {
  source.handshake?.(delivery)
  const verified = source.verify(delivery)
  const split = source.split?.(delivery) ?? [delivery]
  if (!('ok' in split)) for (const one of split.slice(0, 20)) source.identify(one)
  return verified
}

const targets = (await everyProvider()).map(targetOf)

test('no changed delivery makes a provider throw, hang or accept unsigned data', {
  timeout: 24 * 3_600_000,
}, async () => {
  await fuzz({ name: 'providers', cases: 8_000 }, (random, index) => {
    const target = random.pick(targets)
    const { source, genuine, strange, coversBody, names, id } = target
    if (index % 1_000 === 0 && genuine[0]) expect(source.verify(arriving(genuine[0])).ok, id).toBe(true)
    const isStrange = genuine.length === 0 || chance(random, 2)
    const original = random.pick(isStrange ? strange : genuine)
    const delivery: Mutable = {
      ...original,
      headers: { ...original.headers },
      receivedAtMs: NOW_MS,
    }
    for (let count = 1 + random.below(4); count > 0; count -= 1) mutate(random, delivery, names)
    const { headers, ...rest } = delivery
    const arrived: Delivery = { ...rest, header: (name) => headers[name] }
    const verified = examine(source, arrived)
    const isForged =
      isStrange || (coversBody && genuine.every(({ body }) => !Buffer.from(body).equals(delivery.body)))
    if (isForged && verified.ok)
      throw new Error(`${id} accepted ${JSON.stringify({ ...delivery, body: String(delivery.body) })}`)
    return verified.ok || !chance(random, 1_000) ? undefined : explain(target, arrived, verified)
  })
})

/** Explaining a refusal tries many secrets and encodings, so it runs only for some cases. */
async function explain({ source, id }: Target, delivery: Delivery, refusal: Refusal): Promise<void> {
  const others = targets.slice(0, 3).map((other) => ({ name: other.id, source: other.source }))
  const says = await diagnose({ source, others, delivery, refusal })
  if (refusal.code.startsWith('SIGNATURE_')) expect(says, id).toMatch(/./)
}
