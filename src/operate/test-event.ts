import { recordAudit } from '../ledger/read/audit.ts'
import { whereTenant } from './across.ts'
import { type DecisionReason, requireReason } from './audit.ts'
import type { LedgerTables } from './tables.ts'

export interface TestEvent {
  readonly tenant: string
  readonly source: string
  readonly eventKey: string
  readonly eventType: string
}

async function recordIn(
  ledger: Pick<LedgerTables, 'pool'>,
  { tenant, source, eventKey, eventType }: TestEvent,
  reason: DecisionReason,
): Promise<void> {
  requireReason(reason, 'a test event')
  const { by, why, address } = reason
  await recordAudit(ledger.pool, {
    actor: by,
    action: 'test-event',
    why,
    tenant,
    subject: source,
    detail: { eventKey, eventType },
    address,
  })
}

/**
 * Records the actor before the test event is sent, because the event has effects like any other
 * event.
 */
export const recordTestEvent = whereTenant(([{ tenant }]) => tenant, recordIn)
