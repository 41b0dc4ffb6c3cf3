// @ts-check

/*
 * Servers outlive a runner that is interrupted or crashes: the embedded PostgreSQL on purpose. What was started here
 * is registered here, and ended in any case, last first.
 */

/** @type {Set<() => Promise<unknown>>} */
const open = new Set()

/**
 * Returns `stop`, which from now on runs once: when it is called, or when this process is made to end.
 *
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
