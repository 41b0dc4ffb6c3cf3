import { requireTenant } from '../operate/sources.ts'
import {
  type ListedSubscriber,
  listSubscribers,
  planWaiting,
  type ServedSubscriber,
  settleWaiting,
  type WaitingPlan,
} from '../operate/subscribers.ts'
import { actorOf } from './actor.ts'
import { unknownVerb } from './choices.ts'
import { type Command, ledgerOptions, parse, usageError } from './command.ts'
import { withLedger } from './open-ledger.ts'
import { clock, print, printJson, safe, table } from './print.ts'

const usage = `hookonce subscribers [--tenant NAME] [--json] [--dir DIR]
hookonce subscribers move <source> <subscriber> --to NAME --why TEXT [--begun] [--dry-run] [--by NAME]
                          [--tenant NAME] [--json] [--dir DIR]
hookonce subscribers discard <source> <subscriber> --why TEXT [--dry-run] [--by NAME] [--tenant NAME]
                             [--json] [--dir DIR]

Lists the subscribers that the ledger knows, their waiting jobs, and whether a running worker serves them. No worker
serves a subscriber that was renamed or removed: its jobs wait, and the bodies of their events are kept meanwhile.

  move      moves its waiting jobs to another subscriber of the source, if that one wants their type
  discard   marks its waiting jobs as failed; they can be replayed while the body is kept

--dry-run only prints what would be done. Both refuse a subscriber that a running worker serves.

A job that has run before is moved only with --begun. Recorded steps and effects are not repeated, but a step that was in
progress is called again with another idempotency key, because the key contains the subscriber's name.

\`hookonce audit\` shows who decided (--by, else your user name), when and why.`

const options = {
  ...ledgerOptions,
  tenant: { type: 'string' },
  to: { type: 'string' },
  begun: { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
  by: { type: 'string' },
  why: { type: 'string' },
} as const

export const subscribers: Command = {
  usage,
  async run(args) {
    const { values, positionals } = parse({ usage, words: 3 }, args, options)
    const [verb, source, subscriber] = positionals
    if (verb === undefined) return list(values)
    if (verb !== 'move' && verb !== 'discard') throw unknownVerb({ usage }, verb, ['move', 'discard'])
    if (source === undefined || subscriber === undefined)
      throw usageError({ usage }, 'give the source and the subscriber')
    if (verb === 'move' && values.to === undefined)
      throw usageError({ usage }, 'give the subscriber that gets the jobs with --to')
    if (verb === 'discard' && (values.to !== undefined || values.begun))
      throw usageError({ usage }, '--to and --begun go with move')
    return settle({ ...values, source, subscriber })
  },
}

interface ListOptions {
  readonly dir: string
  readonly json: boolean
  readonly tenant?: string | undefined
}

async function list({ dir, json, tenant }: ListOptions): Promise<void> {
  const known = await withLedger(dir, async (ledger) => {
    await requireTenant(ledger, tenant)
    return listSubscribers(ledger)
  })
  const all = known.filter((one) => (tenant ?? one.tenant) === one.tenant)
  if (json) return printJson(all)
  if (all.length === 0)
    return print('the ledger knows no subscriber: a process registers its own when it starts')
  const head = ['TENANT', 'SOURCE', 'SUBSCRIBER', 'TYPES', 'WAITING', 'CIRCUIT', 'RATE', 'SERVED']
  print(table(head, all.map(cells)))
}

function cells(one: ListedSubscriber): string[] {
  return [
    safe(one.tenant),
    safe(one.source),
    safe(one.subscriber),
    safe(one.pattern),
    String(one.waiting),
    one.circuit?.state ?? '-',
    one.rate ? `${one.rate.perSecond}/s` : '-',
    `${servedText(one)}${pausedText(one)}`,
  ]
}

function pausedText({ pausedAt, pauseReason }: ServedSubscriber): string {
  if (!pausedAt) return ''
  return safe(`, paused since ${clock(pausedAt)}${pauseReason === null ? '' : ` (${pauseReason})`}`)
}

function servedText({ isServed, servedUntil, registeredAt }: ServedSubscriber): string {
  if (isServed) return 'yes'
  return servedUntil ? `not since ${clock(servedUntil)}` : `no; registered ${clock(registeredAt)}`
}

interface SettleOptions {
  readonly dir: string
  readonly json: boolean
  readonly source: string
  readonly subscriber: string
  readonly tenant?: string | undefined
  readonly to?: string | undefined
  readonly begun: boolean
  readonly 'dry-run': boolean
  readonly by?: string | undefined
  readonly why?: string | undefined
}

async function settle({ dir, json, why, ...values }: SettleOptions): Promise<void> {
  const { tenant = 'default', source, subscriber, to, begun } = values
  const request = { tenant, source, subscriber, to, begun }
  await withLedger(dir, async (ledger) => {
    const plan = await planWaiting(ledger, request)
    warn(plan)
    const { jobs } = plan
    if (values['dry-run'])
      return json ? printJson(summary(plan, jobs)) : print(`${countText(jobs)} would be ${doneText(to)}`)
    if (!why) throw usageError({ usage }, 'give the reason with --why: the audit records it')
    const done = await settleWaiting(ledger, request, { by: actorOf(values.by), why })
    if (json) printJson(summary(plan, done))
    else print(`${countText(done)} of ${safe(source)} ${safe(subscriber)} ${doneText(to)}`)
  })
}

function summary({ from, to, unwanted, begun }: WaitingPlan, jobs: number): Record<string, unknown> {
  const { tenant, source, subscriber } = from
  return { tenant, source, subscriber, to: to?.subscriber ?? null, jobs, unwanted, begun }
}

/** Prints to standard error, so that standard output can be piped into another program. */
function warn({ to, unwanted, begun }: WaitingPlan): void {
  const warnings: string[] = []
  for (const { type, jobs } of unwanted)
    warnings.push(`leaving ${countText(jobs)} of type ${type}: "${to?.subscriber}" does not want the type`)
  if (begun > 0) warnings.push(`leaving ${countText(begun)} with an earlier run: see --begun in --help`)
  if (to && !to.isServed)
    warnings.push(`no running worker serves "${to.subscriber}": the moved jobs wait there`)
  for (const warning of warnings) process.stderr.write(`warning: ${safe(warning)}\n`)
}

function doneText(to: string | undefined): string {
  return to === undefined ? 'discarded' : `moved to ${safe(to)}`
}

function countText(count: number): string {
  return `${count} ${count === 1 ? 'job' : 'jobs'}`
}
