import { type DiagnosisLog, kindOf } from '../delivery/diagnoses.ts'
import type { RefusalLog } from '../delivery/refuse.ts'
import { withoutNul } from '../ledger/driver/binary.ts'
import type { Queryable } from '../ledger/driver/statement.ts'
import { countRejection, type RejectionCount } from '../ledger/receipts/rejections.ts'
import type { ErrorCode } from '../model/errors.ts'
import type { Observer } from '../observe/observer.ts'

/**
 * The bounded log of rejections: one row per source and reason, with a count and the last case. The
 * number of rows does not depend on the number of bad requests, and rows are written at most once
 * per second.
 */
export interface RejectionLog extends RefusalLog, DiagnosisLog {
  stop(): Promise<void>
  /** Forgets unwritten counts. */
  drop(): void
}

const WRITE_EVERY_MS = 1_000
const MAX_DETAIL_CHARS = 300
const MAX_DIAGNOSIS_CHARS = 600
const MAX_DIAGNOSES = 3

export function rejectionLog(db: Queryable, observer: Observer): RejectionLog {
  let counts = new Map<string, RejectionCount>()
  /** The diagnoses of each source and reason, latest first: several faults share one code. */
  const diagnoses = new Map<string, readonly string[]>()
  let timer: NodeJS.Timeout | undefined
  let writing = Promise.resolve()

  /** Waits for the write in progress: a stop must wait for both writes. */
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

  /** Changes the count of one reason, which the next write adds. */
  function change(source: string, code: ErrorCode, update: (count: RejectionCount) => void): void {
    const key = `${source} ${code}`
    const count = counts.get(key) ?? { source, code, count: 0, lastDetail: '', diagnosis: '', header: null }
    update(count)
    counts.set(key, count)
    timer ??= setTimeout(() => void write(), WRITE_EVERY_MS).unref()
  }

  return {
    add(source, code, detail, header) {
      change(source, code, (count) => {
        count.count += 1
        count.lastDetail = withoutNul(detail.slice(0, MAX_DETAIL_CHARS))
        count.header = header === undefined ? null : withoutNul(header.slice(0, MAX_DETAIL_CHARS))
      })
    },
    explain(source, code, diagnosis) {
      const key = `${source} ${code}`
      const others = (diagnoses.get(key) ?? []).filter((other) => kindOf(other) !== kindOf(diagnosis))
      const latest = [diagnosis, ...others].slice(0, MAX_DIAGNOSES)
      diagnoses.set(key, latest)
      change(source, code, (count) => {
        count.diagnosis = withoutNul(latest.join('; also: ').slice(0, MAX_DIAGNOSIS_CHARS))
      })
    },
    async stop() {
      clearTimeout(timer)
      await write()
    },
    drop() {
      clearTimeout(timer)
      counts.clear()
    },
  }
}
