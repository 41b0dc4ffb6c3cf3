import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { inlineApp } from '../../examples/migrate/inline-redis.ts'
import { stripe } from '../../src/sources/index.ts'
import { freePort } from '../support/free-port.ts'
import { listening } from '../support/listening-server.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const INLINE = fileURLToPath(new URL('../../examples/inline.mjs', import.meta.url))
const SECRET = 'whsec_of_the_example'

test('the example of inline receivers does the same with nothing but Redis', async () => {
  const redis = await startRedis()
  const port = await freePort()
  const env = {
    ...process.env,
    REDIS_URL: redis.url,
    STRIPE_WEBHOOK_SECRET: SECRET,
    PORT: String(port),
  }
  const app = spawn(process.execPath, [INLINE], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const gone = once(app, 'exit')
  onTestFinished(async () => {
    app.kill('SIGKILL')
    await gone
    await redis.remove()
  })
  let printed = ''
  app.stdout.on('data', (chunk) => {
    printed += String(chunk)
  })
  const body = JSON.stringify({
    id: 'evt_1',
    type: 'invoice.paid',
    created: 1_700_000_000,
    data: { object: { id: 'in_123' } },
  })
  const deliver = async (): Promise<unknown> => {
    const headers = stripe({ secret: SECRET }).sign({ body })
    const reply = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers }).catch(
      () => undefined,
    )
    return reply && [reply.status, await reply.json()]
  }
  const first = await until('the example receives', deliver)
  expect([first, await deliver(), await deliver()]).toEqual(Array(3).fill([200, { status: 'processed' }]))
  await until('the receipt is sent', () => printed.includes('in_123'))
  expect(printed.match(/receipt for in_123/g)).toHaveLength(1)
})

test('the inline receiver of the migration from Redis handles an event once', async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.remove())
  const fulfilled: string[] = []
  const { app, close } = inlineApp(redis.url, SECRET, async (invoice) => {
    fulfilled.push(invoice)
  })
  onTestFinished(close)
  const url = await listening(app)
  const body = JSON.stringify({
    id: 'evt_1',
    type: 'invoice.paid',
    created: 1,
    data: { object: { id: 'in_1' } },
  })
  const statuses: number[] = []
  for (const _ of [1, 2]) {
    const headers = stripe({ secret: SECRET }).sign({ body })
    statuses.push((await fetch(url, { method: 'POST', body, headers })).status)
  }
  expect(statuses).toEqual([200, 200])
  expect(fulfilled).toEqual(['in_1'])
})
