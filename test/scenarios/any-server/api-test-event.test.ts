import { expect, test } from 'vitest'
import { providerIds } from '../../../src/sources/index.ts'
import { adminApi, expectProblem } from '../../support/admin-api.ts'
import { configTo, destination } from '../../support/gateway.ts'

/* A test event is handled like every event, and the audit records its sender. */

test('a test event is recorded, and in the audit', async () => {
  const { db, post } = await adminApi()
  const sent = await post('/sources/stripe/test', { why: 'does it work?', type: 'invoice.voided' })
  expect(sent).toMatchObject({ status: 200, json: { eventType: 'invoice.voided', status: 202 } })
  const { receiptId, eventKey } = sent.json
  expect(await db.rows('select id, event_key, event_type from hookonce.receipt')).toEqual([
    { id: receiptId, event_key: eventKey, event_type: 'invoice.voided' },
  ])
  expect(await db.rows('select action, subject, why, detail from hookonce.audit')).toEqual([
    {
      action: 'test-event',
      subject: 'stripe',
      why: 'does it work?',
      detail: { eventKey, eventType: 'invoice.voided' },
    },
  ])
})

test('the first of several processes sends it to one of the others', async () => {
  const { db, post } = await adminApi({ args: ['--workers', '2'] })
  expect((await post('/sources/stripe/test', { why: 'x' })).json).toMatchObject({ status: 202 })
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(1)
})

test('the answer of the listener is returned unchanged', async () => {
  const stripe = { provider: 'stripe', secret: 'env:STRIPE_SECRET', allow: ['192.0.2.1'] }
  const { db, post } = await adminApi({
    config: { ...configTo((await destination()).url), sources: { stripe } },
  })
  const refused = await post('/sources/stripe/test', { why: 'x' })
  expect(refused).toMatchObject({ status: 200, json: { status: 403, receiptId: null } })
  expect(refused.json.answer).toContain('ADDRESS_NOT_ALLOWED')
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)
})

test('neither a viewer nor another tenant sends one, nor is an unknown source guessed', async () => {
  const { db, post, token } = await adminApi()
  const viewer = await token({ name: 'viewer', role: 'viewer' })
  const foreign = await token({ name: 'foreign', role: 'operator', tenant: 'acme' })
  expect((await post('/sources/stripe/test', { why: 'x' }, { token: viewer })).status).toBe(403)
  expectProblem(await post('/sources/stripe/test', { why: 'x' }, { token: foreign }), 404, 'SOURCE_UNKNOWN')
  const typo = await post('/sources/strpe/test', { why: 'x' })
  expectProblem(typo, 404, 'SOURCE_UNKNOWN')
  expect(typo.json.detail).toBe(
    'the configuration of this gateway has no source "strpe" (did you mean "stripe"?)',
  )
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)
})

test('a worker that receives nothing has no listener to test', async () => {
  const { post } = await adminApi({ args: ['--work-only'] })
  const answer = await post('/sources/stripe/test', { why: 'x' })
  expectProblem(answer, 400, 'CONFIG_INVALID')
  expect(answer.json.detail).toContain('receives no deliveries')
})

test('every provider of the catalogue is listed with the line that configures it', async () => {
  const { get } = await adminApi()
  const first = (await get('/providers?limit=200')).json
  const second = (await get(`/providers?limit=200&cursor=${first.next}`)).json
  const data = [...first.data, ...second.data]
  expect(data.map(({ id }) => id).sort()).toEqual([...providerIds].sort())
  expect(second.next).toBeNull()
  expect(data.find((one: { id: string }) => one.id === 'stripe')).toMatchObject({
    name: 'Stripe',
    category: 'payments',
    configuration: 'stripe: { provider: stripe, secret: env:STRIPE_WEBHOOK_SECRET }',
  })
})
