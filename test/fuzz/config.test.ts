import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { gatewayConfig } from '../../src/gateway/config/config.ts'
import { parseText, type ReadFile } from '../../src/gateway/config/read-file.ts'
import { HookonceError } from '../../src/model/errors.ts'
import type { Random } from '../chaos/random.ts'
import { fuzz } from './cases.ts'
import { chance, mutatedBytes, mutatedText, mutatedValue } from './mutate.ts'

/*
 * Configuration files that are mutations of valid ones. For any content, the reader returns a
 * configuration or one error of the catalogue, and the error never holds a secret.
 */
const PLANTED = 'planted-secret-0123456789-0123456789'
const SIGNING = `whsec_${Buffer.from(PLANTED).toString('base64')}`
const ENV = {
  STRIPE_WEBHOOK_SECRET: SIGNING,
  STRIPE_WEBHOOK_SECRET_OLD: SIGNING,
  ACME_GITHUB_SECRET: PLANTED,
  FORWARD_SECRET: SIGNING,
  SECRET: PLANTED,
  DATABASE: `postgres://user:${PLANTED}@127.0.0.1/app`,
  SLACK: `https://hooks.slack.example/services/${PLANTED}`,
}

const EVERYTHING = {
  $schema: './config.schema.json',
  sources: {
    stripe: {
      provider: 'stripe',
      secret: ['env:STRIPE_WEBHOOK_SECRET'],
      toleranceSeconds: 300,
      redact: ['$.data.object.email'],
    },
    'acme/github': {
      provider: 'github',
      secret: 'env:SECRET',
      allow: ['192.0.2.0/24', '2001:db8::/32'],
      unwanted: 'record',
    },
    own: {
      provider: 'custom',
      secret: 'env:SECRET',
      tenant: 'acme',
      ratePerSecond: 5,
      maxBodyBytes: 1_000,
      signature: {
        algorithm: 'hmac-sha256',
        header: 'x-signature',
        encoding: 'hex',
        format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'v1' },
        content: '{timestamp}.{body}',
      },
      timestamp: { at: 'field:t', unit: 's', toleranceSeconds: 60 },
      event: { key: ['header:x-id', 'json:id'], type: 'json:type', objectId: 'json:data.id' },
    },
  },
  destinations: {
    app: {
      url: 'https://app.example/webhooks',
      secret: ['env:FORWARD_SECRET', 'env:STRIPE_WEBHOOK_SECRET'],
      headers: ['x-*'],
      auth: { type: 'basic', username: 'hookonce', password: 'env:SECRET' },
      timeoutMs: 5_000,
      retry: { maxAttempts: 5, baseDelayMs: 100, maxDelayMs: 1_000, scheduleMs: [1, 2, 3] },
      concurrency: 3,
      rate: { perSecond: 5 },
      circuit: 'off',
      maxConnections: 10,
      orderBy: 'json:data.object.id',
      allowPrivate: ['127.0.0.1', '10.0.0.0/8'],
    },
    third: {
      url: 'https://third.example',
      secret: 'env:FORWARD_SECRET',
      sources: ['stripe'],
      types: 'invoice.*',
    },
    other: {
      url: 'http://other.example',
      secret: 'env:FORWARD_SECRET',
      auth: { type: 'bearer', token: 'env:SECRET' },
    },
  },
  routes: [
    {
      from: '*',
      to: ['app', 'other'],
      where: {
        not: {
          any: [
            { header: 'x-a', prefix: 'b' },
            { body: 'a.b', in: [1, 'x', null] },
          ],
        },
      },
    },
    { from: ['own', 'acme/*'], types: ['a', 'b.*'], to: 'other' },
  ],
  host: '127.0.0.1',
  port: 4400,
  admin: { host: '127.0.0.1', port: 4401, path: '/ops', token: 'env:SECRET', auditBodies: 'off' },
  database: 'env:DATABASE',
  limits: {
    maxBodyBytes: 1_000,
    maxHeldBytes: 100_000,
    bodyTimeoutMs: 1_000,
    maxWaiting: 5,
    maxConnections: 7,
    trustedProxies: ['10.0.0.0/8'],
  },
  retention: { bodyDays: 1, keyDays: 30 },
  encryption: { key: `env:SECRET` },
  openTelemetry: 'off',
  alerts: {
    name: 'production',
    channels: {
      team: { type: 'slack', url: 'env:SLACK', rules: ['failures', 'lag'] },
      hook: { type: 'webhook', url: 'https://alerts.example', secret: 'env:FORWARD_SECRET' },
    },
    rules: { failures: { count: 3, share: 0.5, windowMinutes: 5 }, silence: 'off' },
  },
}

const EXAMPLE = readFileSync(new URL('../../examples/gateway/hookonce.config.yaml', import.meta.url), 'utf8')
const VALUES: readonly unknown[] = [EVERYTHING, parse(EXAMPLE)]
const YAML_TEXTS: readonly string[] = [EXAMPLE, stringify(EVERYTHING)]
const YAML_PARTS = [
  '&a ',
  '*a',
  '!!binary ',
  '!!js/function ',
  '<<: *a\n',
  '? ',
  '--- \n',
  '...\n',
  '\t',
  '|\n',
  '>-\n',
  '%YAML 9.9\n',
  '{',
  '[',
  '# ',
]

/** The file is parsed, or passed as the value that a module would export, which is cheaper. */
function read(random: Random): ReadFile {
  const value = random.pick(VALUES)
  if (chance(random, 2)) return { file: 'c.mjs', value: changed(random, value), placeOf: () => 'c.mjs' }
  const yaml = random.pick(YAML_TEXTS)
  return random.pick<() => ReadFile>([
    () => parseText('c.yaml', stringify(changed(random, value)), 'YAML'),
    () => parseText('c.json', JSON.stringify(changed(random, value)), 'JSON'),
    () => parseText('c.yaml', mutatedText(random, yaml), 'YAML'),
    () => parseText('c.yaml', mutatedBytes(random, Buffer.from(yaml)).toString('utf8'), 'YAML'),
    () =>
      parseText('c.json', mutatedBytes(random, Buffer.from(JSON.stringify(value))).toString('utf8'), 'JSON'),
    () => parseText('c.yaml', withPart(random, yaml), 'YAML'),
  ])()
}

function changed(random: Random, value: unknown): unknown {
  let made = value
  for (let count = 1 + random.below(3); count > 0; count -= 1) made = mutatedValue(random, made)
  // A secret that was written into the file by mistake.
  return chance(random, 10) ? JSON.parse(JSON.stringify(made ?? null).replace('env:SECRET', PLANTED)) : made
}

function withPart(random: Random, text: string): string {
  const lines = text.split('\n')
  const at = random.below(lines.length)
  return lines
    .with(at, `${lines[at]?.match(/^[\s-]*/)?.[0] ?? ''}${random.pick(YAML_PARTS)}${lines[at]?.trimStart()}`)
    .join('\n')
}

/** A long list of faults is useful. A copy of the file is not. */
const MAX_MESSAGE_CHARS = 200_000

test('no configuration file makes its reader throw anything but an error of the catalogue', {
  timeout: 24 * 3_600_000,
}, async () => {
  const warnings: string[] = []
  const keep = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', keep)
  onTestFinished(() => void process.off('warning', keep))
  for (const value of VALUES) await gatewayConfig(parseText('c.json', JSON.stringify(value), 'JSON'), ENV)
  await fuzz({ name: 'config', cases: 300 }, async (random) => {
    try {
      await gatewayConfig(read(random), ENV, { serves: chance(random, 2) })
    } catch (error) {
      if (!(error instanceof HookonceError)) throw error
      expect(error.message).not.toContain(PLANTED)
      expect(error.message.length).toBeLessThan(MAX_MESSAGE_CHARS)
    }
  })
  // A warning would quote the file.
  expect(warnings).toEqual([])
})
