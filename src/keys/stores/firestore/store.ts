import { z } from 'zod'
import { check, strict } from '../../../input/checked.ts'
import { decideAcquire, decideExtend, decideSettle, isExpired, isLockedBy } from '../../decide.ts'
import type { KeyId, KeyStore } from '../../store.ts'
import { clientClock, unexpiredLock } from '../client-clock.ts'
import {
  type FirestoreDocument,
  type FirestoreLike,
  isAlreadyThere,
  type OpenFirestore,
  openFirestore,
} from './client.ts'
import { documentOf, type StoredKey, storedKeyOf } from './document.ts'

const optionsSchema = strict({
  /** Your client. Without it, a new client reads project and credentials from the environment. */
  client: z
    .custom<FirestoreLike>(
      (value) => typeof value === 'object' && value !== null && 'runTransaction' in value,
      { error: 'must be a Firestore of @google-cloud/firestore' },
    )
    .optional(),
  collection: z
    .string()
    .regex(/^[^/]+(\/[^/]+\/[^/]+)*$/, 'must be the path of a collection')
    .default('hookonce_key'),
  ...clientClock,
})

export type FirestoreKeysOptions = z.input<typeof optionsSchema>

/** Firestore limits a document to 1 MiB. This leaves 64 KiB for everything except the result. */
const MAX_RESULT_BYTES = (1024 - 64) * 1024

/**
 * Keys in a Firestore collection. Times come from the clients, whose clocks must agree to within
 * `skewMs`. A new key is written with `create()`, which only one client can win. Later changes use
 * a transaction.
 */
export function firestoreKeys(options: FirestoreKeysOptions = {}): KeyStore {
  const {
    client: callerClient,
    collection,
    skewMs,
    now: clock,
  } = check(optionsSchema, options, 'firestoreKeys()')
  let opened: Promise<OpenFirestore> | undefined
  async function firestore(): Promise<FirestoreLike> {
    opened ??= openFirestore(callerClient)
    return (await opened).client
  }
  async function documentAt(id: KeyId): Promise<FirestoreDocument> {
    return (await firestore()).collection(collection).doc(id)
  }

  async function live(id: KeyId): Promise<StoredKey | undefined> {
    const stored = storedKeyOf(await (await documentAt(id)).get())
    return stored && !isExpired(stored.record, clock()) ? stored : undefined
  }

  /** Writes the record that `next` returns, unless it is undefined or unchanged. */
  async function change<Answer>(
    id: KeyId,
    next: (before: StoredKey | undefined, now: number) => { after: StoredKey | undefined; answer: Answer },
  ): Promise<Answer> {
    const document = await documentAt(id)
    return (await firestore()).runTransaction(async (tx) => {
      // The document's type belongs to the client that it comes from.
      const before = storedKeyOf(await tx.get(document as never))
      const { after, answer } = next(before, clock())
      if (after && after.record !== before?.record) tx.set(document as never, documentOf(after))
      return answer
    })
  }
  function changed(
    id: KeyId,
    next: (before: StoredKey | undefined, now: number) => StoredKey | undefined,
  ): Promise<boolean> {
    return change(id, (before, now) => {
      const after = next(before, now)
      return { after, answer: after !== undefined }
    })
  }

  return {
    async acquire(id, requested) {
      const request = unexpiredLock(requested, skewMs)
      const document = await documentAt(id)
      const now = clock()
      // Most keys are new, so try a write first that succeeds only for a new key.
      const first = decideAcquire(undefined, request, now, skewMs)
      try {
        await document.create(documentOf({ record: first.record, steps: NO_STEPS }))
        return { ...first, now }
      } catch (error) {
        if (!isAlreadyThere(error)) throw error
      }
      // A read needs no transaction.
      const seen = storedKeyOf(await document.get())?.record
      const decision = decideAcquire(seen, request, now, skewMs)
      if (decision.record === seen) return { ...decision, now }
      return change(id, (before, now) => {
        const { outcome, record } = decideAcquire(before?.record, request, now, skewMs)
        const isNewLife = record.after === 'nothing' && record.fence !== before?.record.fence
        const steps = isNewLife ? NO_STEPS : (before?.steps ?? NO_STEPS)
        return { after: { record, steps }, answer: { outcome, record, now } }
      })
    },
    extend: (id, fence, lock) =>
      changed(id, (before, now) => {
        const record = decideExtend(before?.record, fence, unexpiredLock(lock, skewMs), now)
        return record && before && { ...before, record }
      }),
    settle: (id, fence, settlement) =>
      changed(id, (before, now) => {
        const record = decideSettle(before?.record, fence, settlement, now)
        return record && before && { steps: record.state === 'completed' ? NO_STEPS : before.steps, record }
      }),
    read: async (id) => (await live(id))?.record,
    steps: {
      save: (id, fence, name, result) =>
        changed(id, (before, now) => {
          if (!before || !isLockedBy(before.record, fence, now)) return undefined
          return { record: { ...before.record }, steps: new Map(before.steps).set(name, result) }
        }),
      load: async (id) => (await live(id))?.steps ?? NO_STEPS,
    },
    maxResultBytes: MAX_RESULT_BYTES,
    async close() {
      const closing = opened
      opened = undefined
      if (closing) await (await closing).close()
    },
  }
}

const NO_STEPS: StoredKey['steps'] = new Map()
