// A worker that is killed or frozen at a named point, on the built package. Points are statements
// of the ledger, before they are sent and after their reply has arrived, and places in the handler.
import { writeSync } from 'node:fs'
import pg from 'pg'
import { hookonce } from '../../dist/index.js'
import { custom } from '../../dist/sources/index.js'
import { crashHandler } from './crash-handler.mjs'

const config = JSON.parse(process.env.APP_CONFIG)
// Written synchronously: a process that stops here has no time for a stream.
const say = (line) => writeSync(1, `${JSON.stringify(line)}\n`)
let left = config.crash.hit

function reach(point) {
  if (point !== config.crash.point || left === 0) return
  left -= 1
  if (left > 0) return
  say({ crashed: point })
  process.kill(process.pid, config.crash.signal)
}

/** Names a statement. A COMMIT is named by the preceding statement of hookonce. */
class PointedClient extends pg.Client {
  #last = ''

  query(config, ...rest) {
    const name = this.#nameOf(config)
    if (name === undefined) return super.query(config, ...rest)
    reach(`before ${name}`)
    const callback = rest.at(-1)
    if (typeof callback === 'function') {
      const told = (...reply) => {
        reach(`after ${name}`)
        callback(...reply)
      }
      return super.query(config, ...rest.slice(0, -1), told)
    }
    return super.query(config, ...rest).then((reply) => {
      reach(`after ${name}`)
      return reply
    })
  }

  #nameOf(config) {
    if (config === 'commit' || config?.name === 'hookonce_commit') return `the commit of ${this.#last}`
    if (typeof config?.name !== 'string') return undefined
    this.#last = config.name.replace('hookonce_', '')
    return this.#last
  }
}

const { pipeline } = config.crash
const pool = new pg.Pool({ connectionString: config.database, max: 4, pipeline, Client: PointedClient })
pool.on('error', () => undefined)
const hooks = hookonce({
  database: pool,
  sources: { test: custom(config.sender) },
  logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
  ...config.options,
})
hooks.on('test', '*', crashHandler({ ...config, reach }), config.subscriber)
await hooks.start()
process.once('SIGTERM', async () => {
  await hooks.stop({ drainMs: 0 })
  await pool.end()
  process.exit(0)
})
say({ ready: true })
