import { expect, test } from 'vitest'
import { hookonce, type Options } from '../../../src/index.ts'
import { stripe } from '../../../src/sources/index.ts'
import { freshDatabase } from '../../support/database.ts'
import { receiving, silent } from '../../support/receiver.ts'
import { testSource } from '../../support/source.ts'

const sources = { test: testSource() }
/** Wrong on purpose: values that a program in JavaScript may pass. */
const make = (options: object): unknown => hookonce({ sources, ...options } as Options)
const on = (...args: unknown[]): unknown => {
  const hooks = hookonce({ sources })
  return Reflect.apply(hooks.on, hooks, args)
}
const nothing = (): undefined => undefined

const wrong: { name: string; making: () => unknown; says: string[] }[] = [
  {
    name: 'an unknown option',
    making: () => make({ databse: 'x' }),
    says: ['"databse"', 'allowed: database,'],
  },
  {
    name: 'an unknown limit',
    making: () => make({ limits: { maxBody: 1 } }),
    says: ['limits', '"maxBody"', 'maxBodyBytes'],
  },
  {
    name: 'an unknown word of retry',
    making: () => make({ retry: { max: 1 } }),
    says: ['retry', '"max"', 'maxAttempts'],
  },
  {
    name: 'a limit of 0',
    making: () => make({ limits: { maxBodyBytes: 0 } }),
    says: ['limits.maxBodyBytes: must be more than 0; it is 0'],
  },
  {
    name: 'a deadline that no timer can hold',
    making: () => make({ limits: { bodyTimeoutMs: 2 ** 31 } }),
    says: ['limits.bodyTimeoutMs', '2147483647'],
  },
  { name: 'a lease that is too short', making: () => make({ leaseMs: 1 }), says: ['leaseMs', '500'] },
  {
    name: 'no concurrency',
    making: () => make({ concurrency: 0 }),
    says: ['concurrency: must be more than 0; it is 0'],
  },
  {
    name: 'a word for migrate',
    making: () => make({ migrate: 'yes' }),
    says: ['migrate: must be "auto" or "off"; it is the text "yes"'],
  },
  {
    name: 'a database that is none',
    making: () => make({ database: 42 }),
    says: ['database', 'URL or a pg.Pool'],
  },
  {
    name: 'a logger that cannot log',
    making: () => make({ logger: {} }),
    says: ['logger', 'info, warn and error'],
  },
  {
    name: 'keys kept for ever',
    making: () => make({ retention: { keyDays: 1e6 } }),
    says: ['retention.keyDays'],
  },
  {
    name: 'messages kept for longer than keys',
    making: () => make({ outbox: { publishers: 'elsewhere', keepDays: 100 } }),
    says: ['outbox.keepDays', 'retention.keyDays'],
  },
  {
    name: 'a handler with a month to run',
    making: () => on('test', 'a', nothing, { timeoutMs: 3e9 }),
    says: ['timeoutMs'],
  },
  {
    name: 'a handler for no type',
    making: () => on('test', '', nothing),
    says: ['the event type is missing'],
  },
  { name: 'no sources', making: () => hookonce({} as Options), says: ['sources'] },
  {
    name: 'a source that is none',
    making: () => make({ sources: { test: {} } }),
    says: ['sources.test', 'stripe({ secret })'],
  },
  {
    name: 'an observer without a known member',
    making: () => make({ observers: [{ attempts: nothing }] }),
    says: ['observers.0', 'attempt(fact)', 'effectEnded'],
  },
  {
    name: 'an observer whose member is no function',
    making: () => make({ observers: [{ attempt: 'loud' }] }),
    says: ['observers.0', 'methods'],
  },
  {
    name: 'an observer that is not in an array',
    making: () => make({ observers: { attempt: nothing } }),
    says: ['observers', 'must be an array'],
  },
  {
    name: 'a name of a source',
    making: () => make({ sources: { 'a b': testSource() } }),
    says: ['sources.a b', 'letters, digits'],
  },
  {
    name: 'a handler for no source',
    making: () => on('other', 'a', nothing),
    says: ["on('other', 'a')", 'there are: test'],
  },
  {
    name: 'a handler for what every object has',
    making: () => on('constructor', 'a', nothing),
    says: ['no source is named'],
  },
  { name: 'no handler', making: () => on('test', 'a'), says: ["on('test', 'a')", 'must be a function'] },
  {
    name: 'an unknown option of a handler',
    making: () => on('test', 'a', nothing, { timeout: 3 }),
    says: ["on('test', 'a')", '"timeout"', 'timeoutMs'],
  },
  {
    name: 'the same handler twice',
    making: () => hookonce({ sources }).on('test', 'a', nothing).on('test', 'a', nothing),
    says: ["on('test', 'a')", 'already exists', 'name'],
  },
  {
    name: 'one name twice',
    making: () =>
      hookonce({ sources }).on('test', 'a', nothing, { name: 'x' }).on('test', 'b', nothing, { name: 'x' }),
    says: ["on('test', 'b')", '"x" already exists'],
  },
]

test.each(wrong)('$name is refused at once, with advice', ({ making, says }) => {
  expect(making).toThrow('CONFIG_INVALID')
  for (const text of says) expect(making).toThrow(text)
})

test('a source without a secret is refused at once', () => {
  expect(() => stripe({ secret: process.env.NOT_SET })).toThrow('SECRET_MISSING')
})

test('two handlers of one type with names of their own are two subscribers', async () => {
  const db = await freshDatabase()
  const { hooks, send } = receiving(db, { types: 'none' })
  hooks.on('test', 'a', nothing, { name: 'one' }).on('test', 'a', nothing, { name: 'two' })
  expect((await send({ id: 'evt_1', type: 'a' })).status).toBe(202)
  expect(
    await db.rows(
      'select s.name from hookonce.job j join hookonce.subscriber s on s.id = j.subscriber order by 1',
    ),
  ).toEqual([{ name: 'one' }, { name: 'two' }])
})

test('a handler that is registered after the first delivery, or after start(), is refused', async () => {
  const db = await freshDatabase()
  const { hooks, send } = receiving(db)
  await send({ id: 'evt_1', type: 'a' })
  expect(() => hooks.on('test', 'b', nothing)).toThrow('register every handler before the first delivery')
  const started = receiving(db)
  await started.hooks.start()
  expect(() => started.hooks.on('test', 'b', nothing)).toThrow('before start()')
})

test('a source without a subscriber is refused at start, and its deliveries are not swallowed', async () => {
  const db = await freshDatabase()
  const { hooks, send } = receiving(db, { types: 'none' })
  await expect(hooks.start()).rejects.toMatchObject({ code: 'SUBSCRIBER_MISSING' })
  expect((await send({ id: 'evt_1', type: 'a' })).status).toBe(503)
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(0)
})

test.each(['', 'mysql://localhost/x', 'localhost:5432'])(
  'the database URL "%s" is refused at start',
  async (database) => {
    const hooks = hookonce({ database, sources, logger: silent }).on('test', '*', nothing)
    await expect(hooks.start()).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(hooks.start()).rejects.toThrow('postgres://')
    expect(await hooks.ready()).toBe(false)
  },
)

test("migrate: 'off' does not touch the schema: a database without one is refused", async () => {
  const db = await freshDatabase()
  await db.pool.query('drop schema hookonce cascade')
  const { hooks } = receiving(db, { options: { migrate: 'off' } })
  await expect(hooks.start()).rejects.toMatchObject({ code: 'SCHEMA_MISSING' })
  expect(await db.number(`select count(*) from pg_namespace where nspname = 'hookonce'`)).toBe(0)
})
