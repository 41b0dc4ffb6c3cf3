// Remembers which test killed which mutant, so that a run only tries what has changed.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * A kill counts while the statement, its mutation and the file of the test are the same. The code
 * around the statement may change: `--again` tries every mutant.
 */
export function openKills(root, path) {
  const kills = new Map(existsSync(path) ? Object.entries(JSON.parse(readFileSync(path, 'utf8'))) : [])

  function hashOfTest(file) {
    const test = join(root, file)
    return existsSync(test) ? sha256(readFileSync(test)) : undefined
  }

  return {
    has(mutant) {
      const kill = kills.get(keyOf(mutant))
      return kill !== undefined && kill.sha256 === hashOfTest(kill.test)
    },
    add(mutant, test) {
      kills.set(keyOf(mutant), { test, sha256: hashOfTest(test) })
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, JSON.stringify(Object.fromEntries(kills), null, 2))
    },
  }
}

function keyOf({ file, piece, nth, mutated }) {
  return sha256(JSON.stringify({ file, piece, nth, mutated }))
}

function sha256(data) {
  return createHash('sha256').update(data).digest('hex')
}
