import { readConfig } from '../gateway/config.ts'
import { gatewayHooks } from '../gateway/hooks.ts'
import { startGateway } from '../gateway/server.ts'
import { HookonceError } from '../model/errors.ts'
import { jsonLogger } from '../observe/logs.ts'
import { type Command, parse, portOf } from './command.ts'
import { untilStopped } from './running.ts'

const usage = `DATABASE_URL=postgres://… hookonce serve [--config hookonce.json] [--port 4400] [--host 0.0.0.0] [--dir DIR]
                                        [--receive-only | --work-only] [--pooler] [--quiet]

Receives at POST /in/:source and forwards to the destinations of the configuration. Logs JSON to standard error.
Without DATABASE_URL it keeps its ledger in an embedded PostgreSQL under --dir.
--pooler: DATABASE_URL is a pooler in transaction mode, such as PgBouncer.`

export const serve: Command = {
  name: 'serve',
  summary: 'run the gateway of a configuration file',
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      config: { type: 'string', default: 'hookonce.json' },
      port: { type: 'string', default: '4400' },
      host: { type: 'string', default: '0.0.0.0' },
      dir: { type: 'string', default: '.hookonce' },
      'receive-only': { type: 'boolean', default: false },
      'work-only': { type: 'boolean', default: false },
      pooler: { type: 'boolean', default: false },
      quiet: { type: 'boolean', default: false },
    })
    if (values['receive-only'] && values['work-only']) {
      throw new HookonceError(
        'CONFIG_INVALID',
        '--receive-only and --work-only exclude each other: leave both out to do both',
      )
    }
    const port = portOf({ usage }, values.port)
    const config = await readConfig(values.config, process.env)
    const logger = jsonLogger(values.quiet ? 'warn' : 'info')
    const hooks = gatewayHooks(config, {
      database: process.env.DATABASE_URL || undefined,
      dir: values.dir,
      prepare: values.pooler ? 'off' : 'on',
      logger,
    })
    await hooks.ledger()
    if (!values['receive-only']) await hooks.start()
    const receives = !values['work-only']
    const server = await startGateway({ hooks, host: values.host, port, receives }).catch(async (error) => {
      await hooks.stop()
      throw error
    })
    // Before it says that it is ready: whoever waits for that may stop it at once.
    const stopped = untilStopped(hooks, server)
    logger.info({ port: server.port, sources: Object.keys(config.sources) }, 'hookonce is ready')
    await stopped
  },
}
