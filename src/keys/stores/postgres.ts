import type { ClientBase, Pool, PoolClient, QueryConfig } from 'pg'
import { z } from 'zod'
import { check, strict } from '../../model/checked.ts'
import { HookonceError } from '../../model/errors.ts'
import { type AcquireDecision, type AcquireRequest, decideAcquire } from '../decide.ts'
import type { KeyRecord } from '../record.ts'
import type {
  Acquired,
  DuePledge,
  KeyId,
  TransactionalKeyStore,
  TransactionEnd,
  TransactionWork,
} from '../store.ts'
import { ANSWER_TIMEOUT_MS, openPools, type Pools } from './postgres-pools.ts'
import { statements } from './postgres-statements.ts'
import { whileOpen } from './postgres-tx.ts'

const optionsSchema = strict({
  database: z.union(
    [
      z.string().regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// (is DATABASE_URL set?)'),
      z.custom<Pool>(isPool),
    ],
    { error: 'must be a postgres:// URL or a pg.Pool' },
  ),
  /** Made where it is missing. */
  table: z
    .string()
    .regex(/^([a-z_][a-z0-9_]*\.)?[a-z_][a-z0-9_]*$/, 'must be a name such as keys or myschema.keys')
    .default('hookonce_key'),
  /** `off`: the table is made by you. */
  migrate: z.enum(['auto', 'off']).default('auto'),
  /** `off` behind a pooler in transaction mode, where prepared statements are lost. */
  prepare: z.enum(['on', 'off']).default('on'),
  /** For the keys themselves; transactions of handlers use connections of their own. */
  maxConnections: z.int().positive().default(10),
})

export type PostgresKeysOptions = z.input<typeof optionsSchema>

/** Keys in a table of PostgreSQL 14 or later. The only store whose handlers can be transactional. */
export function postgresKeys(options: PostgresKeysOptions): TransactionalKeyStore<ClientBase> {
  const { table, migrate, prepare, ...reaching } = check(optionsSchema, options, 'postgresKeys()')
  const sql = statements(table)
  const pools: Pools = openPools(reaching)
  let ready: Promise<unknown> | undefined

  type Verb = keyof typeof sql
  const query = (verb: Verb, values: unknown[]) => ({
    text: sql[verb],
    values,
    // The table is part of the name: two stores may share a connection.
    ...(prepare === 'on' ? { name: `hookonce ${verb} ${table}` } : {}),
  })

  async function ask<Row extends object>(
    verb: Verb,
    values: unknown[],
  ): Promise<{ rows: Row[]; changed: number }> {
    ready ??= migrate === 'auto' ? createTable(await pools.keys(), sql.create) : Promise.resolve()
    await ready.catch((error) => {
      ready = undefined
      throw error
    })
    const { rows, rowCount } = await (await pools.keys()).query<Row>(query(verb, values))
    return { rows, changed: rowCount ?? 0 }
  }

  async function tryToAcquire(id: KeyId, request: AcquireRequest): Promise<Acquired | undefined> {
    const { fingerprint, holder, lockMs, ttlMs, onCrash } = request
    const values = [bytesOf(id), fingerprint, holder, lockMs, ttlMs, onCrash === 'takeover']
    const [row] = (await ask<RecordRow & { taken: boolean; now: number }>('acquire', values)).rows
    if (!row) return undefined
    const { taken, now, ...found } = row
    const record = recordOf(found)
    if (taken) return { outcome: 'acquired', record, now }
    const decision: AcquireDecision = decideAcquire(record, request, now)
    if (decision.record === record) return { ...decision, now }
    if (decision.outcome !== 'unknown') return undefined
    const { changed } = await ask('giveUp', [bytesOf(id), record.fence])
    return changed === 1 ? { ...decision, now } : undefined
  }

  return {
    async acquire(id, request) {
      for (let tries = 0; tries < MOST_RACES; tries++) {
        const answer = await tryToAcquire(id, request)
        if (answer) return answer
      }
      throw new HookonceError(
        'KEY_STORE_DOWN',
        `the key changed hands ${MOST_RACES} times while it was asked for`,
      )
    },
    async extend(id, fence, { lockMs, ttlMs }) {
      return (await ask('extend', [bytesOf(id), fence, lockMs, ttlMs])).changed === 1
    },
    async settle(id, fence, settlement) {
      return (await ask('settle', settleValues(id, fence, settlement))).changed === 1
    },
    async read(id) {
      const [row] = (await ask<RecordRow>('read', [bytesOf(id)])).rows
      return row && recordOf(row)
    },
    async sweep(limit) {
      return (await ask('sweep', [limit])).changed
    },
    steps: {
      async save(id, fence, name, result) {
        return (await ask('saveStep', [bytesOf(id), fence, name, Buffer.from(result)])).changed === 1
      },
      async load(id) {
        const [row] = (await ask<{ steps: Record<string, string> | null }>('loadSteps', [bytesOf(id)])).rows
        return new Map(
          Object.entries(row?.steps ?? {}).map(([name, text]) => [name, Buffer.from(text, 'base64')]),
        )
      },
    },
    pledges: {
      async save(id, { name, bytes }, { dueMs, ttlMs }) {
        await ask('savePledge', [bytesOf(id), name, Buffer.from(bytes), dueMs, ttlMs])
      },
      async due(name, limit, leaseMs) {
        return (await ask<DuePledge>('duePledges', [name, limit, leaseMs])).rows
      },
      async drop(id, name) {
        await ask('dropPledge', [bytesOf(id), name])
      },
    },
    async transaction<Value>(id: KeyId, fence: number, work: TransactionWork<ClientBase, Value>) {
      return inTransaction<TransactionEnd<Value>>(await pools.business(), async (client) => {
        const tx = whileOpen(client)
        const { value, completion } = await work(tx.client).finally(tx.close)
        if (!completion) return { commit: false, answer: { value, end: 'rolled back' } }
        const { rowCount } = await client.query(timed(query('settle', settleValues(id, fence, completion))))
        const commit = rowCount === 1
        return { commit, answer: { value, end: commit ? 'committed' : 'stale' } }
      })
    },
    close: () => pools.close(),
  }
}

/** Each race means that somebody else got on; ten in a row do not happen to one key by chance. */
const MOST_RACES = 10

type RecordRow = Omit<KeyRecord, 'result'> & { readonly result: Buffer | null }

function recordOf({ result, ...row }: RecordRow): KeyRecord {
  return { ...row, result: result ?? undefined }
}

function settleValues(
  id: KeyId,
  fence: number,
  settlement: Parameters<TransactionalKeyStore<unknown>['settle']>[2],
): unknown[] {
  const result = settlement.to === 'completed' ? Buffer.from(settlement.result) : null
  return [bytesOf(id), fence, settlement.to, result, settlement.ttlMs]
}

function bytesOf(id: KeyId): Buffer {
  return Buffer.from(id, 'hex')
}

/** Any fixed number: two processes that start at once make the table one after the other. */
const CREATION_LOCK = 0x6b_65_79_73

/** Makes the table of `postgresKeys`, for programs whose own user may not (`migrate: 'off'`). Two at once is safe. */
export async function ensurePostgresTable(
  options: Pick<PostgresKeysOptions, 'database' | 'table'>,
): Promise<void> {
  const { table, ...reaching } = check(optionsSchema, options, 'ensurePostgresTable()')
  const pools = openPools(reaching)
  try {
    await createTable(await pools.keys(), statements(table).create)
  } finally {
    await pools.close()
  }
}

async function createTable(pool: Pool, create: string): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [CREATION_LOCK])
    await client.query(create)
    return { commit: true, answer: undefined }
  })
}

async function inTransaction<Answer>(
  pool: Pool,
  work: (client: PoolClient) => Promise<{ commit: boolean; answer: Answer }>,
): Promise<Answer> {
  const client = await pool.connect()
  let broken: Error | undefined
  // Without a listener a connection that breaks in our hands would end the process.
  const onError = (error: Error): void => {
    broken = error
  }
  client.on('error', onError)
  async function end(text: 'commit' | 'rollback'): Promise<void> {
    try {
      await client.query(timed({ text }))
    } catch (error) {
      // Of a connection that did not say how it ended nothing more is asked: the server ends what is left open.
      broken = error instanceof Error ? error : new Error(String(error))
      throw error
    }
  }
  try {
    await client.query('begin')
    const { commit, answer } = await work(client)
    await end(commit ? 'commit' : 'rollback')
    return answer
  } catch (error) {
    // What went wrong first is what the caller must hear.
    if (!broken) await end('rollback').catch(() => undefined)
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}

/** A time limit for one query, which the types of pg leave out: the caller's pool may have none. */
function timed<Query extends QueryConfig>(query: Query): Query {
  return { ...query, query_timeout: ANSWER_TIMEOUT_MS }
}

// By shape: the caller's copy of pg may be another one than ours.
function isPool(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && 'connect' in value && 'query' in value && 'end' in value
  )
}
