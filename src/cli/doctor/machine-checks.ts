import fs from 'node:fs/promises'
import { refuseOldNode } from '../../node-version.ts'
import { type Finding, fail, GIGABYTE, ok, sizeText, warn } from '../../operate/doctor/finding.ts'

export function nodeFinding(version: string): Finding {
  const refused = refuseOldNode(version)
  if (refused !== undefined) return fail('node', `Node.js ${version}`, refused)
  const [major = 0] = version.split('.').map(Number)
  if (major % 2 === 1)
    return warn(
      'node',
      `Node.js ${version}`,
      'odd versions get fixes for half a year only: use an even version',
    )
  return ok('node', `Node.js ${version}`)
}

/** PostgreSQL stops when its disk is full, and needs room for its log to start again. */
const WARN_FREE = 5 * GIGABYTE
const FAIL_FREE = GIGABYTE / 2
const WARN_SHARE = 0.1

export interface LedgerPlace {
  /** Undefined: the server is not embedded, so its disk cannot be inspected from this process. */
  readonly dataDir: string | undefined
  readonly ledgerBytes: number
}

export async function diskFinding({ dataDir, ledgerBytes }: LedgerPlace): Promise<Finding> {
  const check = 'disk'
  const size = `the ledger takes ${sizeText(ledgerBytes)}`
  if (dataDir === undefined)
    return ok(check, `${size}; watch the disk of the database server there: it cannot be seen from here`)
  const { bavail, blocks, bsize } = await fs.statfs(dataDir)
  const space = { free: bavail * bsize, share: blocks === 0 ? 0 : bavail / blocks }
  return spaceFinding(space, `${size}; ${spaceText(space)} under ${dataDir}`)
}

interface Space {
  /** In bytes. */
  readonly free: number
  /** The free share of the disk. */
  readonly share: number
}

function spaceText({ free, share }: Space): string {
  return `${sizeText(free)} (${Math.round(share * 100)} %) are free`
}

/** `seen` describes the space. */
export function spaceFinding({ free, share }: Space, seen: string): Finding {
  const check = 'disk'
  const advice = 'free some space, shorten `retention`, or move the folder: a full disk stops the database'
  if (free < FAIL_FREE) return fail(check, seen, advice)
  if (free < WARN_FREE && share < WARN_SHARE) return warn(check, seen, advice)
  return ok(check, seen)
}
