import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * Below the ports of outgoing connections and of embedded servers, so that a server can take the
 * port seconds later, and again after a stop.
 */
const FIRST = 10_000
const END = 21_000

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
