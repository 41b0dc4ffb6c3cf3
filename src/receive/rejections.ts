import { type DiagnosisLog, kindOf } from '../delivery/diagnoses.ts'
import type { RefusalLog } from '../delivery/refuse.ts'
import { withoutNul } from '../ledger/driver/binary.ts'
import type { Queryable } from '../ledger/driver/statement.ts'
import { countRejection, type RejectionCount } from '../ledger/receipts/rejections.ts'
import type { ErrorCode } from '../model/errors.ts'
import type { Observer } from '../observe/observer.ts'

/**
 * The bounded log of rejections: a row for each source and reason, with a count and the last case.
 * Anyone can send a million bad requests; this stays as many rows as there are reasons, written at
 * most once a second.
 */
export interface RejectionLog extends RefusalLog, DiagnosisLog {
  stop(): Promise<void>
}

const WRITE_EVERY_MS = 1_000
const MAX_DETAIL_CHARS = 300
const MAX_DIAGNOSIS_CHARS = 600
const MAX_DIAGNOSES = 3

export function rejectionLog(db: Queryable, observer: Observer): RejectionLog {
  let counts = new Map<string, RejectionCount>()
  /**
   * What was found of each source and reason, the latest first: several faults may have one code.
   */
  const found = new Map<string, readonly string[]>()
  let timer: NodeJS.Timeout | undefined
  let writing = Promise.resolve()

  /** After what is being written already: a stop must wait for both. */
  function write(): Promise<void> {
    timer = undefined
    writing = writing.then(writeCounts)
    return writing
  }

  async function writeCounts(): Promise<void> {
    const batch = [...counts.values()]
    counts = new Map()
    try {
      for (const count of batch) await countRejection(db, count)
    } catch (error) {
      observer.trouble({ doing: 'writing the log of rejections', error })
    }
  }

  /** Changes what is held of one reason until the next write. */
  function hold(source: string, code: ErrorCode, change: (count: RejectionCount) => void): void {
    const key = `${source} ${code}`
    const count = counts.get(key) ?? { source, code, count: 0, lastDetail: '', diagnosis: '' }
    change(count)
    counts.set(key, count)
    timer ??= setTimeout(() => void write(), WRITE_EVERY_MS).unref()
  }

  return {
    add(source, code, detail) {
      hold(source, code, (count) => {
        count.count += 1
        count.lastDetail = withoutNul(detail.slice(0, MAX_DETAIL_CHARS))
      })
    },
    explain(source, code, diagnosis) {
      const key = `${source} ${code}`
      const others = (found.get(key) ?? []).filter((one) => kindOf(one) !== kindOf(diagnosis))
      const latest = [diagnosis, ...others].slice(0, MAX_DIAGNOSES)
      found.set(key, latest)
      hold(source, code, (count) => {
        count.diagnosis = withoutNul(latest.join('; also: ').slice(0, MAX_DIAGNOSIS_CHARS))
      })
    },
    async stop() {
      clearTimeout(timer)
      await write()
    },
  }
}
