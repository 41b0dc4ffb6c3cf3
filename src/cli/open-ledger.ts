import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { EMBEDDED, type Ledger, openLedger } from '../ledger/ledger.ts'
import { HookonceError } from '../model/errors.ts'

/** Opens the ledger to look in from a second terminal, and leaves it as it was. */
export async function lookingIn<Result>(
  dir: string,
  look: (ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const database = process.env.DATABASE_URL || EMBEDDED
  if (database === EMBEDDED && !holdsDatabase(dir)) {
    throw new HookonceError(
      'CONFIG_INVALID',
      `there is no ledger in ${dir}: start \`hookonce dev\` here, give --dir, or set DATABASE_URL`,
    )
  }
  const ledger = await openLedger({
    database,
    dir,
    migrate: 'off',
    prepare: 'off',
    // Who receives into this ledger has refused or accepted its server.
    durability: 'unsafe',
    maxConnections: 2,
  })
  try {
    return await look(ledger)
  } finally {
    await ledger.close()
  }
}

/**
 * Without this look, an embedded server would make one. It may be a link to where only the server
 * may look.
 */
function holdsDatabase(dir: string): boolean {
  return lstatSync(join(dir, 'postgres'), { throwIfNoEntry: false }) !== undefined
}
