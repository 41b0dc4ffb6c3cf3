import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { type EmbeddedServer, startEmbedded } from '../ledger/embedded/embedded.ts'
import { EMBEDDED, type Ledger, type LedgerOptions, openLedger } from '../ledger/ledger.ts'
import type { Ledgers } from '../ledger/ledger-set.ts'
import { ledgersAtFirstUse, type OpenedLedgers } from '../ledger/ledgers-at-first-use.ts'
import { parseMasterKeys } from '../ledger/vault/master-keys.ts'
import { HookonceError } from '../model/errors.ts'
import { allLedgerNames, type LedgersOptions } from '../model/ledger-names.ts'
import { DEFAULT_SCHEMA, SCHEMA_NAME, SCHEMA_NAME_RULE } from '../model/schema-name.ts'

export type { Ledgers }
export { EMBEDDED }

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
 * The ledgers, if there are several: of --ledgers, else of a configuration, else of
 * HOOKONCE_LEDGERS, which is a number or the option `ledgers` as JSON. Undefined: there is one.
 */
export async function ledgersOf(
  { ledgers: flag }: { readonly ledgers?: string | undefined } = {},
  config: { readonly ledgers?: LedgersOptions | undefined } = {},
): Promise<LedgersOptions | undefined> {
  const variable = process.env.HOOKONCE_LEDGERS?.trim()
  if (flag === undefined && (config.ledgers || !variable)) return config.ledgers
  // Loaded only here: most commands check no options, and start faster without what checks them.
  const { checkLedgers } = await import('./check-ledgers.ts')
  const schema = schemaFrom(process.env)
  return flag === undefined
    ? checkLedgers(variable ?? '', schema, 'HOOKONCE_LEDGERS')
    : checkLedgers(flag, schema, '--ledgers')
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

/**
 * Opens the ledger for one command, without migrating it, and closes it afterwards. With several
 * ledgers, one that cannot be read is reported on the error output, and the others answer.
 */
export async function withLedger<Result>(
  dir: string,
  work: (ledger: Ledgers) => Promise<Result>,
): Promise<Result> {
  const database = databaseOf(process.env)
  if (isWithoutLedger(database, dir)) throw withoutLedger(dir, ', or set DATABASE_URL')
  const schema = schemaFrom(process.env)
  const ledgers = await ledgersOf()
  const options = {
    database,
    dir,
    schema,
    migrate: 'off',
    prepare: 'off',
    // The server is checked by the process that receives into this ledger.
    durability: 'unsafe',
    maxConnections: 2,
    masterKeys: parseMasterKeys(encryptionKeysFrom(process.env), 'HOOKONCE_ENCRYPTION_KEY'),
    onNotice: ({ message, detail }) => process.stderr.write(`${message} (${detail})\n`),
  } satisfies LedgerOptions
  if (!ledgers) return using(await openLedger(options), work)
  const opened = openedLedgers(options, ledgers)
  return using(opened, () => work({ ...opened.set((ledger) => ledger), onUnreachable: unreachable() }))
}

/**
 * The server of the embedded ledger in `dir`, which may be running already. Its URL holds the
 * password. Call `leave` when the work on it is done.
 */
export async function embeddedServer(dir: string): Promise<EmbeddedServer> {
  if (isWithoutLedger(EMBEDDED, dir)) throw withoutLedger(dir, ', or pass a postgres:// URL')
  return startEmbedded({ dir })
}

function withoutLedger(dir: string, otherwise: string): HookonceError {
  return new HookonceError(
    'CONFIG_INVALID',
    `there is no ledger in ${dir}: start \`hookonce dev\` here, give --dir${otherwise}`,
  )
}

async function using<Opened extends { close(): Promise<void> }, Result>(
  opened: Opened,
  work: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(opened)
  } finally {
    await opened.close()
  }
}

/** Several ledgers, each opened when a command first asks it. */
function openedLedgers(options: LedgerOptions, ledgers: LedgersOptions): OpenedLedgers {
  return ledgersAtFirstUse({
    names: allLedgerNames(options.schema, ledgers),
    open: (name) =>
      openLedger({
        ...options,
        schema: name,
        database: ledgers.placement[name] ?? options.database,
        isOneOfMany: true,
      }),
  })
}

/** Names each ledger once. */
function unreachable(): (name: string, error: unknown) => void {
  const told = new Set<string>()
  return (name, error) => {
    if (told.has(name)) return
    told.add(name)
    const why = error instanceof Error ? error.message : String(error)
    process.stderr.write(`the ledger ${name} cannot be read, its part is missing: ${why}\n`)
  }
}

export interface LazyLedger {
  /** The tables of the ledger, on the operators' connections. */
  (): Promise<Ledgers>
  close(): Promise<void>
}

interface LazyLedgerOptions extends Pick<LedgerOptions, 'database' | 'dir' | 'prepare'> {
  /** Encryption keys. Undefined: the keys of the environment. */
  readonly keys: readonly string[] | undefined
  readonly ledgers: LedgersOptions | undefined
}

/** Opens the ledger at the first use, for a process without an instance of hookonce. */
export function ledgerAtFirstUse({ keys, ledgers, ...given }: LazyLedgerOptions): LazyLedger {
  const options = (): LedgerOptions => ({
    ...given,
    schema: schemaFrom(process.env),
    masterKeys: parseMasterKeys(keys ?? encryptionKeysFrom(process.env), 'encryption.key'),
    migrate: 'auto',
    // The server is checked by the processes that receive.
    durability: 'unsafe',
    maxConnections: 1,
  })
  const operators = ({ operators: pool, shards, vault }: Ledger) => ({ pool, shards, vault })
  let many: OpenedLedgers | undefined
  let opening: Promise<Ledger> | undefined
  async function tables(): Promise<Ledgers> {
    if (ledgers) {
      many ??= openedLedgers(options(), ledgers)
      return many.set(operators)
    }
    opening ??= openLedger(options()).catch((error) => {
      opening = undefined
      throw error
    })
    return operators(await opening)
  }
  return Object.assign(tables, {
    async close() {
      const ledger = await opening?.catch(() => undefined)
      await ledger?.close()
      await many?.close()
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
