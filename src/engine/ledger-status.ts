import type { Backlogs } from '../observe/gauges.ts'
import type { Observer } from '../observe/observer.ts'
import { readBacklogs } from '../operate/status.ts'
import type { CheckedOptions } from '../options.ts'
import { sharedLook } from '../work/shared-look.ts'
import { withinMs } from '../work/within.ts'
import type { OpenStages } from './open.ts'

/** The status of the ledger for load balancers and scrapers. Simultaneous calls share one read. */
export interface LedgerStatus {
  /** Whether a delivery could be recorded durably now. */
  isReady(): Promise<boolean>
  /** Undefined while the ledger cannot be read. */
  backlogs(): Promise<Backlogs | undefined>
}

interface LedgerStatusOptions {
  readonly open: () => Promise<OpenStages>
  readonly options: CheckedOptions
  readonly observer: Observer
}

/** A server that takes longer than this for a trivial query is not ready. */
const READY_WITHIN_MS = 2_000

export function ledgerStatus({ open, options, observer }: LedgerStatusOptions): LedgerStatus {
  const canRecord = sharedLook(async () => {
    try {
      const { ledger, acceptor } = await open()
      const result = await ledger.readings.query('select not pg_is_in_recovery() as writable')
      return result.rows[0]?.writable === true && acceptor.waiting < options.limits.maxWaiting
    } catch (error) {
      observer.trouble({ doing: 'checking whether the ledger can record', error })
      return false
    }
  })

  const backlogs = sharedLook(async (): Promise<Backlogs | undefined> => {
    try {
      const { readings, shards } = (await open()).ledger
      return await readBacklogs({ pool: readings, shards })
    } catch (error) {
      observer.trouble({ doing: 'reading the backlog for metrics', error })
      return undefined
    }
  })

  async function isReady(): Promise<boolean> {
    let isWritable = false
    const look = canRecord().then((can) => {
      isWritable = can
    })
    await withinMs(look, READY_WITHIN_MS)
    return isWritable
  }

  return { isReady, backlogs }
}
