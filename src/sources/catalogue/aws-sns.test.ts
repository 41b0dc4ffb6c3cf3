import { execFileSync } from 'node:child_process'
import { createSign } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Delivery, Source } from '../contract.ts'
import { checkDescription } from '../description.ts'
import { awsSns } from '../index.ts'
import { checkOptions } from '../options.ts'
import { compile } from '../schemes/compile.ts'
import { awsSnsCode } from './aws-sns.ts'

/* Amazon's part is played by a certificate of our own; only the fetching is put in the place of the network. */

const dir = mkdtempSync(join(tmpdir(), 'hookonce-sns-'))
afterAll(() => rmSync(dir, { recursive: true }))

function certified(name: string): { pem: string; key: string } {
  const [key, pem] = [join(dir, `${name}.key`), join(dir, `${name}.pem`)]
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`]
  execFileSync('openssl', [...args, '-keyout', key, '-out', pem], { stdio: 'ignore' })
  return { key: readFileSync(key, 'utf8'), pem: readFileSync(pem, 'utf8') }
}

const amazon = certified('sns.amazonaws.com')
const stranger = certified('sns.amazonaws.com.example.com')
const TOPIC = 'arn:aws:sns:eu-central-1:123456789012:orders'
const CERTIFICATE = 'https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-1.pem'

interface World {
  readonly source: Source
  readonly fetched: string[]
}

function world(confirm: 'on' | 'off' = 'off', pem = amazon.pem): World {
  const fetched: string[] = []
  const code = awsSnsCode(async (url) => {
    fetched.push(url)
    if (url.includes('down')) throw new Error('no route')
    return pem
  })
  const options = checkOptions({ secret: undefined, settings: { topicArn: TOPIC }, confirm }, 'aws-sns')
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
    expect(here.fetched).toEqual([CERTIFICATE])
  })

  it('refuses what was changed, or signed by another key', async () => {
    expect(await verified(world(), { ...message(), Message: 'x' })).toMatchObject({
      code: 'SIGNATURE_MISMATCH',
    })
    expect(await verified(world(), message({}, stranger.key))).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
  })

  it('refuses a topic that is not ours without fetching anything', async () => {
    const here = world()
    expect(await verified(here, message({ TopicArn: `${TOPIC}2` }))).toMatchObject({
      code: 'SIGNATURE_MISMATCH',
    })
    expect(here.fetched).toEqual([])
  })

  it.each([
    'http://sns.eu-central-1.amazonaws.com/a.pem',
    'https://sns.eu-central-1.amazonaws.com.example.com/a.pem',
    'https://example.com/sns.eu-central-1.amazonaws.com/a.pem',
    'https://sns.eu-central-1.amazonaws.com@example.com/a.pem',
    'https://user@sns.eu-central-1.amazonaws.com/a.pem',
    'https://sns.eu-central-1.amazonaws.com:8443/a.pem',
    'https://bucket.s3.amazonaws.com/a.pem',
    'https://sns.eu-central-1.amazonaws.com/a.txt',
    'file:///a.pem',
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
  ])('refuses %o, which is no text of Amazon', async (changed) => {
    expect(await verified(world(), { ...message(), ...changed })).toMatchObject({
      code: 'SIGNATURE_MALFORMED',
    })
  })

  it('fails closed without a certificate, and with one of somebody else', async () => {
    const down = 'https://sns.eu-central-1.amazonaws.com/down.pem'
    expect(await verified(world(), message({ SigningCertURL: down }))).toMatchObject({
      code: 'KEYS_UNAVAILABLE',
    })
    expect(await verified(world('off', stranger.pem), message({}, stranger.key))).toMatchObject({
      code: 'KEYS_UNAVAILABLE',
    })
    expect(await verified(world('off', 'nonsense'), message())).toMatchObject({ code: 'KEYS_UNAVAILABLE' })
  })

  it('fetches so many unknown certificates a minute, and no more', async () => {
    const here = world()
    for (let number = 0; number < 40; number++) {
      const SigningCertURL = `https://sns.eu-central-1.amazonaws.com/${number}.pem`
      await verified(here, message({ SigningCertURL }))
    }
    expect(here.fetched).toHaveLength(12)
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

  it('confirms a subscription when it may, by a genuine link and a genuine signature only', async () => {
    const allowed = world('on')
    expect(await shaken(allowed, message(subscription))).toMatchObject({ ok: true, status: 200 })
    expect(allowed.fetched).toEqual([CERTIFICATE, subscription.SubscribeURL])

    const forbidden = world('off')
    expect(await shaken(forbidden, message(subscription))).toMatchObject({ code: 'HANDSHAKE_REFUSED' })
    const led = world('on')
    const elsewhere = { ...subscription, SubscribeURL: 'https://example.com/?Action=ConfirmSubscription' }
    expect(await shaken(led, message(elsewhere))).toMatchObject({ code: 'HANDSHAKE_REFUSED' })
    const forged = world('on')
    expect(await shaken(forged, message(subscription, stranger.key))).toMatchObject({
      code: 'SIGNATURE_MISMATCH',
    })
    for (const here of [forbidden, led, forged]) expect(here.fetched).toEqual([CERTIFICATE])
  })

  it('does not undo that somebody has unsubscribed', async () => {
    const here = world('on')
    const body = message({ ...subscription, Type: 'UnsubscribeConfirmation' })
    expect(await shaken(here, body)).toMatchObject({ ok: true })
    expect(here.fetched).toEqual([CERTIFICATE])
    expect(await shaken(here, message())).toBeUndefined()
  })
})
