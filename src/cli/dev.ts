import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type GatewayConfig, isDestinationUrl, readConfig } from '../gateway/config.ts'
import { gatewayHooks } from '../gateway/hooks.ts'
import { startGateway } from '../gateway/server.ts'
import type { Hookonce } from '../hookonce.ts'
import { unusableDir } from '../ledger/embedded/home.ts'
import { EMBEDDED } from '../ledger/ledger.ts'
import type { Logger } from '../observe/logs.ts'
import { jsonLogger } from '../observe/logs.ts'
import type { Sources } from '../options.ts'
import { custom } from '../sources/custom.ts'
import type { SigningSource } from '../sources/sign.ts'
import { type Command, parse, portOf, usageError } from './command.ts'
import { type EnvironmentSources, environmentSources } from './environment-sources.ts'
import { print, safe } from './print.ts'
import { untilStopped } from './running.ts'

const usage = `hookonce dev [--forward-to URL] [--config hookonce.json] [--port 4400] [--dir .hookonce] [--json]

Starts everything on this machine: an embedded PostgreSQL (or DATABASE_URL), the receiver and a worker. A source is there
for each provider whose secret is in the environment (STRIPE_WEBHOOK_SECRET and so on: \`hookonce sources <id>\` names it),
for each of --config, and "demo" to try it out.`

export const dev: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, {
      'forward-to': { type: 'string' },
      config: { type: 'string' },
      port: { type: 'string', default: '4400' },
      dir: { type: 'string', default: '.hookonce' },
      json: { type: 'boolean', default: false },
    })
    // All that may be refused comes before the first file is written.
    const port = portOf({ usage }, values.port)
    const forwardTo = values['forward-to']
    if (forwardTo !== undefined && !isDestinationUrl(forwardTo))
      throw usageError({ usage }, `--forward-to must be an http or https URL, not "${forwardTo}"`)
    const written = values.config === undefined ? NOTHING : await readConfig(values.config, process.env)
    const demo = demoSource(keptSecret(values.dir, 'demo-secret'))
    // For those that sign their URL: with --port 0 it is not known before it listens.
    const found = await environmentSources(process.env, (provider) =>
      port === 0 ? undefined : `http://127.0.0.1:${port}/in/${provider}`,
    )
    const config = devConfig({ written, demo, found, forwardTo, dir: values.dir })
    const database = process.env.DATABASE_URL || EMBEDDED
    const hooks = gatewayHooks(config, {
      database,
      dir: values.dir,
      logger: values.json ? jsonLogger('info') : teller(),
    })
    if (config.destinations.length === 0) {
      for (const source of Object.keys(config.sources))
        hooks.on(source, '*', () => undefined, { name: 'dev' })
    }
    await hooks.start()
    const server = await startGateway({
      hooks,
      metrics: hooks.metrics,
      host: '127.0.0.1',
      port,
      receives: true,
    }).catch(async (error) => {
      await hooks.stop()
      throw error
    })
    // Before it says that it is ready: whoever waits for that may stop it at once.
    const stopped = untilStopped(hooks, server)
    await greet({ hooks, port: server.port, config, demo, found, json: values.json })
    await stopped
  },
}

const NOTHING: GatewayConfig = { sources: {}, destinations: [] }

interface DevInput {
  /** What the file of --config says. */
  readonly written: GatewayConfig
  readonly demo: SigningSource
  readonly found: EnvironmentSources
  readonly forwardTo: string | undefined
  readonly dir: string
}

function devConfig({ written, demo, found, forwardTo, dir }: DevInput): GatewayConfig {
  const opened = Object.fromEntries(found.opened.map(({ name, source }) => [name, source]))
  const forward =
    forwardTo === undefined
      ? []
      : [{ name: 'forward', url: forwardTo, types: '*', secret: keptSecret(dir, 'forward-secret') }]
  return {
    sources: { demo, ...opened, ...written.sources },
    destinations: [...written.destinations, ...forward],
  }
}

function demoSource(secret: string): SigningSource {
  return custom({
    provider: 'demo',
    secret,
    // No timestamp: the line to copy must work as often as it is pasted.
    signature: { algorithm: 'hmac-sha256', header: 'demo-signature', encoding: 'hex' },
    event: { key: 'json:id', type: 'json:type' },
  })
}

/** A secret of this folder, made at the first start and kept. */
function keptSecret(dir: string, name: string): string {
  try {
    return secretIn(dir, name)
  } catch (error) {
    throw unusableDir(dir, error) ?? error
  }
}

function secretIn(dir: string, name: string): string {
  const path = join(dir, name)
  mkdirSync(dir, { recursive: true })
  keepOutOfGit(dir)
  if (existsSync(path)) return readFileSync(path, 'utf8').trim()
  const secret = `whsec_${randomBytes(24).toString('base64')}`
  writeFileSync(path, `${secret}\n`, { mode: 0o600 })
  return secret
}

/** Before the first secret lies there. With an embedded server it would be made later. */
function keepOutOfGit(dir: string): void {
  const path = join(dir, '.gitignore')
  if (!existsSync(path)) writeFileSync(path, '*\n')
}

interface Greeting {
  readonly hooks: Hookonce<Sources>
  readonly port: number
  readonly config: GatewayConfig
  readonly demo: SigningSource
  readonly found: EnvironmentSources
  readonly json: boolean
}

async function greet({ hooks, port, config, demo, found, json }: Greeting): Promise<void> {
  const body = '{"id":"evt_1","type":"invoice.paid"}'
  const signature = demo.sign({ body })['demo-signature']
  const curl = `curl -d '${body}' -H 'demo-signature: ${signature}' http://127.0.0.1:${port}/in/demo`
  const { url } = await hooks.ledger()
  const sources = Object.keys(config.sources)
  // What a file says of the same name stands.
  const opened = found.opened.filter(({ name, source }) => config.sources[name] === source)
  const variables = Object.fromEntries(opened.map(({ name, variable }) => [name, variable]))
  const { leftOut } = found
  if (json)
    return print(
      JSON.stringify({ ready: true, port, sources, environment: variables, leftOut, curl, database: url }),
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
      ...config.destinations.map(({ url, secret }) => `  forwards   to ${url}, signed with ${secret}`),
      `  ledger     ${url}`,
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

/** Tells in one line each what happens, for a person who watches. */
function teller(): Logger {
  const tell = (fields: Record<string, unknown>, message: string): void => {
    const time = new Date().toTimeString().slice(0, 8)
    const about = [fields.source, fields.event_type, fields.event_key, fields.job, fields.code].filter(
      (part) => part !== undefined,
    )
    const detail = [fields.detail, fields.error].filter((part) => part !== undefined)
    print(
      safe(
        `${time}  ${(TOLD[message] ?? message).padEnd(36)}${about.join('  ')}${detail.length > 0 ? `  ${detail.join(' ')}` : ''}`,
      ),
    )
  }
  return { info: tell, warn: tell, error: tell }
}

const TOLD: Readonly<Record<string, string>> = {
  recorded: '202 recorded',
  duplicate: '200 duplicate, not processed again',
  processed: '    processed',
  unwanted: '200 no subscriber wants this type',
}
