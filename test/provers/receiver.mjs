// A small receiver of Stripe events with one planted fault, for the tests of `hookonce prove`.
// FAULT names the fault; without it the receiver is correct.
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import pg from 'pg'

const { PORT, DATABASE_URL, DOWNSTREAM, STRIPE_WEBHOOK_SECRET: secret = '', FAULT = 'none' } = process.env
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 8 })
pool.on('error', () => undefined)
const DAY_MS = 24 * 3_600_000
/** memory-only: the events that this process has seen. */
const seen = new Set()

const server = createServer(async (request, response) => {
  try {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    if (!isGenuine(request.headers['stripe-signature'] ?? '', body)) return response.writeHead(401).end()
    const event = JSON.parse(body.toString('utf8'))
    await (handlers[FAULT] ?? handle)(event)
    response.writeHead(200).end('ok')
  } catch (error) {
    response.writeHead(500).end(String(error))
  }
})
server.listen(Number(PORT), '127.0.0.1')

function isGenuine(header, body) {
  if (FAULT === 'unsigned-accepted') return true
  const parts = Object.fromEntries(header.split(',').map((part) => part.split('=')))
  if (FAULT !== 'outdated-accepted' && Math.abs(Date.now() / 1000 - Number(parts.t)) > 300) return false
  const signed = FAULT === 'no-raw-body' ? JSON.stringify(JSON.parse(body.toString('utf8'))) : body
  const wanted = createHmac('sha256', secret).update(`${parts.t}.`).update(signed).digest()
  const given = Buffer.from(parts.v1 ?? '', 'hex')
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

/** Correct: one transaction, one key for the call, no older version over a newer one. */
async function handle(event) {
  const { object } = event.data
  const isNew = await inTransaction(async (client) => {
    if (!(await mark(client, event.id))) return false
    await pay(client, object, event.created)
    return true
  })
  // Also for a copy: the call may have been lost in a crash. Its key prevents a second effect.
  await call(object.id, `receipt-${event.id}`)
  return isNew
}

const handlers = {
  // The mark is committed before the work: a crash in between loses the event.
  async 'mark-before'(event) {
    if (!(await mark(pool, event.id))) return
    await inTransaction((client) => pay(client, event.data.object, event.created))
    await call(event.data.object.id, `receipt-${event.id}`)
  },
  // The work is committed before the mark: a crash in between repeats it.
  async 'mark-after'(event) {
    if (await isMarked(event.id)) return
    await inTransaction((client) => pay(client, event.data.object, event.created))
    await mark(pool, event.id)
    await call(event.data.object.id, `receipt-${event.id}`)
  },
  // Two copies find no mark, and both do the work.
  async 'check-then-insert'(event) {
    if (await isMarked(event.id)) return
    await inTransaction(async (client) => {
      await pay(client, event.data.object, event.created)
      await mark(client, event.id)
    })
    await call(event.data.object.id, `receipt-${event.id}`)
  },
  async 'memory-only'(event) {
    if (seen.has(event.id)) return
    seen.add(event.id)
    await inTransaction((client) => pay(client, event.data.object, event.created))
    await call(event.data.object.id, `receipt-${event.id}`)
  },
  async 'random-id'(event) {
    await handle({ ...event, id: randomUUID() })
  },
  async 'stale-overwrite'(event) {
    await inTransaction(async (client) => {
      if (await mark(client, event.id)) await pay(client, event.data.object, Number.MAX_SAFE_INTEGER)
    })
    await call(event.data.object.id, `receipt-${event.id}`)
  },
  // Ids older than a day by the clock of this process are removed.
  async 'forgets-after-a-day'(event) {
    await pool.query('delete from seen where seen_at < $1', [new Date(Date.now() - DAY_MS)])
    await handle(event)
  },
  // Ids older than a day by the clock of the database are removed.
  async 'prunes-by-date'(event) {
    await pool.query(`delete from seen where seen_at < now() - interval '1 day'`)
    await handle(event)
  },
  // The call is made inside the transaction and without a key: a crash or a rollback repeats it.
  async 'effect-outside'(event) {
    await inTransaction(async (client) => {
      if (!(await mark(client, event.id))) return
      await call(event.data.object.id)
      await pay(client, event.data.object, event.created)
    })
  },
}

async function mark(client, id) {
  const { rowCount } = await client.query('insert into seen (event_id) values ($1) on conflict do nothing', [
    id,
  ])
  return rowCount === 1
}

async function isMarked(id) {
  return (await pool.query('select 1 from seen where event_id = $1', [id])).rowCount === 1
}

async function pay(client, { id, amount_paid: amount }, version) {
  await client.query(
    `insert into invoice as i (id, amount, version) values ($1, $2, $3)
     on conflict (id) do update set amount = excluded.amount, version = excluded.version
     where i.version <= excluded.version`,
    [id, amount, version],
  )
  await client.query('insert into payment (invoice_id) values ($1)', [id])
}

async function call(invoice, key) {
  if (!DOWNSTREAM) return
  await fetch(`${DOWNSTREAM}/emails`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key ? { 'idempotency-key': key } : {}) },
    body: JSON.stringify({ invoice }),
  })
}

async function inTransaction(work) {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    client.release()
    return result
  } catch (error) {
    client.release(true)
    throw error
  }
}
