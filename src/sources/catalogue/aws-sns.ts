import { createVerify, type KeyObject, X509Certificate } from 'node:crypto'
import type { Delivery, HandshakeAnswer, Refusal } from '../contract.ts'
import { keyless } from '../provider.ts'
import type { Code } from '../schemes/compile.ts'
import { type FetchText, fetchText } from '../schemes/fetch-text.ts'
import { genuineUrl } from '../schemes/genuine-url.ts'
import { bodyParser } from '../schemes/payload.ts'
import { refuse } from '../schemes/refuse.ts'
import { remoteKeys } from '../schemes/remote-keys.ts'
import type { Verify } from '../schemes/verify.ts'

const HASHES: ReadonlyMap<unknown, string> = new Map([
  ['1', 'sha1'],
  ['2', 'sha256'],
])

const SIGNED = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: [
    'Message',
    'MessageId',
    'SubscribeURL',
    'Timestamp',
    'Token',
    'TopicArn',
    'Type',
  ],
} as const

type Message = Readonly<Record<string, unknown>>

const GENUINE_HOST = /^sns\.[a-z0-9-]{3,}\.amazonaws\.com(\.cn)?$/

/** An address at Amazon SNS itself: every name under these hosts is Amazon's. */
function genuine(address: unknown): URL | undefined {
  return genuineUrl(address, GENUINE_HOST)
}

/** Amazon signs with a certificate that each message names by its address. */
export function awsSnsCode(fetching: FetchText): Code {
  return ({ endpoint }) => {
    const parse = bodyParser('json')
    const certificates = remoteKeys(async (url, nowMs) => publicKeyOf(await fetching(url), nowMs))

    function read(delivery: Delivery): { message: Message; certificate: string } | Refusal {
      const message = parse(delivery) as Message | undefined
      if (message === undefined || !message.Signature)
        return refuse('SIGNATURE_MISSING', 'the body holds no Signature: raw message delivery must be off')
      // Anyone may let Amazon sign messages of a topic of their own.
      if (message.TopicArn !== endpoint.setting('topicArn'))
        return refuse('SIGNATURE_MISMATCH', 'the topic is not the setting topicArn')
      const url = genuine(message.SigningCertURL)
      if (url === undefined || !url.pathname.endsWith('.pem'))
        return refuse('SIGNATURE_MALFORMED', 'SigningCertURL is no certificate at Amazon SNS')
      return { message, certificate: url.href }
    }

    const verify: Verify = (delivery) => {
      const said = read(delivery)
      if ('ok' in said) return said
      const { message, certificate } = said
      const key = certificates.get(certificate)
      if (key === undefined) return refuse('KEYS_UNAVAILABLE', 'the certificate is not at hand')
      const hash = HASHES.get(message.SignatureVersion)
      const signed = signedText(message)
      if (hash === undefined || signed === undefined || typeof message.Signature !== 'string')
        return refuse('SIGNATURE_MALFORMED', 'SignatureVersion or Type is unknown, or a field is no text')
      const signature = Buffer.from(message.Signature, 'base64')
      return createVerify(hash).update(signed).verify(key, signature)
        ? { ok: true, secret: 1 }
        : refuse('SIGNATURE_MISMATCH', 'the certificate did not make this signature')
    }

    return {
      verify,
      prepare(delivery) {
        const said = read(delivery)
        // What is wrong with it is said by verify; nothing is fetched for it.
        return 'ok' in said ? undefined : certificates.need(said.certificate, delivery.receivedAtMs)
      },
      handshake(delivery) {
        const type = (parse(delivery) as Message | undefined)?.Type
        if (type !== 'SubscriptionConfirmation' && type !== 'UnsubscribeConfirmation') return undefined
        const verified = verify(delivery)
        return verified.ok ? confirmation(parse(delivery) as Message, endpoint.confirm, fetching) : verified
      },
    }
  }
}

function publicKeyOf(pem: string, nowMs: number): KeyObject {
  const certificate = new X509Certificate(pem)
  const isCurrent = Date.parse(certificate.validFrom) <= nowMs && nowMs <= Date.parse(certificate.validTo)
  if (!isCurrent) throw new Error('the certificate is not valid now')
  if (!/^CN=sns\.([a-z0-9-]+\.)?amazonaws\.com(\.cn)?$/m.test(certificate.subject))
    throw new Error('the certificate is not that of Amazon SNS')
  return certificate.publicKey
}

/** Names and values, each on a line of its own, in the order of the names. */
function signedText(message: Message): string | undefined {
  const names = SIGNED[message.Type === 'Notification' ? 'Notification' : 'SubscriptionConfirmation']
  let text = ''
  for (const name of names) {
    const value = message[name]
    if (value === undefined && name === 'Subject') continue
    if (typeof value !== 'string') return undefined
    text += `${name}\n${value}\n`
  }
  return text
}

function confirmation(
  { Type, SubscribeURL }: Message,
  confirm: 'on' | 'off',
  fetching: FetchText,
): HandshakeAnswer | Refusal {
  const answer: HandshakeAnswer = { ok: true, status: 200, headers: {}, body: '' }
  // To follow the link of this one would undo what somebody has just done.
  if (Type === 'UnsubscribeConfirmation') return answer
  if (confirm === 'off')
    return refuse('HANDSHAKE_REFUSED', "a subscription wants to be confirmed, and `confirm: 'on'` is not set")
  const url = genuine(SubscribeURL)
  if (url === undefined) return refuse('HANDSHAKE_REFUSED', 'SubscribeURL is no address at Amazon SNS')
  return {
    ...answer,
    async perform() {
      try {
        await fetching(url.href)
        return undefined
      } catch (error) {
        return refuse(
          'KEYS_UNAVAILABLE',
          `the subscription could not be confirmed: ${String(error).slice(0, 100)}`,
        )
      }
    },
  }
}

export const awsSns = keyless<AwsSnsMessage, AwsSnsMessage, string>(
  {
    provider: 'aws-sns',
    about: {
      name: 'Amazon SNS',
      category: 'cloud',
      confidence: 'verified',
      evidence: ['npm:sns-validator@0.3.5:index.js'],
      unverified: ['the retries: a customer may set its own policy, a week is counted on'],
      notes: [
        "A subscription is confirmed only with `confirm: 'on'`, and only by a link to Amazon SNS itself.",
        'Raw message delivery is not signed: leave it off.',
        'A retry keeps its date, so the age of a message is not judged.',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'RSA over the fields of the message, with the certificate at `SigningCertURL`, which must be at Amazon SNS',
      secret: 'none',
    },
    settings: { topicArn: 'the ARN of the topic: Amazon signs the messages of every topic alike' },
    event: {
      key: 'json:MessageId',
      type: 'json:Type',
      objectId: 'json:TopicArn',
      occurredAt: { at: 'json:Timestamp', unit: 'iso' },
    },
    handshake: [{ method: 'POST', when: { 'json:Type': 'SubscriptionConfirmation' }, signed: true }],
    retryWindowHours: 7 * 24,
    answerWithinSeconds: 15,
  },
  awsSnsCode(fetchText),
)

export interface AwsSnsMessage {
  readonly Type: string
  readonly MessageId: string
  readonly TopicArn: string
  readonly Subject?: string
  readonly Message: string
  readonly Timestamp: string
}
