import { setPaused } from '../ledger/subscribers.ts'
import { HookonceError } from '../model/errors.ts'
import { type Command, parse, usageError } from './command.ts'
import { lookingIn } from './looking.ts'
import { print } from './print.ts'

const usage = `hookonce pause <source> [subscriber] [--tenant NAME] [--dir DIR]
hookonce resume <source> [subscriber] [--tenant NAME] [--dir DIR]

A paused source or subscriber goes on being recorded; its jobs wait until it is resumed.`

export const pause: Command = {
  usage,
  run: (args) => set(args, true),
}
export const resume: Command = {
  usage,
  run: (args) => set(args, false),
}

async function set(args: readonly string[], paused: boolean): Promise<void> {
  const { values, positionals } = parse({ usage, words: 2 }, args, {
    dir: { type: 'string', default: '.hookonce' },
    tenant: { type: 'string', default: 'default' },
  })
  const [source, subscriber] = positionals
  if (!source) throw usageError({ usage }, 'which source?')
  const found = await lookingIn(values.dir, ({ pool }) =>
    setPaused(pool, { tenant: values.tenant, source, subscriber, paused }),
  )
  const name = subscriber === undefined ? source : `${source} ${subscriber}`
  if (!found)
    throw new HookonceError(
      'CONFIG_INVALID',
      `the ledger knows no ${subscriber === undefined ? 'source' : 'subscriber'} "${name}"`,
    )
  print(`${name} is ${paused ? 'paused' : 'running'}`)
}
