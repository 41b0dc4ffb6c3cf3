import { type DynamoDBClient, GetItemCommand, type UpdateItemInput } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keyStoreContract } from '../../src/keys/contract/index.ts'
import {
  dynamoKeys,
  ensureDynamoTable,
  type KeyEvent,
  type KeyStore,
  keyId,
  once,
} from '../../src/keys/index.ts'
import { type DynamoServer, startDynamo } from '../support/dynamo.ts'

let server: DynamoServer
let store: KeyStore
let answering: DynamoDBClient
beforeAll(async () => {
  server = await startDynamo()
  const client = server.client()
  // Creates two tables at once, like parallel deployments.
  await Promise.all([ensureDynamoTable({ client }), ensureDynamoTable({ client })])
  store = dynamoKeys({ client, skewMs: 100 })
  answering = sendingOldItems()
})
afterAll(() => server.remove())

/** Like DynamoDB itself: a refused write returns the existing item. The test server omits it. */
function sendingOldItems(): DynamoDBClient {
  const [client, reader] = [server.client(), server.client()]
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) =>
        next(args).catch(async (error) => {
          const { TableName, Key } = args.input as UpdateItemInput
          if (commandName !== 'UpdateItemCommand' || error.name !== 'ConditionalCheckFailedException')
            throw error
          const { Item } = await reader.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }))
          throw Object.assign(error, { Item })
        }),
    { step: 'initialize' },
  )
  return client
}

describe('the contract of key stores, in DynamoDB, where refusals do not say what stands', () => {
  for (const { name, run } of keyStoreContract(['steps'])) test(name, () => run(store))
})

describe('the contract of key stores, in DynamoDB, where refusals say what stands', () => {
  for (const { name, run } of keyStoreContract(['steps']))
    test(name, () => run(dynamoKeys({ client: answering, skewMs: 100 })))
})

test('a first run takes two requests, a replay one', async () => {
  const asked: string[] = []
  const client = sendingOldItems()
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        asked.push(String(commandName))
        return next(args)
      },
    { step: 'finalizeRequest' },
  )
  const counted = dynamoKeys({ client })
  await once(counted, 'counted', () => 1, { tenant: 'global' })
  expect(asked.splice(0)).toEqual(['UpdateItemCommand', 'UpdateItemCommand'])
  await once(counted, 'counted', () => 2, { tenant: 'global' })
  expect(asked).toEqual(['UpdateItemCommand'])
})

test('a fast clock does not take over a lock that is live by the other clocks', async () => {
  const id = keyId('global', 'skew')
  const client = server.client()
  let now = 1_900_000_000_000
  const request = { fingerprint: 'f', lockMs: 1_000, ttlMs: 9_000, onCrash: 'takeover' } as const
  const behind = dynamoKeys({ client, now: () => now, skewMs: 500 })
  const ahead = dynamoKeys({ client, now: () => now + 500, skewMs: 500 })
  const { record } = await behind.acquire(id, { ...request, holder: 'behind' })
  now += 999
  expect((await ahead.acquire(id, { ...request, holder: 'ahead' })).outcome).toBe('locked')
  expect((await behind.read(id))?.fence).toBe(record.fence)
  now += 1
  expect((await ahead.acquire(id, { ...request, holder: 'ahead' })).record.after).toBe('crash')
})

test('results up to the limit of an item are kept; options above it are refused', async () => {
  const options = { tenant: 'global', maxResultBytes: store.maxResultBytes ?? 0 }
  const large = 'x'.repeat(options.maxResultBytes - 2)
  await once(store, 'large', () => large, options)
  expect(await once(store, 'large', () => 'another', options)).toBe(large)
  let runs = 0
  const more = { ...options, maxResultBytes: options.maxResultBytes + 1 }
  await expect(once(store, 'larger', () => ++runs, more)).rejects.toThrow(/CONFIG_INVALID.*maxResultBytes/)
  expect(runs).toBe(0)
})

test('a step whose result does not fit into the item is reported, and done', async () => {
  const errors: unknown[] = []
  const observe = (event: KeyEvent) => void ('error' in event && errors.push(event.error))
  const options = { tenant: 'global', handler: 'resumable', observe } as const
  let began = 0
  const run = () =>
    once(
      store,
      'steps',
      async ({ step }) => {
        for (const name of ['one', 'two'])
          await step(name, () => {
            began++
            return 'x'.repeat(250 * 1024)
          })
        throw new Error('the network is down')
      },
      options,
    )
  await expect(run()).rejects.toThrow('the network is down')
  expect(errors[0]).toMatchObject({ code: 'STEP_RESULT_TOO_LARGE' })
  await expect(run()).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' })
  expect(began).toBe(2)
})

test('a missing table is reported with how to create it', async () => {
  const nowhere = dynamoKeys({ client: server.client(), table: 'nowhere' })
  await expect(once(nowhere, 'k', () => 1, { tenant: 'global' })).rejects.toThrow(/ensureDynamoTable/)
})

test('without a client it opens its own, from the environment, and closes it', async () => {
  const before = { ...process.env }
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_DYNAMODB: server.endpoint,
    AWS_REGION: 'local',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
  })
  const own = dynamoKeys()
  expect(await once(own, 'own', () => 1, { tenant: 'global' })).toBe(1)
  await own.close()
  process.env = before
})
