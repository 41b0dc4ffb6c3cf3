import { userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import {
  type FreshPlan,
  planReplayFailed,
  planReplayFresh,
  planReplayOne,
  type ReplayPlan,
  replayFailed,
  replayOne,
  type UnattendedSubscriber,
} from '../operate/replay.ts'
import { requireKnown } from '../operate/sources.ts'
import { type Command, ledgerOptions, parse, parseDuration, usageError } from './command.ts'
import { withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce replay <receipt id, or its beginning> [--subscriber NAME] [--dry-run] [--json] [--dir DIR]
hookonce replay <receipt id> --fresh --why TEXT [--by NAME] [--yes] [--dry-run] [--subscriber NAME] [--json] [--dir DIR]
hookonce replay --failed [--source NAME] [--subscriber NAME] [--since 2h] [--limit N] [--dry-run] [--json] [--dir DIR]

Processes one event again, or all failed jobs that match. --dry-run only lists the jobs.

One event goes to every subscriber of its source that the ledger knows and that wants its type, including subscribers
that were registered after it arrived. The ledger also knows subscribers that no process registers any more: a warning
names those that no running worker serves, because their jobs would wait.

Finished steps, effects and writes are not repeated. --fresh repeats them, with new idempotency keys, and publishes their
messages again, under new ids. It lists them first and asks, unless --yes is given. The audit keeps --by and --why.`

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

/** Options that need another one. Without it they would be ignored, so they are an error. */
const GO_WITH = { failed: ['source', 'since', 'limit'], fresh: ['why', 'by', 'yes'] } as const

interface ReplayOptions {
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

async function replayReceipt(id: string, { dir, json, subscriber, ...values }: ReplayOptions): Promise<void> {
  await withLedger(dir, async (ledger) => {
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

interface FailedValues extends ReplayOptions {
  readonly source?: string | undefined
  readonly since?: string | undefined
  readonly limit?: string | undefined
}

async function replayAllFailed({ dir, json, source, subscriber, ...values }: FailedValues): Promise<void> {
  const sinceMs = values.since === undefined ? undefined : parseDuration({ usage }, values.since)
  const limit = Number(values.limit ?? '1000')
  if (!Number.isInteger(limit) || limit < 1) throw usageError({ usage }, '--limit must be a number from 1')
  await withLedger(dir, async (ledger) => {
    await requireKnown(ledger, { source, subscriber })
    const plan = await planReplayFailed(ledger, { source, subscriber, sinceMs, limit })
    const { unattended } = plan
    warn(unattended)
    if (values['dry-run']) {
      if (json) return printJson(plan.jobs)
      print(
        table(
          ['RECEIPT', 'SOURCE', 'JOB', 'REASON'],
          plan.jobs.map((job) => [job.receiptId, job.source, safe(job.name), safe(job.reason ?? '')]),
        ),
      )
      return print(`${jobs(plan.jobs.length)} would be received again`)
    }
    const replayed = await replayFailed(ledger, plan)
    if (json) printJson({ jobs: replayed, unattended })
    else print(`${replayed} failed ${replayed === 1 ? 'job' : 'jobs'} received again`)
  })
}

/** On standard error, so that standard output can be piped into another program. */
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

interface FreshValues extends ReplayOptions {
  readonly yes: boolean
  readonly by?: string | undefined
  readonly why?: string | undefined
}

async function replayFresh(id: string, values: FreshValues): Promise<void> {
  const { subscriber, why, by = userInfo().username } = values
  await withLedger(values.dir, async (ledger) => {
    const plan = await planReplayFresh(ledger, id, { subscriber })
    // A fresh replay adds no jobs.
    const { unattended } = await planReplayOne(ledger, id, { subscriber })
    warn(unattended.filter((one) => plan.jobs.some((job) => job.subscriber === one.subscriber)))
    if (values['dry-run']) return values.json ? printJson(plan) : print(planText(plan))
    if (!why) throw usageError({ usage }, 'give the reason with --why: the audit keeps it')
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

/** Without a terminal nobody can confirm, so it is refused. */
async function confirm(plan: string): Promise<void> {
  process.stderr.write(`${plan}\n`)
  if (!process.stdin.isTTY) throw usageError({ usage }, 'there is no terminal to confirm at: give --yes')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question('Do all of this again? [y/N] ').finally(() => terminal.close())
  if (!/^y(es)?$/i.test(answer.trim())) throw usageError({ usage }, 'not confirmed: nothing was replayed')
}
