import { allLedgerNames, type LedgersOptions } from '../model/ledger-names.ts'
import { diagnose, type Finding } from '../operate/doctor/diagnose.ts'
import { type Command, ledgerOptions, parse, parseDuration, parsePort, usageError } from './command.ts'
import { checkConfigFile, encryptionKeys, secretFindings } from './doctor/config-checks.ts'
import { diskFinding, nodeFinding } from './doctor/machine-checks.ts'
import { portFinding } from './doctor/port-checks.ts'
import { findingsText } from './doctor/text.ts'
import { databaseOf, isWithoutLedger, ledgersOf, schemaFrom } from './open-ledger.ts'
import { print, printJson } from './print.ts'
import { ADMIN_HOST, ADMIN_PORT, DELIVERY_PORT } from './run-gateway.ts'
import { styleOf } from './style.ts'

const usage = `hookonce doctor [--config FILE] [--port N] [--admin-port N] [--workers N] [--pooler]
                [--max-transaction 10m] [--json] [--dir DIR]

Checks what hookonce needs, and gives advice: Node.js, the configuration and its secrets, the ports, the database with its
settings, clock, rights and schema, the ledger with its backlog, and the disk. It only reads.

  --config    a configuration file; without it the one in this folder, if there is one
  --port, --admin-port   the ports to check; default those of the configuration, else 4400 and 4401
  --workers   how many processes share the database; the connections of all of them are counted
  --pooler    the database is behind a pooler in transaction mode, such as PgBouncer
  --max-transaction   a transaction that is open for longer is reported; default 10m
Each line is ok, warn or fail. Exits with 1 if a check failed, else with 0. It takes at most half a minute.`

const MAX_PROCESSES = 1_000
/** The default of the option `maxConnections`. */
const HANDLER_CONNECTIONS = 10

export const doctor: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      ...ledgerOptions,
      config: { type: 'string' },
      port: { type: 'string' },
      'admin-port': { type: 'string' },
      workers: { type: 'string', default: '1' },
      pooler: { type: 'boolean', default: false },
      'max-transaction': { type: 'string', default: '10m' },
    })
    const port = values.port === undefined ? undefined : parsePort({ usage }, values.port)
    const adminPort =
      values['admin-port'] === undefined
        ? undefined
        : parsePort({ usage }, values['admin-port'], '--admin-port')
    const processes = processesOf(values.workers)
    const maxTransactionSeconds = parseDuration({ usage }, values['max-transaction']) / 1_000
    const file = await checkConfigFile(values.config)
    const { config } = file
    const findings: Finding[] = [
      nodeFinding(process.versions.node),
      ...file.findings,
      ...secretFindings(file, process.env),
      await portFinding({
        host: config?.host ?? '0.0.0.0',
        port: port ?? config?.port ?? DELIVERY_PORT,
        flag: '--port',
      }),
      await portFinding({
        host: config?.admin?.host ?? ADMIN_HOST,
        port: adminPort ?? config?.admin?.port ?? ADMIN_PORT,
        flag: '--admin-port',
      }),
      ...(await databasesFindings(config?.database ?? databaseOf(process.env), await ledgersOf({}, config), {
        ...values,
        processes,
        maxTransactionSeconds,
        encryption: encryptionKeys(config?.encryption?.key),
      })),
    ]
    if (values.json) printJson(findings)
    else print(findingsText(findings, styleOf(process.stdout)))
    if (findings.some(({ level }) => level === 'fail')) process.exitCode = 1
  },
}

interface DatabaseValues {
  readonly dir: string
  readonly pooler: boolean
  readonly processes: number
  readonly maxTransactionSeconds: number
  readonly encryption: ReturnType<typeof encryptionKeys>
}

/** The findings of every ledger. With several ledgers, each finding names its ledger. */
async function databasesFindings(
  database: string,
  ledgers: LedgersOptions | undefined,
  values: DatabaseValues,
): Promise<readonly Finding[]> {
  const schema = schemaFrom(process.env)
  if (!ledgers) return databaseFindings(database, { ...values, schema })
  const names = allLedgerNames(schema, ledgers)
  const placeOf = (name: string): string => ledgers.placement[name] ?? database
  const found: Finding[] = []
  for (const name of names) {
    const here = names.filter((other) => placeOf(other) === placeOf(name)).length
    const own = { ...values, schema: name, ledgers: { all: names.length, here } }
    for (const finding of await databaseFindings(placeOf(name), own))
      found.push({ ...finding, check: `${name}: ${finding.check}` })
  }
  return found
}

interface OneLedger extends DatabaseValues {
  readonly schema: string
  readonly ledgers?: { readonly all: number; readonly here: number }
}

async function databaseFindings(
  database: string,
  { dir, pooler, processes, maxTransactionSeconds, encryption, schema, ledgers }: OneLedger,
): Promise<readonly Finding[]> {
  if (isWithoutLedger(database, dir)) {
    const seen = `there is no ledger in ${dir}, and DATABASE_URL is not set`
    const advice = 'start `hookonce dev` here, give --dir, or set DATABASE_URL'
    return [{ check: 'database', level: 'warn', seen, advice }]
  }
  const { findings, ledgerBytes, dataDir } = await diagnose({
    database,
    dir,
    schema,
    ledgers,
    processes,
    maxConnections: HANDLER_CONNECTIONS,
    isPooled: pooler,
    maxTransactionSeconds,
    encryptionKeys: 'keys' in encryption ? encryption.keys : undefined,
  })
  if (ledgerBytes === undefined) return findings
  return [...findings, await diskFinding({ dataDir, ledgerBytes })]
}

function processesOf(text: string): number {
  const count = Number(text)
  if (/^\d{1,4}$/.test(text) && count >= 1 && count <= MAX_PROCESSES) return count
  throw usageError({ usage }, `--workers must be a number from 1 to ${MAX_PROCESSES}, not "${text}"`)
}
