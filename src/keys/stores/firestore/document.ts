import { z } from 'zod'
import { HOUR_MS } from '../../../model/durations.ts'
import { type KeyRecord, keyStates } from '../../record.ts'
import type { FirestoreSnapshot } from './client.ts'

/* A record and its steps as one document. After `ttl`, the server may delete the document. */
export interface StoredKey {
  readonly record: KeyRecord
  readonly steps: ReadonlyMap<string, Uint8Array>
}

const bytes = z.instanceof(Uint8Array)
const documentSchema = z.object({
  state: z.enum(keyStates),
  fence: z.int(),
  fingerprint: z.string(),
  holder: z.string(),
  after: z.enum(['nothing', 'release', 'crash']),
  lockedAt: z.int(),
  lockUntil: z.int(),
  expiresAt: z.int(),
  result: bytes.nullable(),
  // A list, because some names are reserved as field names.
  steps: z.array(z.object({ name: z.string(), result: bytes })),
})

/** The server deletes by its own clock. Without this margin it could delete a live record. */
const DELETED_LATER_MS = HOUR_MS

export function documentOf({ record, steps }: StoredKey): Record<string, unknown> {
  const { result, ...rest } = record
  return {
    ...rest,
    result: result === undefined ? null : Buffer.from(result),
    steps: [...steps].map(([name, result]) => ({ name, result: Buffer.from(result) })),
    ttl: new Date(record.expiresAt + DELETED_LATER_MS),
  }
}

export function storedKeyOf(snapshot: FirestoreSnapshot): StoredKey | undefined {
  const data = snapshot.data()
  if (data === undefined) return undefined
  const { steps, result, ...rest } = documentSchema.parse(data)
  return {
    record: { ...rest, result: result ?? undefined },
    steps: new Map(steps.map(({ name, result }) => [name, result])),
  }
}
