// Loaded into every process of a test run. Records which test file sends which statement.
import { appendFileSync } from 'node:fs'
import pg from 'pg'

const out = process.env.HOOKONCE_TRACE
const seen = new Set()
const query = pg.Client.prototype.query

pg.Client.prototype.query = function traced(config, ...rest) {
  const text = typeof config === 'string' ? config : config?.text
  // A child process does not know its test. It gets the name from the process that started it.
  const test = globalThis.__vitest_worker__?.filepath ?? process.env.HOOKONCE_TRACE_TEST
  if (test !== undefined && typeof text === 'string' && /hookonce|synchronous_commit/.test(text)) {
    process.env.HOOKONCE_TRACE_TEST = test
    const line = JSON.stringify({ test, text: asWritten(text) })
    if (!seen.has(line)) {
      seen.add(line)
      appendFileSync(out, `${line}\n`)
    }
  }
  return query.call(this, config, ...rest)
}

/** The source calls the schema `ledger`. The driver has inserted the real name. */
function asWritten(text) {
  return text.replaceAll('"hookonce".', 'ledger.')
}
