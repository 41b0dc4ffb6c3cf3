import { setPaused } from '../ledger/jobs/subscribers.ts'
import { registered } from '../ledger/read/registered.ts'
import { HookonceError } from '../model/errors.ts'
import { type Command, ledgerOptions, parse, usageError } from './command.ts'
import { lookingIn } from './open-ledger.ts'
import { type Paused, pausedOf } from './paused-line.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce pause [--tenant NAME] [--json] [--dir DIR]
hookonce pause <source> [subscriber] [--tenant NAME] [--json] [--dir DIR]
hookonce resume <source> [subscriber] [--tenant NAME] [--json] [--dir DIR]

A paused source or subscriber goes on being recorded; its jobs wait until it is resumed. Without a source, pause lists
what is paused.`

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
    if (source === undefined) throw usageError({ usage }, 'which source?')
    return set({ ...values, source, subscriber, paused: false })
  },
}

interface Asked {
  readonly dir: string
  readonly json: boolean
  readonly tenant?: string | undefined
}

async function list({ dir, json, tenant }: Asked): Promise<void> {
  const all = pausedOf(await lookingIn(dir, registered))
  const paused = all.filter((one) => tenant === undefined || one.tenant === tenant)
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

interface Setting extends Asked {
  readonly source: string
  readonly subscriber: string | undefined
  readonly paused: boolean
}

async function set({ dir, json, tenant = 'default', source, subscriber, paused }: Setting): Promise<void> {
  const found = await lookingIn(dir, ({ pool }) => setPaused(pool, { tenant, source, subscriber, paused }))
  const name = subscriber === undefined ? source : `${source} ${subscriber}`
  if (!found)
    throw new HookonceError(
      'CONFIG_INVALID',
      `the ledger knows no ${subscriber === undefined ? 'source' : 'subscriber'} "${name}"`,
    )
  if (json) printJson({ tenant, source, subscriber: subscriber ?? null, paused })
  else print(`${name} is ${paused ? 'paused' : 'running'}`)
}
