import { refusedHosts } from '../forward/refused-hosts.ts'
import { type GatewayConfig, readConfig } from '../gateway/config/config.ts'
import { requireConfigFile } from '../gateway/config/find-file.ts'
import { firstEventCommand } from '../gateway/first-event.ts'
import { type Gateway, gateway } from '../gateway/gateway.ts'
import { gatewayHooks } from '../gateway/hooks.ts'
import { isOneOfSeveral, keepProcesses, leaveOthers } from '../gateway/processes.ts'
import { answerQuestions } from '../gateway/questions.ts'
import { verifyCommand } from '../gateway/verify-command.ts'
import { type ConfigWatch, digestOf, watchConfig } from '../gateway/watch-config.ts'
import { systemResolver } from '../http/guarded-lookup.ts'
import { HookonceError } from '../model/errors.ts'
import type { LedgersOptions } from '../model/ledger-names.ts'
import { jsonLogger, type Logger } from '../observe/logs.ts'
import { printUnderstood } from './check-config.ts'
import { type Command, parse, usageError } from './command.ts'
import {
  databaseOf,
  encryptionFrom,
  ledgerAtFirstUse,
  ledgersOf,
  requireEncryptionKeys,
  schemaFrom,
} from './open-ledger.ts'
import { MAX_CONNECTIONS, reloader } from './reload.ts'
import {
  type AdminPlace,
  gatewayOptions,
  type Listeners,
  openListeners,
  parseGatewayOptions,
  runUntilSignal,
} from './run-gateway.ts'

const usage = `DATABASE_URL=postgres://… hookonce serve [--config FILE] [--check [--json]] [--port 4400] [--host 0.0.0.0]
                                        [--admin-port 4401] [--admin-host 127.0.0.1] [--admin-path PATH] [--dir DIR]
                                        [--receive-only | --work-only] [--workers N] [--ledgers N] [--drain 8s] [--pooler]
                                        [--quiet]

Receives at POST /in/:source and forwards to the destinations of the configuration. Logs JSON to standard error.
--config: a file; without it hookonce.config.ts, .mjs, .js, .json, .yaml or .yml in this folder. A change of the file
takes effect without a restart, as does SIGHUP.
--check: checks the configuration, prints a summary of it, and exits with 0 or 1.
--admin-port, --admin-host: the address of the dashboard, the admin API and /metrics. Other machines need HOOKONCE_ADMIN_TOKEN.
--admin-path: the path under which a proxy serves the admin listener. Then every request needs a token.
--workers: the number of processes behind the port; each uses one core.
--ledgers: the number of ledgers over which tenants are spread; overrides \`ledgers\` of the configuration.
--drain: how long work in progress may continue after SIGTERM, such as 8s or 1m. The rest is returned to the ledger.
Without DATABASE_URL the ledger is an embedded PostgreSQL under --dir. With NODE_ENV=production, DATABASE_URL is required;
"embedded" selects the embedded PostgreSQL.
HOOKONCE_ENCRYPTION_KEY encrypts bodies and headers in the ledger: \`hookonce encryption key\` makes a key.
--pooler: DATABASE_URL is a pooler in transaction mode, such as PgBouncer.`

export const serve: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      ...gatewayOptions,
      check: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      host: { type: 'string' },
      dir: { type: 'string', default: '.hookonce' },
      'receive-only': { type: 'boolean', default: false },
      'work-only': { type: 'boolean', default: false },
      workers: { type: 'string', default: '1' },
      pooler: { type: 'boolean', default: false },
      quiet: { type: 'boolean', default: false },
    })
    if (values['receive-only'] && values['work-only']) {
      throw new HookonceError(
        'CONFIG_INVALID',
        '--receive-only and --work-only exclude each other: leave both out to do both',
      )
    }
    if (values.json && !values.check) throw usageError({ usage }, '--json needs --check')
    const { deliveryPort, drainMs, adminPlace } = parseGatewayOptions({ usage }, values, 'metrics')
    const processes = processesOf(values.workers)
    const file = requireConfigFile(values.config)
    const digest = digestOf(file)
    const read = (): Promise<GatewayConfig> => readConfig(file, process.env, { serves: true })
    const config = await read()
    const ledgers = await ledgersOf(values, config)
    const admin = adminPlace(config, process.env)
    if (values.check) {
      requireUsable(config)
      return printUnderstood(config, { file, json: values.json })
    }

    const logger = jsonLogger(values.quiet ? 'warn' : 'info')
    const watch = (apply: () => Promise<void>): ConfigWatch => {
      const watching = watchConfig({ file, digest, logger, apply })
      process.on('SIGHUP', watching.reload)
      return watching
    }
    if (processes > 1 && !isOneOfSeveral) {
      let latest = config
      const checkThen = (toAll: () => Promise<void>) =>
        watch(async () => {
          latest = await read()
          await toAll()
        })
      const { dir, pooler } = values
      const ledger = ledgerAtFirstUse({
        database: config.database ?? databaseOf(process.env),
        dir,
        prepare: pooler ? 'off' : 'on',
        keys: config.encryption?.key,
        ledgers,
      })
      process.exitCode = await keepProcesses({
        count: processes,
        logger,
        watch: checkThen,
        admin,
        config: () => latest,
        file,
        ledger,
      }).finally(ledger.close)
      return
    }
    const { dir, pooler } = values
    const settings = {
      port: deliveryPort(config),
      host: values.host ?? config.host ?? '0.0.0.0',
      dir,
      ledgers,
      pooler,
      drainMs,
      admin: isOneOfSeveral ? undefined : admin,
      receives: !values['work-only'],
      works: !values['receive-only'],
    }
    await run({ config, file, read, watch, settings, logger }).finally(leaveOthers)
  },
}

interface ServeSettings {
  readonly port: number
  readonly host: string
  readonly dir: string
  readonly ledgers: LedgersOptions | undefined
  readonly pooler: boolean
  readonly drainMs: number
  /** Undefined: this is one of several processes, and the first process has the admin listener. */
  readonly admin: AdminPlace | undefined
  readonly receives: boolean
  readonly works: boolean
}

interface ServeRun {
  readonly config: GatewayConfig
  /** The file of the configuration. */
  readonly file: string
  readonly read: () => Promise<GatewayConfig>
  readonly watch: (apply: () => Promise<void>) => ConfigWatch
  readonly settings: ServeSettings
  readonly logger: Logger
}

async function run({ config, file, read, watch, settings, logger }: ServeRun): Promise<void> {
  const { port, host, drainMs, admin, receives, works } = settings
  const serving = gateway({
    config,
    make: (next) =>
      gatewayHooks(next, {
        // Uses the database of the start: a running gateway keeps its ledger.
        database: config.database ?? (process.env.DATABASE_URL || undefined),
        dir: settings.dir,
        schema: schemaFrom(process.env),
        ledgers: settings.ledgers,
        ...encryptionFrom(process.env),
        prepare: settings.pooler ? 'off' : 'on',
        logger,
      }),
    works,
    drainMs,
    logger,
  })
  await serving.start()
  let listeners: Listeners | undefined
  const limitConnections = (limit: number): void => listeners?.delivery.limitConnections(limit)
  const reload = reloader({ gateway: serving, limitConnections, logger, config, read })
  // Installed before listening: the first process sends requests as soon as this one listens.
  if (isOneOfSeveral) answerAsOneOfSeveral(serving, reload, logger)
  const maxConnections = config.limits?.maxConnections ?? MAX_CONNECTIONS
  listeners = await openListeners({
    gateway: serving,
    host,
    port,
    maxConnections,
    receives,
    admin,
    logger,
    firstEvent: ({ url, tenant }) =>
      firstEventCommand({ config: serving.config(), file, deliveryUrl: url, tenant }),
    verifyCommand: (source) => verifyCommand(source, { config: file }),
  })
  if (works) void warnOfPrivateHosts(config, logger)
  // Installs the signal handlers before it prints the ready line: a parent process may stop this
  // one as soon as it reads the line.
  const stopped = runUntilSignal(serving, listeners, drainMs)
  let watching: ConfigWatch | undefined
  if (listeners.admin) {
    watching = watch(reload)
    const ports = { port: listeners.delivery.port, adminPort: listeners.admin.port }
    logger.info({ ...ports, sources: Object.keys(config.sources) }, 'hookonce is ready')
  }
  await stopped
  watching?.stop()
}

/** The first process watches the file and handles the signals. */
function answerAsOneOfSeveral(serving: Gateway, reload: () => Promise<void>, logger: Logger): void {
  // Closing a terminal sends SIGHUP to all processes.
  process.on('SIGHUP', () => undefined)
  answerQuestions({
    metrics: { snapshot: serving.metrics },
    ready: serving.ready,
    async reload() {
      try {
        await reload()
        return true
      } catch (error) {
        logger.error({ error: String(error) }, 'this process did not apply the new configuration')
        return false
      }
    },
  })
}

/**
 * Warns once, without delaying the start: the owner of a destination's DNS name must not be able to
 * prevent a gateway from starting.
 */
async function warnOfPrivateHosts({ destinations }: GatewayConfig, logger: Logger): Promise<void> {
  for (const { name, refusal } of await refusedHosts(destinations, systemResolver()))
    logger.warn(
      { destination: name, detail: `${refusal} to destinations.${name}` },
      'no event can be forwarded',
    )
}

/** Makes the checks of a start without opening anything. */
function requireUsable(config: GatewayConfig): void {
  requireEncryptionKeys(config.encryption?.key)
  gatewayHooks(config, { database: databaseOf({}) })
}

/** Each process opens a pool of connections. A larger number is probably a mistake. */
const MAX_PROCESSES = 64

function processesOf(text: string): number {
  const count = Number(text)
  if (/^\d{1,2}$/.test(text) && count >= 1 && count <= MAX_PROCESSES) return count
  throw usageError({ usage }, `--workers must be a number from 1 to ${MAX_PROCESSES}, not "${text}"`)
}
