import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, expectTypeOf, test } from 'vitest'
import { ApiError, adminClient } from '../../../src/client/index.ts'
import { ADMIN_TOKEN, adminApi } from '../../support/admin-api.ts'
import { freshDatabase } from '../../support/database.ts'
import { seedJobs } from '../../support/seed.ts'

test('the client asks and acts by the types of the routes', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 12, { state: 'failed' })
  const { base } = await adminApi({ db, args: ['--receive-only'] })
  const client = adminClient({ baseUrl: base, token: ADMIN_TOKEN })
  const page = await client.get('/events', { query: { state: 'failed', limit: 5 } })
  expectTypeOf(page.data).items.toHaveProperty('receivedAt').toEqualTypeOf<string>()
  expect(page.data).toHaveLength(5)
  const ids: string[] = []
  for await (const event of client.items('/events', { query: { limit: 5 } })) ids.push(event.id)
  expect(new Set(ids).size).toBe(12)
  const [id = ''] = ids
  const chain = await client.get('/events/{id}', { params: { id } })
  expect(chain.jobs).toMatchObject([{ state: 'failed' }])
  const body = await client.get('/events/{id}/body', { params: { id } })
  expectTypeOf(body).toEqualTypeOf<Response>()
  expect(await body.text()).toContain('count.seed')
  const request = { params: { id }, body: { why: 'fixed' }, idempotencyKey: 'one' }
  expect(await client.post('/events/{id}/replay', request)).toEqual({ receiptId: id, jobs: 1 })
  expect(await client.post('/events/{id}/replay', request)).toEqual({ receiptId: id, jobs: 1 })
  const refused = await client.get('/events/{id}', { params: { id: 'none' } }).catch((error) => error)
  expect(refused).toBeInstanceOf(ApiError)
  expect(refused).toMatchObject({ status: 404, code: 'RECEIPT_UNKNOWN', retryable: false })
  // @ts-expect-error: there is no such state.
  await expect(client.get('/events', { query: { state: 'lost' } })).rejects.toThrow('REQUEST_INVALID')
  // @ts-expect-error: the reason is required.
  await expect(client.post('/events/{id}/replay', { params: { id }, body: {} })).rejects.toThrow('body.why')
  // @ts-expect-error: there is no such path.
  await expect(client.get('/nothing')).rejects.toThrow('ROUTE_UNKNOWN')
})

test('at run time the client imports nothing but its own files', () => {
  const folder = fileURLToPath(new URL('../../../dist/client/', import.meta.url))
  const files = readdirSync(folder).filter((file) => file.endsWith('.js'))
  expect(files.length).toBeGreaterThan(2)
  for (const file of files) {
    const imported = [...readFileSync(join(folder, file), 'utf8').matchAll(/from '([^']+)'/g)].map(
      ([, from]) => from,
    )
    expect(imported.filter((from) => !from?.startsWith('./'))).toEqual([])
  }
})
