import type { ClientBase, Pool } from 'pg'
import { z } from 'zod'
import { check, strict } from '../../../input/checked.ts'
import { HookonceError } from '../../../model/errors.ts'
import { type AcquireDecision, type AcquireRequest, decideAcquire } from '../../decide.ts'
import { digest } from '../../identity.ts'
import type { KeyRecord } from '../../record.ts'
import type {
  Acquired,
  DuePledge,
  KeyId,
  TransactionalKeyStore,
  TransactionEnd,
  TransactionLimits,
  TransactionWork,
} from '../../store.ts'
import { openPools, type Pools } from './pools.ts'
import { statements } from './statements.ts'
import { createTable, findTable } from './table.ts'
import { clientWhileOpen, inTransaction, timed } from './transaction.ts'

const optionsSchema = strict({
  database: z.union(
    [
      z.string().regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// (is DATABASE_URL set?)'),
      z.custom<Pool>(isPool),
    ],
    { error: 'must be a postgres:// URL or a pg.Pool' },
  ),
  /** Created if it is missing. */
  table: z
    .string()
    .regex(/^([a-z_][a-z0-9_]*\.)?[a-z_][a-z0-9_]*$/, 'must be a name such as keys or myschema.keys')
    .default('hookonce_key'),
  /** `off`: you create the table. */
  migrate: z.enum(['auto', 'off']).default('auto'),
  /** `off` behind a pooler in transaction mode, which loses prepared statements. */
  prepare: z.enum(['on', 'off']).default('on'),
  /** Connections that read and write keys. Transactions of handlers use other connections. */
  maxConnections: z.int().positive().default(10),
})

export type PostgresKeysOptions = z.input<typeof optionsSchema>

/**
 * Keys in a table of PostgreSQL 14 or later. The only store that supports transactional handlers.
 */
export function postgresKeys(options: PostgresKeysOptions): TransactionalKeyStore<ClientBase> {
  const { table, migrate, prepare, ...connection } = check(optionsSchema, options, 'postgresKeys()')
  const pools: Pools = openPools(connection)
  let ready: Promise<ReadyTable> | undefined

  async function open(): Promise<ReadyTable> {
    const pool = await pools.keys()
    const name = await (migrate === 'auto' ? createTable(pool, table) : findTable(pool, table))
    return { name, sql: statements(name) }
  }
  async function query(verb: Verb, values: unknown[]) {
    ready ??= open()
    const { name, sql } = await ready.catch((error) => {
      ready = undefined
      throw error
    })
    return {
      text: sql[verb],
      values,
      // The table is part of the name, because two stores may share a connection.
      ...(prepare === 'on' ? { name: statementName(verb, name) } : {}),
    }
  }

  async function execute<Row extends object>(
    verb: Verb,
    values: unknown[],
  ): Promise<{ rows: Row[]; changed: number }> {
    const statement = await query(verb, values)
    const { rows, rowCount } = await (await pools.keys()).query<Row>(statement)
    return { rows, changed: rowCount ?? 0 }
  }

  async function tryToAcquire(id: KeyId, request: AcquireRequest): Promise<Acquired | undefined> {
    const { fingerprint, holder, lockMs, ttlMs, onCrash } = request
    const values = [bytesOf(id), fingerprint, holder, lockMs, ttlMs, onCrash === 'takeover']
    const [row] = (await execute<RecordRow & { taken: boolean; now: number }>('acquire', values)).rows
    if (!row) return undefined
    const { taken, now, ...found } = row
    const record = recordOf(found)
    if (taken) return { outcome: 'acquired', record, now }
    const decision: AcquireDecision = decideAcquire(record, request, now)
    if (decision.record === record) return { ...decision, now }
    if (decision.outcome !== 'unknown') return undefined
    const { changed } = await execute('giveUp', [bytesOf(id), record.fence])
    return changed === 1 ? { ...decision, now } : undefined
  }

  return {
    async acquire(id, request) {
      for (let tries = 0; tries < MAX_RACES; tries++) {
        const answer = await tryToAcquire(id, request)
        if (answer) return answer
      }
      throw new HookonceError(
        'KEY_STORE_DOWN',
        `other runs changed the key ${MAX_RACES} times while this one tried to acquire it`,
      )
    },
    async extend(id, fence, { lockMs, ttlMs }) {
      return (await execute('extend', [bytesOf(id), fence, lockMs, ttlMs])).changed === 1
    },
    async settle(id, fence, settlement) {
      return (await execute('settle', settleValues(id, fence, settlement))).changed === 1
    },
    async read(id) {
      const [row] = (await execute<RecordRow>('read', [bytesOf(id)])).rows
      return row && recordOf(row)
    },
    async sweep(limit) {
      return (await execute('sweep', [limit])).changed
    },
    steps: {
      async save(id, fence, name, result) {
        return (await execute('saveStep', [bytesOf(id), fence, name, Buffer.from(result)])).changed === 1
      },
      async load(id) {
        const [row] = (await execute<{ steps: Record<string, string> | null }>('loadSteps', [bytesOf(id)]))
          .rows
        return new Map(
          Object.entries(row?.steps ?? {}).map(([name, text]) => [name, Buffer.from(text, 'base64')]),
        )
      },
    },
    pledges: {
      async save(id, { name, bytes }, { dueMs, ttlMs }) {
        await execute('savePledge', [bytesOf(id), name, Buffer.from(bytes), dueMs, ttlMs])
      },
      async due(name, limit, leaseMs) {
        return (await execute<DuePledge>('duePledges', [name, limit, leaseMs])).rows
      },
      async drop(id, name) {
        await execute('dropPledge', [bytesOf(id), name])
      },
    },
    async transaction<Value>(
      id: KeyId,
      fence: number,
      work: TransactionWork<ClientBase, Value>,
      limits?: TransactionLimits,
    ) {
      return inTransaction<TransactionEnd<Value>>(
        await pools.business(),
        async (client, notes) => {
          const tx = clientWhileOpen(client, notes)
          const { value, completion } = await work(tx.client).finally(tx.close)
          if (!completion) return { commit: false, answer: { value, end: 'rolled back' } }
          const settleQuery = await query('settle', settleValues(id, fence, completion))
          const { rowCount } = await client.query(timed(settleQuery))
          const commit = rowCount === 1
          return { commit, answer: { value, end: commit ? 'committed' : 'stale' } }
        },
        limits,
      )
    },
    close: () => pools.close(),
  }
}

type Verb = keyof ReturnType<typeof statements>

/** Known once the table exists. */
interface ReadyTable {
  /** Qualified with its schema. */
  readonly name: string
  readonly sql: ReturnType<typeof statements>
}

/** pg warns about longer names. */
const MAX_NAME_LENGTH = 63

function statementName(verb: Verb, table: string): string {
  const name = `hookonce ${verb} ${table}`
  return name.length <= MAX_NAME_LENGTH ? name : `hookonce ${verb} ${digest([table]).slice(0, 32)}`
}

/** Each lost race means that another client made progress. Ten in a row do not happen by chance. */
const MAX_RACES = 10

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

/**
 * Creates the table of `postgresKeys`, for programs whose own user may not (`migrate: 'off'`). Safe
 * to run concurrently.
 */
export async function ensurePostgresTable(
  options: Pick<PostgresKeysOptions, 'database' | 'table'>,
): Promise<void> {
  const { table, ...connection } = check(optionsSchema, options, 'ensurePostgresTable()')
  const pools = openPools(connection)
  try {
    await createTable(await pools.keys(), table)
  } finally {
    await pools.close()
  }
}

// Checked by shape, because the caller's copy of pg may not be ours.
function isPool(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && 'connect' in value && 'query' in value && 'end' in value
  )
}
