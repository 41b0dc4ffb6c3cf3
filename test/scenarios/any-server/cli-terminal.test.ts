import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { cli, temporaryDirectory } from '../../support/cli.ts'
import { freshDatabase } from '../../support/database.ts'
import { seedJobs, seedWorker } from '../../support/seed.ts'
import { CTRL_C, cliInTerminal, type Terminal } from '../../support/terminal.ts'

/* Commands in a pseudo-terminal of 100 columns and 30 rows. */

const [COLUMNS, ROWS] = [100, 30]

/** The lines without colours. */
function linesOf(terminal: Terminal): string[] {
  return stripVTControlCharacters(terminal.output()).replaceAll('\r\n', '\n').trimEnd().split('\n')
}

test('status fits on the screen, and counts what it leaves out', async () => {
  const db = await freshDatabase()
  for (let n = 0; n < 20; n += 1) await seedJobs(db, 1, { source: 'shop', subscriber: `app-${n}` })
  await db.rows(`insert into hookonce.outbox
      (shard, id, lane, seq, receipt_id, subscriber, tenant, topic, payload, state, finished_at)
    select n % 16, gen_random_uuid(), gen_random_uuid(), 1, gen_random_uuid(), 1, 'default', 'topic-' || n, '{}', 'failed', now()
    from generate_series(1, 20) n`)
  // It serves no subscriber, so each of them is a remark of two lines.
  await seedWorker(db)

  const terminal = cliInTerminal(['status'], { DATABASE_URL: db.url })
  expect(await terminal.ended()).toBe(0)
  expect(terminal.output()).toMatch(/outbox +0 waiting, \x1b\[31m20\x1b\[39m failed/)
  const lines = linesOf(terminal)
  const height = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / COLUMNS)), 0)
  expect(height).toBeLessThan(ROWS)
  const shown = [/^shop +app-\d/, /^topic-\d/, /^no running worker has served "app-\d/].map(
    (row) => lines.filter((line) => row.test(line)).length,
  )
  const left = lines.flatMap((line) => /^… and (\d+) more: --json lists all$/.exec(line)?.[1] ?? [])
  expect(shown.map((count) => String(20 - count))).toEqual(left)
  expect(Math.min(...shown)).toBeGreaterThan(0)
})

test('events --follow prints each new event, and Ctrl-C prints where to continue', async () => {
  const db = await freshDatabase()
  await seedJobs(db, 1, { source: 'shop', state: 'failed' })
  const terminal = cliInTerminal(['events', '--follow'], { DATABASE_URL: db.url })
  await terminal.shows(/shop .*\x1b\[31mfailed\x1b\[39m/)
  await seedJobs(db, 1, { source: 'later' })
  await terminal.shows('later')
  terminal.type(CTRL_C)
  expect(await terminal.ended()).toBe(0)
  const lines = linesOf(terminal)
  expect(lines.filter((line) => /\b(shop|later)\b/.test(line))).toHaveLength(2)
  expect(lines.at(-1)).toMatch(/2 events; to continue here, pass the same filters and --after \S+$/)
})

test('show prints the same text as without a terminal, with colours', async () => {
  const db = await freshDatabase()
  const env = { DATABASE_URL: db.url }
  await seedJobs(db, 1, { state: 'failed' })
  const [{ id } = { id: '' }] = await db.rows<{ id: string }>('select id from hookonce.receipt')
  const terminal = cliInTerminal(['show', id], env)
  expect(await terminal.ended()).toBe(0)
  expect(terminal.output()).toContain('\x1b[31mfailed\x1b[39m')
  expect(linesOf(terminal)).toEqual((await cli(['show', id], env)).stdout.trimEnd().split('\n'))
})

test('dev prints the address of the dashboard, logs each event, and stops at Ctrl-C', async () => {
  const db = await freshDatabase()
  const args = ['dev', '--port', '0', '--dir', temporaryDirectory()]
  const terminal = cliInTerminal(args, { DATABASE_URL: db.url })
  await terminal.shows('Look in from another terminal')
  const [, dashboard = ''] = /The dashboard is at (http:\S+\/)\r\n/.exec(terminal.output()) ?? []
  const page = await fetch(dashboard)
  expect(page.status).toBe(200)
  expect(await page.text()).toContain('<title>hookonce</title>')

  const [, body = '', signature = '', url = ''] =
    /curl -d '(.*)' -H 'demo-signature: (.*)' (http:\S+)/.exec(terminal.output()) ?? []
  const sent = await fetch(url, { method: 'POST', body, headers: { 'demo-signature': signature } })
  expect(sent.status).toBe(202)
  await terminal.shows(/recorded.*evt_1/)
  terminal.type(CTRL_C)
  expect(await terminal.ended()).toBe(0)
  expect(await db.number('select count(*) from hookonce.receipt')).toBe(1)
})
