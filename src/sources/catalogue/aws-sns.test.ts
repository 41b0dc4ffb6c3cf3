import { execFileSync } from 'node:child_process'
import { createSign, X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Delivery, Source } from '../contract.ts'
import { checkDescription } from '../description.ts'
import { awsSns } from '../index.ts'
import { checkOptions } from '../options.ts'
import { compile } from '../schemes/compile.ts'
import type { FetchBytes } from '../schemes/fetch-text.ts'
import { awsSnsCode } from './aws-sns.ts'

/* A local certificate authority replaces Amazon. Only the network access is replaced. */

const dir = mkdtempSync(join(tmpdir(), 'hookonce-sns-'))
afterAll(() => rmSync(dir, { recursive: true }))

interface Certified {
  readonly name: string
  readonly pem: string
  readonly key: string
}

const AUTHORITY = 'basicConstraints=critical,CA:TRUE'
const LEAF = 'basicConstraints=CA:FALSE'

/** A certificate signed by an issuer, or by itself. */
function certified(name: string, subject: string, issuer?: Certified, extensions = [LEAF]): Certified {
  writeFileSync(join(dir, `${name}.ext`), extensions.join('\n'))
  const openssl = (...args: string[]): void =>
    void execFileSync('openssl', args, { stdio: 'ignore', cwd: dir })
  const [key, request, pem] = [`${name}.key`, `${name}.csr`, `${name}.pem`]
  const subjected = ['-subj', `/CN=${subject}`, '-keyout', key, '-out', request]
  openssl('req', '-new', '-newkey', 'rsa:2048', '-nodes', ...subjected)
  const by = issuer
    ? ['-CA', `${issuer.name}.pem`, '-CAkey', `${issuer.name}.key`, '-CAcreateserial']
    : ['-signkey', key]
  openssl('x509', '-req', '-in', request, ...by, '-days', '2', '-extfile', `${name}.ext`, '-out', pem)
  return { name, key: readFileSync(join(dir, key), 'utf8'), pem: readFileSync(join(dir, pem), 'utf8') }
}

const ISSUER_URL = 'http://crt.r2m01.amazontrust.com/r2m01.cer'
const PUBLISHED = `authorityInfoAccess=caIssuers;URI:${ISSUER_URL}`

const root = certified('root', 'Test Root', undefined, [AUTHORITY])
const issuer = certified('issuer', 'Test Issuer', root, [AUTHORITY])
const amazon = certified('amazon', 'sns.amazonaws.com', issuer, [LEAF, PUBLISHED])
const regional = certified('regional', 'sns.eu-central-1.amazonaws.com', issuer, [LEAF, PUBLISHED])
const otherRegion = certified('other-region', 'sns.us-east-1.amazonaws.com', issuer, [LEAF, PUBLISHED])
const stranger = certified('stranger', 'sns.amazonaws.com.example.com', issuer, [LEAF, PUBLISHED])
const selfMade = certified('self', 'sns.amazonaws.com', undefined, [AUTHORITY])
const elsewhere = certified('elsewhere', 'sns.amazonaws.com', issuer, [
  LEAF,
  'authorityInfoAccess=caIssuers;URI:http://169.254.169.254/latest',
])
const TOPIC = 'arn:aws:sns:eu-central-1:123456789012:orders'
const HOST = 'https://sns.eu-central-1.amazonaws.com'
const pemNamed = (number: number): string =>
  `${HOST}/SimpleNotificationService-${number.toString(16).padStart(32, '0')}.pem`
const CERTIFICATE = pemNamed(1)
const DOWN = pemNamed(0xd)

interface World {
  readonly source: Source
  readonly fetched: string[]
}

function world(
  confirm: 'on' | 'off' = 'off',
  pem = amazon.pem,
  topicArn = TOPIC,
  keyNames: string[] = [],
): World {
  const fetched: string[] = []
  const fetcher: FetchBytes = async (url) => {
    fetched.push(url)
    if (url === DOWN) throw new Error('no route')
    return url === ISSUER_URL ? new X509Certificate(issuer.pem).raw : Buffer.from(pem)
  }
  const code = awsSnsCode({ fetcher, roots: () => [new X509Certificate(root.pem)] })
  const options = checkOptions({ secret: undefined, settings: { topicArn }, confirm, keyNames }, 'aws-sns')
  return { source: compile(checkDescription(awsSns.description), options, code), fetched }
}

function message(changed: Record<string, string> = {}, key = amazon.key): Record<string, string> {
  const fields: Record<string, string> = {
    Type: 'Notification',
    MessageId: 'm-1',
    TopicArn: TOPIC,
    Message: 'grüezi',
    Timestamp: '2026-01-02T03:04:05.000Z',
    SignatureVersion: '2',
    SigningCertURL: CERTIFICATE,
    ...changed,
  }
  const signed = ['Message', 'MessageId', 'Subject', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']
    .filter((name) => name in fields)
    .map((name) => `${name}\n${fields[name]}\n`)
    .join('')
  const hash = fields.SignatureVersion === '1' ? 'sha1' : 'sha256'
  return { ...fields, Signature: createSign(hash).update(signed).sign(key, 'base64') }
}

function arriving(body: object): Delivery {
  const bytes = Buffer.from(JSON.stringify(body))
  return { method: 'POST', url: '/', header: () => undefined, body: bytes, receivedAtMs: Date.now() }
}

async function verified({ source }: World, body: object) {
  return (await source.prepare?.(arriving(body))) ?? source.verify(arriving(body))
}

describe('aws-sns', () => {
  it.each(['1', '2'])('verifies a message of signature version %s', async (SignatureVersion) => {
    const body = message({ SignatureVersion, Subject: 'x' })
    const here = world()
    expect(await verified(here, body)).toEqual({ ok: true, secret: 1 })
    expect(here.source.identify(arriving(body))).toMatchObject({ key: 'm-1', type: 'Notification' })
  })

  it('fetches a certificate once', async () => {
    const here = world()
    await Promise.all([verified(here, message()), verified(here, message({ MessageId: 'm-2' }))])
    await verified(here, message({ MessageId: 'm-3' }))
    expect(here.fetched).toEqual([CERTIFICATE, ISSUER_URL])
  })

  it('rejects a changed message, and a message that another key signed', async () => {
    expect(await verified(world(), { ...message(), Message: 'x' })).toMatchObject({
      code: 'SIGNATURE_MISMATCH',
    })
    expect(await verified(world(), message({}, stranger.key))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
  })

  it('rejects a message of another topic without fetching anything', async () => {
    const here = world()
    expect(await verified(here, message({ TopicArn: `${TOPIC}2` }))).toMatchObject({
      code: 'SIGNATURE_MISMATCH',
    })
    expect(here.fetched).toEqual([])
  })

  const NAME = new URL(CERTIFICATE).pathname
  it.each([
    `http://sns.eu-central-1.amazonaws.com${NAME}`,
    `https://sns.eu-central-1.amazonaws.com.example.com${NAME}`,
    `https://example.com/sns.eu-central-1.amazonaws.com${NAME}`,
    `https://sns.eu-central-1.amazonaws.com@example.com${NAME}`,
    `https://user@sns.eu-central-1.amazonaws.com${NAME}`,
    `https://sns.eu-central-1.amazonaws.com:8443${NAME}`,
    `https://bucket.s3.amazonaws.com${NAME}`,
    `https://sns.us-east-1.amazonaws.com${NAME}`,
    `https://sns.eu-central-1.amazonaws.com.cn${NAME}`,
    `https://sns.eu-central-1.amazonaws.com/a.pem`,
    `https://sns.eu-central-1.amazonaws.com/x${NAME}`,
    `https://sns.eu-central-1.amazonaws.com${NAME}?x=y.pem`,
    `https://sns.eu-central-1.amazonaws.com${NAME}#x`,
    `https://sns.eu-central-1.amazonaws.com/?Action=GetTopic&x=${NAME}`,
    `https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-../${NAME}x`,
    `https://sns.eu-central-1.amazonaws.com${NAME.replace('.pem', '.txt')}`,
    `file://${NAME}`,
    '',
  ])('does not fetch a certificate from %s', async (SigningCertURL) => {
    const here = world()
    expect(await verified(here, message({ SigningCertURL }))).toMatchObject({ code: 'SIGNATURE_MALFORMED' })
    expect(here.fetched).toEqual([])
  })

  it.each([
    { SignatureVersion: 'constructor' },
    { SignatureVersion: { toString: 1, valueOf: 1 } },
    { Signature: { toString: 1, valueOf: 1 } },
    { Signature: ['x'] },
  ])('rejects %o, which is not a string', async (changed) => {
    expect(await verified(world(), { ...message(), ...changed })).toMatchObject({
      code: 'SIGNATURE_MALFORMED',
    })
  })

  it('rejects a message without a certificate, and one with a certificate of a stranger', async () => {
    expect(await verified(world(), message({ SigningCertURL: DOWN }))).toMatchObject({
      code: 'KEYS_UNAVAILABLE',
    })
    expect(await verified(world('off', stranger.pem), message({}, stranger.key))).toMatchObject({
      code: 'KEYS_UNAVAILABLE',
    })
    expect(await verified(world('off', 'nonsense'), message())).toMatchObject({ code: 'KEYS_UNAVAILABLE' })
  })

  it.each([
    ['of its region', regional, 'ok'],
    ['of another region', otherRegion, 'KEYS_UNAVAILABLE'],
    ['that nobody issued', selfMade, 'KEYS_UNAVAILABLE'],
    ['that brings its own root', { ...selfMade, pem: selfMade.pem + selfMade.pem }, 'KEYS_UNAVAILABLE'],
    ['whose issuer is published elsewhere', elsewhere, 'KEYS_UNAVAILABLE'],
    ['that brings its issuer', { ...elsewhere, pem: elsewhere.pem + issuer.pem }, 'ok'],
  ])('judges a certificate %s by its name and its chain', async (_which, { pem, key }, outcome) => {
    const here = world('off', pem)
    expect(await verified(here, message({}, key))).toMatchObject(
      outcome === 'ok' ? { ok: true } : { code: outcome },
    )
    expect(here.fetched.filter((url) => url !== CERTIFICATE && url !== ISSUER_URL)).toEqual([])
  })

  it.each(['orders', 'arn:aws:sqs:eu-central-1:123456789012:x', 'arn:aws:sns:EU/:1:x', 'arn:aws:sns::1:x'])(
    'rejects the setting topicArn %s, and quotes it',
    (topicArn) => {
      expect(() => world('off', amazon.pem, topicArn)).toThrow(
        `settings.topicArn is "${topicArn}"; expected arn:`,
      )
    },
  )

  it('knows the hosts of China and of the government cloud', async () => {
    for (const [topicArn, host] of [
      ['arn:aws-cn:sns:cn-north-1:123456789012:x.fifo', 'sns.cn-north-1.amazonaws.com.cn'],
      ['arn:aws-us-gov:sns:us-gov-west-1:123456789012:x', 'sns.us-gov-west-1.amazonaws.com'],
    ] as const) {
      const SigningCertURL = `https://${host}${NAME}`
      const here = world('off', amazon.pem, topicArn)
      expect(await verified(here, message({ TopicArn: topicArn, SigningCertURL }))).toMatchObject({
        ok: true,
      })
    }
  })

  it('fetches at most 12 unknown certificates per minute', async () => {
    const here = world()
    for (let number = 0; number < 40; number++) {
      await verified(here, message({ SigningCertURL: pemNamed(number + 100) }))
    }
    expect(here.fetched.filter((url) => url !== ISSUER_URL)).toHaveLength(12)
  })

  it('fetches a configured certificate even after many unknown names', async () => {
    const here = world('off', amazon.pem, TOPIC, [CERTIFICATE])
    for (let number = 0; number < 40; number++)
      await verified(here, message({ SigningCertURL: pemNamed(number + 100) }))
    expect(await verified(here, message())).toMatchObject({ ok: true })
  })

  const subscription = {
    Type: 'SubscriptionConfirmation',
    Token: 't',
    SubscribeURL: 'https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription&Token=t',
  }

  async function shaken(here: World, body: object) {
    await here.source.prepare?.(arriving(body))
    const answer = here.source.handshake?.(arriving(body))
    if (!answer?.ok) return answer
    return (await answer.perform?.()) ?? answer
  }

  it('confirms a subscription only if allowed, with a genuine link and a genuine signature', async () => {
    const allowed = world('on')
    expect(await shaken(allowed, message(subscription))).toMatchObject({ ok: true, status: 200 })
    expect(allowed.fetched).toEqual([CERTIFICATE, ISSUER_URL, subscription.SubscribeURL])

    const forbidden = world('off')
    expect(await shaken(forbidden, message(subscription))).toMatchObject({ code: 'HANDSHAKE_REFUSED' })
    const led = world('on')
    const elsewhere = { ...subscription, SubscribeURL: 'https://example.com/?Action=ConfirmSubscription' }
    expect(await shaken(led, message(elsewhere))).toMatchObject({ code: 'HANDSHAKE_REFUSED' })
    const forged = world('on')
    expect(await shaken(forged, message(subscription, stranger.key))).toMatchObject({
      code: 'SIGNATURE_MISMATCH',
    })
    for (const here of [forbidden, led, forged]) expect(here.fetched).toEqual([CERTIFICATE, ISSUER_URL])
  })

  it('does not subscribe again when someone has unsubscribed', async () => {
    const here = world('on')
    const body = message({ ...subscription, Type: 'UnsubscribeConfirmation' })
    expect(await shaken(here, body)).toMatchObject({ ok: true })
    expect(here.fetched).toEqual([CERTIFICATE, ISSUER_URL])
    expect(await shaken(here, message())).toBeUndefined()
  })
})
