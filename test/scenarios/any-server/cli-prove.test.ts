import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startEmbedded } from '../../../src/ledger/embedded/embedded.ts'
import type { Fault } from '../../../src/prove/judge.ts'
import type { Proof, ScheduleResult } from '../../../src/prove/result.ts'
import { cli, temporaryDirectory } from '../../support/cli.ts'
import { makeDatabase } from '../../support/database.ts'
import { freePort } from '../../support/free-port.ts'
import { pythonWithPostgres } from '../../support/python.ts'

/*
 * Receivers with planted faults, in Node.js and Python. `hookonce prove` must find each fault, and
 * none in correct receivers. Here each fault is tried with the schedule that finds it. `npm run
 * provers` runs every schedule on every receiver.
 */

const root = fileURLToPath(new URL('../../..', import.meta.url))
const tables = readFileSync(join(root, 'test/provers/tables.sql'), 'utf8')
const isFull = process.env.HOOKONCE_PROVERS === 'all'

type Planted = readonly [fault: string, only: string, found: Fault]

/** In the full run, each fault must be found within this time. */
const FOUND_WITHIN_SECONDS = 120

const FAULTS: readonly Planted[] = [
  ['mark-before', 'kill after commit of insert into seen', 'lost'],
  ['check-then-insert', 'copies-at-once', 'doubled'],
  ['memory-only', 'after-restart', 'doubled'],
  ['mark-after', 'kill after commit of insert into invoice', 'doubled'],
  ['random-id', 'same-again', 'doubled'],
  ['no-raw-body', 'unusual-bytes', 'genuine-refused'],
  ['unsigned-accepted', 'unsigned', 'forged-accepted'],
  ['stale-overwrite', 'older-after-newer', 'stale'],
  ['effect-outside', 'kill after call POST /emails', 'doubled'],
  ['outdated-accepted', 'outdated', 'forged-accepted'],
  ['forgets-after-a-day', 'hours-later-clock', 'doubled'],
  ['prunes-by-date', 'hours-later-rows', 'doubled'],
]

/** The clock of a process in Python cannot be moved. */
const PYTHON_FAULTS = FAULTS.filter(([fault]) => fault !== 'forgets-after-a-day')
const QUICK_IN_PYTHON = ['mark-before', 'check-then-insert', 'memory-only', 'outdated-accepted']

let python = 'python3'
beforeAll(() => {
  python = pythonWithPostgres()
}, 300_000)

interface Ran {
  readonly code: number | null
  readonly stderr: string
  /** Undefined if it could not run. */
  readonly proof: Proof | undefined
  readonly results: readonly ScheduleResult[]
  readonly folder: string
}

interface Run {
  readonly start: string
  readonly fault?: string
  readonly args?: readonly string[]
}

/** Runs the built command with its own receiver and database. */
async function prove({ start, fault = 'none', args = [] }: Run): Promise<Ran> {
  const database = await makeDatabase()
  try {
    await database.pool.query(tables)
    const [port, downstream] = [await freePort(), await freePort()]
    const folder = temporaryDirectory()
    const ran = await cli(
      [
        ...['prove', '--json', '--provider', 'stripe', '--url', `http://127.0.0.1:${port}/webhooks/stripe`],
        ...['--database', database.url, '--downstream', String(downstream), '--start', start, '--seed', '7'],
        ...['--report', join(folder, 'report.html'), '--junit', join(folder, 'junit.xml'), '--age-rows'],
        ...args,
      ],
      {
        PORT: String(port),
        DOWNSTREAM: `http://127.0.0.1:${downstream}`,
        STRIPE_WEBHOOK_SECRET: 'whsec_prove',
        FAULT: fault,
      },
    )
    const proof = ran.stdout === '' ? undefined : ran.json<Proof>()
    return { code: ran.code, stderr: ran.stderr, proof, results: proof?.results ?? [], folder }
  } finally {
    await database.pool.query('drop table if exists seen, invoice, payment')
    await database.remove()
  }
}

/** A fault, and the result of its schedule. */
function outcomeOf({ results, stderr }: Ran): unknown {
  const played = results.filter(({ outcome }) => outcome !== 'not-tried')
  return [stderr, played.map(({ name, findings }) => [name, ...new Set(findings.map(({ fault }) => fault))])]
}

function secondsUntilFound(results: readonly ScheduleResult[]): number {
  const found = results.findIndex(({ outcome }) => outcome === 'broken')
  return Math.round(results.slice(0, found + 1).reduce((sum, { ms }) => sum + ms, 0) / 1000)
}

/** Effects of the planted receivers come at once, so short waits are enough. */
const QUICK = ['--patience', '3s', '--rounds', '2', '--bail']

const starts = [
  ['Node.js', () => `${process.execPath} test/provers/receiver.mjs`, FAULTS],
  [
    'Python',
    () => `${python} test/provers/receiver.py`,
    PYTHON_FAULTS.filter(([fault]) => isFull || QUICK_IN_PYTHON.includes(fault)),
  ],
] as const

describe.each(starts)('a receiver in %s', (language, start, faults) => {
  test.each(faults)('with the fault %s is broken', { timeout: 300_000 }, async (fault, only, found) => {
    const ran = await prove({
      start: start(),
      fault,
      args: isFull ? ['--rounds', '3', '--patience', '5s'] : [...QUICK, '--only', only],
    })
    const broken = ran.results.filter(({ outcome }) => outcome === 'broken')
    const faultsFound = broken.flatMap(({ findings }) => findings.map((finding) => finding.fault))
    expect([faultsFound, outcomeOf(ran)]).toEqual([expect.arrayContaining([found]), expect.anything()])
    expect([ran.code, ran.proof?.verdict]).toEqual([1, 'broken'])
    expect(broken[0]?.repeat).toContain(`--seed 7 --only`)
    if (isFull) {
      process.stdout.write(`${fault}: found after ${secondsUntilFound(ran.results)} s\n`)
      expect(secondsUntilFound(ran.results)).toBeLessThanOrEqual(FOUND_WITHIN_SECONDS)
    }
    expect(readFileSync(join(ran.folder, 'junit.xml'), 'utf8')).toContain('<failure message=')
  })

  test('that is correct holds in every schedule', { timeout: 300_000 }, async () => {
    const ran = await prove({
      start: start(),
      args: isFull ? ['--rounds', '3'] : ['--patience', '30s', '--rounds', '1'],
    })
    const notHeld = ran.results.filter(({ outcome }) => outcome !== 'held')
    const isNode = language === 'Node.js'
    expect([ran.stderr, notHeld.map(({ name, reason }) => [name, reason])]).toEqual([
      '',
      isNode ? [] : [['hours-later-clock', expect.stringContaining('it is not Node.js')]],
    ])
    expect([ran.code, ran.proof?.verdict]).toEqual([0, 'proven'])
    // Before and after the commit and the call.
    expect(ran.proof?.boundaries).toHaveLength(4)
    const page = readFileSync(join(ran.folder, 'report.html'), 'utf8')
    expect(page).toContain('No fault was found')
    expect(page).not.toMatch(/<script|https?:\/\/(?!127\.0\.0\.1)/)
  })
})

test('Express with hookonce holds', { timeout: 600_000 }, async () => {
  const quick = [
    'same-again',
    'copies-at-once',
    'after-restart',
    'hours-later',
    'forged',
    'kill before call',
    'kill after call',
  ]
  const only = isFull ? [] : quick.flatMap((name) => ['--only', name])
  const ran = await prove({
    start: `${process.execPath} test/provers/express-hookonce.mjs`,
    args: ['--patience', '30s', '--quiet', '2s', '--rounds', '1', ...only],
  })
  const broken = ran.results.filter(({ outcome }) => outcome === 'broken')
  expect([ran.stderr, broken]).toEqual(['', []])
  expect(ran.code).toBe(0)
})

test('it refuses to run where it could do harm, with exit code 2', async () => {
  const run = async (...args: string[]): Promise<[number | null, string]> => {
    const ran = await cli(['prove', '--provider', 'stripe', ...args], {
      STRIPE_WEBHOOK_SECRET: 'whsec_prove',
    })
    return [ran.code, ran.stderr]
  }
  expect(await run('--url', 'https://shop.example/webhooks')).toEqual([
    2,
    expect.stringContaining('not on this machine'),
  ])
  const database = ['--database', 'postgres://u:hidden@db.example/shop']
  const [code, text] = await run('--url', 'http://localhost:1/', ...database)
  expect([code, text]).toEqual([2, expect.stringContaining('"db.example"')])
  expect(text).not.toContain('hidden')
  expect(await run('--url', `http://127.0.0.1:${await freePort()}/`)).toEqual([
    2,
    expect.stringContaining('nothing listens'),
  ])
  expect(await run('--urls', 'x')).toEqual([2, expect.stringContaining('did you mean "--url"?')])
})

test('the database of `hookonce dev` needs no password on the command line', {
  timeout: 300_000,
}, async () => {
  const dir = temporaryDirectory()
  const server = await startEmbedded({ dir })
  const pool = new pg.Pool({ connectionString: server.url })
  onTestFinished(async () => {
    await pool.end()
    await server.leave()
  })
  await pool.query(tables)
  const port = await freePort()
  const ran = await cli(
    [
      ...['prove', '--provider', 'stripe', '--url', `http://127.0.0.1:${port}/webhooks/stripe`, '--json'],
      ...['--database', 'embedded', '--dir', dir, '--only', 'same-again', '--patience', '10s'],
      ...['--start', `${process.execPath} test/provers/receiver.mjs`],
    ],
    { PORT: String(port), STRIPE_WEBHOOK_SECRET: 'whsec_prove' },
  )
  expect([ran.code, ran.stderr]).toEqual([0, ''])
  const proof = ran.json<Proof>()
  expect(proof.watched.join()).toMatch(/rows of \d+ tables: .*public\.invoice/)
  expect(ran.stdout + ran.stderr).not.toContain(readFileSync(join(dir, 'password'), 'utf8').trim())
  // The server was running before, and is not stopped.
  const { rows } = await pool.query('select count(*)::int as invoices from invoice')
  expect(rows[0].invoices).toBeGreaterThan(0)
})

test('without the folder of `hookonce dev` there is no embedded database', async () => {
  const ran = await cli(
    [
      'prove',
      '--provider',
      'stripe',
      '--url',
      'http://127.0.0.1:1/',
      '--database',
      'embedded',
      '--dir',
      '/nowhere',
    ],
    { STRIPE_WEBHOOK_SECRET: 'whsec_prove' },
  )
  expect([ran.code, ran.stderr]).toEqual([
    2,
    expect.stringContaining('there is no ledger in /nowhere: start'),
  ])
})
