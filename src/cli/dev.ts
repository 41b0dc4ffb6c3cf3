import { join } from 'node:path'
import { destinationUrlFault } from '../forward/destination.ts'
import { placeOf } from '../forward/forward.ts'
import { capture } from '../gateway/capture/capture.ts'
import { type GatewayConfig, readConfig } from '../gateway/config/config.ts'
import { findConfigFile } from '../gateway/config/find-file.ts'
import { gateway } from '../gateway/gateway.ts'
import { verifyCommand } from '../gateway/verify-command.ts'
import { digestOf, watchConfig } from '../gateway/watch-config.ts'
import type { Hookonce } from '../hookonce.ts'
import type { LedgersOptions } from '../model/ledger-names.ts'
import type { Logger } from '../observe/logs.ts'
import { jsonLogger } from '../observe/logs.ts'
import type { Sources } from '../options.ts'
import type { SigningSource } from '../sources/sign.ts'
import { capturedLog } from './captured-log.ts'
import { type Command, parse, usageError } from './command.ts'
import { makeDemoSource } from './demo-source.ts'
import { devConfig, devHooks, EMPTY, FORWARD_SECRET, SUBSCRIBER } from './dev-config.ts'
import { type EnvironmentSources, environmentSources } from './environment-sources.ts'
import { databaseOf, encryptionFrom, ledgersOf, schemaFrom } from './open-ledger.ts'
import { print, safe, withoutPassword } from './print.ts'
import { MAX_CONNECTIONS, reloader } from './reload.ts'
import {
  closeListeners,
  gatewayOptions,
  openListeners,
  parseGatewayOptions,
  runUntilSignal,
} from './run-gateway.ts'

const usage = `hookonce dev [--forward-to URL] [--config FILE] [--port 4400] [--admin-port 4401] [--admin-host 127.0.0.1]
             [--admin-path PATH] [--dir .hookonce] [--ledgers N] [--drain 8s] [--json]

Starts everything on this machine: an embedded PostgreSQL (or DATABASE_URL), the receiver and a worker. Its sources are
each provider whose secret is in the environment (STRIPE_WEBHOOK_SECRET and so on: \`hookonce sources <id>\` names it),
each source of the configuration, and "demo" to try it out. The configuration is --config, or hookonce.config.ts, .mjs, .js,
.json, .yaml or .yml in this folder; a change takes effect without a restart. The dashboard is at
--admin-port.`

export const dev: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      ...gatewayOptions,
      'forward-to': { type: 'string' },
      dir: { type: 'string', default: '.hookonce' },
      json: { type: 'boolean', default: false },
    })
    // Rejects every wrong option before the first file is written.
    const { deliveryPort, drainMs, adminPlace } = parseGatewayOptions({ usage }, values, 'everything')
    const forwardTo = values['forward-to']
    const fault = forwardTo === undefined ? undefined : destinationUrlFault(forwardTo)
    if (fault !== undefined) {
      // The part before an @ may hold a password.
      const given = forwardTo?.includes('@') ? '' : `, not "${forwardTo}"`
      throw usageError({ usage }, `--forward-to ${fault}${given}`)
    }
    const { dir, json } = values
    const file = values.config ?? findConfigFile()
    const digest = file === undefined ? undefined : digestOf(file)
    const configured = file === undefined ? EMPTY : await readConfig(file, process.env)
    const port = deliveryPort(configured)
    const admin = adminPlace(configured, process.env)
    const demo = makeDemoSource(dir)
    // The URL for providers that sign it. With --port 0 the port is not known yet.
    const found = await environmentSources(process.env, (provider) =>
      port === 0 ? undefined : `http://127.0.0.1:${port}/in/${provider}`,
    )
    const withFile = (given: GatewayConfig): GatewayConfig =>
      devConfig({ configured: given, demo, found, forwardTo, dir })
    const config = withFile(configured)
    const logger = json ? jsonLogger('info') : terminalLogger()
    const database = configured.database ?? databaseOf(process.env)
    const schema = schemaFrom(process.env)
    const ledgers = await ledgersOf(values, configured)
    const encryption = encryptionFrom(process.env)
    const capturing = capture(capturedLog(logger))
    const serving = gateway({
      config,
      make: (next) => devHooks(next, { database, schema, ledgers, dir, logger, ...encryption }),
      works: true,
      drainMs,
      logger,
      capture: capturing,
    })
    // Binds the ports first: if they are taken, a second `dev` leaves no trace in the ledger.
    const listeners = await openListeners({
      gateway: serving,
      host: '127.0.0.1',
      port,
      maxConnections: configured.limits?.maxConnections ?? MAX_CONNECTIONS,
      receives: true,
      admin,
      logger,
      captured: capturing.requests,
      firstEvent: ({ port: opened }) => curlOf(demo, opened),
      verifyCommand: (source) =>
        verifyCommand(source, optionsOf(source, { config: serving.config(), file, demo, found, dir })),
    })
    await serving.start().catch(async (error) => {
      await closeListeners(listeners)
      throw error
    })
    // Installs the signal handlers before it prints the ready line: a parent process may stop this
    // one as soon as it reads the line.
    const stopped = runUntilSignal(serving, listeners, drainMs)
    const watching =
      file === undefined
        ? undefined
        : watchConfig({
            file,
            digest,
            logger,
            apply: reloader({
              gateway: serving,
              limitConnections: listeners.delivery.limitConnections,
              logger,
              config,
              read: async () => withFile(await readConfig(file, process.env)),
            }),
          })
    await greet({
      hooks: serving.current(),
      port: listeners.delivery.port,
      adminPlace: `http://127.0.0.1:${listeners.admin?.port}${admin.path}`,
      adminPort: listeners.admin?.port,
      file,
      config,
      demo,
      found,
      dir,
      ledgers,
      json,
    })
    await stopped
    watching?.stop()
  },
}

interface Greeting {
  readonly hooks: Hookonce<Sources>
  readonly port: number
  readonly adminPort: number | undefined
  /** The URL of the admin listener. */
  readonly adminPlace: string
  readonly file: string | undefined
  readonly config: GatewayConfig
  readonly demo: SigningSource
  readonly found: EnvironmentSources
  readonly dir: string
  readonly ledgers: LedgersOptions | undefined
  readonly json: boolean
}

/** The options with which `hookonce verify` finds a source of `dev`. */
function optionsOf(
  name: string,
  { config, file, demo, found, dir }: Pick<Greeting, 'config' | 'file' | 'demo' | 'found' | 'dir'>,
): Record<string, string> {
  const source = config.sources[name]
  if (source === demo) return { dir }
  // A source of the file replaces one of the environment with the same name.
  const opened = found.opened.find((one) => one.source === source)
  if (opened === undefined && file !== undefined) return { config: file }
  return opened?.signedUrl === undefined ? {} : { url: opened.signedUrl }
}

/** A command that sends a signed event, the same each time. */
function curlOf(demo: SigningSource, port: number): string {
  const body = '{"id":"evt_1","type":"invoice.paid"}'
  const signature = demo.sign({ body })['demo-signature']
  return `curl -d '${body}' -H 'demo-signature: ${signature}' http://127.0.0.1:${port}/in/demo`
}

async function greet(greeting: Greeting): Promise<void> {
  const { hooks, port, adminPort, adminPlace, file, config, demo, found, dir, ledgers, json } = greeting
  const curl = curlOf(demo, port)
  const { url = '', dataDir } = await hooks.ledger()
  const database = withoutPassword(url)
  const passwordFile = dataDir === undefined ? undefined : join(dir, 'password')
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
        passwordFile,
      }),
    )
  const listed = sources.map((name) => {
    const variable = variables[name]
    return `POST /in/${name}${variable === undefined ? '' : ` (${variable})`}`
  })
  print(
    [
      `hookonce is ready. The dashboard is at ${adminPlace}/`,
      '',
      `  receives   at http://127.0.0.1:${port}`,
      `  sources    ${listed.join('\n             ')}`,
      ...leftOut.map(({ variable, why }) => safe(`  left out   ${variable}: ${why}`)),
      ...config.destinations.map(
        ({ name, url }) => `  forwards   to ${placeOf(url)}, signed with ${secretOf(name, dir)}`,
      ),
      `  ledger     ${database}${passwordFile === undefined ? '' : `, password in ${passwordFile}`}`,
      `  admin API  ${adminPlace}/api/v1/events`,
      `  metrics    ${adminPlace}/metrics`,
      ...(file === undefined ? [] : [`  config     ${file}`]),
      '',
      'Send a signed event, then the same line again:',
      '',
      `  ${curl}`,
      '',
      `Look in from another terminal: ${ledgers ? `HOOKONCE_LEDGERS=${variableOf(ledgers)} ` : ''}npx hookonce events`,
      '',
    ].join('\n'),
  )
}

/** The value of HOOKONCE_LEDGERS for these ledgers: a number if that is enough, else JSON. */
function variableOf({ count, ...more }: LedgersOptions): string {
  const isNumber = Object.values(more).every((value) => Object.keys(value ?? {}).length === 0)
  return isNumber ? String(count) : `'${JSON.stringify({ count, ...more })}'`
}

/** The place of a destination's secret. The secret itself is not printed. */
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
    // Joins the lines of an error that lists several faults of a file.
    const detail = [fields.detail, fields.error]
      .filter((part) => part !== undefined)
      .map((part) => String(part).replace(/\n\s*/g, '; '))
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
  captured: '404 captured, not recorded',
}
