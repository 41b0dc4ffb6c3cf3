import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { github, stripe } from '../../../src/sources/index.ts'
import { cli, temporaryDirectory } from '../../support/cli.ts'

const BODY = '{\n  "id": "evt_1",\n  "type": "invoice.paid",\n  "data": { "object": { "id": "in_1" } }\n}'
const AT = '2026-01-31T12:00:00Z'
const sender = stripe({ secret: 'whsec_1' })
const headers = sender.sign({ body: BODY, timestampMs: Date.parse(AT) })
const env = { STRIPE_WEBHOOK_SECRET: 'whsec_1' }

/** Stores a delivery in two files. Returns the options that name them. */
function kept(lines: Record<string, string>, body: string): string[] {
  const dir = temporaryDirectory()
  const paths = { headers: join(dir, 'h.txt'), body: join(dir, 'b.json') }
  const text = Object.entries(lines).map(([name, value]) => `${name}: ${value}`)
  writeFileSync(paths.headers, ['> POST /in/stripe HTTP/1.1', ...text].join('\r\n'))
  writeFileSync(paths.body, body)
  return ['--headers', paths.headers, '--body', paths.body]
}

test('a genuine delivery is printed with its event, and ends with 0', async () => {
  const ran = await cli(['verify', '--source', 'stripe', ...kept(headers, BODY), '--at', AT], env)
  expect(ran).toMatchObject({
    code: 0,
    stdout: 'genuine: secret 1 made the signature\n  invoice.paid  evt_1  in_1\n',
  })
})

test('a refused delivery is explained, and ends with 1', async () => {
  const again = kept(headers, JSON.stringify(JSON.parse(BODY)))
  const ran = await cli(['verify', '--source', 'stripe', ...again, '--at', AT, '--json'], env)
  expect(ran.code).toBe(1)
  expect(ran.json()).toMatchObject({ ok: false, code: 'SIGNATURE_MISMATCH' })
  const late = await cli(['verify', '--source', 'stripe', ...kept(headers, BODY)], env)
  expect(late.code).toBe(1)
  expect(late.stdout).toMatch(/^refused: TIMESTAMP_TOO_OLD.*\n {2}why: the signature is right; signed \d/)
  const other = kept(github({ secret: 'x' }).sign({ body: BODY }), BODY)
  const strange = await cli(['verify', '--source', 'stripe', ...other, '--secret', 'env:OTHER'], {
    OTHER: 'x',
  })
  expect(strange.stdout).toContain('it looks like github')
})

test('with a configuration the secrets of its other sources are tried', async () => {
  const path = join(temporaryDirectory(), 'hookonce.json')
  const source = (name: string) => ({ provider: 'stripe', secret: `env:${name}` })
  writeFileSync(
    path,
    JSON.stringify({ sources: { live: source('LIVE'), test: source('TEST') }, destinations: {} }),
  )
  const ran = await cli(
    ['verify', '--config', path, '--source', 'live', ...kept(headers, BODY), '--at', AT],
    {
      LIVE: 'whsec_live',
      TEST: 'whsec_1',
    },
  )
  expect(ran.code).toBe(1)
  expect(ran.stdout).toContain('the secret of the source "test"')
})

test.each([
  { args: ['verify'], says: 'give --source, --headers and --body' },
  {
    args: ['verify', '--source', 'stripe', '--headers', '/none', '--body', '/none'],
    says: 'set STRIPE_WEBHOOK_SECRET',
  },
  {
    args: ['verify', '--source', 'stripe', '--headers', '/none', '--body', '/none', '--secret', 'env:HOME'],
    says: '/none cannot be read',
  },
  {
    args: ['verify', '--source', 'nobody', '--headers', '/none', '--body', '/none'],
    says: 'no provider is named "nobody"',
  },
])('hookonce $args prints advice', async ({ args, says }) => {
  const ran = await cli(args)
  expect(ran.code).toBe(1)
  expect(ran.stderr).toContain(says)
  expect(ran.stderr).not.toMatch(/^\s+at /m)
})
