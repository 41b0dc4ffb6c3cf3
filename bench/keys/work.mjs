// @ts-check
import { setTimeout as delay } from 'node:timers/promises'

/*
 * The work that every contender protects: it creates an order from a JSON body. The correctness
 * checks count its runs.
 */

/** @typedef {{ status: number, headers: Record<string, string>, body: string }} Made */

let runs = 0
export const ran = () => runs

/**
 * @param {{ order?: unknown, slowMs?: number }} body
 * @returns {Promise<Made>}
 */
export async function makeOrder(body) {
  const id = ++runs
  if (body.slowMs) await delay(body.slowMs)
  return {
    status: 201,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      location: `/orders/${id}`,
      'set-cookie': `session=${id}`,
    },
    body: JSON.stringify({ id, order: body.order, made: true }),
  }
}

/** @param {import('node:http').IncomingMessage} request */
export async function jsonOf(request) {
  /** @type {Buffer[]} */
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString())
}

/**
 * @param {import('node:http').ServerResponse} response
 * @param {Made} made
 */
export function send(response, { status, headers, body }) {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
}

/** @typedef {{ method: string, url: string, headers: Record<string, any>, body: any }} Asked a request, read and parsed */

/**
 * A function that is protected by hand, behind node:http.
 * @param {(asked: Asked) => Promise<Made>} call
 */
export function listening(call) {
  return async (
    /** @type {import('node:http').IncomingMessage} */ request,
    /** @type {import('node:http').ServerResponse} */ response,
  ) => {
    const { method = '', url = '', headers } = request
    send(response, await call({ method, url, headers, body: await jsonOf(request) }))
  }
}
