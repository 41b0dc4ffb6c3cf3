import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installDebian } from '../../scripts/debian.mjs'
import { freePort } from './free-port.ts'
import { installedBinaries, unprivileged } from './servers.ts'
import { until } from './until.ts'

/*
 * A cluster made from the files of deploy/patroni: etcd, three nodes, and HAProxy in front of them.
 */

export interface PatroniCluster {
  /** The URL of HAProxy, which leads to the current primary. */
  readonly url: string
  readonly nodes: readonly PatroniNode[]
  primary(): Promise<PatroniNode>
  /** Whether a standby has all commits of the primary, and may take over. */
  hasSynchronousStandby(): Promise<boolean>
  remove(): Promise<void>
}

export interface PatroniNode {
  readonly name: string
  /** Kills PostgreSQL, but not the node. */
  killServer(): void
  /** Kills the whole machine: Patroni and PostgreSQL. */
  killNode(): Promise<void>
}

const deploy = (file: string): string =>
  fileURLToPath(new URL(`../../deploy/patroni/${file}`, import.meta.url))
const HOST = '127.0.0.1'
const PASSWORD = 'known-to-the-test-only'
const NAMES = ['node1', 'node2', 'node3'] as const

interface Started {
  readonly process: ChildProcess
  kill(): Promise<void>
}

interface Node extends PatroniNode {
  readonly port: number
  readonly apiPort: number
}

export async function startPatroni(): Promise<PatroniCluster> {
  for (const [program, name] of [
    ['etcd', 'etcd-server'],
    ['patroni', 'patroni'],
    ['haproxy', 'haproxy'],
  ] as const)
    if (spawnSync('which', [program]).status !== 0)
      installDebian(name, `the test of a failover needs ${program} in the PATH: install it`)

  const dir = mkdtempSync(join(tmpdir(), 'hookonce-patroni-'))
  const account = unprivileged()
  if (account) chownSync(dir, account.uid, account.gid)
  const started: Started[] = []

  function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Started {
    const log = openSync(join(dir, `${command}-${started.length}.log`), 'w')
    const child = spawn(command, args, {
      ...account,
      cwd: dir,
      env: { PATH: process.env.PATH, HOME: dir, ...env },
      stdio: ['ignore', log, log],
      detached: true,
    })
    closeSync(log)
    const gone = once(child, 'exit')
    const one = {
      process: child,
      async kill() {
        // With the programs that Patroni has started, such as pg_basebackup.
        if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
          process.kill(-child.pid, 'SIGKILL')
        await gone
      },
    }
    started.push(one)
    return one
  }

  const [client, peer] = [await freePort(), await freePort()]
  start('etcd', [
    ...['--data-dir', join(dir, 'etcd'), '--unsafe-no-fsync'],
    ...[
      '--listen-client-urls',
      `http://${HOST}:${client}`,
      '--advertise-client-urls',
      `http://${HOST}:${client}`,
    ],
    ...['--listen-peer-urls', `http://${HOST}:${peer}`],
  ])
  await until('etcd answers', () => isOk(`http://${HOST}:${client}/health`))

  async function startNode(name: string): Promise<Node> {
    const [port, apiPort] = [await freePort(), await freePort()]
    const data = join(dir, name)
    mkdirSync(data)
    if (account) chownSync(data, account.uid, account.gid)
    // Patroni merges the files of a folder. Debian's PostgreSQL would put its socket where only the
    // account "postgres" may write.
    const settings = join(data, 'settings')
    mkdirSync(settings)
    cpSync(deploy('patroni.yml'), join(settings, '1.yml'))
    writeFileSync(
      join(settings, '2.yml'),
      `postgresql: { parameters: { unix_socket_directories: '${data}' } }\n`,
    )
    const patroni = start('patroni', [settings], {
      PATRONI_NAME: name,
      PATRONI_ETCD3_HOSTS: `${HOST}:${client}`,
      PATRONI_RESTAPI_LISTEN: `${HOST}:${apiPort}`,
      PATRONI_RESTAPI_CONNECT_ADDRESS: `${HOST}:${apiPort}`,
      PATRONI_POSTGRESQL_LISTEN: `${HOST}:${port}`,
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: `${HOST}:${port}`,
      PATRONI_POSTGRESQL_DATA_DIR: join(data, 'data'),
      PATRONI_POSTGRESQL_BIN_DIR: installedBinaries(),
      PATRONI_POSTGRESQL_PGPASS: join(data, 'pgpass'),
      PATRONI_SUPERUSER_USERNAME: 'hookonce',
      PATRONI_SUPERUSER_PASSWORD: PASSWORD,
      PATRONI_REPLICATION_USERNAME: 'replicator',
      PATRONI_REPLICATION_PASSWORD: PASSWORD,
    })
    const killServer = (): void => {
      const [pid] = readFileSync(join(data, 'data/postmaster.pid'), 'utf8').split('\n')
      process.kill(Number(pid), 'SIGKILL')
    }
    return {
      name,
      port,
      apiPort,
      killServer,
      async killNode() {
        await patroni.kill()
        killServer()
      },
    }
  }

  const nodes: Node[] = []
  for (const name of NAMES) nodes.push(await startNode(name))
  const bind = await freePort()
  // A copy: the unprivileged account may not be able to read the folder of the repository.
  cpSync(deploy('haproxy.cfg'), join(dir, 'haproxy.cfg'))
  start('haproxy', ['-db', '-f', join(dir, 'haproxy.cfg')], {
    PRIMARY_BIND: `${HOST}:${bind}`,
    ...Object.fromEntries(
      nodes.flatMap(({ name, port, apiPort }) => [
        [name.toUpperCase(), `${HOST}:${port}`],
        [`${name.toUpperCase()}_API`, String(apiPort)],
      ]),
    ),
  })

  const api = ({ apiPort }: Node, path: string): string => `http://${HOST}:${apiPort}${path}`
  const findPrimary = async (): Promise<Node | undefined> => {
    for (const node of nodes) if (await isOk(api(node, '/primary'))) return node
    return undefined
  }
  return {
    url: `postgres://hookonce:${PASSWORD}@${HOST}:${bind}/postgres`,
    nodes,
    primary: () => until('a node is the primary', findPrimary, 60_000),
    async hasSynchronousStandby() {
      for (const node of nodes) if (await isOk(api(node, '/synchronous'))) return true
      return false
    },
    async remove() {
      for (const one of started.toReversed()) await one.kill()
      for (const node of nodes)
        try {
          node.killServer()
        } catch (error) {
          // The process has already ended.
          if (!(error instanceof Error && 'code' in error)) throw error
        }
      rmSync(dir, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

async function isOk(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok
  } catch {
    // Nothing listens there yet, or any more.
    return false
  }
}
