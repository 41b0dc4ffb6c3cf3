import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { installDebian } from '../../scripts/debian.mjs'
import { listens } from './brokers.ts'
import { freePort } from './free-port.ts'
import { unprivileged } from './servers.ts'
import { until } from './until.ts'

const PROGRAM = '/usr/sbin/pgbouncer'

/** A real pooler in front of a database. Returns the URL through it. */
export async function pooled(
  databaseUrl: string,
  mode: 'session' | 'transaction' | 'statement' = 'transaction',
): Promise<string> {
  install()
  const target = new URL(databaseUrl)
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-pgbouncer-'))
  await chmod(dir, 0o755)
  const config = join(dir, 'pgbouncer.ini')
  writeFileSync(join(dir, 'users'), `"${target.username}" "${target.password}"\n`)
  writeFileSync(
    config,
    [
      '[databases]',
      `* = host=${target.hostname} port=${target.port}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = trust',
      `auth_file = ${join(dir, 'users')}`,
      `pool_mode = ${mode}`,
      // Fewer server connections than client connections. Each transaction uses the next server
      // connection.
      'default_pool_size = 3',
      'server_round_robin = 1',
    ].join('\n'),
  )
  const child = spawn(PROGRAM, ['-q', config], { ...unprivileged(), stdio: 'ignore' })
  const gone = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await gone
    rmSync(dir, { recursive: true, force: true })
  })
  await until('the pooler listens', () => listens(port))
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${port}`
  return url.toString()
}

function install(): void {
  if (existsSync(PROGRAM)) return
  installDebian('pgbouncer', `the tests need PgBouncer at ${PROGRAM}: install it`)
}
