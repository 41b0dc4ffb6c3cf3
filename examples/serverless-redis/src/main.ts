import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { redisKeys } from 'hookonce/keys'
import { createReceiver } from './receiver.ts'

// For a try on your machine. In production, the host calls src/lambda.ts or src/fetch.ts.
const { STRIPE_WEBHOOK_SECRET, REDIS_URL = 'redis://127.0.0.1:6379' } = process.env
if (!STRIPE_WEBHOOK_SECRET) throw new Error('set STRIPE_WEBHOOK_SECRET; for a try, whsec_try will do')

const port = Number(process.env.PORT ?? 3000)
const store = redisKeys({ url: REDIS_URL })
const receiver = createReceiver({
  store,
  stripeSecret: STRIPE_WEBHOOK_SECRET,
  mailUrl: process.env.MAIL_URL ?? `http://127.0.0.1:${port}`,
})

const server = createServer(async (request, response) => {
  if (request.url !== '/emails') return receiver.node(request, response)
  // Stands in for a mail service.
  console.log(`mail: ${await text(request)}`)
  response.end()
})
server.listen(port, () => console.log(`POST http://127.0.0.1:${port}/webhooks/stripe`))

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, async () => {
    server.close()
    await store.close()
    process.exit()
  })
