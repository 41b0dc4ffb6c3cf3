// Fills a ledger with events as a shop would have them, to try the dashboard and the admin API:
//   DATABASE_URL=postgres://… node scripts/seed-ledger.mjs [--receipts 200000] [--seed N]
// The database is migrated, and must hold no events. The same seed makes the same events.
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { seedLedger } from './seeding/seed.mjs'

const { migrate } = await import('../dist/ledger/migrations/migrate.js')

const { values } = parseArgs({
  options: { receipts: { type: 'string', default: '200000' }, seed: { type: 'string' } },
})
const receipts = count('receipts', values.receipts)
const seed = count('seed', values.seed ?? String(randomInt(1_000_000)))
const url = process.env.DATABASE_URL
if (!url) fail('set DATABASE_URL to the database to fill')

const pool = new pg.Pool({ connectionString: url })
try {
  await migrate(pool)
  const { rows } = await pool.query('select exists (select from hookonce.receipt) as used')
  if (rows[0].used) fail('this ledger already has events; create an empty database and pass its URL')
  console.log(`seed ${seed}`)
  const began = performance.now()
  await seedLedger(pool, {
    receipts,
    seed,
    onProgress: (done) => process.stderr.write(`\r${done} receipts, ${seconds(began)} s `),
  })
  console.log(`\n${receipts} receipts in ${seconds(began)} s`)
} finally {
  await pool.end()
}

function seconds(began) {
  return Math.round((performance.now() - began) / 1_000)
}

function count(name, text) {
  if (/^\d{1,8}$/.test(text)) return Number(text)
  return fail(`--${name} must be a whole number below 100000000; it was "${text}"`)
}

function fail(message) {
  console.error(message)
  process.exit(1)
}
