// Runs commands of the built command line one after the other in one process, which is some hundred
// times cheaper than a process per command. Each message is a list of arguments.
import pg from 'pg'
import { commands } from '../../dist/cli/commands.js'
import { HookonceError } from '../../dist/model/errors.js'

const HANGS_AFTER_MS = 30_000
let output = ''
for (const stream of [process.stdout, process.stderr]) {
  stream.write = (text, ...rest) => {
    output = (output + String(text)).slice(-20_000)
    rest.find((one) => typeof one === 'function')?.()
    return true
  }
}
// A command that would end its process counts as ended.
process.exit = () => undefined

/** Like src/cli/main.ts: only these errors are printed without a stack. */
function isExpected(error) {
  if (error instanceof AggregateError) return error.errors.every(isExpected)
  if (error instanceof HookonceError || error instanceof pg.DatabaseError) return true
  return error instanceof Error && 'syscall' in error
}

async function run([name, ...args]) {
  const entry = commands.find((command) => command.name === name)
  if (!entry) return undefined
  const command = await entry.load()
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('it hangs')), HANGS_AFTER_MS)
  })
  try {
    await Promise.race([command.run(args), late])
  } catch (error) {
    if (!isExpected(error)) return error instanceof Error ? error.stack : String(error)
  } finally {
    clearTimeout(timer)
  }
  return /^\s+at .+:\d+:\d+\)?$/m.test(output) ? output : undefined
}

let fault
process.on('unhandledRejection', (error) => {
  fault ??= `unhandled rejection: ${error?.stack ?? error}`
})
process.on('uncaughtException', (error) => {
  fault ??= `uncaught exception: ${error?.stack ?? error}`
})
process.on('message', async (args) => {
  output = ''
  const found = await run(args)
  process.send({ fault: found ?? fault, rssBytes: process.memoryUsage.rss() })
  fault = undefined
})
process.send({ ready: true })
