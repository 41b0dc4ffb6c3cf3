// A separate process with an inline receiver. Each run of the handler is a row in `public.run`. The
// type of an event determines the behaviour of its handler. It reports events as lines of JSON on
// standard output.
import { createServer } from 'node:http'
import pg from 'pg'
import { inline } from '../../dist/inline/index.js'
import { postgresKeys, redisKeys } from '../../dist/keys/index.js'
import { custom } from '../../dist/sources/index.js'

const config = JSON.parse(process.env.APP_CONFIG)
const pool = new pg.Pool({ connectionString: config.database, max: 4 })
pool.on('error', () => undefined)
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
const count = (table, type) =>
  pool.query(`insert into ${table} (type, pid) values ($1, $2)`, [type, process.pid])

const store = config.redis
  ? redisKeys({ url: config.redis })
  : postgresKeys({ database: config.database, maxConnections: 4 })

const hooks = inline(
  custom(config.sender),
  async ({ type }, { step }) => {
    await count('run', type)
    const first = await step('effect', async () => {
      await count('effect', type)
      return process.pid
    })
    if (type === 'hang' && first === process.pid) {
      say({ hanging: true })
      await new Promise(() => undefined)
    }
    return Response.json({ first })
  },
  { store, observe: (event) => say({ [event.what]: true }), ...config.inline },
)
const server = createServer(hooks.node)
server.listen(0, '127.0.0.1', () => say({ ready: true, port: server.address().port, pid: process.pid }))
