import 'reflect-metadata'
import { postgresKeys } from 'hookonce/keys'
import { createApp } from './app.ts'
import { openDatabase } from './database.ts'
import { createTables } from './tables.ts'

const { STRIPE_WEBHOOK_SECRET } = process.env
if (!STRIPE_WEBHOOK_SECRET) throw new Error('set STRIPE_WEBHOOK_SECRET; for a try, whsec_try will do')

const { url: database, close: closeDatabase } = await openDatabase()
await createTables(database)
const store = postgresKeys({ database })
const { hooks, app, close } = await createApp({ database, store, stripeSecret: STRIPE_WEBHOOK_SECRET })
await hooks.start()
const port = Number(process.env.PORT ?? 3000)
await app.listen(port)
console.log(`POST http://127.0.0.1:${port}/orders`)
console.log(`POST http://127.0.0.1:${port}/webhooks/stripe`)

// Expired keys are ignored at once, and take space until they are swept.
const sweeping = setInterval(() => store.sweep?.(1_000).catch(console.error), 600_000)

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, async () => {
    clearInterval(sweeping)
    await close()
    await hooks.stop() // lets running handlers finish
    await store.close()
    await closeDatabase()
    process.exit()
  })
