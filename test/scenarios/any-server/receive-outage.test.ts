import { expect, test } from 'vitest'
import type { Logger } from '../../../src/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { proxyTo } from '../../support/proxy.ts'
import { type Receiver, receiving } from '../../support/receiver.ts'
import { until } from '../../support/until.ts'

/*
 * While the ledger is down, deliveries are refused, and they flood neither the server nor the log.
 */

function recording(): { lines: string[]; logger: Logger } {
  const lines: string[] = []
  const line = (_: unknown, message: string): void => void lines.push(message)
  return { lines, logger: { info: line, warn: line, error: line } }
}

/** Waves of new events. Each wave is answered before the next is sent, as fast as possible. */
async function flood({ send }: Receiver): Promise<Response[]> {
  const answers: Response[] = []
  for (let wave = 0; wave < 100; wave += 1) {
    const sent = Array.from({ length: 10 }, (_, n) => send({ id: `evt_${wave}_${n}`, type: 'a' }))
    answers.push(...(await Promise.all(sent)))
  }
  return answers
}

test('a thousand deliveries during an outage make a few attempts and a few lines, and all get Retry-After', async () => {
  const db = await freshDatabase()
  const proxy = await proxyTo(db.url)
  const { lines, logger } = recording()
  const receiver = receiving({ url: proxy.url }, { options: { logger } })
  expect((await receiver.send({ id: 'evt_0', type: 'a' })).status).toBe(202)
  lines.length = 0
  proxy.refuse(true)
  const before = proxy.connections
  const answers = await flood(receiver)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
  expect(new Set(answers.map(({ headers }) => headers.get('retry-after')))).toEqual(new Set(['5']))
  // Each of the hundred waves would otherwise make a connection, and more with every process.
  expect(proxy.connections - before).toBeLessThan(40)
  expect(lines.length).toBeLessThan(60)

  proxy.refuse(false)
  await until('the ledger is tried again', async () => {
    const answer = await receiver.send({ id: 'evt_1', type: 'a' })
    return answer.status === 202 || answer.status === 200
  })
  await receiver.stop()
  expect(await db.rows('select event_key from hookonce.receipt order by 1')).toEqual([
    { event_key: 'evt_0' },
    { event_key: 'evt_1' },
  ])
})

test('a ledger that cannot be opened is not tried for every delivery', async () => {
  const db = await freshDatabase()
  const proxy = await proxyTo(db.url)
  const { lines, logger } = recording()
  const receiver = receiving({ url: proxy.url }, { options: { logger } })
  proxy.refuse(true)
  const answers = await flood(receiver)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
  expect(new Set(answers.map(({ headers }) => headers.get('retry-after')))).toEqual(new Set(['5']))
  expect(proxy.connections).toBeLessThan(40)
  expect(lines.length).toBeLessThan(40)
  proxy.refuse(false)
  await until('it is opened', async () => (await receiver.send({ id: 'evt_1', type: 'a' })).status === 202)
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(1)
})

test('one connection that breaks costs no more than the deliveries that were on it', async () => {
  const db = await freshDatabase()
  const proxy = await proxyTo(db.url)
  const receiver = receiving({ url: proxy.url })
  expect((await receiver.send({ id: 'evt_0', type: 'a' })).status).toBe(202)
  proxy.loseRepliesTo('hookonce_accept')
  const lost = receiver.send({ id: 'evt_1', type: 'a' })
  await until(
    'it is recorded, and its reply lost',
    async () => (await db.number('select count(*) from hookonce.receipt')) === 2,
  )
  proxy.cut()
  expect((await lost).status).toBe(503)
  expect((await receiver.send({ id: 'evt_1', type: 'a' })).status).toBe(200)
})
