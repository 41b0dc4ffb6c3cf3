// @ts-check
import { createServer } from 'node:http'
import { hookonce, stripe } from '../product.mjs'
import { secret } from '../stripe/deliveries.mjs'

/*
 * One process of a layout (ledgers.mjs): it receives, works, or does both, for as many tenants as there are ledgers.
 * Deliveries go to the tenants in turn. Its configuration is JSON in the environment.
 */

/** @type {import('./ledgers.mjs').AppConfig} */
const { databases, ledgers, receives, works } = JSON.parse(process.env.BENCH_LAYOUT ?? '{}')
const names = Array.from({ length: ledgers }, (_, number) => `tenant${number}`)
const ledgerOf = (/** @type {number} */ number) => `hookonce_${number}`
const placed = names.map((_, number) => /** @type {const} */ ([number, databases[number % databases.length]]))
const many = {
  count: ledgers,
  tenants: Object.fromEntries(names.map((tenant, number) => [tenant, ledgerOf(number)])),
  // The home ledger is in `database`.
  placement: Object.fromEntries(placed.slice(1).map(([number, url]) => [ledgerOf(number), url])),
}

const hooks = hookonce({
  database: databases[0],
  sources: Object.fromEntries(names.map((tenant) => [tenant, stripe({ secret, tenant })])),
  concurrency: 1024,
  ...(ledgers > 1 ? { ledgers: many } : {}),
})
for (const tenant of names) hooks.on(tenant, 'invoice.paid', async () => undefined)
if (works) await hooks.start()
else await hooks.ledger()

const doors = names.map((source) => hooks.node({ source }))
let next = 0
const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  next += 1
  doors[next % doors.length]?.(request, response)
})
if (receives)
  await new Promise((/** @type {(nothing?: undefined) => void} */ done) =>
    server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => done()),
  )
const address = /** @type {import('node:net').AddressInfo | null} */ (server.address())
process.stdout.write(`${JSON.stringify({ ready: true, port: address?.port })}\n`)
process.once('SIGTERM', async () => {
  server.close()
  server.closeAllConnections()
  await hooks.stop()
  process.exit(0)
})
