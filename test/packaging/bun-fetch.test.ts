import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { sign, stripe } from '../../src/sources/index.ts'
import { freshDatabase } from '../support/database.ts'
import { NEEDS_LINUX_X64 } from '../support/declared-skips.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'
import { start } from './support/command.ts'

/* The line for Bun in docs/reference/frameworks.md: Bun serves the default export of a module. */

const bun = join(import.meta.dirname, 'node_modules/@oven/bun-linux-x64/bin/bun')
const SECRET = 'whsec_of_the_endpoint'

const APP = `import { hookonce } from 'hookonce'
import { inline } from 'hookonce/inline'
import { memoryKeys } from 'hookonce/keys'
import { stripe } from 'hookonce/sources'

const source = stripe({ secret: '${SECRET}' })
const hooks = hookonce({ database: process.env.DATABASE_URL, sources: { stripe: source } })
hooks.on('stripe', 'invoice.paid', (event, ctx) =>
  ctx.transaction((tx) => tx.query('insert into payments (invoice) values ($1)', [event.object.id])),
)
const receiver = inline(source, (event) => console.log('handled ' + event.key), { store: memoryKeys() })
await hooks.start()
console.log('started')
export default {
  port: Number(process.env.PORT),
  fetch: (request, server) =>
    request.url.includes('/inline/') ? receiver.fetch(request) : hooks.fetch(request, server),
}
`

test('Bun serves hooks.fetch, with a worker, and the fetch of an inline receiver', async (context) => {
  if (!existsSync(bun)) return context.skip(NEEDS_LINUX_X64)
  const db = await freshDatabase()
  await db.pool.query('create table payments (invoice text not null)')
  const cwd = inject('installedApp')
  writeFileSync(join(cwd, 'bun-fetch.mjs'), APP)
  const port = await freePort()
  const env = { DATABASE_URL: db.url, PORT: String(port) }
  const app = start([bun, 'bun-fetch.mjs'], { cwd, env })
  await app.prints('started')
  const source = stripe({ secret: SECRET })
  const body = JSON.stringify({
    id: 'evt_1',
    type: 'invoice.paid',
    created: 1,
    data: { object: { id: 'in_1' } },
  })
  const deliver = async (path: string): Promise<number> => {
    const headers = sign(source, { body })
    return (await fetch(`http://127.0.0.1:${port}/${path}/stripe`, { method: 'POST', body, headers })).status
  }
  expect([await deliver('webhooks'), await deliver('webhooks')]).toEqual([202, 200])
  await until('its job is processed', async () =>
    (await db.number(`select count(*) from hookonce.job where state = 'processed'`)) === 1 ? true : undefined,
  )
  expect(await db.rows('select invoice from payments')).toEqual([{ invoice: 'in_1' }])
  expect([await deliver('inline'), await deliver('inline')]).toEqual([200, 200])
  expect(app.printed().match(/handled evt_1/g)).toHaveLength(1)
})
