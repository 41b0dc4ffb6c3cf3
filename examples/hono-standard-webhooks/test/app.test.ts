import { getRequestListener } from '@hono/node-server'
import { toHttp } from 'hookonce/publishers'
import { type CrashPoint, testHooks } from 'hookonce/testing'
import 'hookonce/testing/vitest'
import pg from 'pg'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { createApp } from '../src/app.ts'
import { CREATE_TABLES } from '../src/tables.ts'

const identitySecret = `whsec_${Buffer.alloc(32, 'identity').toString('base64')}`
const crmSecret = `whsec_${Buffer.alloc(32, 'crm').toString('base64')}`

async function setup(database: string): Promise<void> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query(CREATE_TABLES)
  await client.end()
}

const start = () =>
  testHooks(
    (database, { downstream }) => {
      const crm = toHttp({ url: `${downstream.url}/crm`, secret: crmSecret })
      const { hooks, app } = createApp({ database, identitySecret, crm })
      return { hooks, app: getRequestListener(app.fetch) }
    },
    { setup },
  )

const ann = { data: { id: 'user_1', email: 'ann@example.com' } }

test('the event arrives five times at once: one member, one message', async () => {
  await using t = await start()
  const delivered = await t.deliver('identity', 'user.created', ann, { times: 5, concurrently: true })
  await t.settled()
  expect(delivered).toBeAcknowledged()
  expect(await t.rows('members')).toEqual([ann.data])
  expect(t.downstream.at('/crm')).toHaveHappenedOnce()
})

test.each<CrashPoint>(['write', 'commit', 'ack'])(
  'the process dies at %s: one member, one message',
  async (point) => {
    await using t = await start()
    t.crashAt(point)
    await t.deliver('identity', 'user.created', ann)
    await t.settled()
    expect(await t.rows('members')).toEqual([ann.data])
    expect(t.downstream.at('/crm')).toHaveHappenedOnce()
  },
)

test('"deleted" arrives before "created": the member is gone, and the CRM has both messages in order', async () => {
  await using t = await start()
  await t.deliver('identity', ['user.created', 'user.deleted'], ann, { reorder: true })
  await t.settled()
  expect(await t.rows('members')).toEqual([])
  const acted = t.downstream.calls('/crm').filter((call) => call.acted)
  expect(acted.map(({ headers }) => headers['hookonce-topic'])).toEqual(['member.joined', 'member.left'])
})

test('the CRM can check our messages with the library of Standard Webhooks', async () => {
  await using t = await start()
  t.downstream.reply('/crm', 503, 'lose')
  await t.deliver('identity', 'user.created', ann)
  await t.settled()
  const [first, ...repeats] = t.downstream.calls('/crm')
  expect(repeats.length).toBeGreaterThan(0)
  for (const { headers, body } of [first, ...repeats].flatMap((call) => call ?? [])) {
    expect(new Webhook(crmSecret).verify(body, headers as Record<string, string>)).toEqual(ann.data)
    expect(headers['webhook-id']).toBe(first?.headers['webhook-id'])
  }
  expect(t.downstream.at('/crm')).toHaveHappenedOnce()
})

test('a delivery with a wrong signature changes nothing', async () => {
  await using t = await start()
  const forged = await t.deliver('identity', 'user.created', ann, { tamper: 'body' })
  expect(forged).toBeRefusedWith('SIGNATURE_MISMATCH')
  expect(await t.rows('members')).toEqual([])
})
