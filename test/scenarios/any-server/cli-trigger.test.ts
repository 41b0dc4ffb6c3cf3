import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import type { Delivery } from '../../../src/sources/contract.ts'
import { stripe } from '../../../src/sources/index.ts'
import { isSignable } from '../../../src/sources/signature.ts'
import { everyProvider, secretFor } from '../../support/catalogue.ts'
import { cli, MAIN } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { listening } from '../../support/listening-server.ts'
import { receiving } from '../../support/receiver.ts'

const env = { STRIPE_WEBHOOK_SECRET: 'whsec_1' }
const sources = { stripe: stripe({ secret: 'whsec_1' }) }

test('the same event sent three times at once is one receipt and two duplicates', async () => {
  const db = await freshDatabase()
  const { listen, stop } = receiving(db, { sources })
  const url = `${await listen()}/in/stripe`
  const ran = await cli(
    [
      'trigger',
      'stripe',
      'invoice.paid',
      '--url',
      url,
      '--times',
      '3',
      '--concurrent',
      '--set',
      'data.object.total=7',
      // The old name of the option.
      '--override',
      'data.object.currency=chf',
      '--json',
    ],
    env,
  )
  expect(ran.code).toBe(0)
  const answers = ran.json<{ status: number }[]>()
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 202])
  await stop()
  expect(
    await db.rows(`select event_type, object_id ~ '^in_' as invoice, convert_from(body, 'utf8')::json #>> '{data,object,total}' as total,
      convert_from(body, 'utf8')::json #>> '{data,object,currency}' as currency,
      d.count from hookonce.receipt r join hookonce.duplicate d on d.receipt_id = r.id`),
  ).toEqual([{ event_type: 'invoice.paid', invoice: true, total: '7', currency: 'chf', count: 2 }])
})

test('--reorder sends different events of one object, the latest first', async () => {
  const db = await freshDatabase()
  const { listen, stop } = receiving(db, { sources })
  const url = `${await listen()}/in/stripe`
  expect((await cli(['trigger', 'stripe', '--url', url, '--times', '3', '--reorder'], env)).code).toBe(0)
  await stop()
  const rows = await db.rows<{ occurred_at: Date; object_id: string }>(
    'select occurred_at, object_id from hookonce.receipt order by received_at',
  )
  expect(new Set(rows.map(({ object_id }) => object_id)).size).toBe(1)
  const times = rows.map(({ occurred_at }) => occurred_at.getTime())
  expect(times).toHaveLength(3)
  expect(times).toEqual([...times].sort((a, b) => b - a))
})

// If a provider's keys are fetched, only the provider can sign.
const signable = (await everyProvider()).filter(({ description }) => isSignable(description.signature))
/** One provider for each way of signing. */
const different = new Map(
  signable.map((one) => [one.description.signature.algorithm + String(one.description.batch), one]),
)

test.each([...different.values()])(
  'a sample of $id is genuine by its own description',
  async ({ id, make, description }) => {
    const sent: Pick<Delivery, 'method' | 'url' | 'header' | 'body'>[] = []
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const { method = '', url = '', headers } = request
      const header = (name: string): string | undefined => headers[name]?.toString()
      sent.push({ method, url, header, body: Buffer.concat(chunks) })
      response.end('taken')
    })
    const url = `${await listening(server)}/${id}`
    const secret = secretFor(description.signature)
    const settings = Object.keys(description.settings).map((name) => [name, `the-${name}`])
    const ran = await cli(
      [
        ...['trigger', id, '--url', url, '--secret', 'env:SECRET'],
        ...settings.flatMap(([name, value]) => ['--setting', `${name}=${value}`]),
      ],
      { SECRET: secret },
    )
    expect(ran, ran.stderr).toMatchObject({ code: 0 })
    expect(sent).toHaveLength(1)
    const source = make({ secret, url, settings: Object.fromEntries(settings) })
    for (const one of sent)
      expect(source.verify({ ...one, receivedAtMs: Date.now() })).toMatchObject({ ok: true })
  },
)

test.each([
  { args: ['trigger'], says: 'give a provider' },
  { args: ['trigger', 'stripe'], says: 'set STRIPE_WEBHOOK_SECRET' },
  {
    args: ['trigger', 'stripe', '--secret', 'env:HOME', '--times', '0'],
    says: '--times must be a number from 1',
  },
  {
    args: ['trigger', 'stripe', '--secret', 'env:HOME', '--set', 'x'],
    says: '--set is written as a.b=value',
  },
  {
    args: ['trigger', 'stripe', '--secret', 'env:HOME', '--url', 'ftp://x'],
    says: '--url must be an http or https URL',
  },
  {
    args: ['trigger', 'stripe', '--secret', 'env:HOME', '--url', 'http://127.0.0.1:1/'],
    says: 'start the receiver there, such as `hookonce dev`, or name another one with --url',
  },
])('hookonce $args prints advice', async ({ args, says }) => {
  const ran = await cli(args)
  expect(ran.code).toBe(1)
  expect(ran.stderr).toContain(says)
  expect(ran.stderr).not.toMatch(/^\s+at /m)
})

test.each([
  ['trigger', 'strpe'],
  ['verify', '--source', 'strpe', '--headers', MAIN, '--body', MAIN],
  ['sources', 'strpe'],
])('%s %s suggests the closest provider', async (...args) => {
  const ended = await cli(args)
  expect(ended).toMatchObject({ code: 1, stdout: '' })
  expect(ended.stderr).toContain('"strpe" (did you mean "stripe"?)')
})
