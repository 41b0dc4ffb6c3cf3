import type { CapturedRequest } from '../gateway/capture/ring.ts'
import { lineLimit } from '../observe/line-limit.ts'
import type { Logger } from '../observe/logs.ts'

/**
 * Reports requests to sources that are not configured, and how to configure them. Anyone who reaches
 * the port can send such requests at any rate, so the lines are limited.
 */
export function capturedLog(logger: Logger): (request: CapturedRequest) => void {
  const limit = lineLimit()
  return ({ method, url, looksLike, advice, body }) => {
    const sender = looksLike.length > 0 ? `, looks like ${looksLike.join(' or ')}` : ''
    const detail = `${method} ${url}, ${body.length} bytes${sender}: ${advice}`
    limit({
      kind: 'captured',
      write: () => logger.info({ detail }, 'captured'),
      summarise: (andMore, leftOut) => logger.info({ detail, not_logged: leftOut }, `captured ${andMore}`),
    })
  }
}
