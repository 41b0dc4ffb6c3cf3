import { userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { planReplay, planReplayFresh, replayFailed, replayOne } from '../upkeep/replay.ts'
import type { FreshPlan } from '../upkeep/replay-fresh.ts'
import { type Command, durationOf, ledgerOptions, parse, usageError } from './command.ts'
import { lookingIn } from './looking.ts'
import { print, printJson, safe, table } from './print.ts'

const usage = `hookonce replay <receipt id, or its beginning> [--subscriber NAME] [--json] [--dir DIR]
hookonce replay <receipt id> --fresh --why TEXT [--by NAME] [--yes] [--dry-run] [--subscriber NAME] [--json] [--dir DIR]
hookonce replay --failed [--source NAME] [--subscriber NAME] [--since 2h] [--limit N] [--dry-run] [--json] [--dir DIR]

Processes one event again, or all failed jobs that match. --dry-run only says which.

Steps, effects and writes that are done are not done again. --fresh does them again, with new keys for the other side:
it lists them first and asks, unless --yes is given. Who asked for it and why is kept.`

export const replay: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage }, args, {
      ...ledgerOptions,
      failed: { type: 'boolean', default: false },
      source: { type: 'string' },
      subscriber: { type: 'string' },
      since: { type: 'string' },
      limit: { type: 'string', default: '1000' },
      'dry-run': { type: 'boolean', default: false },
      fresh: { type: 'boolean', default: false },
      yes: { type: 'boolean', default: false },
      by: { type: 'string' },
      why: { type: 'string' },
    })
    const [id] = positionals
    if (values.fresh) {
      if (!id || values.failed) throw usageError({ usage }, '--fresh is for one receipt: give its id')
      return replayFresh(id, values)
    }
    if (id && !values.failed) {
      const result = await lookingIn(values.dir, (ledger) =>
        replayOne(ledger, id, { subscriber: values.subscriber }),
      )
      if (values.json) return printJson(result)
      return print(
        result.jobs === 0
          ? `nothing to replay: the jobs of ${result.receiptId} are not finished yet, or wait for a decision (hookonce attention list)`
          : `${result.jobs} ${result.jobs === 1 ? 'job' : 'jobs'} of ${result.receiptId} received again`,
      )
    }
    if (id || !values.failed) throw usageError({ usage }, 'give one receipt, or --failed')

    const filter = {
      source: values.source,
      subscriber: values.subscriber,
      sinceMs: values.since === undefined ? undefined : durationOf({ usage }, values.since),
      limit: Number(values.limit),
    }
    if (!Number.isInteger(filter.limit) || filter.limit < 1)
      throw usageError({ usage }, '--limit must be a number from 1')
    if (values['dry-run']) {
      const plan = await lookingIn(values.dir, (ledger) => planReplay(ledger, filter))
      if (values.json) return printJson(plan)
      print(
        table(
          ['RECEIPT', 'SOURCE', 'JOB', 'REASON'],
          plan.map((job) => [job.receiptId, job.source, safe(job.name), safe(job.reason ?? '')]),
        ),
      )
      return print(`${plan.length} jobs would be received again`)
    }
    const jobs = await lookingIn(values.dir, (ledger) => replayFailed(ledger, filter))
    if (values.json) printJson({ jobs })
    else print(`${jobs} failed jobs received again`)
  },
}

interface FreshValues {
  readonly dir: string
  readonly json: boolean
  readonly yes: boolean
  readonly 'dry-run': boolean
  readonly subscriber?: string | undefined
  readonly by?: string | undefined
  readonly why?: string | undefined
}

async function replayFresh(id: string, values: FreshValues): Promise<void> {
  const { subscriber, why, by = userInfo().username } = values
  await lookingIn(values.dir, async (ledger) => {
    const plan = await planReplayFresh(ledger, id, { subscriber })
    if (values['dry-run']) return values.json ? printJson(plan) : print(planText(plan))
    if (!why) throw usageError({ usage }, 'why? Give the reason with --why: it is kept')
    if (!values.yes) await confirm(planText(plan))
    const result = await replayOne(ledger, id, { subscriber, fresh: { by, why } })
    if (values.json) return printJson(result)
    print(`${result.jobs} ${result.jobs === 1 ? 'job' : 'jobs'} of ${result.receiptId} received afresh`)
  })
}

function planText({ receiptId, jobs }: FreshPlan): string {
  const rows = jobs.flatMap(({ subscriber, steps, effects }) => [
    ...steps.map((step) => [safe(subscriber), 'step', safe(step), '']),
    ...effects.map(({ key, mode, state }) => [safe(subscriber), `effect, ${mode}`, safe(key), state]),
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
