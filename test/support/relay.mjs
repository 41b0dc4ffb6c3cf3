// A process that only relays. Tests kill and freeze it at a named point of publishing. Runs on the
// built package. It posts each message to the tests' recorder, and reports events as lines of JSON
// on standard output.
import { hookonce } from '../../dist/index.js'
import { custom } from '../../dist/sources/index.js'

const config = JSON.parse(process.env.APP_CONFIG)
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`)
let left = config.crash?.nth ?? Number.POSITIVE_INFINITY

/** Ends or freezes this process at the given occurrence of the point. */
function at(point) {
  if (point !== config.crash?.at) return
  left -= 1
  if (left === 0) process.kill(process.pid, config.crash.signal)
}

async function publish({ id, topic, key, body }, { signal }) {
  if (body === config.poison) process.kill(process.pid, 'SIGKILL')
  at('before')
  const headers = { id, topic, key }
  const response = await fetch(config.recorder, { method: 'POST', body, headers, signal })
  // The recorder has the message, and its answer is in transit.
  at('during')
  await response.text()
  at('between')
}

const hooks = hookonce({
  database: config.database,
  sources: { test: custom({ ...config.sender, unwanted: 'record' }) },
  outbox: { publishers: { '*': publish } },
  logger: {
    info: (fields) => (fields.message_id && fields.status === 'published' ? at('marked') : undefined),
    warn: (fields) => say(fields),
    error: (fields) => say(fields),
  },
  ...config.options,
})
process.once('SIGTERM', async () => {
  await hooks.stop()
  process.exit(0)
})
// Reported before the start: the process may be stopped during its start, and never report
// afterwards.
say({ ready: true, pid: process.pid })
// After a long freeze the start may fail to connect. It then starts again, like a supervised
// service.
await hooks.start().catch(() => hooks.start())
