import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { stripe } from '../../../src/sources/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { startDownstream } from '../../support/downstream.ts'
import { freePort } from '../../support/free-port.ts'
import { jobsAre } from '../../support/jobs.ts'
import { listening } from '../../support/listening-server.ts'
import { until } from '../../support/until.ts'

const APP = fileURLToPath(new URL('../../support/billing-app.mjs', import.meta.url))
const SECRET = 'whsec_of_the_app'
const DAY_S = 1_700_000_000

test('a billing app: late and duplicate events and a crash in the middle, one invoice row, one email, one message per change', async () => {
  const db = await freshDatabase()
  const mail = await startDownstream()
  const accounting = await startDownstream()
  const truth = await startStripe({ id: 'in_1', status: 'paid', amount_paid: 500 })
  const port = await freePort()
  const app = (): ChildProcess => {
    const env = {
      ...process.env,
      DATABASE_URL: db.url,
      STRIPE_WEBHOOK_SECRET: SECRET,
      STRIPE_URL: truth,
      MAIL_URL: mail.url,
      ACCOUNTING_URL: `${accounting.url}/messages`,
      ACCOUNTING_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}`,
      PORT: String(port),
      LEASE_MS: '1000',
    }
    const child = spawn(process.execPath, [APP], { env, stdio: ['ignore', 'ignore', 'inherit'] })
    const gone = once(child, 'exit')
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await gone
    })
    return child
  }
  async function deliver(id: string, type: string, created: number, status: string): Promise<number> {
    const object = {
      id: 'in_1',
      status,
      amount_paid: status === 'paid' ? 500 : 0,
      customer_email: 'ann@a.test',
    }
    const body = JSON.stringify({ id, type, created: DAY_S + created, data: { object } })
    const send = () =>
      fetch(`http://127.0.0.1:${port}/webhooks/stripe`, {
        method: 'POST',
        body,
        headers: stripe({ secret: SECRET }).sign({ body }),
      }).catch(() => undefined)
    return (await until('the app receives', send)).status
  }

  // The mail is sent, and the process dies before it gets the reply.
  mail.reply('/send', 'hang')
  const first = app()
  expect(await deliver('evt_paid', 'invoice.paid', 10, 'paid')).toBe(202)
  await until('the mail is sent', () => mail.calls.length === 1)
  first.kill('SIGKILL')
  await once(first, 'exit')
  app()

  // Stripe delivers again. An older event arrives late. Another event has the same data, in the
  // same second.
  expect(await deliver('evt_paid', 'invoice.paid', 10, 'paid')).toBe(200)
  expect(await deliver('evt_open', 'invoice.finalized', 5, 'open')).toBe(202)
  expect(await deliver('evt_again', 'invoice.paid', 10, 'open')).toBe(202)
  await jobsAre(db, 'processed', 5)

  expect(await db.rows('select * from invoices')).toEqual([{ id: 'in_1', status: 'paid', amount: 500 }])
  expect(mail.acted('/send')).toBe(1)
  // The stale event publishes nothing.
  await until('accounting has heard of both changes', () => accounting.acted('/messages') === 2)
  expect(new Set(accounting.calls.map(({ body }) => body))).toEqual(
    new Set(['{"id":"in_1","status":"paid"}']),
  )
  expect(await db.number('select count(*) from hookonce.outbox')).toBe(2)
  expect(new Set(mail.calls.map(({ key }) => key)).size).toBe(1)
  expect(
    await db.rows(`select event_key, j.reason from hookonce.job j join hookonce.receipt r on r.id = j.receipt_id
      where j.reason is not null`),
  ).toEqual([{ event_key: 'evt_open', reason: expect.stringContaining('stale: invoice:in_1') }])
  // An effect whose lease was lost before the call, on a busy machine, is a failed epoch.
  expect(await db.rows(`select key, state::text from hookonce.effect where state <> 'failed'`)).toEqual([
    { key: 'receipt-email:in_1', state: 'done' },
  ])
})

/** Stripe's answer to a request for the invoice. */
async function startStripe(invoice: Record<string, unknown>): Promise<string> {
  const server = createServer((_, response) => response.end(JSON.stringify(invoice)))
  return listening(server)
}
