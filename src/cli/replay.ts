import { planReplay, replayFailed, replayOne } from '../upkeep/replay.ts'
import { type Command, durationOf, ledgerOptions, parse, usageError } from './command.ts'
import { lookingIn } from './looking.ts'
import { print, printJson, safe, table } from './print.ts'

const usage = `hookonce replay <receipt id, or its beginning> [--subscriber NAME] [--json] [--dir DIR]
hookonce replay --failed [--source NAME] [--subscriber NAME] [--since 2h] [--limit N] [--dry-run] [--json] [--dir DIR]

Processes one event again, or all failed jobs that match. --dry-run only says which.`

export const replay: Command = {
  name: 'replay',
  summary: 'process one event again, or all that failed',
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
    })
    const [id] = positionals
    if (id && !values.failed) {
      const result = await lookingIn(values.dir, (ledger) =>
        replayOne(ledger, id, { subscriber: values.subscriber }),
      )
      if (values.json) return printJson(result)
      return print(
        result.jobs === 0
          ? `nothing to replay: the jobs of ${result.receiptId} are not finished yet`
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
