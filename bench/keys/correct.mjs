// @ts-check
import { randomUUID } from 'node:crypto'

/** The number of requests that are sent at the same time, while the first is in progress. */
const RACERS = 100
const SLOW_MS = 200

/**
 * Checks the purpose of an idempotency key against a running server, over HTTP.
 * @param {string} url
 * @typedef {object} Correctness
 * @property {number} runs of RACERS requests with one key: 1 is right
 * @property {boolean} answered each racer was told 201 with the same body, or 409
 * @property {boolean} otherBody the same key with another body is refused
 * @property {boolean} otherBodyInFlight also while the first one runs
 * @property {boolean} sameReply status, location and body come again as they were
 * @property {boolean} noCookie the cookie of the first reply reaches nobody else
 * @returns {Promise<Correctness>}
 */
export async function correctness(url) {
  const { runs, answered } = await race(url)
  const key = randomUUID()
  const first = await post(url, key, { order: 'a' })
  const again = await post(url, key, { order: 'a' })
  const other = await post(url, key, { order: 'b' })
  return {
    runs,
    answered,
    otherBodyInFlight: await otherBodyInFlight(url),
    otherBody: isRefusal(other.status),
    sameReply:
      again.status === first.status && again.location === first.location && again.body === first.body,
    noCookie: first.cookie !== null && again.cookie === null,
  }
}

/** @param {string} url */
async function race(url) {
  const before = await runsOf(url)
  const key = randomUUID()
  const body = { order: 'raced', slowMs: SLOW_MS }
  const replies = await Promise.all(Array.from({ length: RACERS }, () => post(url, key, body)))
  const bodies = new Set(replies.filter(({ status }) => status === 201).map(({ body }) => body))
  return {
    runs: (await runsOf(url)) - before,
    answered: bodies.size === 1 && replies.every(({ status }) => status === 201 || status === 409),
  }
}

/** @param {string} url */
async function otherBodyInFlight(url) {
  const before = await runsOf(url)
  const key = randomUUID()
  const first = post(url, key, { order: 'a', slowMs: SLOW_MS })
  while ((await runsOf(url)) === before);
  const other = await post(url, key, { order: 'b' })
  await first
  return isRefusal(other.status)
}

/** @param {number} status */
const isRefusal = (status) => status >= 400 && status < 500

/** @param {string} url */
async function runsOf(url) {
  return Number(await (await fetch(`${url}/runs`)).text())
}

/**
 * @param {string} url
 * @param {string} key
 * @param {object} body
 */
async function post(url, key, body) {
  const reply = await fetch(`${url}/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
  })
  return {
    status: reply.status,
    location: reply.headers.get('location'),
    cookie: reply.headers.get('set-cookie'),
    body: await reply.text(),
  }
}
