import { readConfig } from '../gateway/config/config.ts'
import { requireConfigFile } from '../gateway/config/find-file.ts'
import { HookonceError } from '../model/errors.ts'
import {
  acknowledgeAlert,
  type ChannelTest,
  type ListedAlert,
  listAlerts,
  testAlertChannels,
} from '../operate/alerts.ts'
import { actorOf } from './actor.ts'
import { unknownVerb } from './choices.ts'
import { type Command, ledgerOptions, parse, parseDuration, parseLimit, usageError } from './command.ts'
import { withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce alerts [--all] [--tenant NAME] [--limit N] [--json] [--dir DIR]
hookonce alerts acknowledge <alert id, or its beginning> --why TEXT [--mute 2h] [--by NAME] [--json] [--dir DIR]
hookonce alerts test [--config FILE] [--json]

Lists open alerts, newest first; --all also lists those that are resolved.
acknowledge records that you are handling an alert. With --mute, no message is sent about it for that long.
test sends a message to every channel of the configuration, and exits with 1 if one of them did not accept it.`

export const alerts: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 2 }, args, {
      ...ledgerOptions,
      all: { type: 'boolean', default: false },
      tenant: { type: 'string' },
      limit: { type: 'string', default: '100' },
      why: { type: 'string' },
      by: { type: 'string' },
      mute: { type: 'string' },
      config: { type: 'string' },
    })
    const [verb, id] = positionals
    if (verb === undefined) return list(values)
    if (verb === 'test' && id === undefined) return test(values)
    if (verb !== 'acknowledge' && verb !== 'test') throw unknownVerb({ usage }, verb, ['acknowledge', 'test'])
    if (verb === 'test') throw usageError({ usage }, `unexpected argument "${id}"`)
    if (id === undefined) throw usageError({ usage }, 'give the id of the alert')
    if (!values.why) throw usageError({ usage }, 'give the reason with --why: the audit records it')
    const { tenant, why, mute } = values
    const by = actorOf(values.by)
    const muteMs = mute === undefined ? undefined : parseDuration({ usage }, mute)
    const alert = await withLedger(values.dir, (ledger) =>
      acknowledgeAlert(ledger, { id, tenant, by, why, muteMs }),
    )
    if (values.json) return printJson(alert)
    const muted = alert.mutedUntil ? `, muted until ${clock(alert.mutedUntil)}` : ''
    print(safe(`${alert.id}: ${alert.rule} of ${subjectOf(alert)} acknowledged by ${by}${muted}`))
  },
}

interface ListValues {
  readonly all: boolean
  readonly tenant?: string | undefined
  readonly limit: string
  readonly json: boolean
  readonly dir: string
}

async function list({ all, tenant, limit, json, dir }: ListValues): Promise<void> {
  const query = { all, tenant, limit: parseLimit({ usage }, limit) }
  const found = await withLedger(dir, (ledger) => listAlerts(ledger, query))
  if (json) return printJson(found)
  if (found.length === 0) return print(all ? 'no alerts' : 'no open alerts')
  print(table(['ALERT', 'STATE', 'SINCE', 'RULE', 'ABOUT', 'SAYS', 'NEXT'], found.map(cells)))
}

function cells(alert: ListedAlert): string[] {
  return [
    alert.id.slice(0, 8),
    stateOf(alert),
    clock(alert.openedAt),
    alert.rule,
    safe(subjectOf(alert)),
    safe(alert.says),
    safe(alert.next),
  ]
}

function stateOf({ resolvedAt, acknowledgedBy }: ListedAlert): string {
  if (resolvedAt !== null) return 'resolved'
  return acknowledgedBy === null ? 'open' : safe(`open (${acknowledgedBy})`)
}

function subjectOf({ source, subscriber }: ListedAlert): string {
  return subscriber === '' ? source : `${source} → ${subscriber}`
}

interface TestValues {
  readonly config?: string | undefined
  readonly json: boolean
}

async function test({ config, json }: TestValues): Promise<void> {
  const path = requireConfigFile(config)
  const { alerts: options } = await readConfig(path, process.env)
  if (options === undefined || options === 'off' || Object.keys(options.channels).length === 0)
    throw new HookonceError(
      'CONFIG_INVALID',
      `${path} has no alert channels: add "alerts": { "channels": { "ops": { "type": "slack", "url": "env:NAME" } } }`,
    )
  const results = await testAlertChannels(options)
  if (results.some(({ error }) => error !== undefined)) process.exitCode = 1
  if (json) return printJson(results)
  print(table(['CHANNEL', 'TYPE', 'RESULT'], results.map(resultCells)))
}

function resultCells({ channel, type, error }: ChannelTest): string[] {
  return [channel, type, error === undefined ? 'sent' : safe(error)]
}
