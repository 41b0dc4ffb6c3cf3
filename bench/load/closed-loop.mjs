// @ts-check
import { percentiles } from './percentiles.mjs'

/**
 * Throughput: each connection sends its next request when the last request is answered.
 * @param {import('./connection.mjs').Connection[]} connections
 * @param {() => Buffer} next
 * @param {{ seconds: number, count: number }} bounds whichever comes first
 */
export async function closedLoop(connections, next, { seconds, count }) {
  /** @type {number[]} */
  const latencies = []
  /** @type {Record<number, number>} */
  const statuses = {}
  const endsAt = performance.now() + seconds * 1000
  const startedAt = performance.now()
  let left = count
  let lastAnswerAt = startedAt

  await Promise.all(
    connections.map(
      (connection) =>
        new Promise((/** @type {(nothing?: undefined) => void} */ done) => {
          function send() {
            if (left <= 0 || performance.now() >= endsAt) return done()
            left -= 1
            const sentAt = performance.now()
            connection.send(next(), (status) => {
              lastAnswerAt = performance.now()
              latencies.push(lastAnswerAt - sentAt)
              statuses[status] = (statuses[status] ?? 0) + 1
              if (!connection.usable) return done()
              send()
            })
          }
          send()
        }),
    ),
  )
  // All sent requests are answered, so the measured time ends with the last answer.
  const elapsed = (lastAnswerAt - startedAt) / 1000
  return {
    sent: count - left,
    elapsed,
    perSecond: (count - left) / elapsed,
    statuses,
    latency: percentiles(latencies),
  }
}
