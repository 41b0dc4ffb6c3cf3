import { listPaused, type Paused, pause as pauseJobs, resume as resumeJobs } from '../operate/pause.ts'
import { type Command, ledgerOptions, parse, usageError } from './command.ts'
import { withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce pause [--tenant NAME] [--json] [--dir DIR]
hookonce pause <source> [subscriber] [--tenant NAME] [--json] [--dir DIR]
hookonce resume <source> [subscriber] [--tenant NAME] [--json] [--dir DIR]

Events of a paused source or subscriber are still recorded; their jobs wait until it is resumed. Without a source, pause
lists what is paused.`

const options = { ...ledgerOptions, tenant: { type: 'string' } } as const

export const pause: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 2 }, args, options)
    const [source, subscriber] = positionals
    if (source === undefined) return list(values)
    return set({ ...values, source, subscriber, paused: true })
  },
}

export const resume: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 2 }, args, options)
    const [source, subscriber] = positionals
    if (source === undefined) throw usageError({ usage }, 'give a source')
    return set({ ...values, source, subscriber, paused: false })
  },
}

interface PauseOptions {
  readonly dir: string
  readonly json: boolean
  readonly tenant?: string | undefined
}

async function list({ dir, json, tenant }: PauseOptions): Promise<void> {
  const paused = await withLedger(dir, (ledger) => listPaused(ledger, { tenant }))
  if (json) return printJson(paused)
  print(
    paused.length === 0
      ? 'nothing is paused'
      : table(['TENANT', 'SOURCE', 'SUBSCRIBER', 'SINCE'], paused.map(cells)),
  )
}

function cells({ tenant, source, subscriber, pausedAt }: Paused): string[] {
  return [safe(tenant), safe(source), safe(subscriber ?? 'all'), clock(pausedAt)]
}

interface PauseChange extends PauseOptions {
  readonly source: string
  readonly subscriber: string | undefined
  readonly paused: boolean
}

async function set({
  dir,
  json,
  tenant = 'default',
  source,
  subscriber,
  paused,
}: PauseChange): Promise<void> {
  const target = { tenant, source, subscriber }
  await withLedger(dir, (ledger) => (paused ? pauseJobs : resumeJobs)(ledger, target))
  if (json) printJson({ tenant, source, subscriber: subscriber ?? null, paused })
  else
    print(
      `${subscriber === undefined ? source : `${source} ${subscriber}`} is ${paused ? 'paused' : 'running'}`,
    )
}
