import { execFileSync } from 'node:child_process'
import { createSign, X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { type KeyAnswer, type KeyServer, keyServer } from '../../../test/support/signing-key-server.ts'
import type { Delivery, Source } from '../contract.ts'
import { checkDescription } from '../description.ts'
import { paypal } from '../index.ts'
import { checkOptions } from '../options.ts'
import { compile } from '../schemes/compile.ts'
import { paypalCode } from './paypal.ts'

/* A local certificate authority replaces PayPal, with a real server for its certificates. */

const dir = mkdtempSync(join(tmpdir(), 'hookonce-paypal-'))
afterAll(() => rmSync(dir, { recursive: true }))

interface Certified {
  readonly pem: string
  readonly key: string
  readonly name: string
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: 'ignore', cwd: dir })
}

/** A certificate signed by an issuer, or by itself. */
function certified(name: string, subject: string, issuer?: Certified, extensions: string[] = []): Certified {
  const [key, request, pem] = [`${name}.key`, `${name}.csr`, `${name}.pem`]
  writeFileSync(join(dir, `${name}.ext`), extensions.join('\n'))
  openssl(
    'req',
    '-new',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-subj',
    `/CN=${subject}`,
    '-keyout',
    key,
    '-out',
    request,
  )
  // The leaves expire long before their issuers.
  const days = extensions === AUTHORITY ? '30' : '2'
  const by = issuer
    ? ['-CA', `${issuer.name}.pem`, '-CAkey', `${issuer.name}.key`, '-CAcreateserial']
    : ['-signkey', key]
  openssl('x509', '-req', '-in', request, ...by, '-days', days, '-extfile', `${name}.ext`, '-out', pem)
  return { name, key: readFileSync(join(dir, key), 'utf8'), pem: readFileSync(join(dir, pem), 'utf8') }
}

const AUTHORITY = ['basicConstraints=critical,CA:TRUE']
const LEAF = ['basicConstraints=CA:FALSE']
const ISSUER_URL = 'http://cacerts.digicert.com/Issuer.crt'

const root = certified('root', 'Test Root', undefined, AUTHORITY)
const issuer = certified('issuer', 'Test Issuer', root, AUTHORITY)
const genuine = certified('genuine', 'messageverificationcerts.paypal.com', issuer, [
  ...LEAF,
  `authorityInfoAccess=caIssuers;URI:${ISSUER_URL}`,
])
const otherName = certified('other', 'paypal.com.example.com', issuer, LEAF)
const selfMade = certified('self', 'messageverificationcerts.paypal.com', undefined, AUTHORITY)
const byLeaf = certified('by-leaf', 'messageverificationcerts.paypal.com', genuine, LEAF)
const elsewhere = certified('elsewhere', 'x.paypal.com', issuer, [
  ...LEAF,
  'authorityInfoAccess=caIssuers;URI:http://169.254.169.254/latest',
])

const WEBHOOK = '6HY79521VR978045E'
const CERTIFICATE = 'https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-a5cafa77'
const BODY = Buffer.from('{"id":"WH-1","event_type":"PAYMENT.SALE.COMPLETED","resource":{"id":"s-1"}}')

interface World {
  readonly source: Source
  readonly server: KeyServer
}

async function world(certificates: KeyAnswer, webhookId = WEBHOOK): Promise<World> {
  const server = await keyServer(({ path }) =>
    path === '/Issuer.crt' ? new X509Certificate(issuer.pem).raw : certificates,
  )
  onTestFinished(() => server.stop())
  const code = paypalCode({ fetcher: server.fetching, roots: () => [new X509Certificate(root.pem)] })
  const options = checkOptions({ secret: undefined, settings: { webhookId } }, 'paypal')
  return { server, source: compile(checkDescription(paypal.description), options, code) }
}

function signed(
  changed: Record<string, string> = {},
  key = genuine.key,
  body = BODY,
): Record<string, string> {
  const headers: Record<string, string> = {
    'paypal-transmission-id': 'dfb3be50-fd74-11e4-8bf3-77339302725b',
    'paypal-transmission-time': '2026-05-18T15:45:13Z',
    'paypal-cert-url': CERTIFICATE,
    'paypal-auth-algo': 'SHA256withRSA',
    ...changed,
  }
  const text = `${headers['paypal-transmission-id']}|${headers['paypal-transmission-time']}|${WEBHOOK}|${crc32(body)}`
  return { ...headers, 'paypal-transmission-sig': createSign('sha256').update(text).sign(key, 'base64') }
}

function arriving(
  headers: Record<string, string>,
  body: Uint8Array = BODY,
  receivedAtMs = Date.now(),
): Delivery {
  return { method: 'POST', url: '/', header: (name) => headers[name], body, receivedAtMs }
}

async function verified({ source }: World, delivery: Delivery) {
  return (await source.prepare?.(delivery)) ?? source.verify(delivery)
}

describe('paypal', () => {
  it('verifies deliveries with a certificate that was served with its chain, and fetches it once', async () => {
    const here = await world(genuine.pem + issuer.pem)
    const results = await Promise.all([
      verified(here, arriving(signed())),
      verified(here, arriving(signed())),
    ])
    for (const result of results) expect(result).toEqual({ ok: true, secret: 1 })
    expect(here.server.asked).toEqual([CERTIFICATE])
    expect(here.source.identify(arriving(signed()))).toMatchObject({ key: 'WH-1', objectId: 's-1' })
  })

  it('fetches a missing issuer certificate, from DigiCert only', async () => {
    const here = await world(genuine.pem)
    expect(await verified(here, arriving(signed()))).toEqual({ ok: true, secret: 1 })
    expect(here.server.asked).toEqual([CERTIFICATE, ISSUER_URL])
    const led = await world(elsewhere.pem)
    expect(await verified(led, arriving(signed({}, elsewhere.key)))).toMatchObject({
      code: 'KEYS_UNAVAILABLE',
    })
    expect(led.server.asked).toEqual([CERTIFICATE])
  })

  it('signs the same text as the example in the SDK of PayPal', () => {
    // github.com/paypal/PayPal-Python-SDK:test/unit_tests/notifications_test.py
    const body =
      '{"id":"WH-0G2756385H040842W-5Y612302CV158622M","create_time":"2015-05-18T15:45:13Z","resource_type":"sale","event_type":"PAYMENT.SALE.COMPLETED","summary":"Payment completed for $ 20.0 USD","resource":{"id":"4EU7004268015634R","create_time":"2015-05-18T15:44:02Z","update_time":"2015-05-18T15:44:21Z","amount":{"total":"20.00","currency":"USD"},"payment_mode":"INSTANT_TRANSFER","state":"completed","protection_eligibility":"ELIGIBLE","protection_eligibility_type":"ITEM_NOT_RECEIVED_ELIGIBLE,UNAUTHORIZED_PAYMENT_ELIGIBLE","parent_payment":"PAY-86C81811X5228590KKVNARQQ","transaction_fee":{"value":"0.88","currency":"USD"},"links":[{"href":"https://api.sandbox.paypal.com/v1/payments/sale/4EU7004268015634R","rel":"self","method":"GET"},{"href":"https://api.sandbox.paypal.com/v1/payments/sale/4EU7004268015634R/refund","rel":"refund","method":"POST"},{"href":"https://api.sandbox.paypal.com/v1/payments/payment/PAY-86C81811X5228590KKVNARQQ","rel":"parent_payment","method":"GET"}]},"links":[{"href":"https://api.sandbox.paypal.com/v1/notifications/webhooks-events/WH-0G2756385H040842W-5Y612302CV158622M","rel":"self","method":"GET"},{"href":"https://api.sandbox.paypal.com/v1/notifications/webhooks-events/WH-0G2756385H040842W-5Y612302CV158622M/resend","rel":"resend","method":"POST"}]}'
    expect(crc32(body)).toBe(2_771_810_304)
  })

  it('rejects another key, another webhook and another body', async () => {
    const here = await world(genuine.pem + issuer.pem)
    const refused = async (delivery: Delivery, there = here) =>
      expect(await verified(there, delivery)).toMatchObject({ code: 'SIGNATURE_MISMATCH' })
    await refused(arriving(signed({}, otherName.key)))
    await refused(arriving(signed()), await world(genuine.pem + issuer.pem, 'another-webhook'))
    for (let bit = 0; bit < BODY.length * 8; bit += 5) {
      const body = Buffer.from(BODY)
      body[bit >> 3] = (body[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      await refused(arriving(signed(), body))
    }
    await refused(arriving({ ...signed(), 'paypal-transmission-time': '2026-05-18T15:45:14Z' }))
    await refused(arriving(signed(), Buffer.from(JSON.stringify(JSON.parse(BODY.toString()), null, 1))))
  })

  it('rejects a delivery without a header, and fetches nothing', async () => {
    const here = await world(genuine.pem)
    for (const name of ['id', 'time', 'sig']
      .map((end) => `paypal-transmission-${end}`)
      .concat('paypal-cert-url')) {
      const { [name]: _, ...headers } = signed()
      expect(await verified(here, arriving(headers))).toMatchObject({ code: 'SIGNATURE_MISSING' })
    }
    expect(here.server.asked).toEqual([])
  })

  it.each([
    'http://api.paypal.com/v1/notifications/certs/CERT-1',
    'https://api.paypal.com.example.com/v1/notifications/certs/CERT-1',
    'https://example.com/api.paypal.com/v1/notifications/certs/CERT-1',
    'https://api.paypal.com@example.com/v1/notifications/certs/CERT-1',
    'https://api.paypal.com:8443/v1/notifications/certs/CERT-1',
    'https://evilpaypal.com/v1/notifications/certs/CERT-1',
    'https://www.paypal.com/v1/notifications/certs/CERT-1',
    'https://api.paypal.com/v1/notifications/certs/../../x',
    'https://api.paypal.com/v1/notifications/certs/CERT-1?next=https://example.com',
    'https://api.paypal.com/CERT-1',
    'file:///v1/notifications/certs/CERT-1',
  ])('does not fetch a certificate from %s', async (url) => {
    const here = await world(genuine.pem)
    expect(await verified(here, arriving(signed({ 'paypal-cert-url': url })))).toMatchObject({
      code: 'SIGNATURE_MALFORMED',
    })
    expect(here.server.asked).toEqual([])
  })

  it.each([
    ['of another name', otherName.pem + issuer.pem, otherName.key],
    ['that nobody signed', selfMade.pem, selfMade.key],
    ['that no authority signed', byLeaf.pem + genuine.pem + issuer.pem, byLeaf.key],
    ['that brings its own root', selfMade.pem + selfMade.pem, selfMade.key],
    ['that is none', 'nonsense', genuine.key],
  ])('rejects a certificate %s', async (_which, pem, key) => {
    const here = await world(pem)
    expect(await verified(here, arriving(signed({}, key)))).toMatchObject({ code: 'KEYS_UNAVAILABLE' })
  })

  it('rejects a certificate that is not valid yet, or has expired', async () => {
    for (const days of [-3, 3]) {
      const here = await world(genuine.pem + issuer.pem)
      const delivery = arriving(signed(), BODY, Date.now() + days * 86_400_000)
      expect(await verified(here, delivery)).toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    }
  })

  it('rejects deliveries while PayPal cannot be reached', async () => {
    const down = await world({ status: 503 })
    expect(await verified(down, arriving(signed()))).toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    const gone = await world(genuine.pem)
    await gone.server.stop()
    expect(await verified(gone, arriving(signed()))).toMatchObject({ code: 'KEYS_UNAVAILABLE' })
  })

  it('never throws on random headers and bodies, and accepts none', async () => {
    const here = await world(genuine.pem + issuer.pem)
    const good = signed()
    const value = fc.option(
      fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...Object.values(good))),
      {
        nil: undefined,
      },
    )
    const names = Object.keys(good)
    await fc.assert(
      fc.asyncProperty(
        fc.array(value, { minLength: names.length, maxLength: names.length }),
        fc.uint8Array(),
        async (random, body) => {
          const headers = Object.fromEntries(names.map((name, at) => [name, random[at]])) as Record<
            string,
            string
          >
          expect((await verified(here, arriving(headers, body))).ok).toBe(false)
          here.source.identify(arriving(headers, body))
        },
      ),
      { numRuns: 100 },
    )
  })
})
