// A separate process with keys in front of a handler. Each run of the handler is a row in
// `public.run`, and each effect a row in `public.effect`. It reports events as lines of JSON on
// standard output.
import { createServer } from 'node:http'
import pg from 'pg'
import { nodeKeys, postgresKeys, redisKeys } from '../../dist/keys/index.js'

const config = JSON.parse(process.env.APP_CONFIG)
const pool = new pg.Pool({ connectionString: config.database, max: 4 })
pool.on('error', () => undefined)
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const count = (db, table, type) =>
  db.query(`insert into ${table} (type, pid) values ($1, $2)`, [type, process.pid])

const store = config.redis
  ? redisKeys({ url: config.redis })
  : postgresKeys({ database: config.database, maxConnections: 4 })

const behaviours = {
  async count(db) {
    await count(db, 'effect', 'count')
  },
  // Takes effect and does not return: it is killed, or frozen and resumed.
  async hang(db) {
    await count(db, 'effect', 'hang')
    // Installed before the report: the test may freeze this process as soon as it reads the line,
    // and an unhandled signal would end it.
    const resumed = new Promise((resolve) => process.once('SIGUSR2', resolve))
    say({ hanging: true })
    await resumed
  },
  // Charges, and then sends a mail. The first run ends after the charge.
  async order(db, { step }) {
    await step('charge', () => count(db, 'effect', 'charge'))
    const { rows } = await pool.query(`select count(*)::int as runs from run`)
    if (rows[0].runs === 1) await behaviours.hang(db)
    await step('mail', () => count(db, 'effect', 'mail'))
  },
  // Holds a lock that the successor needs too.
  async lockfirst(db) {
    await db.query('select pg_advisory_xact_lock(1)')
    await behaviours.hangfirst(db)
  },
  async hangfirst(db) {
    const { rows } = await pool.query(`select count(*)::int as runs from run`)
    await (rows[0].runs > 1 ? behaviours.count(db) : behaviours.hang(db))
  },
}

const keys = nodeKeys({
  store,
  tenant: 'global',
  observe: (event) => say({ [event.what]: true }),
  ...config.keys,
})
const server = createServer(
  keys(async (request, response, context) => {
    const behaviour = request.url.slice(1)
    await count(pool, 'run', behaviour)
    await behaviours[behaviour](context.tx ?? pool, context)
    response.writeHead(201, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ pid: process.pid }))
  }),
)
server.listen(0, '127.0.0.1', () => say({ ready: true, port: server.address().port, pid: process.pid }))
