/*
 * Loaded into every process of a test run: notes which test file sends which statement. With
 * HOOKONCE_TRACE_NAMES, also which test of the file.
 */
import childProcess, { ChildProcess } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import pg from 'pg'

const out = process.env.HOOKONCE_TRACE
const seen = new Set()
const { query } = pg.Client.prototype

pg.Client.prototype.query = function traced(config, ...rest) {
  const text = typeof config === 'string' ? config : config?.text
  const test = currentTest()
  if (test !== undefined && typeof text === 'string' && /hookonce|synchronous_commit/.test(text)) {
    const shape = process.env.HOOKONCE_TEST_SHAPES ?? 'plain'
    const line = JSON.stringify({ test, name: currentName(), shape, text: asWritten(text) })
    if (!seen.has(line)) {
      seen.add(line)
      appendFileSync(out, `${line}\n`)
    }
  }
  return query.call(this, config, ...rest)
}

/** A child process does not know its test; it gets the name from the process that started it. */
function currentTest() {
  return globalThis.__vitest_worker__?.filepath ?? process.env.HOOKONCE_TRACE_TEST
}

/** Undefined outside a test, as in a hook. */
function currentName() {
  const task = globalThis.__vitest_worker__?.current
  return process.env.HOOKONCE_TRACE_NAMES === '1' && task?.type === 'test' ? fullNameOf(task) : undefined
}

/** As vitest compares it with `--testNamePattern`. */
function fullNameOf({ name, suite }) {
  return suite ? `${fullNameOf(suite)} ${name}` : name
}

/** The source calls the schema `ledger`; the driver has put in its name. One of several has a number. */
function asWritten(text) {
  return text.replaceAll(/"hookonce(?:_\d+)?"\./g, 'ledger.')
}

// A worker of vitest runs several files, so the name is passed on when a child starts.
const { spawn } = ChildProcess.prototype
ChildProcess.prototype.spawn = function named(options) {
  const test = currentTest()
  if (test !== undefined) {
    const others = options.envPairs.filter((pair) => !pair.startsWith('HOOKONCE_TRACE_TEST='))
    options.envPairs = [...others, `HOOKONCE_TRACE_TEST=${test}`]
  }
  return spawn.call(this, options)
}

const { spawnSync } = childProcess
childProcess.spawnSync = function named(file, args, options) {
  const [list, given] = Array.isArray(args) ? [args, options] : [[], args]
  const test = currentTest()
  if (test === undefined) return spawnSync(file, list, given)
  const env = { ...(given?.env ?? process.env), HOOKONCE_TRACE_TEST: test }
  return spawnSync(file, list, { ...given, env })
}
syncBuiltinESMExports()
