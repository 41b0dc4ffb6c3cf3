import { readStatus, type Status } from '../operate/status.ts'
import { type Command, ledgerOptions, parse } from './command.ts'
import { withLedger } from './open-ledger.ts'
import { pausedLine } from './paused-line.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce status [--json] [--dir DIR]

Shows the state of a ledger: its schema, the running workers, what waits and what failed by source and subscriber, the
outbox, and what is paused or served by no running worker.`

export const status: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, ledgerOptions)
    const found = await withLedger(values.dir, readStatus)
    if (values.json) printJson(found)
    else print(statusText(found))
  },
}

function statusText({ schema, workers, totals, jobs, outbox, paused, unattended }: Status): string {
  const facts: [string, string][] = [
    ['schema', schema ? `${schema.name}, applied ${clock(schema.appliedAt)}` : 'none'],
    [
      'workers',
      workers.map(({ host, pid, jobs: running }) => `${safe(host)} ${pid} (${running} running)`).join(', ') ||
        'none is running',
    ],
    ['waiting', `${totals.waiting}, retrying ${totals.retrying}, processing ${totals.processing}`],
    ['oldest due', totals.lagSeconds > 0 ? `${Math.round(totals.lagSeconds)} s ago` : '-'],
    ['failed', `${totals.failed}, attention ${totals.attention}, effects unknown ${totals.effectsUnknown}`],
  ]
  const jobRows = jobs.map((row) => [
    safe(row.source),
    safe(row.subscriber),
    ...[row.waiting, row.retrying, row.failed, row.attention].map(String),
    `${Math.round(row.lagSeconds)} s`,
  ])
  const outboxRows = outbox.map((row) => [
    safe(row.topic),
    ...[row.waiting, row.failed].map(String),
    `${Math.round(row.lagSeconds)} s`,
  ])
  const blocks = [
    facts.map(([name, value]) => `${name.padEnd(12)}${value}`).join('\n'),
    jobRows.length > 0 &&
      table(['SOURCE', 'SUBSCRIBER', 'WAITING', 'RETRYING', 'FAILED', 'ATTENTION', 'OLDEST DUE'], jobRows),
    outboxRows.length > 0 && table(['TOPIC', 'WAITING', 'FAILED', 'OLDEST'], outboxRows),
    [...paused.map(pausedLine), ...unattended.map(unattendedLine)].join('\n'),
  ]
  return blocks.filter(Boolean).join('\n\n')
}

function unattendedLine({ source, subscriber, jobs, since }: Status['unattended'][number]): string {
  return safe(
    `no running worker serves "${subscriber}" of ${source} since ${clock(since)}: ${jobs} waiting (see hookonce subscribers)`,
  )
}
