import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { EMBEDDED, type Ledger, openLedger } from '../ledger/ledger.ts'
import { HookonceError } from '../model/errors.ts'

export type { Ledger }

/** The database of the environment, else the embedded one. */
export function databaseOf(env: NodeJS.ProcessEnv): string {
  return env.DATABASE_URL || EMBEDDED
}

/** Opens the ledger for one command, without migrating it, and closes it afterwards. */
export async function withLedger<Result>(
  dir: string,
  work: (ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const database = databaseOf(process.env)
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
    // The process that receives into this ledger checks its server.
    durability: 'unsafe',
    maxConnections: 2,
    onNotice: ({ message, detail }) => process.stderr.write(`${message} (${detail})\n`),
  })
  try {
    return await work(ledger)
  } finally {
    await ledger.close()
  }
}

/**
 * Without this check, opening would create a database. The folder may be a link to one that only
 * the server's user can read.
 */
function holdsDatabase(dir: string): boolean {
  return lstatSync(join(dir, 'postgres'), { throwIfNoEntry: false }) !== undefined
}
