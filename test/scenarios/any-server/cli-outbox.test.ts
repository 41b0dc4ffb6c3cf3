import { expect, test } from 'vitest'
import type { MessageRow } from '../../../src/ledger/read/outbox.ts'
import { Permanent } from '../../../src/model/handler-errors.ts'
import { TimeLimit } from '../../../src/work/within.ts'
import { cli } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { allPublished, commitMessages, newMessage, relayOn } from '../../support/outbox.ts'
import { seedJobs } from '../../support/seed.ts'

test('outbox lists waiting and failed messages, shows a message and publishes it again', async () => {
  const db = await freshDatabase()
  const env = { DATABASE_URL: db.url }
  expect((await cli(['outbox'], env)).stdout).toBe('no message waits, and none has failed\n')

  let broken = true
  const { relay } = await relayOn(db, ({ topic }) => {
    if (broken && topic === 'bad') throw new Permanent('the\u001b[2J queue is gone')
  })
  await commitMessages(db, newMessage('m1', { topic: 'bad', key: 'k' }), newMessage('m2', { topic: 'good' }))
  await allPublished(db)
  await relay.stop(new TimeLimit(0))
  await commitMessages(
    db,
    newMessage('m3', { topic: 'bad', key: 'k' }),
    newMessage('m4', { topic: 'bad', key: 'k' }),
  )
  await db.rows(`update hookonce.outbox_lane set attempt = 2, reason = 'Error: busy'`)

  const listed = (await cli(['outbox', '--json'], env)).json<MessageRow[]>()
  const told = Object.fromEntries(
    listed.map(({ id, state, attempts, reason }) => [id, { state, attempts, reason }]),
  )
  expect(told).toEqual({
    [newMessage('m1').id]: {
      state: 'failed',
      attempts: 1,
      reason: 'permanent: Permanent: the\u001b[2J queue is gone',
    },
    [newMessage('m3').id]: { state: 'retrying', attempts: 2, reason: 'Error: busy' },
    [newMessage('m4').id]: { state: 'waiting', attempts: 0, reason: null },
  })
  const text = (await cli(['outbox', '--topic', 'bad'], env)).stdout
  expect(text).toContain('COMMITTED')
  expect(text).not.toContain('\u001b')
  const published = (await cli(['outbox', '--state', 'published', '--json'], env)).json<MessageRow[]>()
  expect(published).toMatchObject([{ id: newMessage('m2').id, topic: 'good', state: 'published' }])

  const { id } = newMessage('m1')
  const shown = await cli(['outbox', 'show', id.slice(0, 8)], env)
  expect(shown.stdout).toContain('failed')
  expect(shown.stdout).toContain('"m1"')
  expect((await cli(['outbox', 'replay', id.slice(0, 8)], env)).stdout).toBe(
    `${id} waits to be published again\n`,
  )
  expect((await cli(['outbox', 'replay', id, '--json'], env)).json()).toEqual({
    messageId: id,
    replayed: false,
  })

  broken = false
  const got: unknown[] = []
  await db.rows(`update hookonce.outbox_lane set due_at = now() + interval '1 hour'`)
  expect((await cli(['outbox', 'retry', newMessage('m4').id], env)).stdout).toBe(
    `${newMessage('m4').id} is due now, with the messages before it\n`,
  )
  await relayOn(db, ({ payload }) => got.push(payload))
  await allPublished(db)
  expect(got).toEqual(['m3', 'm4', 'm1'])
  expect((await cli(['outbox', 'replay', '--failed'], env)).stdout).toBe('no message is failed\n')
})

test('failed messages are listed before they are published again, by tenant, and the audit has it', async () => {
  const db = await freshDatabase()
  const run = (...args: string[]) => cli(['outbox', ...args], { DATABASE_URL: db.url })
  await seedJobs(db, 1, { source: 'shop' })
  await db.rows(
    `insert into hookonce.source (tenant, name, key_seconds, body_seconds) values ('acme', 'shop', 1, 1)`,
  )
  await commitMessages(db, newMessage('m1', { topic: 'a' }), newMessage('m2', { topic: 'b' }))
  await db.rows(`update hookonce.outbox set state = 'failed', finished_at = now(), reason = 'Error: gone'`)
  await db.rows(`update hookonce.outbox set tenant = 'acme' where topic = 'b'`)
  const plan = await run('replay', '--failed', '--tenant', 'acme', '--dry-run')
  expect(plan.stdout).toMatch(/ acme +b +- +failed /)
  expect(plan.stdout).not.toContain(newMessage('m1').id)
  expect(await db.number(`select count(*) from hookonce.outbox where state = 'failed'`)).toBe(2)

  const replayed = await run('replay', '--failed', '--tenant', 'acme')
  expect(replayed.stdout).toBe('1 failed message waits to be published again\n')
  expect(await db.rows(`select topic from hookonce.outbox where state = 'failed'`)).toEqual([{ topic: 'a' }])
  expect(await db.rows('select action, tenant, subject from hookonce.audit')).toEqual([
    { action: 'replay-messages', tenant: 'acme', subject: 'failed messages' },
  ])
})

test.each([
  { args: ['outbox', '--state', 'lost'], says: '--state must be one of waiting, published, failed' },
  { args: ['outbox', 'dance'], says: 'unexpected argument "dance": give show, replay or retry' },
  { args: ['outbox', 'replay'], says: 'give show, replay or retry and one message, or replay --failed' },
  { args: ['outbox', 'replay', 'a', 'b'], says: 'unexpected argument "b"' },
  { args: ['outbox', '--limit', '0'], says: '--limit must be a number from 1 to 10000' },
])('hookonce $args ends with 1 and advice', async ({ args, says }) => {
  const ended = await cli(args)
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain(says)
})

test('a message is shown with every digit of its payload, and no header controls the terminal', async () => {
  const db = await freshDatabase()
  const env = { DATABASE_URL: db.url }
  const { id } = newMessage('m1')
  const payload = '{"amount":12345678901234567890}'
  await commitMessages(db, { ...newMessage('m1'), payload, headers: { 'x-note': 'a\u001b[2Jb' } })

  const shown = (await cli(['outbox', 'show', id, '--json'], env)).json<Record<string, unknown>>()
  expect(shown).toMatchObject({ id, payloadText: payload, headers: { 'x-note': 'a\u001b[2Jb' } })
  const text = (await cli(['outbox', 'show', id], env)).stdout
  expect(text).toContain(payload)
  expect(text).toMatch(/^header +x-note: a\uFFFD\[2Jb$/m)
})

test('an unknown message is reported', async () => {
  const db = await freshDatabase()
  const ended = await cli(['outbox', 'show', 'abcdef'], { DATABASE_URL: db.url })
  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain('MESSAGE_UNKNOWN')
})
