// Measures the lists of the admin API on a large ledger:
//   node scripts/admin-api-latency.mjs [--receipts 1000000] [--runs 40] [--seed 1]
// Seeds an embedded PostgreSQL in a temporary directory, runs `hookonce serve` on it, and prints
// p50 and p95 of each list.
import { parseArgs } from 'node:util'
import { ADMIN_TOKEN } from './seeding/gateway.mjs'
import { percentile } from './seeding/percentile.mjs'
import { withSeededGateway } from './seeding/seeded-gateway.mjs'

const { values } = parseArgs({
  options: {
    receipts: { type: 'string', default: '1000000' },
    runs: { type: 'string', default: '40' },
    seed: { type: 'string', default: '1' },
  },
})
const receipts = Number(values.receipts)
const runs = Number(values.runs)

const LISTS = {
  'no filter': '/events',
  'no filter, limit 200': '/events?limit=200',
  source: '/events?source=shopify',
  'type pattern': '/events?type=invoice.*',
  'since and until': '/events?since=10d&until=9d',
  'state processed': '/events?state=processed',
  'state failed': '/events?state=failed',
  'state received (few)': '/events?state=received',
  error: '/events?error=no+customer',
  key: '/events?key={key}',
  'object, old and rare': '/events?object={object}',
  'q, an id': '/events?q={id}',
  'q, part of no key': '/events?q=nowhere',
  'one event': '/events/{id}',
  failures: '/failures',
  'failures, since': '/failures?since=7d',
  'failures, a type': '/failures?type=type.1*',
  sources: '/sources',
  subscribers: '/subscribers',
  status: '/status',
  stats: '/stats?period=7d',
  audit: '/audit',
  attention: '/attention',
  outbox: '/outbox',
}

await withSeededGateway({ receipts, seed: Number(values.seed) }, async ({ pool, adminPort }) => {
  const { rows } = await pool.query(
    'select id, event_key as key, object_id as object from hookonce.receipt order by received_at limit 1',
  )
  console.log(
    `\n| list | p50 ms | p95 ms | of ${receipts.toLocaleString('en')} receipts |\n|---|---:|---:|---:|`,
  )
  for (const [name, path] of Object.entries(LISTS)) {
    const filled = path.replace(/\{(\w+)\}/, (_, field) => rows[0][field])
    const { times, items } = await measure(`http://127.0.0.1:${adminPort}/api/v1${filled}`)
    console.log(
      `| ${name} | ${percentile(times, 0.5).toFixed(1)} | ${percentile(times, 0.95).toFixed(1)} | ${items} |`,
    )
  }
})

async function measure(url) {
  const times = []
  let items = ''
  for (let run = 0; run < runs; run += 1) {
    const began = performance.now()
    const response = await fetch(url, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
    const body = await response.json()
    times.push(performance.now() - began)
    if (!response.ok) throw new Error(`${url}: ${JSON.stringify(body)}`)
    items = Array.isArray(body.data) ? String(body.data.length) : ''
  }
  return { times, items }
}
