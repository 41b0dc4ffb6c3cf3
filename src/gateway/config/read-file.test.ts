import { expect, test } from 'vitest'
import { gatewayConfig } from './config.ts'
import { parseText } from './read-file.ts'

const YAML = `sources:
  stripe:
    provider: stripe
    secret: [env:A, whsec_written]
destinations:
  app:
    url: ftp://x/
    secret: env:B
    type: invoice.*
routes:
  - from: [stripe]
    to: nowhere
`

async function faultsOf(text: string, format: 'YAML' | 'JSON' = 'YAML'): Promise<string[]> {
  const file = format === 'YAML' ? 'c.yaml' : 'c.json'
  const error = await gatewayConfig(parseText(file, text, format), { A: 'whsec_a', B: 'b' }).catch(
    (thrown: Error) => thrown,
  )
  if (!(error instanceof Error)) throw new Error('the configuration was accepted')
  expect(error.message).not.toMatch(/whsec_(a|written)/)
  return error.message.split('\n').map((line) => line.trim())
}

test('each fault has its line and column, in the order of the file', async () => {
  expect(await faultsOf(YAML)).toEqual([
    'CONFIG_INVALID: c.yaml has 5 faults',
    'c.yaml:4:21: sources.stripe.secret.1: pass the secret as "env:NAME" or "file:/path"; the secret itself does not belong here',
    'c.yaml:7:10: destinations.app.url: must be an http or https URL',
    expect.stringMatching(/^c\.yaml:8:13: destinations\.app\.secret: the secret has 0 bytes/),
    expect.stringMatching(
      /^c\.yaml:9:5: destinations\.app: unknown "type" \(did you mean "types"\?\); allowed: url,/,
    ),
    'c.yaml:12:9: routes.0.to: no destination is named "nowhere"; there are: app',
  ])
})

test('no fault hides another one, and no fault is reported twice', async () => {
  const text = `sources:
  stripe: { provider: strip, secret: env:NONE }
  github: { provider: github, secret: env:NONE, tolerance: 5 }
  shop: { provider: shopify, secret: env:NONE, ratePerSecond: fast }
destinations:
  app: { secret: env:NONE, timeoutMs: abc, transform: ./none.mjs }
  crm: { url: http://crm.test, auth: { type: bearer } }
routes:
  - { from: stripe, to: [app, crm, erp] }
  - { from: [], to: app }
  - from: github
    where:
      any:
        - { body: a, equals: 1 }
        - { body: b, atLeast: many }
    to: ap
  - { from: gitlab, where: { not: { all: [{ body: a }] } }, to: app }
admin: { port: 99999, token: env:NONE }
database: env:NONE
limts: {}
`
  const found = (await faultsOf(text)).slice(1).map((line) => line.replace(/(;|: it |: \/|\(did).*$/, ''))
  expect(found).toEqual([
    'c.yaml:2:23: sources.stripe.provider: no provider is named "strip" ',
    'c.yaml:3:39: sources.github.secret: the environment variable NONE is empty or not set',
    'c.yaml:3:49: sources.github: unknown "tolerance" ',
    'c.yaml:4:38: sources.shop.secret: the environment variable NONE is empty or not set',
    'c.yaml:4:63: sources.shop.ratePerSecond: must be a number',
    'c.yaml:6:8: destinations.app.url: is missing',
    'c.yaml:6:18: destinations.app.secret: the environment variable NONE is empty or not set',
    'c.yaml:6:39: destinations.app.timeoutMs: must be a number of milliseconds',
    'c.yaml:6:55: destinations.app.transform',
    'c.yaml:7:8: destinations.crm.secret: pass the secret as "env:NAME" or "file:/path", or two of those while one is rotated',
    'c.yaml:7:38: destinations.crm.auth.token: pass the secret as "env:NAME" or "file:/path"',
    'c.yaml:9:36: routes.0.to.2: no destination is named "erp"',
    'c.yaml:10:13: routes.1.from: must not be empty',
    'c.yaml:15:31: routes.2.where.any.1.atLeast: must be a number',
    'c.yaml:16:9: routes.2.to: no destination is named "ap" ',
    'c.yaml:17:13: routes.3.from: no source is named "gitlab" ',
    'c.yaml:17:43: routes.3.where.not.all.0: a condition needs one of equals, in, exists, prefix, greaterThan, atLeast, lessThan, atMost',
    'c.yaml:18:16: admin.port: must be at most 65535',
    'c.yaml:18:30: admin.token: the environment variable NONE is empty or not set',
    'c.yaml:19:11: database: the environment variable NONE is empty or not set',
    'c.yaml:20:1: unknown "limts" ',
  ])
})

test('the place of a missing key is the value around it', async () => {
  expect(await faultsOf('{\n  "sources": {}\n}', 'JSON')).toEqual([
    expect.stringMatching(/^CONFIG_INVALID: c\.json:1:1: destinations: add at least one destination/),
  ])
  expect(await faultsOf('')).toHaveLength(3)
})

test.each([
  ['{\n  "a": 1,\n}', 'JSON', 'c.json:3:1 is not JSON: expected a key in double quotes'],
  ['{\n  "a": whsec_written\n}', 'JSON', 'c.json:2:8 is not JSON: expected a value'],
  ['{"a": 1,\n "a": 2}', 'JSON', 'c.json:2:2 is not JSON: Map keys must be unique'],
  ['a: 1\nb: [\n', 'YAML', 'c.yaml:'],
  ['a: }whsec_written', 'YAML', 'c.yaml:1:4 is not YAML: Unexpected flow-map-end token in YAML stream'],
  ['a: 1\n\tb: 2', 'YAML', 'c.yaml:2:1 is not YAML: Tabs are not allowed as indentation'],
  ['a: *whsec', 'YAML', 'c.yaml is not YAML: Unresolved alias'],
] as const)('%j as %s is refused', (text, format, says) => {
  const parsing = (): unknown => parseText(format === 'JSON' ? 'c.json' : 'c.yaml', text, format)
  expect(parsing).toThrow(says)
  expect(parsing).not.toThrow('whsec_written')
})

test('aliases cannot multiply without limit', () => {
  const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]']
  for (const [name, before] of ['ba', 'cb', 'dc', 'ed', 'fe'])
    bomb.push(`${name}: &${name} [${Array(9).fill(`*${before}`).join(', ')}]`)
  expect(() => parseText('c.yaml', bomb.join('\n'), 'YAML')).toThrow('Excessive alias count')
})

test.each([
  ['a: 1\n? { secret: whsec_written }\n: 1\n', 'c.yaml:2:3'],
  ['a: &a [whsec_written]\n*a : 1\n', 'c.yaml:2:1'],
])('the key of %j is a fault, and no warning of Node.js quotes it', async (text, place) => {
  const warnings: string[] = []
  const keep = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', keep)
  const parsing = (): unknown => parseText('c.yaml', text, 'YAML')
  expect(parsing).toThrow(`${place}: a key must be a text, not a list, a map or an alias`)
  // Node.js emits warnings in a later turn.
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', keep)
  expect(warnings).toEqual([])
})
