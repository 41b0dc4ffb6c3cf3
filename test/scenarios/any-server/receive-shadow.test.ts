import { expect, test } from 'vitest'
import { slack, stripe } from '../../../src/sources/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { receiving } from '../../support/receiver.ts'

/*
 * A source in shadow mode verifies and reports. An unverified delivery is neither processed nor
 * refused.
 */

const BODY = '{"id":"evt_1","type":"invoice.paid"}'
const genuine = stripe({ secret: 'right' })
const forged = stripe({ secret: 'wrong' })
const request = (sender: typeof genuine, body = BODY) => ({
  method: 'POST',
  body,
  headers: sender.sign({ body }),
})

test('unverified deliveries are acknowledged and reported, never recorded; verified ones are processed', async () => {
  const db = await freshDatabase()
  const ran: string[] = []
  const { hooks, post, stop } = receiving(db, {
    sources: { test: stripe({ secret: 'right', mode: 'shadow' }) },
    handler: (event) => void ran.push(event.key),
  })
  await hooks.start()
  const answer = await post(request(forged))
  expect([answer.status, await answer.text()]).toEqual([200, '{"status":"ignored"}'])
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)
  // The forged delivery does not affect the genuine one with the same key.
  expect((await post(request(genuine))).status).toBe(202)
  expect(await hooks.metrics()).toContain(
    'hookonce_shadowed_total{source="test",reason="SIGNATURE_MISMATCH"} 1',
  )
  await hooks.stop()
  await stop()
  expect(ran).toEqual(['evt_1'])
  expect(await db.rows('select event_key, secret from hookonce.receipt')).toEqual([
    { event_key: 'evt_1', secret: 1 },
  ])
  expect(await db.rows('select code, count::int, last_detail, diagnosis from hookonce.rejection')).toEqual([
    {
      code: 'SIGNATURE_MISMATCH',
      count: 1,
      last_detail: expect.stringContaining('shadow mode'),
      diagnosis: expect.stringMatching(/secret/),
    },
  ])
})

test('a handshake that must be signed is refused in shadow mode too', async () => {
  const db = await freshDatabase()
  const { post, stop } = receiving(db, { sources: { test: slack({ secret: 'right', mode: 'shadow' }) } })
  const body = '{"type":"url_verification","challenge":"c"}'
  const answer = await post({ method: 'POST', body, headers: slack({ secret: 'wrong' }).sign({ body }) })
  expect(answer.status).toBe(401)
  await stop()
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)
})
