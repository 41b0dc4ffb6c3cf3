// @ts-check
import { createHmac, createSecretKey } from 'node:crypto'
import { parseArgs } from 'node:util'
import { medianOf, table } from './figures.mjs'
import { everyHmacProvider } from './providers.mjs'

/*
 * The cost of verifying beyond the unavoidable HMAC: `source.verify` of each HMAC provider against
 * a bare `createHmac().update().digest()` over the same body, with a prepared key.
 */

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '41' },
    /**
     * The number of calls in one block. Both sides alternate, so that neither gets the quieter
     * machine.
     */
    calls: { type: 'string', default: '1000' },
    body: { type: 'string', default: '1600' },
    providers: {
      type: 'string',
      default: 'stripe,github,standard-webhooks,svix,shopify,slack,paddle,zoom,square,hubspot,meta,x',
    },
  },
})
const [rounds, calls, bytes] = [values.rounds, values.calls, values.body].map(Number)
const wanted = values.providers === 'all' ? undefined : values.providers.split(',')

/** The upper limit of the cost of verifying, in bare HMACs. */
const GOAL = 1.3

const rows = []
for (const { id, algorithm, source, delivery, secret } of await everyHmacProvider(Number(bytes), wanted)) {
  const key = createSecretKey(secret, 'utf8')
  const hash = algorithm.slice('hmac-'.length)
  const { body } = delivery
  const bare = () => createHmac(hash, key).update(body).digest()
  const ours = () => source.verify(delivery)
  for (let warm = 0; warm < 3; warm += 1) {
    block(bare)
    block(ours)
  }
  const bareTimes = []
  const ourTimes = []
  const ratios = []
  for (let round = 0; round < Number(rounds); round += 1) {
    const one = block(bare)
    const other = block(ours)
    bareTimes.push(one)
    ourTimes.push(other)
    ratios.push(other / one)
  }
  rows.push({ id, algorithm, bare: medianOf(bareTimes), ours: medianOf(ourTimes), ratio: medianOf(ratios) })
}

console.log(
  `${bytes} bytes, median of ${rounds} rounds of ${calls} calls, taken in turns; node ${process.version}\n`,
)
console.log(
  table(
    ['provider', 'algorithm', 'bare µs', 'verify µs', 'ratio'],
    rows.map(({ id, algorithm, bare, ours, ratio }) => [
      id,
      algorithm,
      bare.toFixed(2),
      ours.toFixed(2),
      `${ratio.toFixed(2)}${ratio > GOAL ? `  over ${GOAL}` : ''}`,
    ]),
  ),
)

/**
 * CPU time per call in microseconds, including the threads of the garbage collector. Other load of
 * the machine does not count.
 * @param {() => unknown} call
 */
function block(call) {
  const before = process.cpuUsage()
  for (let at = 0; at < Number(calls); at += 1) call()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / Number(calls)
}
