import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { installDebian } from '../../scripts/debian.mjs'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

interface Program {
  readonly name: string
  readonly path: string
  args(port: number, dir: string): string[]
}

const REDIS: Program = {
  name: 'redis-server',
  path: '/usr/bin/redis-server',
  args: (port, dir) => [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    dir,
    '--save',
    '',
    '--appendonly',
    'no',
  ],
}

const NATS: Program = {
  name: 'nats-server',
  path: '/usr/sbin/nats-server',
  args: (port, dir) => ['--addr', '127.0.0.1', '--port', String(port), '--jetstream', '--store_dir', dir],
}

/** The test's own Redis. Returns its port. */
export const redisServer = (): Promise<number> => start(REDIS)

/** The test's own NATS server with JetStream. Returns its port. */
export const natsServer = (): Promise<number> => start(NATS)

async function start(program: Program): Promise<number> {
  install(program)
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), `hookonce-${program.name}-`))
  const child = spawn(program.path, program.args(port, dir), { stdio: 'ignore' })
  const gone = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await gone
    rmSync(dir, { recursive: true, force: true })
  })
  await until(`${program.name} listens`, () => listens(port))
  return port
}

export function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(socket.destroy() && true)).once('error', () => resolve(false))
  })
}

/** Installs a package of Debian, if its program is missing. */
export function install({ name, path }: Pick<Program, 'name' | 'path'>): void {
  if (existsSync(path)) return
  installDebian(name, `the tests need ${name} at ${path}: install it`)
}
