import { HookonceError } from '../model/errors.ts'
import {
  listPaused,
  type Paused,
  pause as pauseJobs,
  type Resumed,
  resume as resumeJobs,
} from '../operate/pause.ts'
import { requireTenant, tenantsOf } from '../operate/sources.ts'
import { actorOf } from './actor.ts'
import { type Command, ledgerOptions, parse, usageError } from './command.ts'
import { parseSource } from './filter.ts'
import { type Ledgers, withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce pause [--tenant NAME] [--json] [--dir DIR]
hookonce pause <source> [subscriber] [--why TEXT] [--by NAME] [--tenant NAME] [--json] [--dir DIR]
hookonce resume <source> [subscriber] [--why TEXT] [--by NAME] [--tenant NAME] [--json] [--dir DIR]

Events of a paused source or subscriber are still recorded; their jobs wait until it is resumed. Without a source, pause
lists what is paused. acme/stripe is the source stripe of tenant acme. If a circuit is open, resume also makes its next probe due at once. \`hookonce audit\` shows
who paused and resumed what (--by, else your user name), and why.`

const options = {
  ...ledgerOptions,
  tenant: { type: 'string' },
  why: { type: 'string', default: 'by the command line' },
  by: { type: 'string' },
} as const

export const pause: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 2 }, args, options)
    const [source, subscriber] = positionals
    if (source === undefined) return list(values)
    const place = parseSource({ usage }, { tenant: values.tenant, source })
    return set({ ...values, ...place, source: place.source ?? source, subscriber, paused: true })
  },
}

export const resume: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 2 }, args, options)
    const [source, subscriber] = positionals
    if (source === undefined) throw usageError({ usage }, 'give a source')
    const place = parseSource({ usage }, { tenant: values.tenant, source })
    return set({ ...values, ...place, source: place.source ?? source, subscriber, paused: false })
  },
}

interface PauseOptions {
  readonly dir: string
  readonly json: boolean
  readonly tenant?: string | undefined
}

async function list({ dir, json, tenant }: PauseOptions): Promise<void> {
  const paused = await withLedger(dir, async (ledger) => {
    await requireTenant(ledger, tenant)
    return listPaused(ledger, { tenant })
  })
  if (json) return printJson(paused)
  print(
    paused.length === 0
      ? 'nothing is paused'
      : table(['TENANT', 'SOURCE', 'SUBSCRIBER', 'SINCE', 'REASON'], paused.map(cells)),
  )
}

function cells({ tenant, source, subscriber, pausedAt, pauseReason }: Paused): string[] {
  return [safe(tenant), safe(source), safe(subscriber ?? 'all'), clock(pausedAt), safe(pauseReason ?? '-')]
}

interface PauseChange extends PauseOptions {
  readonly why: string
  readonly by?: string | undefined
  readonly source: string
  readonly subscriber: string | undefined
  readonly paused: boolean
}

async function set({ dir, json, source, subscriber, paused, why, by, ...given }: PauseChange): Promise<void> {
  const { target, changed, text } = await withLedger(dir, async (ledger) => {
    const tenant = given.tenant ?? 'default'
    if (given.tenant === undefined) await requireOwn(ledger, source)
    const target = { tenant, source, subscriber }
    const reason = { by: actorOf(by), why }
    const outcome = paused
      ? pauseOutcome(await pauseJobs(ledger, target, reason))
      : resumeOutcome(await resumeJobs(ledger, target, reason))
    return { target: { ...target, subscriber: subscriber ?? null }, ...outcome }
  })
  if (json) return printJson({ ...target, paused, changed })
  const name = subscriber === undefined ? source : `${source} ${subscriber}`
  const of = target.tenant === 'default' ? '' : ` of tenant ${target.tenant}`
  print(safe(`${name}${of} ${text}`))
}

interface Outcome {
  readonly changed: boolean
  readonly text: string
}

function pauseOutcome(changed: boolean): Outcome {
  return { changed, text: changed ? 'is paused' : 'was already paused: nothing changed' }
}

function resumeOutcome({ wasPaused, probes }: Resumed): Outcome {
  const probing =
    probes === 1 ? 'the next probe of its circuit is' : `the next probes of ${probes} circuits are`
  if (probes > 0)
    return { changed: true, text: `${wasPaused ? 'is running' : 'was not paused'}; ${probing} due now` }
  return { changed: wasPaused, text: wasPaused ? 'is running' : 'was not paused: nothing changed' }
}

/** Never guesses a source of another tenant: pausing the wrong one does harm. */
async function requireOwn(ledger: Ledgers, source: string): Promise<void> {
  const tenants = await tenantsOf(ledger, source)
  if (tenants.length === 0 || tenants.includes('default')) return
  const names = tenants.map((tenant) => `"${tenant}"`).join(', ')
  const fault = `the source "${source}" belongs to tenant ${names}: name the tenant with --tenant`
  throw new HookonceError('CONFIG_INVALID', fault)
}
