import { inject, onTestFinished } from 'vitest'
import { type Hookonce, hookonce, type Options } from '../../src/index.ts'
import { type TestHooks, type TestHooksOptions, testHooks } from '../../src/testing/index.ts'
import { testSource } from './source.ts'

type Sources = { test: ReturnType<typeof testSource> }

/** The tables to which the handlers of these tests write. */
const TABLES = `
  create table payments (invoice text primary key, amount integer not null default 0);
  create table mails (id serial primary key, invoice text not null, at timestamptz not null default now());
  create table invoices (id text primary key, status text not null);
  create table effect (receipt_id uuid, type text)`

/** hookonce with a test source, which testHooks() puts on a database. */
export function unstarted(options: Partial<Omit<Options, 'sources'>> = {}): Hookonce<Sources> {
  return hookonce({ database: 'postgres://never.used:1/x', sources: { test: testSource() }, ...options })
}

async function setup(database: string): Promise<void> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query(TABLES)
  await client.end()
}

/** The kit on the server of this run, closed at the end of the test. */
export async function kit(
  hooks: Parameters<typeof testHooks<Sources>>[0],
  options: TestHooksOptions = {},
): Promise<TestHooks<Sources>> {
  const t = await testHooks<Sources>(hooks, {
    server: inject('serverUrl'),
    setup,
    setupVersion: TABLES,
    ...options,
  })
  onTestFinished(() => t.close())
  return t
}
