import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { EMBEDDED, type Ledger, type LedgerOptions, type LedgerTables, openLedger } from '../ledger/ledger.ts'
import { parseMasterKeys } from '../ledger/vault/master-keys.ts'
import { HookonceError } from '../model/errors.ts'
import { DEFAULT_SCHEMA, SCHEMA_NAME, SCHEMA_NAME_RULE } from '../model/schema-name.ts'

export type { Ledger }

/** The database of the environment, else the embedded one. */
export function databaseOf(env: NodeJS.ProcessEnv): string {
  return env.DATABASE_URL || EMBEDDED
}

/** The name of the ledger's schema. */
export function schemaFrom(env: NodeJS.ProcessEnv): string {
  const name = env.HOOKONCE_SCHEMA || DEFAULT_SCHEMA
  if (SCHEMA_NAME.test(name)) return name
  throw new HookonceError('CONFIG_INVALID', `HOOKONCE_SCHEMA: ${SCHEMA_NAME_RULE}`)
}

/**
 * The keys that encrypt payloads: several are separated by commas, the first wraps new data keys.
 */
export function encryptionKeysFrom(env: NodeJS.ProcessEnv): string[] {
  const listed = env.HOOKONCE_ENCRYPTION_KEY?.split(',').map((key) => key.trim()) ?? []
  // Not ignored: whoever sets it expects payloads to be encrypted.
  if (!listed.includes('')) return listed
  const fault = 'HOOKONCE_ENCRYPTION_KEY holds an empty key; set it to a key, or unset it'
  throw new HookonceError('CONFIG_INVALID', fault)
}

/** The option `encryption` of a process that the command line starts. */
export function encryptionFrom(env: NodeJS.ProcessEnv): { encryption?: { key: string[] } } {
  const key = encryptionKeysFrom(env)
  return key.length === 0 ? {} : { encryption: { key } }
}

/** Throws if a key is invalid. Undefined: checks the keys of the environment. */
export function requireEncryptionKeys(keys: readonly string[] | undefined): void {
  parseMasterKeys(keys ?? encryptionKeysFrom(process.env), 'encryption.key')
}

/** Opens the ledger for one command, without migrating it, and closes it afterwards. */
export async function withLedger<Result>(
  dir: string,
  work: (ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const database = databaseOf(process.env)
  if (isWithoutLedger(database, dir)) {
    throw new HookonceError(
      'CONFIG_INVALID',
      `there is no ledger in ${dir}: start \`hookonce dev\` here, give --dir, or set DATABASE_URL`,
    )
  }
  const ledger = await openLedger({
    database,
    dir,
    schema: schemaFrom(process.env),
    migrate: 'off',
    prepare: 'off',
    // The server is checked by the process that receives into this ledger.
    durability: 'unsafe',
    maxConnections: 2,
    masterKeys: parseMasterKeys(encryptionKeysFrom(process.env), 'HOOKONCE_ENCRYPTION_KEY'),
    onNotice: ({ message, detail }) => process.stderr.write(`${message} (${detail})\n`),
  })
  try {
    return await work(ledger)
  } finally {
    await ledger.close()
  }
}

export interface LazyLedger {
  /** The tables of the ledger, on the operators' connections. */
  (): Promise<LedgerTables>
  close(): Promise<void>
}

interface LazyLedgerOptions extends Pick<LedgerOptions, 'database' | 'dir' | 'prepare'> {
  /** Encryption keys. Undefined: the keys of the environment. */
  readonly keys: readonly string[] | undefined
}

/** Opens the ledger at the first use, for a process without an instance of hookonce. */
export function ledgerAtFirstUse(options: LazyLedgerOptions): LazyLedger {
  let opening: Promise<Ledger> | undefined
  async function tables(): Promise<LedgerTables> {
    opening ??= openLedger({
      ...options,
      schema: schemaFrom(process.env),
      masterKeys: parseMasterKeys(options.keys ?? encryptionKeysFrom(process.env), 'encryption.key'),
      migrate: 'auto',
      // The server is checked by the processes that receive.
      durability: 'unsafe',
      maxConnections: 1,
    }).catch((error) => {
      opening = undefined
      throw error
    })
    const { operators, shards, vault } = await opening
    return { pool: operators, shards, vault }
  }
  return Object.assign(tables, {
    async close() {
      const ledger = await opening?.catch(() => undefined)
      await ledger?.close()
    },
  })
}

/** Whether the database is the embedded one and does not exist yet. */
export function isWithoutLedger(database: string, dir: string): boolean {
  return database === EMBEDDED && !holdsDatabase(dir)
}

/**
 * Without this check, opening would create a database. The folder may be a link to one that only
 * the server's user can read.
 */
function holdsDatabase(dir: string): boolean {
  return lstatSync(join(dir, 'postgres'), { throwIfNoEntry: false }) !== undefined
}
