import { HookonceError } from '../../../model/errors.ts'

/*
 * What the store needs from a client, by shape, so that any installed version works.
 */
export interface FirestoreLike {
  collection(path: string): { doc(id: string): FirestoreDocument }
  /** Retries the work after a conflict, as the official client does. */
  runTransaction<Answer>(work: (tx: FirestoreTransaction) => Promise<Answer>): Promise<Answer>
  terminate(): Promise<void>
}

export interface FirestoreDocument {
  create(data: Record<string, unknown>): Promise<unknown>
  get(): Promise<FirestoreSnapshot>
}

export interface FirestoreTransaction {
  get(document: never): Promise<FirestoreSnapshot>
  set(document: never, data: Record<string, unknown>): unknown
}

export interface FirestoreSnapshot {
  data(): Record<string, unknown> | undefined
}

/** A gRPC status code. */
const ALREADY_EXISTS = 6

export function isAlreadyThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === ALREADY_EXISTS
}

export interface OpenFirestore {
  readonly client: FirestoreLike
  close(): Promise<void>
}

export async function openFirestore(callerClient: FirestoreLike | undefined): Promise<OpenFirestore> {
  if (callerClient) return { client: callerClient, close: async () => undefined }
  const { Firestore } = await import(/* webpackIgnore: true */ '@google-cloud/firestore').catch((error) => {
    throw new HookonceError(
      'CLIENT_MISSING',
      'firestoreKeys() needs @google-cloud/firestore: npm install @google-cloud/firestore, or pass your own `client`',
      { cause: error },
    )
  })
  const client = new Firestore()
  return { client, close: () => client.terminate() }
}
