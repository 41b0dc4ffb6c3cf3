import { closeSync, openSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { type Proxy as Network, proxyTo } from '../support/proxy.ts'
import { type Cluster, makeCluster } from '../support/servers.ts'
import { mountSmallDisk, type SmallDisk } from '../support/small-disk.ts'
import { until } from '../support/until.ts'

/*
 * The PostgreSQL of a chaos run: a primary that can crash and whose disk can fill up, and
 * optionally a standby that takes over. Every client reaches the current primary through its own
 * network.
 */
export const STANDBYS = ['none', 'synchronous', 'asynchronous'] as const
export type Standby = (typeof STANDBYS)[number]

export interface ChaosDatabase {
  readonly standby: Standby
  /** Undefined: the disk cannot be filled here. */
  readonly disk: SmallDisk | undefined
  /** A way to the primary. It follows each failover. */
  network(): Promise<Network>
  /** Simulates a power cut: data that is not on the disk is lost. */
  crash(): Promise<void>
  /**
   * The standby receives nothing for a while, then the primary dies, and the standby takes over.
   */
  failOver(silenceMs: number, now: () => number): Promise<Failover>
  /** Resolves when all servers run, and the standby follows its primary. */
  heal(): Promise<void>
}

/** When commits happened that the new primary may lack. */
export interface Failover {
  readonly silentFromMs: number
  readonly deadAtMs: number
}

export async function openDatabase(standbyKind: Standby): Promise<ChaosDatabase> {
  const disk = mountSmallDisk()
  let primary = await makeCluster({ within: disk?.dir })
  let standby: Cluster | undefined
  onTestFinished(() => {
    disk?.free()
    for (const cluster of [standby, primary]) {
      if (cluster?.isRunning()) cluster.stop()
      cluster?.remove()
    }
    disk?.remove()
  })
  primary.start()
  await ask(primary, SETTINGS)
  const networks: Network[] = []
  const replication = await proxyTo(primary.url)
  // Set in the files before they are copied: a new primary acknowledges nothing until it has a
  // standby.
  if (standbyKind === 'synchronous') await ask(primary, [`alter system set synchronous_standby_names = '*'`])
  if (standbyKind !== 'none') await replaceStandby()
  await ask(primary, ['select pg_reload_conf()'])
  if (standbyKind === 'synchronous') await until('the standby is synchronous', () => isFollowed(['sync']))

  async function replaceStandby(): Promise<void> {
    if (standby?.isRunning()) await standby.stopped()
    standby?.remove()
    standby = await makeCluster({
      primaryUrl: primary.url,
      within: disk?.dir,
      settings: [`primary_conninfo=${replication.url}`],
    })
    await standby.started()
    await until('the new standby follows', () => isFollowed(['sync', 'async']))
  }

  async function isFollowed(states: readonly string[]): Promise<boolean> {
    const rows = await ask(primary, [
      `select sync_state as state from pg_stat_replication where state = 'streaming'`,
    ])
    return rows.some(({ state }) => states.includes(String(state)))
  }

  /** Resolves when the standby has all earlier commits. */
  async function catchUp(): Promise<void> {
    const [row] = await ask(primary, ['select pg_current_wal_flush_lsn() as lsn'])
    await until('the standby has caught up', async () => {
      const [seen] = await ask(primary, [
        `select flush_lsn >= '${String(row?.lsn)}' as reached from pg_stat_replication where state = 'streaming'`,
      ])
      return seen?.reached === true
    })
  }

  async function heal(): Promise<void> {
    if (!primary.isRunning()) await primary.started()
    await until('the primary answers', () => ask(primary, ['select 1']).catch(() => undefined))
    if (!standby) return
    const follows = async (): Promise<boolean> => {
      if (standby && !standby.isRunning()) await standby.started()
      return isFollowed(['sync', 'async'])
    }
    await until('the standby follows again', follows, FOLLOW_MS).catch(replaceStandby)
  }

  return {
    standby: standbyKind,
    disk,
    heal,
    async network() {
      const network = await proxyTo(primary.url)
      networks.push(network)
      return network
    },
    async crash() {
      // Nobody hears of a commit from here on, so none after this look can have been acknowledged.
      for (const network of networks) network.isolate(true)
      const [synced] = await ask(primary, [SYNCED])
      await primary.stopped()
      // A standby may have got more: it would then be ahead of its primary.
      if (!standby) loseUnsynced(primary, String(synced?.file), Number(synced?.offset))
      await primary.started()
      for (const network of networks) network.isolate(false)
      await heal()
    },
    async failOver(silenceMs, now) {
      if (!standby) throw new Error('there is no standby to fail over to')
      // Commits that were acknowledged before this moment were already on the disk: the standby
      // gets them now.
      const silentFromMs = now()
      await catchUp()
      replication.swallow()
      await delay(silenceMs)
      await primary.stopped()
      const deadAtMs = now()
      const dead = primary
      primary = standby
      standby = undefined
      await primary.promoted()
      dead.remove()
      for (const network of [...networks, replication]) network.retarget(primary.url)
      await replaceStandby()
      return { silentFromMs, deadAtMs }
    },
  }
}

/**
 * A standby that does not follow within this time cannot recover, for example after a full disk.
 */
const FOLLOW_MS = 15_000

const SETTINGS = [
  // A commit that waits for nothing is lost in a crash. A durable commit must request the wait.
  `alter system set wal_writer_delay = '10s'`,
  `alter system set wal_writer_flush_after = '1GB'`,
  'alter system set synchronous_commit = off',
  // For a standby that was disconnected for a while.
  `alter system set wal_keep_size = '256MB'`,
  `alter system set wal_retrieve_retry_interval = '200ms'`,
]

const SYNCED = `select file_name as file, file_offset as offset
  from pg_walfile_name_offset(pg_current_wal_flush_lsn())`

/**
 * Removes the written but unsynced end of a stopped server's log, as a power cut does. Data files
 * need no such loss: no page is written before the log of its changes is synced.
 */
function loseUnsynced({ dir }: Cluster, file: string, offset: number): void {
  // At the border of two files, PostgreSQL names the first of them.
  if (offset === 0) return
  const path = join(dir, 'data', 'pg_wal', file)
  const log = openSync(path, 'r+')
  writeSync(log, Buffer.alloc(statSync(path).size - offset), 0, null, offset)
  closeSync(log)
}

/**
 * Uses a new connection, because earlier ones may have been cut. Returns the rows of the last
 * statement.
 */
async function ask({ url }: Cluster, texts: readonly string[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => undefined)
  await client.connect()
  try {
    let rows: Record<string, unknown>[] = []
    for (const text of texts) rows = (await client.query(text)).rows
    return rows
  } finally {
    await client.end()
  }
}
