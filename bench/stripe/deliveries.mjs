// @ts-check
import { createHmac } from 'node:crypto'

/** The secret that the load generator and every contender share. */
export const secret = 'whsec_bench0123456789abcdefghijklmnop'
export const path = '/in/stripe'

const ID_DIGITS = 24
const NO_ID = '0'.repeat(ID_DIGITS)
const NO_SIGNATURE = '0'.repeat(64)
/** Repeats are drawn from this many recent events, because providers repeat recent events. */
const REMEMBERED = 4096
/** The limit on requests that are built in advance. A longer run builds the rest while it runs. */
const STOCK_BYTES = 256 * 1024 * 1024

/**
 * @typedef {object} DeliveriesOptions
 * @property {string} prefix digits of base 36 that no other round uses
 * @property {number} bodyBytes
 * @property {number} duplicates percent of deliveries that repeat an event
 */

/**
 * Signed requests, as bytes that are ready to be written to a socket. Each has its own event id, so
 * each has its own signature. Most are built before the measurement, so that the generator leaves
 * the machine to the server.
 */
export class Deliveries {
  /** The number of events so far, without repeats. */
  unique = 0
  /** @type {Buffer[]} */
  #stock = []
  /** @type {Buffer[]} */
  #recent = []
  #built = 0
  #prefix
  #duplicates
  #template

  /** @param {DeliveriesOptions} options */
  constructor({ prefix, bodyBytes, duplicates }) {
    this.#prefix = prefix
    this.#duplicates = duplicates
    this.#template = templateOf(bodyBytes)
  }

  /**
   * Builds and signs this many requests in advance.
   * @param {number} count
   */
  stock(count) {
    const affordable = Math.floor(STOCK_BYTES / this.#template.request.length)
    for (let n = 0; n < Math.min(count, affordable); n += 1) this.#stock.push(this.#build())
  }

  /** A request with a new event. */
  fresh() {
    const delivery = this.#stock.pop() ?? this.#build()
    if (this.#duplicates > 0) this.#recent[this.unique % REMEMBERED] = delivery
    this.unique += 1
    return delivery
  }

  /** A repeat with the requested probability, otherwise a new event. */
  next() {
    const { length } = this.#recent
    if (length > 0 && Math.random() * 100 < this.#duplicates) {
      return /** @type {Buffer} */ (this.#recent[Math.floor(Math.random() * length)])
    }
    return this.fresh()
  }

  #build() {
    const { request, bodyAt, idsAt, signatureAt, timestamp } = this.#template
    const delivery = Buffer.from(request)
    const id = this.#prefix + (this.#built++).toString(36).padStart(ID_DIGITS - this.#prefix.length, '0')
    for (const at of idsAt) delivery.write(id, at, 'latin1')
    const signature = createHmac('sha256', secret)
      .update(`${timestamp}.`)
      .update(delivery.subarray(bodyAt))
      .digest('hex')
    delivery.write(signature, signatureAt, 'latin1')
    return delivery
  }
}

/** @param {number} bodyBytes */
function templateOf(bodyBytes) {
  const body = eventBody(NO_ID, bodyBytes)
  const timestamp = Math.floor(Date.now() / 1000)
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'User-Agent: Stripe/1.0 (+https://stripe.com/docs/webhooks)',
    'Accept: */*; q=0.5, application/xml',
    'Cache-Control: no-cache',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `Stripe-Signature: t=${timestamp},v1=${NO_SIGNATURE}`,
    '',
    '',
  ].join('\r\n')
  const request = Buffer.from(head + body)
  const idsAt = []
  for (let at = request.indexOf(NO_ID, head.length); at >= 0; at = request.indexOf(NO_ID, at + 1))
    idsAt.push(at)
  return { request, bodyAt: head.length, idsAt, signatureAt: request.indexOf(NO_SIGNATURE), timestamp }
}

/**
 * An `invoice.paid` of the requested size. Its list of lines grows, as in a real invoice.
 * @param {string} id
 * @param {number} bytes
 */
export function eventBody(id, bytes) {
  const invoice = {
    id: `in_${id}`,
    object: 'invoice',
    amount_paid: 4200,
    currency: 'eur',
    lines: lineItems(0),
    note: '',
  }
  const event = {
    id: `evt_${id}`,
    object: 'event',
    api_version: '2025-08-27.basil',
    created: 1763200000,
    type: 'invoice.paid',
    livemode: true,
    data: { object: invoice },
  }
  const one = bytesOf(lineItems(2)) - bytesOf(lineItems(1))
  invoice.lines = lineItems(Math.max(0, Math.floor((bytes - bytesOf(event)) / one)))
  invoice.note = '.'.repeat(Math.max(0, bytes - bytesOf(event)))
  return JSON.stringify(event)
}

/** @param {unknown} value */
function bytesOf(value) {
  return Buffer.byteLength(JSON.stringify(value))
}

/** @param {number} count */
function lineItems(count) {
  return Array.from({ length: count }, () => ({
    id: 'il_1PqRsTuVwXyZ012345678901',
    object: 'line_item',
    amount: 2100,
    currency: 'eur',
    description: '1 x Team plan (at EUR 21.00 / month)',
    metadata: { order_id: '6735', region: 'eu-west' },
    period: { end: 1765792000, start: 1763200000 },
    quantity: 1,
  }))
}
