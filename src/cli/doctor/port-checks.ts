import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { type Finding, ok, warn } from '../../operate/doctor/finding.ts'

export interface ListenPlace {
  readonly host: string
  readonly port: number
  /** The option that chooses another port. */
  readonly flag: string
}

/** Checks that a gateway could listen, or is already listening. */
export async function portFinding({ host, port, flag }: ListenPlace): Promise<Finding> {
  const check = `port ${port}`
  if (port === 0) return ok(check, 'any free port will do')
  const fault = await listenFault(host, port)
  if (fault === undefined) return ok(check, `free at ${host}`)
  if (fault === 'EADDRINUSE') {
    const owner = ownerOf(port)
    if (await isHookonce(host, port)) return ok(check, `hookonce listens here${owner ? ` (${owner})` : ''}`)
    return warn(
      check,
      `taken by ${owner ?? 'another program'}`,
      `stop that program, or choose another with ${flag}`,
    )
  }
  if (fault === 'EACCES')
    return warn(check, 'this account may not listen here', `choose a port from 1024 up with ${flag}`)
  return warn(
    check,
    `cannot listen at ${host} (${fault})`,
    `correct the host, or choose another port with ${flag}`,
  )
}

/** The error code of an attempt to listen. Undefined: the attempt succeeded. */
async function listenFault(host: string, port: number): Promise<string | undefined> {
  const probe = createServer()
  try {
    probe.listen({ host, port, exclusive: true })
    await once(probe, 'listening')
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  } finally {
    if (probe.listening) await new Promise((resolve) => probe.close(resolve))
  }
}

const ANSWER_MS = 1_000

async function isHookonce(host: string, port: number): Promise<boolean> {
  const reached = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  const name = reached.includes(':') ? `[${reached}]` : reached
  try {
    const signal = AbortSignal.timeout(ANSWER_MS)
    const response = await fetch(`http://${name}:${port}/healthz`, { signal, redirect: 'manual' })
    if (response.status !== 200 || Number(response.headers.get('content-length') ?? '0') > 100) {
      await response.body?.cancel()
      return false
    }
    return (await response.text()) === 'alive\n'
  } catch {
    // There is no HTTP server, or it does not answer: it is not hookonce.
    return false
  }
}

const LISTENING = '0A'
/** The name of a program, without its arguments: they may hold a secret. */
const MAX_NAME = 60

/**
 * The program that listens on the port. Found only on Linux, and only if this account may see it.
 */
function ownerOf(port: number): string | undefined {
  if (process.platform !== 'linux') return undefined
  const inodes = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => listenersIn(file, port)))
  if (inodes.size === 0) return undefined
  for (const pid of entriesOf('/proc').filter((name) => /^\d+$/.test(name))) {
    const isOwner = entriesOf(`/proc/${pid}/fd`).some((fd) => {
      const [, inode = ''] = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`)) ?? []
      return inodes.has(inode)
    })
    if (isOwner) return `${textOf(`/proc/${pid}/comm`).trim().slice(0, MAX_NAME) || 'a program'}, pid ${pid}`
  }
  return undefined
}

function listenersIn(file: string, port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  return textOf(file)
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(`:${hex}`) && state === LISTENING)
    .flatMap((cells) => cells[9] ?? [])
}

/* A process may end, or belong to another user, while it is inspected. */

function entriesOf(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
