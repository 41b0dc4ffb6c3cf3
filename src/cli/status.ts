import { requireTenant, tenantNames } from '../operate/sources.ts'
import { readStatus, type Status } from '../operate/status.ts'
import { type Command, ledgerOptions, parse } from './command.ts'
import { durationText } from './duration-text.ts'
import { fitScreen, type Section, screenOf } from './fit-screen.ts'
import { withLedger } from './open-ledger.ts'
import { pausedLine } from './paused-line.ts'
import { clock, print, printJson, safe, table } from './print.ts'
import { countText } from './state-text.ts'
import { styleOf } from './style.ts'
import { columnFor, type TenantColumn, tenantOption } from './tenant-column.ts'

const usage = `hookonce status [--tenant NAME] [--json] [--dir DIR]

Shows the state of a ledger on one screen: the running workers, waiting and failed jobs by source and subscriber, the
outbox, and subscribers that are paused, held by an open circuit, or served by no running worker. --json lists everything.

  --tenant   only the jobs, pauses and circuits of this tenant; workers and the outbox serve all tenants`

export const status: Command = {
  usage,
  async run(args) {
    const { values } = parse({ usage }, args, { ...ledgerOptions, ...tenantOption })
    const { tenant } = values
    const { found, column } = await withLedger(values.dir, async (ledger) => {
      await requireTenant(ledger, tenant)
      return { found: await readStatus(ledger, { tenant }), column: columnFor(await tenantNames(ledger)) }
    })
    if (values.json) printJson(found)
    else print(statusText(found, column))
  },
}

const style = styleOf(process.stdout)

/** The lines of facts have no rows that could be left out. */
const MAX_WORKERS = 10

function statusText(found: Status, column: TenantColumn): string {
  const { schema, workers, totals, outbox, paused, circuits, unattended } = found
  const facts: [string, string][] = [
    ['schema', schema ? `${schema.name}, applied ${clock(schema.appliedAt)}` : 'none'],
    ['workers', workersText(found)],
    ['backlog', `${totals.waiting} waiting, ${totals.retrying} retrying, ${totals.processing} processing`],
    ['lag', totals.lagSeconds > 0 ? `${seconds(totals.lagSeconds)}: the oldest due job` : 'none'],
    ['failed', totals.failed > 0 ? `${style.red(String(totals.failed))} (hookonce failures)` : '0'],
    ['attention', attentionText(totals)],
    ['outbox', outboxText(outbox)],
    ['paused', countText(paused.length, 'yellow', style)],
    ['circuits', `${countText(circuits.length, 'red', style)} open`],
  ]
  const remarks = [
    ...strandedLines(found),
    ...paused.map(pausedLine),
    ...circuits.map(circuitLine),
    // Without any worker, the line about workers already reports it.
    ...(workers.length === 0 ? [] : unattended.map(unattendedLine)),
  ]
  const sections = [
    { head: facts.map(([name, value]) => `${name.padEnd(12)}${value}`) },
    jobsTable(found, column),
    outboxTable(outbox),
    { rows: remarks.map((remark) => style.yellow(remark)) },
  ]
  return fitScreen(sections, screenOf(process.stdout))
}

function workersText({ workers, totals }: Status): string {
  if (workers.length === 0) {
    const waits = totals.waiting + totals.retrying + totals.stranded > 0 ? ': jobs wait until one starts' : ''
    const text = `none is running${waits}`
    return waits === '' ? text : style.red(text)
  }
  const names = workers.map(({ host, pid, jobs }) => `${safe(host)} ${pid} (${jobs} running)`)
  return `${workers.length} alive: ${firstOf(names, MAX_WORKERS).join(', ')}`
}

function attentionText({ attention, effectsUnknown }: Status['totals']): string {
  if (attention + effectsUnknown === 0) return '0'
  return `${countText(attention, 'red', style)}, effects of unknown outcome ${effectsUnknown} (hookonce attention list)`
}

function outboxText(outbox: Status['outbox']): string {
  const waiting = outbox.reduce((all, row) => all + row.waiting, 0)
  const failed = outbox.reduce((all, row) => all + row.failed, 0)
  const oldest = Math.max(0, ...outbox.map((row) => row.lagSeconds))
  const age = waiting > 0 ? `, the oldest for ${seconds(oldest)}` : ''
  return `${waiting} waiting${age}, ${countText(failed, 'red', style)} failed${failed > 0 ? ' (hookonce outbox)' : ''}`
}

/** Omits idle subscribers. Subscribers that need a person come first. */
function jobsTable({ jobs }: Status, column: TenantColumn): Section {
  const busy = jobs
    .filter((row) => row.waiting + row.retrying + row.failed + row.attention > 0)
    .sort((a, b) => b.attention - a.attention || b.failed - a.failed || b.lagSeconds - a.lagSeconds)
  const idle = jobs.length - busy.length
  const idleText = `${idle} ${idle === 1 ? 'subscriber has' : 'subscribers have'} nothing to do`
  const foot = idle === 0 ? [] : [idleText]
  if (busy.length === 0) return { foot }
  const rows = busy.map((row) => [
    ...column.cell(row.tenant),
    safe(row.source),
    safe(row.subscriber),
    ...[row.waiting, row.retrying].map(String),
    ...[row.failed, row.attention].map((count) => countText(count, 'red', style)),
    row.lagSeconds > 0 ? seconds(row.lagSeconds) : '-',
  ])
  const head = ['SOURCE', 'SUBSCRIBER', 'WAITING', 'RETRYING', 'FAILED', 'ATTENTION', 'OLDEST DUE']
  return { ...tableSection([...column.head, ...head], rows), foot }
}

function outboxTable(outbox: Status['outbox']): Section {
  const rows = outbox.map((row) => [
    safe(row.topic),
    ...[row.waiting, row.failed].map(String),
    row.waiting > 0 ? seconds(row.lagSeconds) : '-',
  ])
  return rows.length === 0 ? {} : tableSection(['TOPIC', 'WAITING', 'FAILED', 'OLDEST'], rows)
}

function tableSection(titles: readonly string[], cells: readonly (readonly string[])[]): Section {
  const [head = '', ...rows] = table(titles, cells).split('\n')
  return { head: [head], rows }
}

function strandedLines({ stranded, workers }: Status): string[] {
  const next =
    workers.length > 0 ? 'a running worker takes them over soon' : 'they are taken over when a worker starts'
  return stranded.map(({ host, pid, jobs, leaseUntil, isCleanStop }) => {
    const ended = isCleanStop ? 'stopped' : `is gone, its lease ended ${clock(leaseUntil)}`
    return safe(`the worker ${host} ${pid} ${ended}, and left ${jobs} running ${jobWord(jobs)}: ${next}`)
  })
}

function jobWord(count: number): string {
  return count === 1 ? 'job' : 'jobs'
}

function circuitLine({ tenant, source, subscriber, circuit }: Status['circuits'][number]): string {
  const { state, since, reason, nextProbeAt, failedProbes } = circuit
  const probe = nextProbeAt ? `next probe ${clock(nextProbeAt)}` : 'its jobs run one at a time as probes'
  const failed = failedProbes > 0 ? `, failed probes: ${failedProbes}` : ''
  return safe(
    `the circuit of "${subscriber}" of ${nameOf(tenant, source)} has been ${state} since ${clock(since)}: its jobs wait; ${probe}${failed} (${reason ?? 'no reason'})`,
  )
}

function unattendedLine({ tenant, source, subscriber, jobs, since }: Status['unattended'][number]): string {
  return safe(
    `no running worker has served "${subscriber}" of ${nameOf(tenant, source)} since ${clock(since)}: ${jobs} waiting (see hookonce subscribers)`,
  )
}

/** The name of a source as in a gateway's configuration. */
function nameOf(tenant: string, source: string): string {
  return tenant === 'default' ? source : `${tenant}/${source}`
}

function firstOf(texts: readonly string[], count: number): readonly string[] {
  if (texts.length <= count) return texts
  return [...texts.slice(0, count), `… and ${texts.length - count} more: --json lists all`]
}

function seconds(value: number): string {
  return durationText(value * 1_000)
}
