import pg, { type QueryResultRow } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { isOutage } from '../../../src/ledger/driver/outage.ts'
import { startApp } from '../../support/app.ts'
import { cli } from '../../support/cli.ts'
import { type PatroniCluster, startPatroni } from '../../support/patroni.ts'
import { sendOn } from '../../support/sender.ts'
import { databaseUrl, makeTemplate, TEMPLATE } from '../../support/servers.ts'
import { until } from '../../support/until.ts'

/** Patroni waits 20 seconds for a missing node, and a busy machine takes longer for everything. */
const FAILOVER_MS = 90_000

test('Patroni promotes a synchronous standby, twice: nothing acknowledged is lost, and work continues', async () => {
  const cluster = await startPatroni()
  onTestFinished(() => cluster.remove())
  await cluster.primary()
  await until('a standby is synchronous', cluster.hasSynchronousStandby, FAILOVER_MS)
  await until('HAProxy has found the primary', () => answers(cluster))
  await makeTemplate(cluster.url)
  const url = databaseUrl(cluster.url, TEMPLATE)
  const pool = new pg.Pool({ connectionString: url })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  const read = readerOf(pool)

  const options = { leaseMs: 6_000, pollMs: 50, retry: { baseDelayMs: 50, maxDelayMs: 200 } }
  const app = await startApp({ url }, { options })
  await startApp({ url }, { options: options, receives: false })
  const sender = sendOn(({ id }) => app.send({ id, type: KINDS[Number(id.slice(4)) % 2] ?? '' }))
  const acknowledgesMore = async (): Promise<void> => {
    const before = sender.acknowledged.size
    await until('more events are acknowledged', () => sender.acknowledged.size > before + 50, FAILOVER_MS)
  }
  await acknowledgesMore()
  const doctor = await cli(['doctor', '--json'], { DATABASE_URL: url })
  expect(doctor.json<Finding[]>().find(({ check }) => check === 'standby')).toMatchObject({ level: 'ok' })

  const effectCount = async (): Promise<number> =>
    Number((await read<{ count: string }>('select count(*) from effect'))[0]?.count)
  /** All workers that a primary has known, by id. */
  const workers = new Map<number, number>()
  const attempts = new Map<string, string>()

  // First the whole machine of the primary dies, then PostgreSQL alone on the next one.
  for (const strike of ['killNode', 'killServer'] as const) {
    for (const { id, pid } of await workersOf(read)) workers.set(id, pid)
    for (const [fence, end] of await attemptsOf(read)) attempts.set(fence, end)
    const old = await cluster.primary()
    await until('a standby is synchronous', cluster.hasSynchronousStandby, FAILOVER_MS)
    const refused = sender.statuses.length
    await old[strike]()
    await until('the sender is told to come back', () => sender.statuses.indexOf(503, refused) >= 0)
    await until('another node is the primary', async () => (await cluster.primary()) !== old, FAILOVER_MS)
    await acknowledgesMore()
    const before = await effectCount()
    await until('the workers go on', async () => (await effectCount()) > before, FAILOVER_MS)
    // What the old primary handed out is known to the new one, so it is not handed out again.
    const known = new Map((await workersOf(read)).map(({ id, pid }) => [id, pid]))
    expect([...workers].filter(([id, pid]) => known.get(id) !== pid)).toEqual([])
    const settled = await attemptsOf(read)
    expect([...attempts].filter(([fence, end]) => settled.get(fence) !== end)).toEqual([])
    const late = await startApp({ url }, { options, receives: false })
    const [own] = (await workersOf(read)).filter(({ pid }) => pid === late.pid)
    expect(own?.id).toBeGreaterThan(Math.max(...workers.keys(), ...known.keys()))
  }
  await sender.stop()

  const state = 'select count(*)::int as jobs from hookonce.job where state <> $1'
  await until(
    'all work is done',
    async () => (await read<{ jobs: number }>(state, ['processed']))[0]?.jobs === 0,
    FAILOVER_MS,
  )
  const receipts = await read<{ key: string; effects: number }>(
    `select event_key as key, count(e.receipt_id)::int as effects
     from hookonce.receipt r left join effect e on e.receipt_id = r.id group by event_key`,
  )
  const effects = new Map(receipts.map((row) => [row.key, row.effects]))
  expect([...sender.acknowledged].filter((key) => !effects.has(key))).toEqual([])
  expect([...effects].filter(([, number]) => number !== 1)).toEqual([])
}, 400_000)

type Read = <Row extends QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>

/** Reads again if a failover cuts the connection. */
function readerOf(pool: pg.Pool): Read {
  return <Row extends QueryResultRow>(text: string, values: unknown[] = []) =>
    until<Row[] | undefined>('the primary answers', () => rowsIfUp<Row>(pool, text, values), FAILOVER_MS)
}

async function rowsIfUp<Row extends QueryResultRow>(
  pool: pg.Pool,
  text: string,
  values: unknown[],
): Promise<Row[] | undefined> {
  try {
    return (await pool.query<Row>(text, values)).rows
  } catch (error) {
    if (!isOutage(error)) throw error
    return undefined
  }
}

function workersOf(read: Read): Promise<{ id: number; pid: number }[]> {
  return read('select id, pid from hookonce.worker')
}

/** By job and fence: when and how the run ended. These rows are committed with its end. */
async function attemptsOf(read: Read): Promise<Map<string, string>> {
  const rows = await read<{ fence: string; end: string }>(
    `select receipt_id || ' ' || fence as fence, outcome || ' ' || ended_at as end from hookonce.attempt`,
  )
  return new Map(rows.map(({ fence, end }) => [fence, end]))
}

const KINDS = ['write.a', 'transaction.a']

interface Finding {
  readonly check: string
  readonly level: string
}

async function answers({ url }: PatroniCluster): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    // No node is the primary yet.
    return false
  }
}
