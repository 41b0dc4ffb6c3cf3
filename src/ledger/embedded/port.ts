import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { HookonceError } from '../../model/errors.ts'
import { type Home, hasCode, readSmallFile, writeSmallFile } from './home.ts'

export const host = '127.0.0.1'

// Below the ranges that systems use for outgoing connections (Linux from 32768) and Kubernetes for
// node ports (from 30000): a remembered port is then unlikely to be taken at the next start.
const lowest = 21_000
const highest = 29_999
const tries = 100

/**
 * The requested port. Otherwise the port of the last start, so that the URL stays the same.
 * Otherwise a free one, which is remembered.
 */
export async function choosePort(home: Home, wanted: number | undefined): Promise<number> {
  if (wanted !== undefined) {
    if (await isFree(wanted)) return wanted
    throw new HookonceError(
      'EMBEDDED_FAILED',
      `port ${wanted} on ${host} is taken by another program, so the embedded PostgreSQL cannot use it. Choose another port, or omit the port.`,
    )
  }
  const remembered = Number(await readSmallFile(home.port))
  if (remembered > 0 && (await isFree(remembered))) return remembered
  const port = await freePort()
  await writeSmallFile(home, home.port, String(port))
  return port
}

export async function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  try {
    probe.listen({ port, host, exclusive: true })
    await once(probe, 'listening')
  } catch (error) {
    // EACCES: a port below 1024, or one that the system reserves. It counts as taken.
    if (hasCode(error, 'EADDRINUSE', 'EACCES')) return false
    throw error
  }
  probe.close()
  await once(probe, 'close')
  return true
}

async function freePort(): Promise<number> {
  for (let i = 0; i < tries; i++) {
    const port = randomInt(lowest, highest + 1)
    if (await isFree(port)) return port
  }
  throw new HookonceError('EMBEDDED_FAILED', `no free port between ${lowest} and ${highest} on ${host}.`)
}
