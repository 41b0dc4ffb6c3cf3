import { serve } from '@hono/node-server'
import { toHttp } from 'hookonce/publishers'
import { createApp } from './app.ts'
import { CREATE_TABLES } from './tables.ts'

const { DATABASE_URL, STANDARD_WEBHOOKS_SECRET, CRM_URL, CRM_SECRET } = process.env
if (!STANDARD_WEBHOOKS_SECRET)
  throw new Error('set STANDARD_WEBHOOKS_SECRET: "whsec_" and 24 or more bytes in base64')

const { hooks, app } = createApp({
  database: DATABASE_URL,
  identitySecret: STANDARD_WEBHOOKS_SECRET,
  crm:
    CRM_URL && CRM_SECRET
      ? toHttp({ url: CRM_URL, secret: CRM_SECRET }) // signed by Standard Webhooks as well
      : ({ topic, body }) => console.log(`to the CRM: ${topic} ${body}`),
})
const { business } = await hooks.ledger()
await business.query(CREATE_TABLES)
await hooks.start() // the worker, and the relay that publishes
const port = Number(process.env.PORT ?? 3000)
const server = serve({ fetch: app.fetch, port }, () =>
  console.log(`POST http://127.0.0.1:${port}/webhooks/identity`),
)

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, async () => {
    server.close()
    await hooks.stop() // lets running handlers finish
    process.exit()
  })
