import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, onTestFinished } from 'vitest'
import { startEmbedded } from '../../src/ledger/embedded/embedded.ts'
import { stopPostmaster } from '../../src/ledger/embedded/postmaster.ts'
import { run } from '../../src/ledger/embedded/run.ts'

export const isRoot = process.getuid?.() === 0
/** The user nobody, on Debian and most other systems. */
export const nobody = { uid: 65_534, gid: 65_534 }

/**
 * A directory for one embedded server. After the test, its server is stopped and its files are
 * deleted.
 */
export async function temporaryHome(): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'hook once-')))
  // Makes the directory readable for others, like a project's directory: mkdtemp creates it
  // private.
  await chmod(root, 0o755)
  onTestFinished(async () => {
    const dataDir = await realpath(join(root, 'home', 'postgres')).catch(() => undefined)
    if (dataDir !== undefined) await stopPostmaster(dataDir)
    // If the server's account cannot enter the home, its data is elsewhere.
    if (dataDir?.startsWith('/var/lib/hookonce/')) await rm(dataDir, { recursive: true })
    await rm(root, { recursive: true, force: true, maxRetries: 5 })
  })
  return join(root, 'home')
}

/** A home that already has data, with a stopped server: a copy is faster than a new one. */
export async function initialisedHome(): Promise<string> {
  template ??= makeTemplate()
  const dir = await temporaryHome()
  await run(['/bin/cp', '-a', await template, dir], { account: undefined })
  return dir
}

let template: Promise<string> | undefined

async function makeTemplate(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'hookonce-template-'))
  await chmod(root, 0o755)
  const dir = join(root, 'home')
  const server = await startEmbedded({ dir })
  await server.leave()
  await rm(join(dir, 'port'))
  return dir
}

afterAll(async () => {
  if (template !== undefined) await rm(dirname(await template), { recursive: true })
})

export interface Member {
  readonly child: ChildProcess
  readonly url: string
  readonly adopted: boolean
  readonly dataDir: string
  readonly ms: number
  readonly error?: string
  readonly code?: string
  leave(): Promise<void>
  kill(): Promise<void>
}

export function memberProcess(
  dir: string,
  options: { uid?: number; gid?: number; env?: NodeJS.ProcessEnv } = {},
): ChildProcess {
  const script = fileURLToPath(new URL('member.mjs', import.meta.url))
  const { env, ...account } = options
  const child = spawn(process.execPath, [script, dir], {
    cwd: '/',
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
    ...account,
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return child
}

/** Starts a process that uses the server, and waits until it has joined, or failed. */
export async function startMember(...args: Parameters<typeof memberProcess>): Promise<Member> {
  const child = memberProcess(...args)
  if (child.stdout === null) throw new Error('no output')
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return {
    child,
    ...JSON.parse(line),
    leave: async () => {
      child.stdin?.end()
      await once(child, 'exit')
    },
    kill: async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

export async function query<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url, ssl: false })
  // Some tests kill the server during a query. The failed query reports that.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end()
  }
}

export async function until(condition: () => boolean | Promise<boolean>, withinMs = 20_000): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${condition}`)
    await delay(5)
  }
}

export function postmasterPid(dataDir: string): number {
  return Number.parseInt(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8'), 10)
}

export function uidOf(pid: number): number {
  return statSync(`/proc/${pid}`).uid
}

export function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
