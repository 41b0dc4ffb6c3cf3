import { isTransactional, type KeyStore, type TransactionalKeyStore } from '../keys/store.ts'
import type { Host } from './faults.ts'

/** The store for one simulated process: a dead process gets no answer, and stores nothing. */
export function hostedStore(store: KeyStore, host: Host): KeyStore {
  const between = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    await host.alive()
    const result = await call()
    await host.alive()
    return result
  }
  const { steps, pledges } = store
  const hosted: KeyStore = {
    acquire: (id, request) => between(() => store.acquire(id, request)),
    extend: (id, fence, lock) => between(() => store.extend(id, fence, lock)),
    settle: (id, fence, settlement) =>
      between(async () => {
        await host.reach('write')
        return store.settle(id, fence, settlement)
      }),
    read: (id) => between(() => store.read(id)),
    ...(store.sweep ? { sweep: (limit) => between(async () => store.sweep?.(limit) ?? 0) } : {}),
    ...(steps
      ? {
          steps: {
            save: (id, fence, name, result) => between(() => steps.save(id, fence, name, result)),
            load: (id) => between(() => steps.load(id)),
          },
        }
      : {}),
    ...(pledges ? { pledges } : {}),
    ...(store.maxResultBytes === undefined ? {} : { maxResultBytes: store.maxResultBytes }),
    close: () => store.close(),
  }
  return isTransactional(store) ? withTransaction(hosted, store, host) : hosted
}

function withTransaction(
  hosted: KeyStore,
  store: TransactionalKeyStore<unknown>,
  host: Host,
): TransactionalKeyStore<unknown> {
  return {
    ...hosted,
    async transaction(id, fence, work, limits) {
      await host.alive()
      const end = await store.transaction(
        id,
        fence,
        async (tx) => {
          const done = await work(tx)
          await host.reach('write')
          return done
        },
        limits,
      )
      await host.alive()
      return end
    },
  }
}
