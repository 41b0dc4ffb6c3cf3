import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { configJsonSchema } from './json-schema.ts'

const validate = new Ajv2020({ strict: true, allowUnionTypes: true, validateFormats: false }).compile(
  configJsonSchema(),
)

const example: unknown = parse(
  readFileSync(new URL('../../../examples/gateway/hookonce.config.yaml', import.meta.url), 'utf8'),
)

test('the JSON Schema accepts the example and omitted defaults', () => {
  expect(validate(example), JSON.stringify(validate.errors)).toBe(true)
  const small = {
    $schema: './node_modules/hookonce/dist/gateway/config.schema.json',
    sources: { stripe: { provider: 'stripe', secret: 'env:A', toleranceSeconds: 60 } },
    destinations: { app: { url: 'http://127.0.0.1/', secret: 'env:B' } },
  }
  expect(validate(small), JSON.stringify(validate.errors)).toBe(true)
})

test.each([
  ['an unknown key', { sources: {}, destinations: {}, retries: 3 }],
  ['an unknown provider', { sources: { a: { provider: 'strip' } }, destinations: {} }],
  ['a bad name', { sources: { 'a b': { provider: 'stripe' } }, destinations: {} }],
  ['a number as text', { sources: {}, destinations: {}, port: '80' }],
  [
    'a bad filter',
    { sources: {}, destinations: {}, routes: [{ from: 'a', to: 'b', where: { all: [{ bdy: 'x' }] } }] },
  ],
  ['no destinations', { sources: {} }],
])('the JSON Schema refuses %s', (_, config) => {
  expect(validate(config)).toBe(false)
})

test('every option is in the schema', () => {
  const properties = Object.keys(configJsonSchema().properties as object)
  expect(properties).toEqual([
    'sources',
    'destinations',
    'routes',
    'host',
    'port',
    'admin',
    'database',
    'ledgers',
    'limits',
    'retention',
    'alerts',
    'encryption',
    'openTelemetry',
    '$schema',
  ])
})

test('descriptions are texts for editors: without links between pages, and without notes for them', () => {
  const text = JSON.stringify(configJsonSchema())
  expect(text).toContain('the apps that get events, by name: see the options of a destination')
  expect(text).not.toMatch(/\]\(|defaultsTo/)
})
