import { createVerify } from 'node:crypto'
import { HookonceError } from '../../model/errors.ts'
import type { Delivery, HandshakeAnswer, Refusal } from '../contract.ts'
import { keyless } from '../provider.ts'
import {
  type CertificateSource,
  publicRoots,
  publishedIssuer,
  trustedCertificate,
} from '../schemes/certificate-chain.ts'
import type { MakeScheme } from '../schemes/custom-scheme.ts'
import { fetchBytes } from '../schemes/fetch-text.ts'
import { genuineUrl } from '../schemes/genuine-url.ts'
import { outlineOf } from '../schemes/outline.ts'
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

/** Reads only the fields that the signature needs. The rest of an unverified body is not parsed. */
const readMessage = outlineOf(
  [...Object.values(SIGNED).flat(), 'Signature', 'SignatureVersion', 'SigningCertURL'].map((name) => [name]),
)

// Amazon's own authority, and DigiCert, which issued earlier certificates and those for China.
const ISSUERS = /^http:\/\/(?:crt\.[a-z0-9]+\.amazontrust|cacerts\.digicert)\.com\/[\w.-]{1,100}$/

const CERTIFICATE_PATH = /^\/SimpleNotificationService-[0-9a-f]{32,64}\.pem$/

/** The only Amazon SNS host that may sign for a topic: the host of its region. */
function hostOf(topicArn: string): string {
  const [, partition = '', region = ''] =
    /^arn:(aws[a-z-]*):sns:([a-z]{2,}(?:-[a-z0-9]+)+):\d{12}:[\w-]{1,256}(?:\.fifo)?$/.exec(topicArn) ?? []
  if (region === '')
    throw new HookonceError(
      'CONFIG_INVALID',
      `aws-sns: settings.topicArn is "${topicArn}"; expected arn:aws:sns:<region>:<account>:<topic>`,
    )
  return `sns.${region}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}`
}

/** Amazon signs with a certificate. Each message contains the address of the certificate. */
export function awsSnsCode({ fetcher, roots }: CertificateSource): MakeScheme {
  return ({ endpoint }) => {
    const topicArn = endpoint.setting('topicArn')
    const host = hostOf(topicArn)
    const genuine = (address: unknown): URL | undefined => genuineUrl(address, host)
    const names = ['sns.amazonaws.com', host].map((name) => `CN=${name}`)

    const certificates = remoteKeys(async (url, nowMs) => {
      const certificate = await trustedCertificate((await fetcher(url)).toString('utf8'), {
        roots: roots(),
        nowMs,
        fetchIssuer: (issued) => publishedIssuer(issued, ISSUERS, fetcher),
      })
      if (!certificate.subject.split('\n').some((line) => names.includes(line)))
        throw new Error('the certificate does not belong to Amazon SNS in this region')
      return certificate.publicKey
    }, endpoint.keyNames)

    /** Read once, because `prepare`, `handshake` and `verify` all need it. */
    const messages = new WeakMap<Delivery, { readonly message: Message | undefined }>()
    function messageIn(delivery: Delivery): Message | undefined {
      const known = messages.get(delivery) ?? { message: readMessage(delivery.body) as Message | undefined }
      messages.set(delivery, known)
      return known.message
    }

    function read(delivery: Delivery): { message: Message; certificate: string } | Refusal {
      const message = messageIn(delivery)
      if (message === undefined || !message.Signature)
        return refuse('SIGNATURE_MISSING', 'the body contains no Signature; disable raw message delivery')
      // Anyone can make Amazon sign messages of their own topic.
      if (message.TopicArn !== topicArn)
        return refuse('SIGNATURE_MISMATCH', 'the topic is not the one in settings.topicArn')
      const url = genuine(message.SigningCertURL)
      if (url === undefined || !CERTIFICATE_PATH.test(url.pathname) || url.search !== '' || url.hash !== '')
        return refuse(
          'SIGNATURE_MALFORMED',
          `SigningCertURL is not a certificate of Amazon SNS at ${host}, the region of the topic`,
        )
      return { message, certificate: url.href }
    }

    const verify: Verify = (delivery) => {
      const proof = read(delivery)
      if ('ok' in proof) return proof
      const { message, certificate } = proof
      const key = certificates.get(certificate)
      if (key === undefined) return refuse('KEYS_UNAVAILABLE', 'the certificate has not been fetched')
      const hash = HASHES.get(message.SignatureVersion)
      const signed = signedText(message)
      if (hash === undefined || signed === undefined || typeof message.Signature !== 'string')
        return refuse(
          'SIGNATURE_MALFORMED',
          'SignatureVersion or Type is unknown, or a field is not a string',
        )
      const signature = Buffer.from(message.Signature, 'base64')
      return createVerify(hash).update(signed).verify(key, signature)
        ? { ok: true, secret: 1 }
        : refuse('SIGNATURE_MISMATCH', 'the certificate did not make this signature')
    }

    return {
      verify,
      prepare(delivery) {
        const proof = read(delivery)
        // `verify` reports the fault. Nothing is fetched for an invalid message.
        return 'ok' in proof ? undefined : certificates.need(proof.certificate, delivery.receivedAtMs)
      },
      handshake(delivery) {
        const message = messageIn(delivery)
        const type = message?.Type
        if (type !== 'SubscriptionConfirmation' && type !== 'UnsubscribeConfirmation') return undefined
        const verified = verify(delivery)
        if (!verified.ok) return verified
        return confirmation(message ?? {}, endpoint.confirm, { genuine, fetcher })
      },
    }
  }
}

/** Names and values, one per line, in the order of the names. */
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

interface ConfirmationInput extends Pick<CertificateSource, 'fetcher'> {
  readonly genuine: (address: unknown) => URL | undefined
}

function confirmation(
  { Type, SubscribeURL }: Message,
  confirm: 'on' | 'off',
  { genuine, fetcher }: ConfirmationInput,
): HandshakeAnswer | Refusal {
  const answer: HandshakeAnswer = { ok: true, status: 200, headers: {}, body: '' }
  // Following this link would subscribe again after an unsubscription.
  if (Type === 'UnsubscribeConfirmation') return answer
  if (confirm === 'off')
    return refuse('HANDSHAKE_REFUSED', "a subscription asks for confirmation, but `confirm: 'on'` is not set")
  const url = genuine(SubscribeURL)
  if (url === undefined) return refuse('HANDSHAKE_REFUSED', 'SubscribeURL is not an address at Amazon SNS')
  return {
    ...answer,
    async perform() {
      try {
        await fetcher(url.href)
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
      evidence: [
        'npm:sns-validator@0.3.5:index.js',
        'https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html',
      ],
      unverified: [
        'the retries: customers can configure them; hookonce assumes a week',
        'where the issuers of its certificates are published in each region: hookonce trusts Amazon Trust Services and DigiCert',
      ],
      notes: [
        'Certificates must come from the SNS host of the region of the topic, chain to a public root, and belong to Amazon SNS.',
        "A subscription is confirmed only with `confirm: 'on'`, and only through a link to Amazon SNS itself.",
        'Raw message delivery is not signed: keep it disabled.',
        'A retry keeps its date, so the age of a message is not checked.',
      ],
    },
    signature: {
      algorithm: 'coded',
      how: 'RSA over the fields of the message, with the certificate at `SigningCertURL`, which must be at Amazon SNS in the region of the topic',
      secret: 'none',
      namesKey: true,
    },
    settings: { topicArn: 'the ARN of the topic: Amazon signs the messages of all topics in the same way' },
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
  awsSnsCode({ fetcher: fetchBytes, roots: publicRoots }),
)

export interface AwsSnsMessage {
  readonly Type: string
  readonly MessageId: string
  readonly TopicArn: string
  readonly Subject?: string
  readonly Message: string
  readonly Timestamp: string
}
