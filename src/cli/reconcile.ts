import { readConfig } from '../gateway/config/config.ts'
import { findConfigFile } from '../gateway/config/find-file.ts'
import { makeSource } from '../gateway/config/make-source.ts'
import { resolveSecret } from '../gateway/config/secrets.ts'
import { gatewayHooks } from '../gateway/hooks.ts'
import { HookonceError } from '../model/errors.ts'
import { jsonLogger, logs } from '../observe/logs.ts'
import { observers } from '../observe/observer.ts'
import { ledgerSource } from '../operate/ledger-source.ts'
import { type ReconcileReport, reconcile as reconcileSource } from '../operate/reconcile.ts'
import type { ReconcileOptions, ReconcileProgress } from '../reconcile/options.ts'
import { actorOf } from './actor.ts'
import { type Command, ledgerOptions, parse, parseLimit, parseTime, usageError } from './command.ts'
import { longWork, type Watch } from './long-work.ts'
import { databaseOf, encryptionFrom, ledgersOf, schemaFrom, withLedger } from './open-ledger.ts'
import { print, printJson, safe, safeBlock } from './print.ts'
import { reconcileStep, reportText } from './reconcile-text.ts'

const usage = `hookonce reconcile <source> [--since 24h] [--until TIME] [--type PATTERN] [--dry-run | --record] [--limit N]
                   [--api-key env:NAME] [--api-url URL] [--config FILE] [--provider ID] [--tenant NAME]
                   [--endpoint we_…] [--account acct_…] [--hook owner/repo/ID] [--shop NAME.myshopify.com]
                   [--api-version 2025-10] [--by NAME] [--why TEXT] [--json] [--dir DIR]

Reads the provider's own list of events, reports those that never arrived, and records them under the keys of their
deliveries. An event that arrived does not change. Run again at any time: nothing is recorded twice.

stripe   lists events of 30 days. --endpoint: only the types that this webhook endpoint gets. --account: of a connected account
github   lists deliveries of 3 days. --hook: owner/repo/ID, org/ID, or app
shopify  lists no events. Objects that changed are compared by id and time, so this only reports; --record records missing
         changes under derived keys, which a late delivery does not share. --shop: the shop

--since        how long ago, or a time; default 24h
--type         only these types; may be repeated
--dry-run      only reports
--limit        stops after N missing events; default and maximum 10000
--api-key      env:NAME or file:/path; default STRIPE_API_KEY, GITHUB_TOKEN, SHOPIFY_ACCESS_TOKEN. Not the signing secret
--api-url      another address of the API, such as https://github.example.com/api/v3
--config       the gateway's configuration; default hookonce.config.* if it exists. Without one, the subscribers are those that
               the ledger knows, and --provider names the provider of a source that has another name
Exits with 1 if the list was not read to its end. Ctrl-C stops, with a report of the work done.`

const options = {
  ...ledgerOptions,
  since: { type: 'string', default: '24h' },
  until: { type: 'string' },
  type: { type: 'string', multiple: true },
  'dry-run': { type: 'boolean', default: false },
  record: { type: 'boolean', default: false },
  limit: { type: 'string' },
  'api-key': { type: 'string' },
  'api-url': { type: 'string' },
  'api-version': { type: 'string' },
  config: { type: 'string' },
  provider: { type: 'string' },
  tenant: { type: 'string' },
  endpoint: { type: 'string' },
  account: { type: 'string' },
  hook: { type: 'string' },
  shop: { type: 'string' },
  by: { type: 'string' },
  why: { type: 'string' },
} as const

type Values = ReturnType<typeof parse<typeof options>>['values']

export const reconcile: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 1 }, args, options)
    const [name] = positionals
    if (!name) throw usageError({ usage }, 'give the name of a source')
    if (values['dry-run'] && values.record)
      throw usageError({ usage }, '--dry-run and --record exclude each other')
    const { result, wasInterrupted } = await longWork('listed', (watch) => run(name, values, watch))
    if (values.json) printJson(result)
    else print(safeBlock(reportText(result)))
    if (result.stopped && !wasInterrupted) process.exitCode = 1
  },
}

function run(name: string, values: Values, watch: Watch): Promise<ReconcileReport> {
  const config = values.config ?? findConfigFile()
  if (config === undefined) return runOnLedger(name, values, watch)
  const surplus = (['provider', 'tenant'] as const).find((option) => values[option] !== undefined)
  if (surplus) throw usageError({ usage }, `--${surplus} goes without a configuration: ${config} names it`)
  return runOnConfig(name, { ...values, config }, watch)
}

/** The subscribers are the destinations of the configuration, as in `hookonce serve`. */
async function runOnConfig(
  name: string,
  values: Values & { readonly config: string },
  watch: Watch,
): Promise<ReconcileReport> {
  const config = await readConfig(values.config, process.env)
  const source = config.sources[name]
  if (!source) {
    const known = Object.keys(config.sources).join(', ')
    throw usageError({ usage }, `${values.config} has no source "${name}" (there are: ${known})`)
  }
  const given = reconcileOptions(source.provider, values, watch)
  const hooks = gatewayHooks(config, {
    database: config.database ?? databaseOf(process.env),
    schema: schemaFrom(process.env),
    ledgers: await ledgersOf({}, config),
    ...encryptionFrom(process.env),
    dir: values.dir,
    migrate: 'off',
    prepare: 'off',
    maxConnections: 2,
    logger: jsonLogger('warn'),
  })
  try {
    return await hooks.reconcile(name, given)
  } finally {
    await hooks.stop()
  }
}

/** Uses the subscribers that the ledger knows: the app that registers them does not run here. */
async function runOnLedger(name: string, values: Values, watch: Watch): Promise<ReconcileReport> {
  const provider = values.provider ?? name
  const given = reconcileOptions(provider, values, watch)
  return withLedger(values.dir, async (ledger) => {
    const {
      ledger: own,
      entry,
      unattended,
      idle,
    } = await ledgerSource(ledger, {
      name,
      tenant: values.tenant,
      // No signature is checked, so the signing secret is not needed.
      make: (tenant) => makeSource(provider, { tenant, secret: 'no signature is checked' }),
      observer: observers([logs(jsonLogger('warn'))]),
    })
    for (const { subscriber } of unattended)
      process.stderr.write(
        `warning: no running worker serves ${safe(`"${subscriber}"`)}: its jobs will wait\n`,
      )
    try {
      return await reconcileSource(own, entry, given)
    } finally {
      await idle()
    }
  })
}

const KEY_VARIABLES: Readonly<Record<string, string>> = {
  stripe: 'STRIPE_API_KEY',
  github: 'GITHUB_TOKEN',
  shopify: 'SHOPIFY_ACCESS_TOKEN',
}

/**
 * Leaves out options that were not given. They are checked later: each provider rejects the options
 * of others.
 */
function reconcileOptions(provider: string, values: Values, { signal, onProgress }: Watch): ReconcileOptions {
  const mode = values['dry-run'] ? 'report' : values.record ? 'record' : undefined
  const given = {
    apiKey: apiKeyOf(provider, values['api-key']),
    since: parseTime({ usage }, values.since),
    until: values.until === undefined ? undefined : parseTime({ usage }, values.until),
    types: values.type,
    mode,
    limit: values.limit === undefined ? undefined : parseLimit({ usage }, values.limit),
    apiUrl: values['api-url'],
    endpoint: values.endpoint,
    account: values.account,
    hook: values.hook,
    shop: values.shop,
    apiVersion: values['api-version'],
    by: actorOf(values.by),
    why: values.why,
    signal,
    onProgress: (progress: ReconcileProgress) => onProgress(reconcileStep(progress)),
  }
  const entries = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as unknown as ReconcileOptions
}

function apiKeyOf(provider: string, reference: string | undefined): string | undefined {
  const variable = KEY_VARIABLES[provider]
  if (reference === undefined && (variable === undefined || !process.env[variable])) {
    // A provider without a list of events is refused later, with a clearer error.
    if (variable === undefined) return undefined
    throw usageError({ usage }, `give the key of the API with --api-key env:NAME, or set ${variable}`)
  }
  try {
    return resolveSecret(reference ?? `env:${variable}`, '--api-key', process.env)
  } catch (error) {
    if (!(error instanceof HookonceError) || error.code !== 'SECRET_MISSING') throw error
    throw usageError({ usage }, error.message.replace(`${error.code}: `, ''))
  }
}
