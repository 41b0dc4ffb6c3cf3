import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { gatewayHooks } from '../hooks.ts'
import { type GatewayConfig, gatewayConfig } from './config.ts'
import { parseText } from './read-file.ts'

const FORWARD = `whsec_${Buffer.from('a secret that signs what is forwarded').toString('base64')}`
const ENV = {
  STRIPE: 'whsec_stripe',
  OLD: 'whsec_old',
  FORWARD,
  EMPTY: '',
  TEXT: 'not base64!',
  SHORT: 'whsec_aGk=',
}
const SOURCES = { stripe: { provider: 'stripe', secret: 'env:STRIPE' } }
const APP = { url: 'http://127.0.0.1:1/', secret: 'env:FORWARD' }

const checked = (config: unknown): Promise<GatewayConfig> =>
  gatewayConfig(parseText('hookonce.json', JSON.stringify(config), 'JSON'), ENV)

const refusals: { name: string; config: unknown; says: string[] }[] = [
  {
    name: 'a secret that is written in the file',
    config: { sources: { stripe: { provider: 'stripe', secret: 'whsec_written' } }, destinations: {} },
    says: ['CONFIG_INVALID', 'sources.stripe.secret', '"env:NAME" or "file:/path"'],
  },
  {
    name: 'a secret that the environment lacks',
    config: { sources: { stripe: { provider: 'stripe', secret: 'env:NOT_THERE' } }, destinations: {} },
    says: ['SECRET_MISSING', 'sources.stripe.secret', 'NOT_THERE'],
  },
  {
    name: 'a secret that is empty in the environment',
    config: { sources: SOURCES, destinations: { app: { ...APP, secret: 'env:EMPTY' } } },
    says: [
      'CONFIG_INVALID',
      'destinations.app.secret: the environment variable EMPTY is empty or not set',
      'signs forwarded',
    ],
  },
  {
    name: 'a secret file of a destination that is not there',
    config: { sources: SOURCES, destinations: { app: { ...APP, secret: 'file:/not/there' } } },
    says: ['CONFIG_INVALID', 'destinations.app.secret: /not/there cannot be read', 'signs forwarded'],
  },
  {
    name: 'a destination without a secret',
    config: { sources: SOURCES, destinations: { app: { url: APP.url } } },
    says: ['CONFIG_INVALID', 'destinations.app.secret: pass the secret as "env:NAME" or "file:/path"'],
  },
  {
    name: 'no destinations',
    config: { sources: SOURCES },
    says: ['CONFIG_INVALID', 'destinations: add at least one destination'],
  },
  {
    name: 'no sources',
    config: { destinations: { app: APP } },
    says: ['CONFIG_INVALID', 'sources: add at least one source'],
  },
  {
    name: 'a secret file that is not there',
    config: { sources: { stripe: { provider: 'stripe', secret: 'file:/not/there' } }, destinations: {} },
    says: ['SECRET_MISSING', '/not/there cannot be read'],
  },
  {
    name: 'no secret',
    config: { sources: { stripe: { provider: 'stripe' } }, destinations: {} },
    says: ['SECRET_MISSING', 'sources.stripe', 'secret'],
  },
  {
    name: 'an unknown key',
    config: { sources: SOURCES, destinations: { app: APP }, retries: 3 },
    says: ['CONFIG_INVALID', '"retries"', 'allowed: sources, destinations'],
  },
  {
    name: 'an unknown key of a destination',
    config: { sources: SOURCES, destinations: { app: { ...APP, type: 'a' } } },
    says: ['CONFIG_INVALID', 'destinations.app', '"type"', 'types'],
  },
  {
    name: 'an unknown option of a source',
    config: { sources: { stripe: { ...SOURCES.stripe, tolerance: 1 } }, destinations: { app: APP } },
    says: ['CONFIG_INVALID', 'sources.stripe', '"tolerance"', 'toleranceSeconds'],
  },
  {
    name: 'an unknown provider',
    config: { sources: { stripe: { provider: 'strip', secret: 'env:STRIPE' } }, destinations: {} },
    says: ['CONFIG_INVALID', 'sources.stripe.provider', '"strip"', 'hookonce sources'],
  },
  {
    name: 'a source whose name does not fit into a URL',
    config: { sources: { 'a b': SOURCES.stripe }, destinations: { app: APP } },
    says: ['CONFIG_INVALID', 'sources.a b', 'letters, digits'],
  },
  {
    name: 'a destination that is no URL of HTTP',
    config: { sources: SOURCES, destinations: { app: { ...APP, url: 'ftp://x/' } } },
    says: ['CONFIG_INVALID', 'destinations.app.url', 'http'],
  },
  {
    name: 'a destination of an unknown source',
    config: { sources: SOURCES, destinations: { app: { ...APP, sources: ['constructor'] } } },
    says: ['CONFIG_INVALID', 'destinations.app.sources', '"constructor"'],
  },
  {
    name: 'a destination whose secret is none of Standard Webhooks',
    config: { sources: SOURCES, destinations: { app: { ...APP, secret: 'env:TEXT' } } },
    says: ['CONFIG_INVALID', 'destinations.app.secret: expected whsec_<base64>', 'openssl rand'],
  },
  {
    name: 'a destination whose secret can be guessed',
    config: { sources: SOURCES, destinations: { app: { ...APP, secret: 'env:SHORT' } } },
    says: ['destinations.app.secret: the secret has 2 bytes, and needs at least 24', 'openssl rand'],
  },
  {
    name: 'a destination with a password in its URL',
    config: { sources: SOURCES, destinations: { app: { ...APP, url: 'https://anna:hunter2@app/' } } },
    says: ['destinations.app.url: must not contain a user or password'],
  },
  {
    name: 'a destination that wants every header',
    config: { sources: SOURCES, destinations: { app: { ...APP, headers: ['*'] } } },
    says: ['destinations.app.headers.0: expected the name of a header, or its beginning'],
  },
  {
    name: 'an admin port that is none',
    config: { sources: SOURCES, destinations: { app: APP }, admin: { port: 99_999 } },
    says: ['CONFIG_INVALID', 'admin.port'],
  },
  {
    name: 'an admin token that is written in the file',
    config: { sources: SOURCES, destinations: { app: APP }, admin: { token: 'whsec_written' } },
    says: ['CONFIG_INVALID', 'admin.token', '"env:NAME" or "file:/path"'],
  },
  {
    name: 'one source under two keys',
    config: {
      sources: { stripe: { ...SOURCES.stripe, tenant: 'acme' }, 'acme/stripe': SOURCES.stripe },
      destinations: { app: APP },
    },
    says: ['CONFIG_INVALID', 'sources.acme/stripe: is the same source as "stripe": both are acme/stripe'],
  },
  {
    name: 'a key with another tenant than the option',
    config: { sources: { 'acme/stripe': { ...SOURCES.stripe, tenant: 'bolt' } }, destinations: { app: APP } },
    says: ['CONFIG_INVALID', 'sources.acme/stripe.tenant: the key of this source names the tenant "acme"'],
  },
  {
    name: 'no object',
    config: [],
    says: ['CONFIG_INVALID', 'hookonce.json:1:1: must be an object; it is an array'],
  },
]

test.each(refusals)('$name is refused with the allowed values', async ({ config, says }) => {
  const making = async (): Promise<unknown> => gatewayHooks(await checked(config), {})
  for (const text of says) await expect(making()).rejects.toThrow(text)
  for (const text of ['whsec_written', 'hunter2', 'whsec_aGk='])
    await expect(making()).rejects.not.toThrow(text)
})

test('secrets come from the environment and from files, without the line break at their end', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-config-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'secret'), `${FORWARD}\n`)
  const config = await checked({
    sources: { stripe: { provider: 'stripe', secret: ['env:STRIPE', 'env:OLD'] } },
    destinations: { app: { ...APP, secret: `file:${dir}/secret` } },
  })
  expect(config.destinations).toMatchObject([{ name: 'app', secret: FORWARD, types: '*' }])
  const body = '{"id":"evt_1"}'
  const old = await checked({
    sources: { stripe: { provider: 'stripe', secret: 'env:OLD' } },
    destinations: {},
  })
  const headers = old.sources.stripe?.sign({ body })
  const verified = config.sources.stripe?.verify({
    method: 'POST',
    url: '/',
    header: (name) => headers?.[name],
    body: Buffer.from(body),
    receivedAtMs: Date.now(),
  })
  expect(verified).toEqual({ ok: true, secret: 2 })
})
