import { expect, test } from 'vitest'
import { cli } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { seedJobs } from '../../support/seed.ts'

interface Shown {
  readonly jobs: { subscriber: string; held: boolean }[]
}

test('pause without a name lists the pauses, and events and show name the jobs that they hold', async () => {
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
    changed: true,
  })
  expect((await look('pause', 'demo')).stdout).toBe('demo was already paused: nothing changed\n')
  expect((await look('pause', '--json')).json()).toEqual([
    {
      tenant: 'default',
      source: 'demo',
      subscriber: null,
      pausedAt: expect.any(String),
      pauseReason: 'by the command line',
    },
  ])
  expect((await look('pause')).stdout).toMatch(/^default +demo +all +\d{4}-/m)
  const line = /^demo has been paused since .*: its jobs wait until it is resumed \(hookonce resume demo\)$/m
  expect((await look('events')).stdout).toMatch(line)
  expect((await look('events', '--source', 'other')).stdout).not.toContain('paused')
  expect((await look('show', id)).stdout).toMatch(line)
  expect(await held()).toMatchObject([{ held: true }])

  expect((await look('resume', 'demo', '--json')).json()).toMatchObject({
    source: 'demo',
    paused: false,
    changed: true,
  })
  expect((await look('resume', 'demo')).stdout).toBe('demo was not paused: nothing changed\n')
  expect((await look('pause', 'demo', 'app', '--json')).json()).toMatchObject({
    subscriber: 'app',
    paused: true,
  })
  expect((await look('events')).stdout).toContain('(hookonce resume demo app)')
  expect((await look('show', id)).stdout).toContain('(hookonce resume demo app)')
  expect(await held()).toMatchObject([{ held: true }])

  // A finished job is not held.
  await db.rows(`update hookonce.job set state = 'processed', finished_at = now()`)
  expect((await look('events')).stdout).not.toContain('paused')
  expect((await look('show', id)).stdout).not.toContain('paused')
  expect(await held()).toMatchObject([{ held: false }])
})

test('sources of other tenants are named with their tenant', async () => {
  const db = await freshDatabase()
  const look = (...args: string[]) => cli(args, { DATABASE_URL: db.url })
  await seedJobs(db, 1, { source: 'demo' })
  for (const table of ['source', 'subscriber', 'receipt'])
    await db.rows(`update hookonce.${table} set tenant = 'a b'`)
  const unnamed = await look('pause', 'demo')
  expect(unnamed).toMatchObject({ code: 1, stdout: '' })
  expect(unnamed.stderr).toContain('the source "demo" belongs to tenant "a b": name the tenant with --tenant')
  expect(await look('pause', 'demo', '--tenant', 'a b')).toMatchObject({ code: 0 })
  expect((await look('pause', '--tenant', 'default', '--json')).json()).toEqual([])
  expect((await look('pause', '--tenant', 'a b', '--json')).json()).toMatchObject([{ tenant: 'a b' }])
  expect((await look('events')).stdout).toContain("(hookonce resume demo --tenant 'a b')")
  expect((await look('events')).stdout).toMatch(/^a b\/demo has been paused since /m)
  expect(await look('resume', 'a b/demo')).toMatchObject({ stdout: 'demo of tenant a b is running\n' })
})

test('events and replay --failed of an unknown source report it', async () => {
  const db = await freshDatabase()
  const look = (...args: string[]) => cli(args, { DATABASE_URL: db.url })
  expect((await look('events')).stdout).toContain('no events yet: `hookonce trigger <provider>`')
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

test('the audit has who paused and replayed from the command line, with the reason', async () => {
  const db = await freshDatabase()
  const look = (...args: string[]) => cli(args, { DATABASE_URL: db.url })
  await seedJobs(db, 2, { source: 'demo', subscriber: 'app', state: 'failed' })
  const [receipt] = await db.rows<{ id: string }>('select id from hookonce.receipt')
  await look('pause', 'demo', '--why', 'maintenance', '--by', 'ann')
  await look('resume', 'demo')
  await look('replay', receipt?.id ?? '')
  await look('replay', '--failed')
  expect(
    await db.rows('select action, actor = $1 as "isAnn", why from hookonce.audit order by id', ['cli:ann']),
  ).toEqual([
    { action: 'pause', isAnn: true, why: 'maintenance' },
    { action: 'resume', isAnn: false, why: 'by the command line' },
    { action: 'replay', isAnn: false, why: 'by the command line' },
    { action: 'replay-failed', isAnn: false, why: 'by the command line' },
  ])
})

test('resume of a source that is not paused reports that only the probe of its circuit comes sooner', async () => {
  const db = await freshDatabase()
  const look = (...args: string[]) => cli(args, { DATABASE_URL: db.url })
  await seedJobs(db, 1, { source: 'demo', subscriber: 'app' })
  await db.rows(`with l as (
      insert into hookonce.limiter (name, has_circuit, state, probe_at)
      values ('app', true, 'open', now() + interval '1 hour') returning id
    ) update hookonce.subscriber set limiter = l.id from l`)
  expect((await look('resume', 'demo', 'app')).stdout).toBe(
    'demo app was not paused; the next probe of its circuit is due now\n',
  )
  expect((await look('audit')).stdout).toContain('resume')
})

test('pause of an unknown name suggests the closest one', async () => {
  const db = await freshDatabase()
  const look = (...args: string[]) => cli(args, { DATABASE_URL: db.url })
  await seedJobs(db, 1, { source: 'stripe', subscriber: 'mail' })
  const source = await look('pause', 'strpe')
  expect(source).toMatchObject({ code: 1, stdout: '' })
  expect(source.stderr).toContain(
    'SOURCE_UNKNOWN: the ledger knows no source "strpe" (did you mean "stripe"?)',
  )
  const subscriber = await look('resume', 'stripe', 'mial')
  expect(subscriber.stderr).toContain('SUBSCRIBER_UNKNOWN: ')
  expect(subscriber.stderr).toContain('"mial" of source "stripe" (did you mean "mail"?)')
})
