import type { ClientBase } from 'pg'
import type {
  KeyId,
  KeyStore,
  TransactionalKeyStore,
  TransactionEnd,
  TransactionLimits,
  TransactionWork,
} from '../keys/store.ts'
import { type PostgresKeysOptions, postgresKeys } from '../keys/stores/postgres/store.ts'

type Tx = ClientBase

/** Keys in a database that is opened at the first use. A failed opening is retried. */
export function ledgerKeys(open: () => Promise<PostgresKeysOptions>): TransactionalKeyStore<Tx> {
  let opening: Promise<TransactionalKeyStore<Tx>> | undefined
  function store(): Promise<TransactionalKeyStore<Tx>> {
    opening ??= open().then(postgresKeys, (error) => {
      opening = undefined
      throw error
    })
    return opening
  }
  async function steps(): Promise<NonNullable<KeyStore['steps']>> {
    const { steps } = await store()
    if (!steps) throw new Error('this store holds no steps')
    return steps
  }
  return {
    acquire: async (...args) => (await store()).acquire(...args),
    extend: async (...args) => (await store()).extend(...args),
    settle: async (...args) => (await store()).settle(...args),
    read: async (id) => (await store()).read(id),
    steps: {
      save: async (...args) => (await steps()).save(...args),
      load: async (id) => (await steps()).load(id),
    },
    async transaction<Value>(
      id: KeyId,
      fence: number,
      work: TransactionWork<Tx, Value>,
      limits?: TransactionLimits,
    ): Promise<TransactionEnd<Value>> {
      return (await store()).transaction(id, fence, work, limits)
    },
    async close() {
      await (await opening)?.close()
    },
  }
}
