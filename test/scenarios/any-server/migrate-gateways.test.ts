import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { installDebian } from '../../../scripts/debian.mjs'
import { cli, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase, type TestDatabase } from '../../support/database.ts'
import { testHooks } from '../../support/hooks.ts'
import { listening } from '../../support/listening-server.ts'

/* The exports of the pages about Hookdeck and Convoy, on data of the shapes that they store. */

const ROOT = join(import.meta.dirname, '../../..')

test('the columns that the page exports from Convoy are the keys of the provider', async () => {
  const db = await freshDatabase()
  // The columns of convoy.events and convoy.event_deliveries that the export uses.
  await db.pool.query(`
    create schema convoy;
    create table convoy.events (id varchar primary key, source_id varchar, headers jsonb, raw text not null,
      data bytea not null, idempotency_key text);
    create table convoy.event_deliveries (id varchar primary key, event_id varchar not null, status text not null);
    insert into convoy.events (id, source_id, headers, raw, data)
      select 'convoy-' || key, source, jsonb_build_object('X-Github-Delivery', jsonb_build_array('gh-' || key)),
        json_build_object('id', key)::text, convert_to(json_build_object('id', key)::text, 'UTF8')
      from (values ('evt_done', '<source id>'), ('evt_half', '<source id>'), ('evt_waits', '<source id>'),
        ('evt_unrouted', '<source id>'), ('evt_other', 'another')) as events (key, source);
    insert into convoy.event_deliveries (id, event_id, status) values
      ('1', 'convoy-evt_done', 'Success'), ('2', 'convoy-evt_done', 'Success'), ('3', 'convoy-evt_half', 'Success'),
      ('4', 'convoy-evt_half', 'Failure'), ('5', 'convoy-evt_waits', 'Retry'), ('6', 'convoy-evt_other', 'Success')`)
  const page = readFileSync(join(ROOT, 'docs/migrate/convoy.md'), 'utf8')
  const [, select = '', args = ''] =
    /copy \((.+)\) to stdout csv header" \\\n +\| npx hookonce import (stripe --format csv) /.exec(page) ?? []
  expect(await db.rows(select)).toEqual([{ key: 'evt_done' }])
  const [, body = '', header = '', , column = ''] =
    /replace `(.+?)` by `(.+?)`, and `(e\.raw)` by\s+`(e\.headers)`/.exec(page) ?? []
  const ofHeader = select.replace(body, header).replace('e.id, e.raw', `e.id, ${column}`)
  expect(await db.rows(ofHeader)).toEqual([{ key: 'gh-evt_done' }])
  await expectImported(db, args.replace('stripe', 'test').split(' '), ['key', 'evt_done'])
})

/** Imports the lines into the source `test`, and expects that they are known then. */
async function expectImported(
  db: TestDatabase,
  args: readonly string[],
  lines: readonly string[],
): Promise<void> {
  const hooks = testHooks(db).on('test', '*', () => undefined)
  await hooks.start()
  const file = join(temporaryDirectory(), 'keys')
  writeFileSync(file, `${lines.join('\n')}\n`)
  const env = { DATABASE_URL: db.url }
  const imported = await cli(['import', ...args, file, '--why', 'switch'], env)
  expect(imported).toMatchObject({ code: 0, stderr: '' })
  const keys = await db.rows<{ key: string }>('select event_key as key from hookonce.receipt order by 1')
  expect(keys.map(({ key }) => key)).toEqual(lines.filter((line) => line !== 'key'))
}

/** A page of the list of events, in the shape of the API version 2025-07-01. */
interface Page {
  readonly next?: string
  readonly models: readonly { readonly id: string; readonly data: unknown }[]
}

/** The API of Hookdeck with these pages. Returns its URL and the queries that it got. */
async function hookdeckApi(pages: Readonly<Record<string, Page>>) {
  const queries: string[] = []
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
    queries.push(`${request.headers.authorization} ${pathname}?${searchParams}`)
    const { next, models } = pages[searchParams.get('next') ?? ''] ?? { models: [] }
    const pagination = { order_by: 'created_at', dir: 'desc', limit: 250, next }
    response.end(JSON.stringify({ pagination, count: models.length, models }))
  })
  return { url: await listening(server), queries }
}

async function exported(url: string, ...args: string[]): Promise<string[]> {
  const script = join(ROOT, 'examples/migrate/hookdeck-keys.sh')
  const env = { ...process.env, HOOKDECK_API_URL: url, HOOKDECK_API_KEY: 'secret' }
  const { stdout } = await promisify(execFile)('sh', [script, ...args], { env })
  return stdout.trimEnd().split('\n')
}

function installJq(): void {
  if (['/usr/bin/jq', '/usr/local/bin/jq', '/opt/homebrew/bin/jq'].some((path) => existsSync(path))) return
  installDebian('jq', 'the test of the export from Hookdeck needs jq: install it')
}

test('the script exports the keys of every page of Hookdeck’s list', async () => {
  installJq()
  const { url, queries } = await hookdeckApi({
    '': {
      next: 'evt_page2',
      models: [
        { id: 'evt_a', data: { headers: { 'X-GitHub-Delivery': 'gh-1' }, body: { id: 'evt_1' } } },
        { id: 'evt_b', data: { headers: { 'x-github-delivery': 'gh-2' }, body: { id: 'evt_2' } } },
      ],
    },
    // Bodies and headers may also be texts.
    evt_page2: {
      models: [
        {
          id: 'evt_c',
          data: { headers: '{"x-github-delivery":"gh-3"}', body: '{"id":"evt_3","note":"a\\nb"}' },
        },
      ],
    },
  })
  const keys = await exported(url, 'src_1')
  expect(keys).toEqual(['evt_1', 'evt_2', 'evt_3'])
  const query = 'Bearer secret /events?source_id=src_1&status=SUCCESSFUL&include=data&limit=250'
  expect(queries).toEqual([query, `${query}&next=evt_page2`])
  expect(await exported(url, 'src_1', '.headers["x-github-delivery"]')).toEqual(['gh-1', 'gh-2', 'gh-3'])
  await expectImported(await freshDatabase(), ['test'], keys)
})

test('the script fails if an event has no key, or if the API refuses it', async () => {
  installJq()
  const { url } = await hookdeckApi({ '': { next: 'end', models: [{ id: 'evt_a', data: null }] } })
  await expect(exported(url, 'src_1')).rejects.toThrow('evt_a has no key')
  const refusing = createServer((_request, response) => response.writeHead(401).end())
  await expect(exported(await listening(refusing), 'src_1')).rejects.toThrow('401')
})
