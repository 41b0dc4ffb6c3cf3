// @ts-check
import { Deliveries } from '../stripe/deliveries.mjs'
import { closedLoop } from './closed-loop.mjs'
import { Connection } from './connection.mjs'
import { openLoop } from './open-loop.mjs'

/*
 * The process of the load generator. It has its own event loop, so that the server never delays its
 * clock. It answers one order at a time.
 */

/** @type {Deliveries | undefined} */
let deliveries
/** @type {Connection[]} */
let connections = []

const orders = {
  /** @param {import('../stripe/deliveries.mjs').DeliveriesOptions & { port: number, connections: number }} options */
  async prepare(options) {
    for (const connection of connections) connection.close()
    deliveries = new Deliveries(options)
    connections = await Promise.all(
      Array.from({ length: options.connections }, () => Connection.open(options.port)),
    )
  },
  /** @param {{ count: number }} options */
  async stock({ count }) {
    prepared().stock(count)
  },
  /** @param {{ seconds: number, count: number, fresh: boolean }} options */
  async closed({ fresh, ...bounds }) {
    const from = prepared()
    const result = await closedLoop(connections, () => (fresh ? from.fresh() : from.next()), bounds)
    return { ...result, unique: from.unique }
  },
  /** @param {{ seconds: number, rate: number }} options */
  async open(options) {
    const from = prepared()
    const result = await openLoop(connections, () => from.next(), options)
    return { ...result, unique: from.unique }
  },
}

function prepared() {
  if (!deliveries) throw new Error('nothing is prepared')
  return deliveries
}

process.on(
  'message',
  async (/** @type {{ order: keyof typeof orders, options: any }} */ { order, options }) => {
    try {
      process.send?.({ result: await orders[order](options) })
    } catch (error) {
      process.send?.({ error: error instanceof Error ? error.stack : String(error) })
    }
  },
)
process.on('disconnect', () => process.exit(0))
