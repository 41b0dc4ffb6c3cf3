import { passLanesOn } from '../ledger/jobs/order.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { type GroupCommit, groupCommit } from './group-commit.ts'

export interface LanePasserOptions {
  /** Jobs became due. */
  readonly onDue: () => void
  readonly onTrouble: (error: unknown) => void
}

/** Passes lanes on, those that were named meanwhile together. Trouble is no loss: the chore comes by. */
export function lanePasser(ledger: LedgerTables, options: LanePasserOptions): GroupCommit<string, void> {
  return groupCommit(
    async (lanes: readonly string[]) => {
      await passLanesOn(ledger, lanes).then(
        (count) => count > 0 && options.onDue(),
        (error: unknown) => options.onTrouble(error),
      )
      return lanes.map(() => undefined)
    },
    { maxItems: MAX_BATCH },
  )
}

const MAX_BATCH = 256
