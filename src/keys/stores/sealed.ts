import type { KeyRecord } from '../record.ts'
import {
  isTransactional,
  type KeyId,
  type KeyStore,
  type TransactionEnd,
  type TransactionLimits,
  type TransactionWork,
} from '../store.ts'
import { layerOver } from './layer.ts'

/**
 * Your encryption. Include `id` in the authenticated data, so that a result moved to another key
 * cannot be opened.
 */
export interface Seal {
  seal(bytes: Uint8Array, id: KeyId): Uint8Array | Promise<Uint8Array>
  open(bytes: Uint8Array, id: KeyId): Uint8Array | Promise<Uint8Array>
}

/** Wraps a store so that results and steps are stored encrypted. */
export function sealedKeys<Store extends KeyStore>(store: Store, { seal, open }: Seal): Store {
  const opened = async (id: KeyId, record: KeyRecord): Promise<KeyRecord> =>
    record.result === undefined ? record : { ...record, result: await open(record.result, id) }
  const { steps, pledges } = store
  const sealed: Partial<KeyStore> = {
    async acquire(id, request) {
      const acquired = await store.acquire(id, request)
      // The result of a different request is never decrypted.
      if (acquired.outcome !== 'completed')
        return { ...acquired, record: { ...acquired.record, result: undefined } }
      return { ...acquired, record: await opened(id, acquired.record) }
    },
    async settle(id, fence, settlement) {
      if (settlement.to !== 'completed') return store.settle(id, fence, settlement)
      return store.settle(id, fence, { ...settlement, result: await seal(settlement.result, id) })
    },
    async read(id) {
      const record = await store.read(id)
      return record && opened(id, record)
    },
    ...(steps === undefined
      ? {}
      : {
          steps: {
            save: async (id, fence, name, result) => steps.save(id, fence, name, await seal(result, id)),
            async load(id) {
              const kept = [...(await steps.load(id))]
              return new Map(
                await Promise.all(kept.map(async ([name, bytes]) => [name, await open(bytes, id)] as const)),
              )
            },
          },
        }),
    ...(pledges === undefined
      ? {}
      : {
          pledges: {
            drop: (id, name) => pledges.drop(id, name),
            save: async (id, { name, bytes }, times) =>
              pledges.save(id, { name, bytes: await seal(bytes, id) }, times),
            async due(name, limit, leaseMs) {
              const due = await pledges.due(name, limit, leaseMs)
              return Promise.all(due.map(async ({ id, bytes }) => ({ id, bytes: await open(bytes, id) })))
            },
          },
        }),
    ...(isTransactional(store)
      ? {
          transaction<Value>(
            id: KeyId,
            fence: number,
            work: TransactionWork<unknown, Value>,
            limits?: TransactionLimits,
          ): Promise<TransactionEnd<Value>> {
            const sealedWork: typeof work = async (tx) => {
              const { value, completion } = await work(tx)
              return {
                value,
                completion: completion && { ...completion, result: await seal(completion.result, id) },
              }
            }
            return store.transaction(id, fence, sealedWork, limits)
          },
        }
      : {}),
  }
  return layerOver(store, sealed)
}
