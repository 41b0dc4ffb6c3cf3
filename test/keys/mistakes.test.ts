import { afterAll, beforeAll } from 'vitest'
import { dynamoKeys, ensureDynamoTable, firestoreKeys, memoryKeys, redisKeys } from '../../src/keys/index.ts'
import { type DynamoServer, startDynamo } from '../support/dynamo.ts'
import { type FirestoreUnderTest, startFirestore } from '../support/firestore.ts'
import { describeMistakes } from '../support/key-mistakes.ts'
import { type RedisServer, startRedis } from '../support/redis.ts'

let redis: RedisServer
let dynamo: DynamoServer
let firestore: FirestoreUnderTest
beforeAll(async () => {
  ;[redis, dynamo, firestore] = await Promise.all([startRedis(), startDynamo(), startFirestore()])
  await ensureDynamoTable({ client: dynamo.client() })
})
afterAll(() => Promise.all([redis.remove(), dynamo.remove(), firestore.remove()]))

describeMistakes([
  { name: 'memory', open: () => memoryKeys() },
  { name: 'Redis', open: () => redisKeys({ url: redis.url }) },
  { name: 'DynamoDB', open: () => dynamoKeys({ client: dynamo.client(), skewMs: 0 }) },
  { name: 'Firestore', open: () => firestoreKeys({ client: firestore.client(), skewMs: 0 }) },
])
