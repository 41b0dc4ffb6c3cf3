import { z } from 'zod'
import { shellWord } from '../input/shell-word.ts'
import type { Alert } from '../ledger/alerts/alerts.ts'
import { type RuleName, ruleNames } from './config.ts'

/*
 * The payload of a message to a channel: one message for all alerts that were opened or resolved at
 * the same time. It holds names and numbers, never a body or a secret. The outbox stores the
 * payload, so a newer version of hookonce must be able to read it.
 */

const noteSchema = z.object({
  id: z.string(),
  rule: z.enum(ruleNames),
  tenant: z.string(),
  source: z.string(),
  subscriber: z.string().optional(),
  /** The severity of the alert. */
  says: z.string(),
  /** The command that shows details. */
  next: z.string(),
  openedAt: z.string(),
  resolvedAt: z.string().optional(),
  /** How often the alert was opened. */
  times: z.number(),
})

export const alertMessageSchema = z.object({
  type: z.enum(['alerts', 'test']),
  /** The name of the deployment. */
  name: z.string(),
  at: z.string(),
  opened: z.array(noteSchema),
  resolved: z.array(noteSchema),
  /** The number of alerts that were opened or resolved but are not listed. */
  more: z.number(),
})

export type AlertMessage = Readonly<z.output<typeof alertMessageSchema>>
export type AlertNote = Readonly<z.output<typeof noteSchema>>

/** A chat message with more alerts is hard to read. `hookonce alerts` lists all. */
const MAX_NOTES = 10

export interface NewAlertMessage {
  readonly name: string
  readonly now: Date
  readonly opened: readonly Alert[]
  readonly resolved: readonly Alert[]
}

export function alertMessage({ name, now, opened, resolved }: NewAlertMessage): AlertMessage {
  const shown = opened.slice(0, MAX_NOTES)
  const ended = resolved.slice(0, MAX_NOTES)
  return {
    type: 'alerts',
    name,
    at: now.toISOString(),
    opened: shown.map(noteOf),
    resolved: ended.map(noteOf),
    more: opened.length - shown.length + resolved.length - ended.length,
  }
}

export function testMessage(name: string, now: Date): AlertMessage {
  return { type: 'test', name, at: now.toISOString(), opened: [], resolved: [], more: 0 }
}

function noteOf(alert: Alert): AlertNote {
  const rule = alert.rule as RuleName
  return {
    id: alert.id,
    rule,
    tenant: alert.tenant,
    source: alert.source,
    ...(alert.subscriber === '' ? {} : { subscriber: alert.subscriber }),
    says: alert.says,
    next: nextCommand(alert),
    openedAt: alert.openedAt.toISOString(),
    ...(alert.resolvedAt === null ? {} : { resolvedAt: alert.resolvedAt.toISOString() }),
    times: alert.times,
  }
}

/** The command that shows details of an alert. */
export function nextCommand({
  rule,
  source,
  subscriber,
}: Pick<Alert, 'rule' | 'source' | 'subscriber'>): string {
  const of = `--source ${shellWord(source)}${subscriber === '' ? '' : ` --subscriber ${shellWord(subscriber)}`}`
  switch (rule) {
    case 'failures':
      return `hookonce failures ${of}`
    case 'retries':
      return `hookonce events ${of} --state retrying`
    case 'signatures':
      return `hookonce rejections --source ${shellWord(source)}`
    case 'attention':
      return 'hookonce attention list'
    case 'duplicates':
    case 'silence':
      return `hookonce stats --source ${shellWord(source)} --since 7d`
    default:
      return 'hookonce status'
  }
}

/** One line, for the subject of a mail. */
export function headline({ type, name, opened, resolved, more }: AlertMessage): string {
  if (type === 'test') return `[${name}] test of an alert channel`
  const [first] = [...opened, ...resolved]
  const state = opened.length > 0 ? 'open' : 'resolved'
  if (first && opened.length + resolved.length + more === 1)
    return `[${name}] ${state}: ${first.rule}, ${subjectOf(first)}`
  const counts = [
    opened.length > 0 && `${opened.length} opened`,
    resolved.length > 0 && `${resolved.length} resolved`,
    more > 0 && `${more} more`,
  ]
  return `[${name}] alerts: ${counts.filter(Boolean).join(', ')}`
}

/** The whole message as plain text, without its headline. */
export function bodyText(message: AlertMessage): string {
  if (message.type === 'test')
    return 'This channel works. hookonce sends alerts here when a rule of its configuration holds.'
  const blocks = [
    ...message.opened.map((note) => `OPEN  ${lines(note)}\n  next: ${note.next}`),
    ...message.resolved.map((note) => `RESOLVED  ${lines(note)}`),
    ...(message.more > 0 ? [`and ${message.more} more: hookonce alerts --all`] : []),
  ]
  return blocks.join('\n\n')
}

function lines(note: AlertNote): string {
  const again = note.times > 1 ? `, opened ${note.times} times` : ''
  const until = note.resolvedAt === undefined ? '' : `, until ${minute(note.resolvedAt)}`
  return `${note.rule}, ${subjectOf(note)}\n  ${note.says}\n  since ${minute(note.openedAt)}${until}${again} (${note.id.slice(0, 8)})`
}

/** `stripe → app`, with its tenant unless that is the default one. */
function subjectOf({
  tenant,
  source,
  subscriber,
}: Pick<AlertNote, 'tenant' | 'source' | 'subscriber'>): string {
  const of = tenant === 'default' || tenant === '' ? '' : `${tenant}/`
  return `${of}${source}${subscriber === undefined || subscriber === '' ? '' : ` → ${subscriber}`}`
}

function minute(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`
}
