import { planReplayFailed, replayFailed } from '../operate/replay.ts'
import { planRetryNow, type RetryPlan, retryNow } from '../operate/retry-now.ts'
import { reasonOf } from './actor.ts'
import { type Command, usageError } from './command.ts'
import { durationText } from './duration-text.ts'
import { parseFilter, parseSource, requireNames } from './filter.ts'
import { longWork } from './long-work.ts'
import { withLedger } from './open-ledger.ts'
import { pausedLine } from './paused-line.ts'
import { print, printJson, safe, table } from './print.ts'
import { jobsText, unattendedWarnings, warnOf } from './replay-warnings.ts'
import { requireReceipt } from './require-receipt.ts'
import { type TenantColumn, tenantColumn } from './tenant-column.ts'

export interface ManyOptions {
  readonly dir: string
  readonly json: boolean
  readonly 'dry-run': boolean
  readonly tenant?: string | undefined
  readonly source?: string | undefined
  readonly subscriber?: string | undefined
  readonly type?: string | undefined
  readonly error?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly limit?: string | undefined
  readonly by?: string | undefined
  readonly why?: string | undefined
}

/** Processes failed jobs again. */
export async function replayAllFailed(command: Pick<Command, 'usage'>, given: ManyOptions): Promise<void> {
  const { dir, json, error } = given
  const filter = parseFilter(command, given)
  // An unset variable of a script must not select every failed job.
  if (error === '')
    throw usageError(command, '--error is empty: give a text, or a GROUP of hookonce failures')
  const limit = limitOf(command, given.limit)
  const reason = reasonOf(given)
  await withLedger(dir, async (ledger) => {
    await requireNames(ledger, filter)
    const plan = await planReplayFailed(ledger, { ...filter, error, limit })
    const { unattended } = plan
    warnOf(unattendedWarnings(unattended))
    if (given['dry-run']) {
      if (json) return printJson(plan.jobs)
      if (plan.jobs.length === 0) return print('no failed job that can be replayed matches')
      const column = await tenantColumn(ledger)
      const rows = plan.jobs.map((job) => [
        job.receiptId,
        ...column.cell(job.tenant),
        safe(job.source),
        safe(job.name),
        safe(job.reason ?? ''),
      ])
      print(table(['RECEIPT', ...column.head, 'SOURCE', 'JOB', 'REASON'], rows))
      return print(`${jobsText(plan.jobs.length)} would be received again`)
    }
    const { result: replayed, wasInterrupted } = await longWork('jobs', (watch) =>
      replayFailed(ledger, plan, reason, watch),
    )
    if (json) return printJson({ jobs: replayed, unattended, isComplete: !wasInterrupted })
    print(`${replayed} failed ${replayed === 1 ? 'job' : 'jobs'} received again`)
    if (wasInterrupted) print(stoppedText(plan.jobs.length - replayed))
  })
}

/** Runs waiting jobs of one event, or all matching jobs, before their next attempt is due. */
export async function retryWaiting(
  command: Pick<Command, 'usage'>,
  id: string | undefined,
  given: ManyOptions,
): Promise<void> {
  const { dir, json, subscriber } = given
  if (id !== undefined && (given.source !== undefined || given.limit !== undefined))
    throw usageError(command, '--source and --limit are for many events: leave the receipt out')
  const place = parseSource(command, given)
  const limit = limitOf(command, given.limit)
  const reason = reasonOf(given)
  await withLedger(dir, async (ledger) => {
    await requireNames(ledger, { ...place, subscriber })
    const receiptId = id === undefined ? undefined : await requireReceipt(ledger, id, place)
    const plan = await planRetryNow(ledger, { ...place, subscriber, receiptId, limit })
    warnOf([...unattendedWarnings(plan.unattended), ...heldWarnings(plan)])
    if (given['dry-run']) {
      if (json) return printJson(plan.jobs)
      return print(planText(plan, await tenantColumn(ledger)))
    }
    const { result: retried, wasInterrupted } = await longWork('jobs', (watch) =>
      retryNow(ledger, plan, reason, watch),
    )
    if (json) return printJson({ jobs: retried, unattended: plan.unattended, isComplete: !wasInterrupted })
    if (retried === 0 && !wasInterrupted) return print('no job waits for its next attempt')
    print(`${retried} retrying ${retried === 1 ? 'job is' : 'jobs are'} due now`)
    if (wasInterrupted) print(stoppedText(plan.jobs.length - retried))
  })
}

function stoppedText(left: number): string {
  return `stopped before the end: ${left} are left; run the same command again to continue`
}

function heldWarnings({ paused, circuits }: RetryPlan): string[] {
  const open = circuits.map(
    ({ source, subscriber, circuit }) =>
      `the circuit of "${subscriber}" of ${source} is ${circuit.state}: its jobs wait for a probe (hookonce resume makes the next one due)`,
  )
  return [...paused.map(pausedLine), ...open]
}

function planText({ jobs }: RetryPlan, column: TenantColumn): string {
  if (jobs.length === 0) return 'no job waits for its next attempt'
  const rows = jobs.map((job) => [
    job.receiptId,
    ...column.cell(job.tenant),
    safe(job.source),
    safe(job.name),
    String(job.attempt),
    durationText(Math.max(0, job.dueAt.getTime() - Date.now())),
    safe(job.reason ?? ''),
  ])
  const head = ['RECEIPT', ...column.head, 'SOURCE', 'JOB', 'ATTEMPTS', 'DUE IN', 'REASON']
  return `${table(head, rows)}\n${jobsText(jobs.length)} would be due now`
}

/** There is no upper limit: the plan is held in memory, and the operator chose its size. */
function limitOf(command: Pick<Command, 'usage'>, text = '1000'): number {
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1) return limit
  throw usageError(command, `--limit must be a number from 1, not "${text}"`)
}
