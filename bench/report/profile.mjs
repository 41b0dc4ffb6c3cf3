// @ts-check
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { profileDir } from '../servers/contender.mjs'

const SHOWN = 30

/**
 * The functions in which a server spent most of its time, from the CPU profile of its last round.
 * @param {import('../contenders.mjs').Contender} contender
 * @param {import('../options.mjs').Mode} mode
 */
export async function printProfile(contender, mode) {
  const file = join(profileDir, `${contender.name}-${mode === 'latency' ? 'accept' : mode}.cpuprofile`)
  const profile = JSON.parse(await readFile(file, 'utf8'))
  const nodes = new Map(profile.nodes.map((/** @type {any} */ node) => [node.id, node.callFrame]))
  /** @type {Map<string, number>} */
  const selfTimes = new Map()
  let total = 0
  profile.samples.forEach((/** @type {number} */ id, /** @type {number} */ index) => {
    const { functionName, url, lineNumber } = nodes.get(id)
    if (functionName === '(idle)') return
    const where = url === '' ? '' : ` ${url.split('/').slice(-3).join('/')}:${lineNumber + 1}`
    const name = `${functionName || '(anonymous)'}${where}`
    const spent = profile.timeDeltas[index]
    total += spent
    selfTimes.set(name, (selfTimes.get(name) ?? 0) + spent)
  })
  process.stdout.write(`\n${contender.name}: ${(total / 1e6).toFixed(1)} s busy; self time (${file})\n`)
  for (const [name, spent] of [...selfTimes].sort((a, b) => b[1] - a[1]).slice(0, SHOWN)) {
    process.stdout.write(`${((spent / total) * 100).toFixed(1).padStart(6)} %  ${name}\n`)
  }
}
