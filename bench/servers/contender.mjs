// @ts-check
import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { endedInAnyCase } from './leftovers.mjs'
import { startRedis } from './redis.mjs'

const READY_WITHIN_MS = 30_000
const STOP_WITHIN_MS = 10_000

/** The folder in which --cpu-prof writes. */
export const profileDir = fileURLToPath(new URL('../results/profiles/', import.meta.url))

/**
 * @typedef {object} StartOptions
 * @property {import('./postgres.mjs').Postgres} postgres
 * @property {'accept' | 'end-to-end' | 'drain'} mode
 * @property {string} effect
 * @property {number | undefined} [concurrency]
 * @property {boolean} cpuProf
 * @property {number} [backlog]
 */

/**
 * Starts a contender on its own empty database (and Redis). `stop` ends and removes all of it.
 * @param {import('../contenders.mjs').Contender} contender
 * @param {StartOptions} options
 */
export async function startContender(contender, { postgres, mode, effect, concurrency, cpuProf, backlog }) {
  const database = await postgres.database()
  const redis = contender.redis ? await startRedis(contender.redis) : undefined
  const file = fileURLToPath(new URL(`../contenders/${contender.file}`, import.meta.url))
  const profile = [
    '--cpu-prof',
    `--cpu-prof-dir=${profileDir}`,
    `--cpu-prof-name=${contender.name}-${mode}.cpuprofile`,
  ]
  const child = spawn(process.execPath, [...(cpuProf ? profile : []), file], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...process.env,
      NODE_ENV: 'production',
      DATABASE_URL: database.url,
      REDIS_PORT: String(redis?.port ?? ''),
      BENCH_MODE: mode,
      BENCH_EFFECT: effect,
      ...(concurrency === undefined ? {} : { BENCH_CONCURRENCY: String(concurrency) }),
      BENCH_BACKLOG: String(backlog ?? 0),
    },
  })
  const facts = new EventEmitter()
  createInterface({ input: child.stdout }).on('line', (line) => facts.emit('fact', JSON.parse(line)))
  const exited = once(child, 'exit')
  const died = exited.then(([code, signal]) => {
    throw new Error(`${contender.name} ended unasked (${signal ?? `code ${code}`})`)
  })
  // This promise is raced below. A later end is reported to the code that waits at that time.
  died.catch(() => undefined)

  const stop = endedInAnyCase(async () => {
    child.kill('SIGTERM')
    await Promise.race([exited, delay(STOP_WITHIN_MS, undefined, { ref: false })])
    if (child.exitCode === null && child.signalCode === null) {
      process.stderr.write(`${contender.name} did not stop within ${STOP_WITHIN_MS} ms and was killed\n`)
      child.kill('SIGKILL')
      await exited
    }
    await redis?.stop()
    await database.drop()
  })

  /**
   * The next line that the contender prints.
   *
   * @param {number} withinMs
   * @returns {Promise<any>}
   */
  async function told(withinMs) {
    const [fact] = await Promise.race([
      once(facts, 'fact'),
      died,
      delay(withinMs, undefined, { ref: false }).then(() => {
        throw new Error(`${contender.name} said nothing for ${withinMs} ms`)
      }),
    ])
    return fact
  }

  try {
    const ready = await told(READY_WITHIN_MS)
    return {
      ...ready,
      db: database.pool,
      redis: redis?.client,
      died,
      told,
      pid: child.pid,
      redisPid: redis?.pid,
      /** @param {string} line */
      say: (line) => child.stdin.write(`${line}\n`),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}
