import { userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { type UnattendedSubscriber, unattendedSubscribers } from '../ledger/jobs/served.ts'
import { type Registered, registered } from '../ledger/read/registered.ts'
import { HookonceError } from '../model/errors.ts'
import type { FreshPlan } from '../operate/fresh-replay.ts'
import {
  planReplay,
  planReplayFresh,
  planReplayOne,
  type ReplayPlan,
  replayFailed,
  replayOne,
} from '../operate/replay.ts'
import { type Command, durationOf, ledgerOptions, parse, usageError } from './command.ts'
import { lookingIn } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce replay <receipt id, or its beginning> [--subscriber NAME] [--dry-run] [--json] [--dir DIR]
hookonce replay <receipt id> --fresh --why TEXT [--by NAME] [--yes] [--dry-run] [--subscriber NAME] [--json] [--dir DIR]
hookonce replay --failed [--source NAME] [--subscriber NAME] [--since 2h] [--limit N] [--dry-run] [--json] [--dir DIR]

Processes one event again, or all failed jobs that match. --dry-run only says which.

One event goes to every subscriber of its source that the ledger knows and that wants its type, also to one that came
after it and never saw it. A subscriber that no process registers any more is known still: you are warned where no
running worker serves it, as its job would wait.

Steps, effects and writes that are done are not done again. --fresh does them again, with new keys for the other side,
and publishes their messages again, under new ids: it lists them first and asks, unless --yes is given. Who asked for it and why is kept.`

const options = {
  ...ledgerOptions,
  failed: { type: 'boolean', default: false },
  source: { type: 'string' },
  subscriber: { type: 'string' },
  since: { type: 'string' },
  limit: { type: 'string' },
  'dry-run': { type: 'boolean', default: false },
  fresh: { type: 'boolean', default: false },
  yes: { type: 'boolean', default: false },
  by: { type: 'string' },
  why: { type: 'string' },
} as const

/**
 * Given without what they go with, they would be passed over, and something else done than was
 * asked for.
 */
const GO_WITH = { failed: ['source', 'since', 'limit'], fresh: ['why', 'by', 'yes'] } as const

interface Asked {
  readonly dir: string
  readonly json: boolean
  readonly 'dry-run': boolean
  readonly subscriber?: string | undefined
}

export const replay: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 1 }, args, options)
    for (const mode of ['failed', 'fresh'] as const) {
      const given = GO_WITH[mode].find((name) => values[name] !== undefined && values[name] !== false)
      if (given && !values[mode]) throw usageError({ usage }, `--${given} goes with --${mode}`)
    }
    const [id] = positionals
    if (values.fresh) {
      if (!id || values.failed) throw usageError({ usage }, '--fresh is for one receipt: give its id')
      return replayFresh(id, values)
    }
    if (id && !values.failed) return replayReceipt(id, values)
    if (id || !values.failed) throw usageError({ usage }, 'give one receipt, or --failed')
    return replayAllFailed(values)
  },
}

async function replayReceipt(id: string, { dir, json, subscriber, ...values }: Asked): Promise<void> {
  await lookingIn(dir, async (ledger) => {
    const plan = await planReplayOne(ledger, id, { subscriber })
    warn(plan.unattended)
    if (values['dry-run']) return json ? printJson(plan) : print(oneText(plan))
    const result = await replayOne(ledger, id, { subscriber })
    if (json) return printJson({ ...result, unattended: plan.unattended })
    print(
      result.jobs === 0
        ? `nothing to replay: ${whyNothing(plan, subscriber)}`
        : `${jobs(result.jobs)} of ${result.receiptId} received again`,
    )
  })
}

function oneText(plan: ReplayPlan): string {
  const rows = plan.jobs.map(({ subscriber, state, again }) => [
    safe(subscriber),
    state ?? 'none yet',
    again ? 'yes' : 'no',
  ])
  const count = plan.jobs.filter(({ again }) => again).length
  return [
    ...(rows.length === 0 ? [] : [table(['JOB', 'STATE', 'AGAIN'], rows)]),
    `${jobs(count)} of ${plan.receiptId} would be received again`,
  ].join('\n')
}

function whyNothing({ receiptId, eventType, jobs }: ReplayPlan, subscriber: string | undefined): string {
  if (jobs.length > 0)
    return `the jobs of ${receiptId} are not finished yet, or wait for a decision (hookonce attention list)`
  const who = subscriber === undefined ? 'no subscriber wants' : `${safe(subscriber)} does not want`
  return `${who} events of type ${safe(eventType)}`
}

interface FailedValues extends Asked {
  readonly source?: string | undefined
  readonly since?: string | undefined
  readonly limit?: string | undefined
}

async function replayAllFailed({ dir, json, source, subscriber, ...values }: FailedValues): Promise<void> {
  const sinceMs = values.since === undefined ? undefined : durationOf({ usage }, values.since)
  const limit = Number(values.limit ?? '1000')
  if (!Number.isInteger(limit) || limit < 1) throw usageError({ usage }, '--limit must be a number from 1')
  await lookingIn(dir, async (ledger) => {
    requireKnown(await registered(ledger), { source, subscriber })
    const plan = await planReplay(ledger, { source, subscriber, sinceMs, limit })
    const unattended = await unattendedSubscribers(
      ledger.pool,
      plan.map((job) => job.subscriber),
    )
    warn(unattended)
    if (values['dry-run']) {
      if (json) return printJson(plan)
      print(
        table(
          ['RECEIPT', 'SOURCE', 'JOB', 'REASON'],
          plan.map((job) => [job.receiptId, job.source, safe(job.name), safe(job.reason ?? '')]),
        ),
      )
      return print(`${jobs(plan.length)} would be received again`)
    }
    const replayed = await replayFailed(ledger, plan)
    if (json) printJson({ jobs: replayed, unattended })
    else print(`${replayed} failed ${replayed === 1 ? 'job' : 'jobs'} received again`)
  })
}

/** A name that was mistyped must not look as if nothing had failed. */
function requireKnown(
  known: readonly Registered[],
  { source, subscriber }: Pick<FailedValues, 'source' | 'subscriber'>,
): void {
  const ofSource = known.filter((one) => source === undefined || one.source === source)
  const of = source === undefined ? '' : ` of source "${source}"`
  if (source !== undefined && ofSource.length === 0)
    throw new HookonceError('CONFIG_INVALID', `the ledger knows no source "${source}"`)
  if (subscriber !== undefined && !ofSource.some((one) => one.subscriber === subscriber))
    throw new HookonceError('CONFIG_INVALID', `the ledger knows no subscriber "${subscriber}"${of}`)
}

/** On standard error: what is replayed may be piped into another program. */
function warn(unattended: readonly UnattendedSubscriber[]): void {
  const [first] = unattended
  if (!first) return
  const warnings = first.othersRun
    ? unattended.map(
        ({ source, subscriber, since }) =>
          `warning: no running worker serves "${subscriber}" of ${source} (since ${clock(since)}): its job waits until one does (see hookonce subscribers)`,
      )
    : ['warning: no worker runs now: what is received again waits until one is started']
  for (const warning of warnings) process.stderr.write(`${safe(warning)}\n`)
}

function jobs(count: number): string {
  return `${count} ${count === 1 ? 'job' : 'jobs'}`
}

interface FreshValues extends Asked {
  readonly yes: boolean
  readonly by?: string | undefined
  readonly why?: string | undefined
}

async function replayFresh(id: string, values: FreshValues): Promise<void> {
  const { subscriber, why, by = userInfo().username } = values
  await lookingIn(values.dir, async (ledger) => {
    const plan = await planReplayFresh(ledger, id, { subscriber })
    // A fresh replay gives no job to those that have none.
    const { unattended } = await planReplayOne(ledger, id, { subscriber })
    warn(unattended.filter((one) => plan.jobs.some((job) => job.subscriber === one.subscriber)))
    if (values['dry-run']) return values.json ? printJson(plan) : print(planText(plan))
    if (!why) throw usageError({ usage }, 'why? Give the reason with --why: it is kept')
    if (!values.yes) await confirm(planText(plan))
    const result = await replayOne(ledger, id, { subscriber, fresh: { by, why } })
    if (values.json) return printJson(result)
    print(`${jobs(result.jobs)} of ${result.receiptId} received afresh`)
  })
}

function planText({ receiptId, jobs }: FreshPlan): string {
  const rows = jobs.flatMap(({ subscriber, steps, effects, messages }) => [
    ...steps.map((step) => [safe(subscriber), 'step', safe(step), '']),
    ...effects.map(({ key, mode, state }) => [safe(subscriber), `effect, ${mode}`, safe(key), state]),
    ...messages.map(({ topic, key, state }) => [
      safe(subscriber),
      'message',
      safe(key === null ? topic : `${topic} ${key}`),
      state,
    ]),
  ])
  if (rows.length === 0) return `${receiptId}: nothing is recorded that a fresh replay would do again`
  return `a fresh replay of ${receiptId} would do again:\n\n${table(['JOB', 'WHAT', 'NAME', 'STATE'], rows)}\n`
}

/** Nobody there to ask is a no. */
async function confirm(plan: string): Promise<void> {
  process.stderr.write(`${plan}\n`)
  if (!process.stdin.isTTY) throw usageError({ usage }, 'nobody is there to ask: give --yes')
  const asking = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await asking.question('Do all of this again? [y/N] ').finally(() => asking.close())
  if (!/^y(es)?$/i.test(answer.trim())) throw usageError({ usage }, 'not confirmed: nothing was replayed')
}
