import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import {
  type Alert,
  type AlertRun,
  beginAlertRun,
  currentAlerts,
  endAlertRun,
  saveAlerts,
} from '../ledger/alerts/alerts.ts'
import {
  inAttention,
  lastHeard,
  oldestDue,
  usualDuplicates,
  usualGaps,
  windowCounts,
} from '../ledger/alerts/readings.ts'
import { inTransaction } from '../ledger/driver/in-transaction.ts'
import type { Queryable } from '../ledger/driver/statement.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { addMessages, type NewMessage } from '../ledger/outbox/messages.ts'
import { scopedId, shardOf } from '../model/receipt-id.ts'
import { alertTopic } from './channels.ts'
import type { AlertChannel, CheckedAlerts } from './config.ts'
import { type Announcements, announcements, changes, type Transition } from './lifecycle.ts'
import { alertMessage } from './message.ts'
import {
  duplicateCandidates,
  findings,
  type OpenCircuit,
  type Readings,
  silenceCandidates,
  windowsOf,
} from './rules.ts'

/** Reads the destinations whose circuit is open. */
export type ReadCircuits = (db: Queryable) => Promise<readonly OpenCircuit[]>

export interface Evaluation {
  readonly alerts: CheckedAlerts
  readonly openCircuits?: ReadCircuits | undefined
  /** Does nothing if another process evaluated less than this long ago. */
  readonly everyMs: number
}

export interface Evaluated {
  readonly transitions: readonly Transition[]
  readonly messages: number
}

/**
 * Evaluates every rule once. One transaction reads, opens and resolves alerts, and adds the
 * messages about them to the outbox: alerts and messages always agree. Undefined: another process
 * is evaluating, or has just done so.
 */
export function evaluateAlerts(
  { pool, shards }: LedgerTables,
  { alerts: options, openCircuits, everyMs }: Evaluation,
): Promise<Evaluated | undefined> {
  return inTransaction(pool, async (client) => {
    const run = await beginAlertRun(client, everyMs)
    if (!run) {
      await client.query('rollback')
      return undefined
    }
    const readings = await read(client, { options, shards, openCircuits })
    const current = await currentAlerts(client, options.reopenWithinMinutes)
    const situation = { now: run.now, current, findings: findings(options, readings), newId: randomUUID }
    const { alerts, transitions } = withReasons(changes(situation, options), readings)
    const announced = announcementsNow(alerts, { options, run })
    const messages = messagesOf(announced, { options, now: run.now, shards })
    const untouched = new Set(current)
    await saveAlerts(
      client,
      announced.alerts.filter((alert) => !untouched.has(alert)),
    )
    await addMessages(client, messages)
    await endAlertRun(client, run.sent + (messages.length > 0 ? 1 : 0))
    await client.query('commit')
    return { transitions, messages: messages.length }
  })
}

interface ReadOptions {
  readonly options: CheckedAlerts
  readonly shards: number
  readonly openCircuits: ReadCircuits | undefined
}

async function read(client: PoolClient, { options, shards, openCircuits }: ReadOptions): Promise<Readings> {
  const counts = await windowCounts(client, windowsOf(options))
  const heard = await lastHeard(client)
  return {
    counts,
    oldestDue: await oldestDue(client, shards),
    attention: await inAttention(client),
    circuits: (await openCircuits?.(client)) ?? [],
    usualDuplicates: await usualDuplicates(client, duplicateCandidates(options, counts)),
    lastHeard: heard,
    usualGaps: await usualGaps(client, silenceCandidates(options, heard)),
  }
}

type Changed = ReturnType<typeof changes>

/**
 * A source without deliveries for a week drops out of the rollups. Its alert is then resolved
 * because the source is no longer watched, and the message explains that.
 */
function withReasons({ alerts, transitions }: Changed, { lastHeard: heard }: Readings): Changed {
  const isUnwatched = ({ rule, tenant, source, resolvedAt }: Alert): boolean =>
    rule === 'silence' &&
    resolvedAt !== null &&
    !heard.some((one) => one.tenant === tenant && one.source === source)
  const explained = (alert: Alert): Alert =>
    isUnwatched(alert) ? { ...alert, says: 'no delivery for a week: the source is no longer watched' } : alert
  return {
    alerts: alerts.map(explained),
    transitions: transitions.map(({ alert, became }) => ({ alert: explained(alert), became })),
  }
}

interface AnnounceOptions {
  readonly options: CheckedAlerts
  readonly run: AlertRun
}

/** Without a channel, or above the hourly limit, the messages stay due. */
function announcementsNow(
  alerts: readonly Alert[],
  { options: { channels, maxMessagesPerHour, repeatAfterMinutes }, run: { now, sent } }: AnnounceOptions,
): Announcements {
  if (Object.keys(channels).length === 0 || sent >= maxMessagesPerHour)
    return { opened: [], resolved: [], alerts }
  return announcements(alerts, { now, repeatAfterMinutes })
}

interface MessageOptions {
  readonly options: CheckedAlerts
  readonly now: Date
  readonly shards: number
}

/** One message per channel. The messages of one channel are published in order. */
function messagesOf(announced: Announcements, { options, now, shards }: MessageOptions): NewMessage[] {
  return Object.entries(options.channels).flatMap(([name, channel]) => {
    const opened = announced.opened.filter((alert) => takes(channel, alert))
    const resolved = announced.resolved.filter((alert) => takes(channel, alert))
    if (opened.length + resolved.length === 0) return []
    const lane = scopedId('alerts', name)
    const payload = alertMessage({ name: options.name, now, opened, resolved })
    return {
      shard: shardOf(lane, shards),
      id: randomUUID(),
      lane,
      // An alert belongs to no tenant and no event.
      tenant: '',
      receiptId: NO_RECEIPT,
      subscriber: 0,
      topic: alertTopic(name),
      key: 'alerts',
      payload: JSON.stringify(payload),
      headers: null,
    }
  })
}

const NO_RECEIPT = '00000000-0000-0000-0000-000000000000'

function takes({ rules }: AlertChannel, { rule }: Alert): boolean {
  return rules === undefined || rules.some((name) => name === rule)
}
