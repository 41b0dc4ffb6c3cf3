import { join } from 'node:path'
import { destinationUrlFault, type GatewayConfig, readConfig } from '../gateway/config.ts'
import { gatewayHooks } from '../gateway/hooks.ts'
import type { Hookonce } from '../hookonce.ts'
import type { Logger } from '../observe/logs.ts'
import { jsonLogger } from '../observe/logs.ts'
import type { Sources } from '../options.ts'
import { custom } from '../sources/custom.ts'
import type { SigningSource } from '../sources/sign.ts'
import { type Command, parse, usageError } from './command.ts'
import { type EnvironmentSources, environmentSources } from './environment-sources.ts'
import { localSecret } from './local-secret.ts'
import { databaseOf } from './open-ledger.ts'
import { print, safe, withoutPassword } from './print.ts'
import {
  closeListeners,
  gatewayOptions,
  openListeners,
  parseGatewayOptions,
  runUntilSignal,
} from './run-gateway.ts'

const usage = `hookonce dev [--forward-to URL] [--config hookonce.json] [--port 4400] [--admin-port 4401] [--admin-host 127.0.0.1]
             [--dir .hookonce] [--drain 8s] [--json]

Starts everything on this machine: an embedded PostgreSQL (or DATABASE_URL), the receiver and a worker. Its sources are
each provider whose secret is in the environment (STRIPE_WEBHOOK_SECRET and so on: \`hookonce sources <id>\` names it),
each source of --config, and "demo" to try it out. /metrics is at --admin-port.`

export const dev: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      ...gatewayOptions,
      'forward-to': { type: 'string' },
      config: { type: 'string' },
      dir: { type: 'string', default: '.hookonce' },
      json: { type: 'boolean', default: false },
    })
    // Rejects every wrong option before the first file is written.
    const { port, drainMs, adminPlace } = parseGatewayOptions({ usage }, values)
    const forwardTo = values['forward-to']
    const fault = forwardTo === undefined ? undefined : destinationUrlFault(forwardTo)
    if (fault !== undefined) {
      // The part before an @ may hold a password.
      const given = forwardTo?.includes('@') ? '' : `, not "${forwardTo}"`
      throw usageError({ usage }, `--forward-to ${fault}${given}`)
    }
    const configured = values.config === undefined ? EMPTY : await readConfig(values.config, process.env)
    const admin = adminPlace(configured.admin, process.env)
    const demo = demoSource(localSecret(values.dir, 'demo-secret'))
    // For providers that sign their URL. With --port 0 the port is not known yet.
    const found = await environmentSources(process.env, (provider) =>
      port === 0 ? undefined : `http://127.0.0.1:${port}/in/${provider}`,
    )
    const config = devConfig({ configured, demo, found, forwardTo, dir: values.dir })
    const database = databaseOf(process.env)
    const hooks = gatewayHooks(config, {
      database,
      dir: values.dir,
      logger: values.json ? jsonLogger('info') : terminalLogger(),
    })
    if (config.destinations.length === 0) {
      for (const source of Object.keys(config.sources))
        hooks.on(source, '*', () => undefined, { name: SUBSCRIBER })
    }
    // The ports first: a second `dev` that cannot have them leaves no trace in the ledger.
    const listeners = await openListeners({ hooks, host: '127.0.0.1', port, receives: true, admin })
    await hooks.start().catch(async (error) => {
      await closeListeners(listeners)
      throw error
    })
    // Before it reports that it is ready: a process that waits for that may stop it at once.
    const stopped = runUntilSignal(hooks, listeners, drainMs)
    const { delivery } = listeners
    const adminPort = listeners.admin?.port
    await greet({
      hooks,
      port: delivery.port,
      adminPort,
      config,
      demo,
      found,
      dir: values.dir,
      json: values.json,
    })
    await stopped
  },
}

const EMPTY: GatewayConfig = { sources: {}, destinations: [] }

/**
 * The subscriber of `dev`, with --forward-to and without it: under two names, a replay would run
 * the jobs of both.
 */
const SUBSCRIBER = 'dev'
/** The file with the secret of --forward-to. */
const FORWARD_SECRET = 'forward-secret'

interface DevInput {
  /** From the file of --config. */
  readonly configured: GatewayConfig
  readonly demo: SigningSource
  readonly found: EnvironmentSources
  readonly forwardTo: string | undefined
  readonly dir: string
}

function devConfig({ configured, demo, found, forwardTo, dir }: DevInput): GatewayConfig {
  const opened = Object.fromEntries(found.opened.map(({ name, source }) => [name, source]))
  const forward =
    forwardTo === undefined
      ? []
      : [{ name: SUBSCRIBER, url: forwardTo, types: '*', secret: localSecret(dir, FORWARD_SECRET) }]
  return {
    sources: { demo, ...opened, ...configured.sources },
    destinations: [...configured.destinations, ...forward],
  }
}

function demoSource(secret: string): SigningSource {
  return custom({
    provider: 'demo',
    secret,
    // No timestamp, so that the printed curl line stays valid.
    signature: { algorithm: 'hmac-sha256', header: 'demo-signature', encoding: 'hex' },
    event: { key: 'json:id', type: 'json:type' },
  })
}

interface Greeting {
  readonly hooks: Hookonce<Sources>
  readonly port: number
  readonly adminPort: number | undefined
  readonly config: GatewayConfig
  readonly demo: SigningSource
  readonly found: EnvironmentSources
  readonly dir: string
  readonly json: boolean
}

async function greet({ hooks, port, adminPort, config, demo, found, dir, json }: Greeting): Promise<void> {
  const body = '{"id":"evt_1","type":"invoice.paid"}'
  const signature = demo.sign({ body })['demo-signature']
  const curl = `curl -d '${body}' -H 'demo-signature: ${signature}' http://127.0.0.1:${port}/in/demo`
  const { url = '' } = await hooks.ledger()
  const database = withoutPassword(url)
  const sources = Object.keys(config.sources)
  // A source of the file replaces one of the environment with the same name.
  const opened = found.opened.filter(({ name, source }) => config.sources[name] === source)
  const variables = Object.fromEntries(opened.map(({ name, variable }) => [name, variable]))
  const { leftOut } = found
  if (json)
    return print(
      JSON.stringify({
        ready: true,
        port,
        adminPort,
        sources,
        environment: variables,
        leftOut,
        curl,
        database,
      }),
    )
  const listed = sources.map((name) => {
    const variable = variables[name]
    return `POST /in/${name}${variable === undefined ? '' : ` (${variable})`}`
  })
  print(
    [
      `hookonce is ready at http://127.0.0.1:${port}`,
      '',
      `  sources    ${listed.join('\n             ')}`,
      ...leftOut.map(({ variable, why }) => safe(`  left out   ${variable}: ${why}`)),
      ...config.destinations.map(
        ({ name, url }) => `  forwards   to ${url}, signed with ${secretOf(name, dir)}`,
      ),
      `  ledger     ${database}`,
      `  metrics    http://127.0.0.1:${adminPort}/metrics`,
      '',
      'Send a signed event, then the same line again:',
      '',
      `  ${curl}`,
      '',
      'Look in from another terminal: npx hookonce events',
      '',
    ].join('\n'),
  )
}

/** Where to find the secret of a destination. The secret itself is not printed. */
function secretOf(destination: string, dir: string): string {
  return destination === SUBSCRIBER ? `the secret in ${join(dir, FORWARD_SECRET)}` : 'its secret'
}

/** Prints one line per log entry, for a person at the terminal. */
function terminalLogger(): Logger {
  const log = (fields: Record<string, unknown>, message: string): void => {
    const time = new Date().toTimeString().slice(0, 8)
    const about = [fields.source, fields.event_type, fields.event_key, fields.job, fields.code].filter(
      (part) => part !== undefined,
    )
    const detail = [fields.detail, fields.error].filter((part) => part !== undefined)
    print(
      safe(
        `${time}  ${(LABELS[message] ?? message).padEnd(36)}${about.join('  ')}${detail.length > 0 ? `  ${detail.join(' ')}` : ''}`,
      ),
    )
  }
  return { info: log, warn: log, error: log }
}

const LABELS: Readonly<Record<string, string>> = {
  recorded: '202 recorded',
  duplicate: '200 duplicate, not processed again',
  processed: '    processed',
  unwanted: '200 no subscriber wants this type',
}
