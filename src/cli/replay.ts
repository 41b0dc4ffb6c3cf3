import { createInterface } from 'node:readline/promises'
import {
  type FreshPlan,
  planReplayFresh,
  planReplayOne,
  type ReplayPlan,
  replayOne,
} from '../operate/replay.ts'
import { actorOf, reasonOf } from './actor.ts'
import { type Command, ledgerOptions, parse, usageError } from './command.ts'
import { filterOptions } from './filter.ts'
import { withLedger } from './open-ledger.ts'
import { print, printJson, safe, table } from './print.ts'
import { replayAllFailed, retryWaiting } from './replay-many.ts'
import { jobsText, unattendedWarnings, warnOf } from './replay-warnings.ts'
import { requireReceipt } from './require-receipt.ts'

const usage = `hookonce replay <receipt id | event key> [--subscriber NAME] [--why TEXT] [--by NAME] [--dry-run] [--json] [--dir DIR]
hookonce replay <receipt id | event key> --fresh --why TEXT [--by NAME] [--yes] [--dry-run] [--subscriber NAME]
                [--json] [--dir DIR]
hookonce replay --failed [--error TEXT] [--type TYPE] [--source NAME] [--subscriber NAME] [--tenant NAME] [--since TIME]
                [--until TIME] [--limit N] [--why TEXT] [--by NAME] [--dry-run] [--json] [--dir DIR]
hookonce replay [receipt id | event key] --retrying [--source NAME] [--subscriber NAME] [--tenant NAME] [--limit N]
                [--why TEXT] [--by NAME] [--dry-run] [--json] [--dir DIR]

Processes one event again, or all failed jobs that match. --retrying runs jobs now that wait for their next attempt: of one
event, or all that match. --dry-run only lists the jobs. --limit is 1000 by default.

  --error   with --failed: the error contains this text; or the GROUP that hookonce failures lists
  --type    with --failed: an event type, or a pattern such as "invoice.*"
  --since   with --failed: failed at this time or later: 2h (ago), or 2026-01-31T12:00:00Z
  --until   with --failed: failed before this time

One event goes to every subscriber of its source that the ledger knows and that wants its type, including subscribers
that were registered after it arrived. The ledger also knows subscribers that no process registers any more: a warning
names those that no running worker serves, because their jobs would wait.

Finished steps, effects and writes are not repeated. --fresh repeats them, with new idempotency keys, and publishes their
messages again, under new ids. It lists them first and asks, unless --yes is given. It needs --why.

\`hookonce audit\` shows who decided (--by, else your user name), when and why.`

const options = {
  ...ledgerOptions,
  ...filterOptions,
  failed: { type: 'boolean', default: false },
  retrying: { type: 'boolean', default: false },
  error: { type: 'string' },
  limit: { type: 'string' },
  'dry-run': { type: 'boolean', default: false },
  fresh: { type: 'boolean', default: false },
  yes: { type: 'boolean', default: false },
  by: { type: 'string' },
  why: { type: 'string' },
} as const

/** Options that need another option. Alone they would have no effect, so they are an error. */
const GO_WITH = [
  { names: ['since', 'until', 'type', 'error'], modes: ['failed'] },
  { names: ['source', 'limit', 'tenant'], modes: ['failed', 'retrying'] },
  { names: ['yes'], modes: ['fresh'] },
] as const

interface ReplayOptions {
  readonly dir: string
  readonly json: boolean
  readonly 'dry-run': boolean
  readonly subscriber?: string | undefined
  readonly by?: string | undefined
  readonly why?: string | undefined
}

export const replay: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 1 }, args, options)
    for (const { names, modes } of GO_WITH) {
      const given = names.find((name) => values[name] !== undefined && values[name] !== false)
      if (given && !modes.some((mode) => values[mode]))
        throw usageError({ usage }, `--${given} goes with ${modes.map((mode) => `--${mode}`).join(' or ')}`)
    }
    const [id] = positionals
    if ([values.failed, values.retrying, values.fresh].filter(Boolean).length > 1)
      throw usageError({ usage }, '--failed, --retrying and --fresh exclude each other')
    if (values.retrying) return retryWaiting({ usage }, id, values)
    if (values.fresh) {
      if (!id) throw usageError({ usage }, '--fresh replays one receipt; pass its id')
      return replayFresh(id, values)
    }
    if (id && !values.failed) return replayReceipt(id, values)
    if (id || !values.failed) throw usageError({ usage }, 'give one receipt, --failed or --retrying')
    return replayAllFailed({ usage }, values)
  },
}

async function replayReceipt(
  name: string,
  { dir, json, subscriber, ...values }: ReplayOptions,
): Promise<void> {
  const reason = reasonOf(values)
  await withLedger(dir, async (ledger) => {
    const id = await requireReceipt(ledger, name)
    const plan = await planReplayOne(ledger, id, { subscriber })
    warnOf(unattendedWarnings(plan.unattended))
    if (values['dry-run']) return json ? printJson(plan) : print(oneText(plan))
    const result = await replayOne(ledger, id, { subscriber, reason })
    if (json) return printJson({ ...result, unattended: plan.unattended })
    print(
      result.jobs === 0
        ? `nothing to replay: ${whyNothing(plan, subscriber)}`
        : `${jobsText(result.jobs)} of ${result.receiptId} received again`,
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
    `${jobsText(count)} of ${plan.receiptId} would be received again`,
  ].join('\n')
}

function whyNothing({ receiptId, eventType, jobs }: ReplayPlan, subscriber: string | undefined): string {
  if (jobs.length > 0)
    return `the jobs of ${receiptId} are not finished yet, or wait for a decision (hookonce attention list)`
  const who = subscriber === undefined ? 'no subscriber wants' : `${safe(subscriber)} does not want`
  return `${who} events of type ${safe(eventType)}`
}

interface FreshValues extends ReplayOptions {
  readonly yes: boolean
}

async function replayFresh(name: string, values: FreshValues): Promise<void> {
  const { subscriber, why } = values
  await withLedger(values.dir, async (ledger) => {
    const id = await requireReceipt(ledger, name)
    const plan = await planReplayFresh(ledger, id, { subscriber })
    // A fresh replay adds no jobs.
    const { unattended } = await planReplayOne(ledger, id, { subscriber })
    const waiting = unattended.filter((one) => plan.jobs.some((job) => job.subscriber === one.subscriber))
    warnOf(unattendedWarnings(waiting))
    if (values['dry-run']) return values.json ? printJson(plan) : print(planText(plan))
    if (!why) throw usageError({ usage }, 'give the reason with --why: the audit records it')
    if (!values.yes) await confirm(planText(plan))
    const result = await replayOne(ledger, id, { subscriber, fresh: { by: actorOf(values.by), why } })
    if (values.json) return printJson(result)
    print(`${jobsText(result.jobs)} of ${result.receiptId} received afresh`)
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
  if (rows.length === 0) return `${receiptId}: a fresh replay would repeat nothing`
  return `a fresh replay of ${receiptId} would repeat:\n\n${table(['JOB', 'WHAT', 'NAME', 'STATE'], rows)}\n`
}

/** Without a terminal nobody can confirm, so the replay is refused. */
async function confirm(plan: string): Promise<void> {
  process.stderr.write(`${plan}\n`)
  if (!process.stdin.isTTY) throw usageError({ usage }, 'there is no terminal to confirm at: give --yes')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question('Repeat all of this? [y/N] ').finally(() => terminal.close())
  if (!/^y(es)?$/i.test(answer.trim())) throw usageError({ usage }, 'not confirmed: nothing was replayed')
}
