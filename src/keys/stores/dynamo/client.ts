import type { GetItemInput, UpdateItemInput } from '@aws-sdk/client-dynamodb'
import { HookonceError } from '../../../model/errors.ts'
import { type Change, expressionsOf, type Item } from './item.ts'

/**
 * A `DynamoDBClient` of @aws-sdk/client-dynamodb, by shape, so that any installed version works.
 */
export interface DynamoLike {
  send(command: never): Promise<unknown>
  destroy(): void
}

/** The DynamoDB operations of the store, with the caller's client or our own. */
export interface Dynamo {
  get(asked: GetItemInput): Promise<Item | undefined>
  /**
   * Returns undefined if the write succeeded. Otherwise returns the current item, if the server
   * sends it.
   */
  update(
    asked: Pick<UpdateItemInput, 'TableName' | 'Key'>,
    change: Change,
  ): Promise<{ readonly item: Item | undefined } | undefined>
  close(): void
}

type Sdk = typeof import('@aws-sdk/client-dynamodb')

interface Connection {
  readonly sdk: Sdk
  readonly client: InstanceType<Sdk['DynamoDBClient']>
  close(): void
}

export async function connect(theirs: DynamoLike | undefined): Promise<Connection> {
  const sdk = await import(/* webpackIgnore: true */ '@aws-sdk/client-dynamodb').catch((error) => {
    throw new HookonceError(
      'CLIENT_MISSING',
      'dynamoKeys() needs @aws-sdk/client-dynamodb: npm install @aws-sdk/client-dynamodb',
      { cause: error },
    )
  })
  // Its shape shows only that it can send. The first response shows whether it talks to DynamoDB.
  if (theirs) return { sdk, client: theirs as Connection['client'], close: () => undefined }
  const client = new sdk.DynamoDBClient({})
  return { sdk, client, close: () => client.destroy() }
}

export async function openDynamo(theirs: DynamoLike | undefined): Promise<Dynamo> {
  const { sdk, client, close } = await connect(theirs)
  return {
    async get(asked) {
      return (await client.send(new sdk.GetItemCommand(asked))).Item
    },
    async update(asked, change) {
      try {
        await client.send(
          new sdk.UpdateItemCommand({
            ...asked,
            ...expressionsOf(change),
            ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
          }),
        )
        return undefined
      } catch (error) {
        if (isNamed(error, 'ConditionalCheckFailedException'))
          return { item: 'Item' in error ? (error.Item as Item | undefined) : undefined }
        throw explained(error, change)
      }
    },
    close,
  }
}

// Compared by name, because the caller's copy of the SDK may not be ours.
export function isNamed(error: unknown, name: string): error is Error {
  return error instanceof Error && error.name === name
}

/** Replaces errors that a retry cannot fix by errors with advice. */
function explained(error: unknown, { step }: Change): unknown {
  if (isNamed(error, 'ResourceNotFoundException'))
    return new HookonceError(
      'CONFIG_INVALID',
      'dynamoKeys(): there is no such table; make one whose partition key is the string "id", or call ensureDynamoTable()',
      { cause: error },
    )
  if (step && isNamed(error, 'ValidationException') && /size/i.test(error.message))
    return new HookonceError(
      'STEP_RESULT_TOO_LARGE',
      `with what step "${step.name}" returned, the item would exceed the 400 KB that DynamoDB allows`,
      { cause: error },
    )
  return error
}
