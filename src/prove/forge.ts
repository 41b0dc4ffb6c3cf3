import { parseJsonText } from '../sources/schemes/payload.ts'
import type { SignedDelivery } from '../sources/sign.ts'
import {
  asDelivery,
  bodyText,
  type EventMaker,
  type ProvedEvent,
  sampleBody,
  signedDelivery,
} from './events.ts'

/*
 * Deliveries that a receiver must refuse, and one that it must accept. hookonce's own verifier
 * checks each of them before it is sent. If the verifier decides otherwise, the provider's
 * signature does not cover the changed part, and the schedule is skipped.
 */

export type Forgery = (maker: EventMaker, event: ProvedEvent) => SignedDelivery | undefined

/** The signature is present, but was made without the secret. */
export const forged: Forgery = (maker, event) => {
  const genuine = signedDelivery(maker, event)
  const headers = Object.entries(genuine.headers).map(([name, value]) => ({
    ...genuine,
    headers: { ...genuine.headers, [name]: withOtherEnd(value) },
  }))
  return refusedOne(maker, [...headers, { ...genuine, url: withOtherEnd(genuine.url) }])
}

/** The header of the signature is missing. */
export const unsigned: Forgery = (maker, event) => {
  const genuine = signedDelivery(maker, event)
  const candidates = Object.keys(genuine.headers)
    .filter((name) => name !== 'content-type')
    .map((dropped) => ({
      ...genuine,
      headers: Object.fromEntries(Object.entries(genuine.headers).filter(([name]) => name !== dropped)),
    }))
  return refusedOne(maker, candidates)
}

/** A field was added to the body after it was signed. */
export const tampered: Forgery = (maker, event) => {
  const genuine = signedDelivery(maker, event)
  const text = bodyText(genuine)
  const changed = text.startsWith('{')
    ? text.replace('{', '{"hookonce_tampered":true,')
    : `${text}&hookonce_tampered=1`
  return refusedOne(maker, [{ ...genuine, body: Buffer.from(changed) }])
}

/**
 * The same JSON in other bytes than the signed bytes, as written by a parser that serialises it
 * again.
 */
export const rewritten: Forgery = (maker, event) => {
  const genuine = signedDelivery(maker, event)
  const payload = parseJsonText(bodyText(genuine))
  if (payload === undefined) return undefined
  return refusedOne(maker, [{ ...genuine, body: Buffer.from(JSON.stringify(payload, null, 2)) }])
}

/** A correctly signed delivery with an old date: a copy from an attacker, or a very late retry. */
export const outdated: Forgery = (maker, event) => {
  const { timestamp } = maker.source.description
  const tolerance = timestamp?.toleranceSeconds ?? 300
  return refusedOne(maker, [signedDelivery(maker, event, Date.now() - (tolerance * 2 + 7_200) * 1_000)])
}

/**
 * A genuine delivery in bytes that no common serialiser writes. A receiver that verifies the parsed
 * body refuses it.
 */
export const unusualBytes: Forgery = (maker, event) => {
  const { body, headers } = sampleBody(maker, event)
  const payload = parseJsonText(Buffer.from(body).toString('utf8'))
  if (payload === undefined) return undefined
  const text = JSON.stringify(payload, null, 2).replaceAll('/', '\\/')
  const signed = maker.source.deliver({ ...(headers ? { headers } : {}), body: text, url: maker.url })
  // Computes a signature inside the body again.
  if (bodyText(signed) !== text) return undefined
  return maker.source.verify(asDelivery(signed)).ok ? signed : undefined
}

function refusedOne(
  { source }: EventMaker,
  candidates: readonly SignedDelivery[],
): SignedDelivery | undefined {
  return candidates.find((candidate) => !source.verify(asDelivery(candidate)).ok)
}

/** Changes the last letters or digits; length and alphabet stay the same. */
function withOtherEnd(text: string): string {
  return text.replace(/[A-Za-z0-9]{1,8}(?=[^A-Za-z0-9]*$)/, (end) =>
    [...end]
      .map((char) => (/[0-9a-f]/.test(char) ? (char === '0' ? '1' : '0') : char === 'A' ? 'B' : 'A'))
      .join(''),
  )
}
