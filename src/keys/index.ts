import '../supported-node.ts'

export {
  type Completable,
  type CompleteOptions,
  type CompleterEvent,
  type CompleterOptions,
  completeLeft,
  startCompleter,
} from './complete.ts'
export type {
  AcquireDecision,
  AcquireOutcome,
  AcquireRequest,
  Completion,
  Settlement,
} from './decide.ts'
export { decideAcquire, decideExtend, decideSettle, isExpired, isLockedBy } from './decide.ts'
export type { KeyEvent } from './events.ts'
export { keyContext } from './http/context.ts'
export { type FetchHandler, fetchKeys } from './http/fetch.ts'
export type { Reply } from './http/message.ts'
export { type NodeHandler, nodeKeys } from './http/node.ts'
export type { KeysOptions } from './http/options.ts'
export { type RequestsToOptions, requestsTo } from './http/pledged-request.ts'
export type { Spill } from './http/spill.ts'
export { keyId } from './identity.ts'
export {
  type OnceContext,
  type OnceOptions,
  once,
  type Reconciled,
  type TransactionalContext,
} from './once.ts'
export type { PledgedRequest } from './pledge.ts'
export type { HandlerKind } from './policy.ts'
export { type KeyRecord, type KeyState, keyStates } from './record.ts'
export { type Resumable, type ResumableOptions, resumable } from './resumable.ts'
export type { RunContext } from './run.ts'
export type { Step, StepContext } from './steps.ts'
export type {
  Acquired,
  DuePledge,
  KeyId,
  KeyPledges,
  KeySteps,
  KeyStore,
  Pledge,
  PledgeTimes,
  TransactionalKeyStore,
} from './store.ts'
export { type CachedKeysOptions, cachedKeys } from './stores/cached.ts'
export type { DynamoLike } from './stores/dynamo/dynamo-like.ts'
export { type DynamoKeysOptions, dynamoKeys } from './stores/dynamo/store.ts'
export { type DynamoTableOptions, ensureDynamoTable } from './stores/dynamo/table.ts'
export type {
  FirestoreDocument,
  FirestoreLike,
  FirestoreSnapshot,
  FirestoreTransaction,
} from './stores/firestore/client.ts'
export { type FirestoreKeysOptions, firestoreKeys } from './stores/firestore/store.ts'
export { type MemoryKeysOptions, memoryKeys } from './stores/memory.ts'
export { ensurePostgresTable, type PostgresKeysOptions, postgresKeys } from './stores/postgres/store.ts'
export type { IoredisLike, NodeRedisLike } from './stores/redis/client.ts'
export { type RedisKeysOptions, redisKeys } from './stores/redis/store.ts'
export { type Seal, sealedKeys } from './stores/sealed.ts'
