import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
// Uses the built kit: a real process cannot load TypeScript.
import { testHooks } from '../../../dist/testing/index.js'
import type { CrashPoint } from '../../../src/testing/index.ts'

const TABLES = 'create table payments (invoice text primary key); create table pids (pid integer not null)'
const MODULE = new URL('../../support/killed-app.mjs', import.meta.url)
const paid = { data: { object: { id: 'in_1' } } }

async function setup(database: string): Promise<void> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query(TABLES)
  await client.end()
}

async function realKit(module: string | URL = MODULE) {
  const { default: makeHooks } = await import(MODULE.href)
  const options = { server: inject('serverUrl'), setup, setupVersion: TABLES, process: { module } }
  const t = await testHooks(makeHooks, options)
  onTestFinished(() => t.close())
  return t
}

test.each<CrashPoint>(['write', 'effect:mail:*', 'ack'])(
  'a real process that is killed at %s leaves what the next one finishes',
  async (point) => {
    const t = await realKit()
    const crash = t.crashAt(point)
    const { statuses } = await t.deliver('stripe', 'invoice.paid', paid)
    await t.settled()
    expect(crash.wasReached).toBe(true)
    expect(statuses).toEqual(point === 'ack' ? [undefined, 200] : [202])
    expect(await t.rows('payments')).toEqual([{ invoice: 'in_1' }])
    expect(await t.rows('pids')).not.toEqual([{ pid: process.pid }])
    expect(t.downstream.at('/mails').happened).toBe(1)
  },
)

test('a real process that is stopped in a transaction wakes up too late to change anything', async () => {
  const t = await realKit()
  const frozen = await t.freeze({ at: 'write' })
  await t.deliver('stripe', 'invoice.paid', paid)
  await t.settled()
  frozen.thaw()
  await t.deliver('stripe', 'invoice.paid', { data: { object: { id: 'in_2' } } })
  await t.settled()
  expect(await t.rows('payments')).toHaveLength(2)
  expect(await t.rows('pids')).toHaveLength(2)
  expect(t.downstream.at('/mails').happened).toBe(2)
})

test('a module that cannot be loaded is named, with what it printed', async () => {
  await expect(realKit('/nowhere/app.mjs')).rejects.toThrow(
    /ended before it accepted deliveries.*\/nowhere\/app.mjs/s,
  )
})
