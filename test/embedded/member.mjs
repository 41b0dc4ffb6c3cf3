// A process that uses the embedded server, for tests that need real processes. Argument: the home
// directory. Prints one line of JSON when it has joined. Leaves when its input ends.
import { once } from 'node:events'
import { startEmbedded } from '../../dist/ledger/embedded/embedded.js'

const [dir] = process.argv.slice(2)
const before = performance.now()
try {
  const { url, adopted, dataDir, leave } = await startEmbedded({ dir })
  console.log(JSON.stringify({ url, adopted, dataDir, ms: performance.now() - before }))
  if (process.env.MEMBER_WAITS !== 'no') {
    await once(process.stdin.resume(), 'end')
    await leave()
  }
} catch (error) {
  console.log(JSON.stringify({ error: error.message, code: error.code }))
  process.exitCode = 1
}
