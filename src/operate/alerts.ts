import { randomUUID } from 'node:crypto'
import { publisherOf } from '../alerts/channels.ts'
import type { AlertChannel, CheckedAlerts } from '../alerts/config.ts'
import { nextCommand, testMessage } from '../alerts/message.ts'
import {
  type Alert,
  acknowledgeAlert as acknowledgeRow,
  findAlerts,
  listAlerts as readAlerts,
} from '../ledger/alerts/alerts.ts'
import { inTransaction } from '../ledger/driver/in-transaction.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { recordAudit } from '../ledger/read/audit.ts'
import { onlyOne } from '../ledger/read/id-prefix.ts'
import { HookonceError } from '../model/errors.ts'
import { everywhere, sortedBy, whereFound } from './across.ts'
import { type DecisionReason, requireReason } from './audit.ts'
import { checkLimit } from './page.ts'

export interface ListedAlert extends Omit<Alert, 'announced'> {
  /** The command that shows details. */
  readonly next: string
}

export interface AlertQuery {
  /** Include resolved alerts. */
  readonly all?: boolean
  readonly tenant?: string | undefined
  readonly limit?: number
}

const DEFAULT_LIMIT = 100

async function alertsIn(
  { pool }: LedgerTables,
  { all = false, tenant, limit = DEFAULT_LIMIT }: AlertQuery = {},
): Promise<ListedAlert[]> {
  const found = await readAlerts(pool, { isAll: all, tenant, limit: checkLimit(limit) })
  return found.map(listed)
}

/** Open alerts, newest first. With `all`, the resolved alerts follow. */
export const listAlerts = everywhere(alertsIn, (all, [query]) =>
  sortedBy(
    all,
    (a, b) =>
      Number(a.resolvedAt !== null) - Number(b.resolvedAt !== null) ||
      b.openedAt.getTime() - a.openedAt.getTime(),
    query?.limit ?? DEFAULT_LIMIT,
  ),
)

function listed({ announced: _, ...alert }: Alert): ListedAlert {
  return { ...alert, next: nextCommand(alert) }
}

export interface AlertAcknowledgement extends DecisionReason {
  /** The id of an open alert, or a prefix of it. */
  readonly id: string
  /** Only alerts of this tenant. */
  readonly tenant?: string | undefined
  /** No message is sent about the alert for this long. */
  readonly muteMs?: number | undefined
}

/** Finds an open alert by its id, or by a prefix of its id. */
async function openAlert(
  { pool }: Pick<LedgerTables, 'pool'>,
  { id: prefix, tenant }: Pick<AlertAcknowledgement, 'id' | 'tenant'>,
): Promise<{ readonly id: string }> {
  const noun = { prefix, noun: 'alert', code: 'ALERT_NOT_OPEN' } as const
  return onlyOne(await findAlerts(pool, prefix, tenant), noun)
}

/** A longer mute would hide a forgotten alert. */
const MAX_MUTE_MS = 30 * 86_400_000

async function acknowledgeIn(
  { pool }: LedgerTables,
  { id: prefix, tenant, by, why, address, muteMs }: AlertAcknowledgement,
): Promise<ListedAlert> {
  requireReason({ by, why }, 'an acknowledgement')
  if (muteMs !== undefined && !(muteMs > 0 && muteMs <= MAX_MUTE_MS))
    throw new HookonceError('CONFIG_INVALID', 'an alert is muted for at most 30 days')
  const { id } = await openAlert({ pool }, { id: prefix, tenant })
  return inTransaction(pool, async (client) => {
    const alert = await acknowledgeRow(client, { id, by, why, muteMs })
    if (!alert) throw new HookonceError('ALERT_NOT_OPEN', `the alert ${id} is already resolved`)
    const { rule, source, subscriber } = alert
    await recordAudit(client, {
      actor: by,
      action: 'acknowledge-alert',
      why,
      tenant: alert.tenant,
      subject: id,
      detail: { rule, source, subscriber, ...(muteMs === undefined ? {} : { muteMs }) },
      address,
    })
    await client.query('commit')
    return listed(alert)
  })
}

/** Records who handles an open alert, and mutes its messages on request. */
export const acknowledgeAlert = whereFound((ledger, [wanted]) => openAlert(ledger, wanted), acknowledgeIn)

export interface ChannelTest {
  readonly channel: string
  readonly type: AlertChannel['type']
  /** Undefined: the channel accepted the message. */
  readonly error?: string
}

/** Short, because an operator waits for the result. */
const TEST_MS = 20_000

/**
 * Sends a test message to every channel in parallel, without the outbox, so the result is known at
 * once.
 */
export function testAlertChannels({ name, channels }: CheckedAlerts): Promise<ChannelTest[]> {
  return Promise.all(
    Object.entries(channels).map(async ([channel, options]) => {
      const { type } = options
      try {
        await sendTest(options, name)
        return { channel, type }
      } catch (error) {
        return { channel, type, error: error instanceof Error ? error.message : String(error) }
      }
    }),
  )
}

async function sendTest(channel: AlertChannel, name: string): Promise<void> {
  const now = new Date()
  const payload = testMessage(name, now)
  const message = {
    id: randomUUID(),
    topic: 'hookonce.alerts.test',
    key: undefined,
    payload,
    body: JSON.stringify(payload),
    headers: {},
    tenant: '',
    receiptId: '',
    createdAt: now,
    attempt: 1,
  }
  await publisherOf(channel)(message, { signal: AbortSignal.timeout(TEST_MS) })
}
