// @ts-check

/*
 * Servers outlive a runner that is interrupted or crashes, the embedded PostgreSQL on purpose. So
 * every started server is registered here, and stopped in any case, the last one first.
 */

/** @type {Set<() => Promise<unknown>>} */
const open = new Set()

/**
 * Returns `stop`, which runs once: when it is called, or when this process must end.
 * @param {() => Promise<unknown>} stop
 * @returns {() => Promise<void>}
 */
export function endedInAnyCase(stop) {
  open.add(stop)
  return async () => {
    if (open.delete(stop)) await stop()
  }
}

/** @type {Promise<void> | undefined} */
let ending

/** @param {number} code the first reason to end decides; what fails because of it is no news */
function endAll(code) {
  ending ??= stopAll().then(() => process.exit(code))
  return ending
}

async function stopAll() {
  for (const stop of [...open].reverse()) {
    open.delete(stop)
    await stop().catch((error) => process.stderr.write(`${error}\n`))
  }
}

process.once('SIGINT', () => endAll(130))
process.once('SIGTERM', () => endAll(143))
process.on('uncaughtException', (error) => {
  if (!ending) process.stderr.write(`${error.stack}\n`)
  void endAll(1)
})
