import { expect, test } from 'vitest'
import { cli } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { seedJobs } from '../../support/seed.ts'

interface Shown {
  readonly jobs: { subscriber: string; held: boolean }[]
}

test('pause without a name lists what is paused, and events and show say whose jobs are held by it', async () => {
  const db = await freshDatabase()
  const look = (...args: string[]) => cli(args, { DATABASE_URL: db.url })
  await seedJobs(db, 1, { source: 'demo', subscriber: 'app' })
  await seedJobs(db, 1, { source: 'demo', subscriber: 'app', state: 'processed' })
  await seedJobs(db, 1, { source: 'other', subscriber: 'app' })
  const [receipt] = await db.rows<{ id: string }>(`select r.id from hookonce.receipt r
    join hookonce.job j on j.receipt_id = r.id where r.source = 'demo' and j.state = 'received'`)
  const id = receipt?.id ?? ''
  const held = async () => (await look('show', id, '--json')).json<Shown>().jobs

  expect(await look('pause')).toMatchObject({ code: 0, stdout: 'nothing is paused\n' })
  expect((await look('pause', '--json')).json()).toEqual([])
  expect((await look('events')).stdout).not.toContain('paused')
  expect(await held()).toMatchObject([{ subscriber: 'app', held: false }])

  expect((await look('pause', 'demo', '--json')).json()).toEqual({
    tenant: 'default',
    source: 'demo',
    subscriber: null,
    paused: true,
  })
  expect((await look('pause', '--json')).json()).toEqual([
    { tenant: 'default', source: 'demo', subscriber: null, pausedAt: expect.any(String) },
  ])
  expect((await look('pause')).stdout).toMatch(/^default +demo +all +\d{4}-/m)
  const line = /^demo is paused since .*: its jobs wait until it is resumed \(hookonce resume demo\)$/m
  expect((await look('events')).stdout).toMatch(line)
  expect((await look('events', '--source', 'other')).stdout).not.toContain('paused')
  expect((await look('show', id)).stdout).toMatch(line)
  expect(await held()).toMatchObject([{ held: true }])

  expect((await look('resume', 'demo', '--json')).json()).toMatchObject({ source: 'demo', paused: false })
  expect((await look('pause', 'demo', 'app', '--json')).json()).toMatchObject({
    subscriber: 'app',
    paused: true,
  })
  expect((await look('events')).stdout).toContain('(hookonce resume demo app)')
  expect((await look('show', id)).stdout).toContain('(hookonce resume demo app)')
  expect(await held()).toMatchObject([{ held: true }])

  // What is finished is not held.
  await db.rows(`update hookonce.job set state = 'processed', finished_at = now()`)
  expect((await look('events')).stdout).not.toContain('paused')
  expect((await look('show', id)).stdout).not.toContain('paused')
  expect(await held()).toMatchObject([{ held: false }])
})

test('what belongs to another tenant is named with it', async () => {
  const db = await freshDatabase()
  const look = (...args: string[]) => cli(args, { DATABASE_URL: db.url })
  await seedJobs(db, 1, { source: 'demo' })
  for (const table of ['source', 'subscriber', 'receipt'])
    await db.rows(`update hookonce.${table} set tenant = 'a b'`)
  expect(await look('pause', 'demo')).toMatchObject({ code: 1 })
  expect(await look('pause', 'demo', '--tenant', 'a b')).toMatchObject({ code: 0 })
  expect((await look('pause', '--tenant', 'default', '--json')).json()).toEqual([])
  expect((await look('pause', '--tenant', 'a b', '--json')).json()).toMatchObject([{ tenant: 'a b' }])
  expect((await look('events')).stdout).toContain("(hookonce resume demo --tenant 'a b')")
})

test('events and replay --failed of a source that nobody knows say so', async () => {
  const db = await freshDatabase()
  const look = (...args: string[]) => cli(args, { DATABASE_URL: db.url })
  expect((await look('events')).stdout).toBe('no events yet\n')
  await seedJobs(db, 1, { source: 'demo', subscriber: 'app', state: 'failed' })
  await db.rows(
    `insert into hookonce.source (tenant, name, key_seconds, body_seconds) values ('default', 'new', 1, 1)`,
  )
  expect((await look('events', '--source', 'nosuch')).stdout).toBe(
    'no source "nosuch" has events (the ledger knows demo, new)\n',
  )
  expect((await look('events', '--source', 'new')).stdout).toBe('no events of new yet\n')

  const source = await look('replay', '--failed', '--source', 'nosuch')
  expect(source).toMatchObject({ code: 1, stdout: '' })
  expect(source.stderr).toContain('the ledger knows no source "nosuch"')
  const subscriber = await look('replay', '--failed', '--source', 'new', '--subscriber', 'app', '--dry-run')
  expect(subscriber).toMatchObject({ code: 1, stdout: '' })
  expect(subscriber.stderr).toContain('the ledger knows no subscriber "app" of source "new"')
  expect(await look('replay', '--failed', '--subscriber', 'app')).toMatchObject({
    code: 0,
    stdout: '1 failed job received again\n',
  })
})
