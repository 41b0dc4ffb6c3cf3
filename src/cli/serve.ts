import { type GatewayConfig, readConfig } from '../gateway/config.ts'
import { gatewayHooks } from '../gateway/hooks.ts'
import { isOneOfSeveral, keepProcesses, leaveOthers } from '../gateway/processes.ts'
import { answerQuestions } from '../gateway/questions.ts'
import { HookonceError } from '../model/errors.ts'
import { jsonLogger, type Logger } from '../observe/logs.ts'
import { type Command, parse, usageError } from './command.ts'
import {
  type AdminPlace,
  gatewayOptions,
  openListeners,
  parseGatewayOptions,
  runUntilSignal,
} from './run-gateway.ts'

const usage = `DATABASE_URL=postgres://… hookonce serve [--config hookonce.json] [--port 4400] [--host 0.0.0.0]
                                        [--admin-port 4401] [--admin-host 127.0.0.1] [--dir DIR]
                                        [--receive-only | --work-only] [--workers N] [--drain 8s] [--pooler] [--quiet]

Receives at POST /in/:source and forwards to the destinations of the configuration. Logs JSON to standard error.
--admin-port, --admin-host: where /metrics is. Beyond this machine only with a HOOKONCE_ADMIN_TOKEN.
--workers: the number of processes behind the port; each uses one core.
--drain: how long work in progress may continue after SIGTERM, such as 8s or 1m. The rest is returned to the ledger.
Without DATABASE_URL the ledger is an embedded PostgreSQL under --dir. With NODE_ENV=production, DATABASE_URL is required;
"embedded" selects the embedded PostgreSQL.
--pooler: DATABASE_URL is a pooler in transaction mode, such as PgBouncer.`

export const serve: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      ...gatewayOptions,
      config: { type: 'string', default: 'hookonce.json' },
      host: { type: 'string', default: '0.0.0.0' },
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
    const { port, drainMs, adminPlace } = parseGatewayOptions({ usage }, values)
    const config = await readConfig(values.config, process.env)
    const admin = adminPlace(config.admin, process.env)
    const logger = jsonLogger(values.quiet ? 'warn' : 'info')
    const processes = processesOf(values.workers)
    if (processes > 1 && !isOneOfSeveral) {
      process.exitCode = await keepProcesses({ count: processes, logger, admin })
      return
    }
    const { dir, host, pooler } = values
    const roles = { receives: !values['work-only'], works: !values['receive-only'] }
    const settings = { port, host, dir, pooler, drainMs, admin: isOneOfSeveral ? undefined : admin, ...roles }
    await run(config, settings, logger).finally(leaveOthers)
  },
}

interface ServeSettings {
  readonly port: number
  readonly host: string
  readonly dir: string
  readonly pooler: boolean
  readonly drainMs: number
  /** Undefined: one of several processes, of which the first has the admin listener. */
  readonly admin: AdminPlace | undefined
  readonly receives: boolean
  readonly works: boolean
}

async function run(config: GatewayConfig, settings: ServeSettings, logger: Logger): Promise<void> {
  const { port, host, dir, pooler, drainMs, admin, receives, works } = settings
  const hooks = gatewayHooks(config, {
    database: process.env.DATABASE_URL || undefined,
    dir,
    prepare: pooler ? 'off' : 'on',
    logger,
  })
  await hooks.ledger()
  if (works) await hooks.start()
  if (isOneOfSeveral) answerQuestions(hooks)
  const listeners = await openListeners({ hooks, host, port, receives, admin })
  // Before it reports that it is ready: a process that waits for that may stop it at once.
  const stopped = runUntilSignal(hooks, listeners, drainMs)
  if (listeners.admin) {
    const ports = { port: listeners.delivery.port, adminPort: listeners.admin.port }
    logger.info({ ...ports, sources: Object.keys(config.sources) }, 'hookonce is ready')
  }
  await stopped
}

/** Each opens a pool of connections. A larger number is more likely a mistake. */
const MAX_PROCESSES = 64

function processesOf(text: string): number {
  const count = Number(text)
  if (/^\d{1,2}$/.test(text) && count >= 1 && count <= MAX_PROCESSES) return count
  throw usageError({ usage }, `--workers must be a number from 1 to ${MAX_PROCESSES}, not "${text}"`)
}
