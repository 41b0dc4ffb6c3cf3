import { withoutNul } from '../ledger/binary.ts'
import { countRejection, type RejectionCount } from '../ledger/rejections.ts'
import type { Queryable } from '../ledger/statement.ts'
import type { ErrorCode } from '../model/errors.ts'
import type { Observer } from '../observe/observer.ts'

/**
 * The bounded log of rejections: a row for each source and reason, with a count and the last case. Anyone can
 * send a million bad requests; this stays as many rows as there are reasons, written at most once a second.
 */
export interface RejectionLog {
  add(source: string, code: ErrorCode, detail: string): void
  stop(): Promise<void>
}

const WRITE_EVERY_MS = 1_000
const MAX_DETAIL_CHARS = 300

export function rejectionLog(db: Queryable, observer: Observer): RejectionLog {
  let counts = new Map<string, RejectionCount>()
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

  return {
    add(source, code, detail) {
      const key = `${source} ${code}`
      const count = counts.get(key) ?? { source, code, count: 0, lastDetail: '' }
      count.count += 1
      count.lastDetail = withoutNul(detail.slice(0, MAX_DETAIL_CHARS))
      counts.set(key, count)
      timer ??= setTimeout(() => void write(), WRITE_EVERY_MS).unref()
    },
    async stop() {
      clearTimeout(timer)
      await write()
    },
  }
}
