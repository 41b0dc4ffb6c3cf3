import type { GetItemInput, UpdateItemInput } from '@aws-sdk/client-dynamodb'
import { HookonceError } from '../../../model/errors.ts'
import type { DynamoLike } from './dynamo-like.ts'
import { type Change, expressionsOf, type Item } from './item.ts'

/** The DynamoDB operations of the store, with the caller's client or our own. */
export interface Dynamo {
  get(input: GetItemInput): Promise<Item | undefined>
  /**
   * Returns undefined if the write succeeded. Otherwise returns the current item, if the server
   * sends it.
   */
  update(
    input: Pick<UpdateItemInput, 'TableName' | 'Key'>,
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

export async function connect(callerClient: DynamoLike | undefined): Promise<Connection> {
  const sdk = await import(/* webpackIgnore: true */ '@aws-sdk/client-dynamodb').catch((error) => {
    throw new HookonceError(
      'CLIENT_MISSING',
      'dynamoKeys() needs @aws-sdk/client-dynamodb: npm install @aws-sdk/client-dynamodb',
      { cause: error },
    )
  })
  // Its shape shows only that it can send. The first response shows whether it is connected to
  // DynamoDB.
  if (callerClient) return { sdk, client: callerClient as Connection['client'], close: () => undefined }
  const client = new sdk.DynamoDBClient({})
  return { sdk, client, close: () => client.destroy() }
}

export async function openDynamo(callerClient: DynamoLike | undefined): Promise<Dynamo> {
  const { sdk, client, close } = await connect(callerClient)
  return {
    async get(input) {
      return (await client.send(new sdk.GetItemCommand(input))).Item
    },
    async update(input, change) {
      try {
        await client.send(
          new sdk.UpdateItemCommand({
            ...input,
            ...expressionsOf(change),
            ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
          }),
        )
        return undefined
      } catch (error) {
        if (isNamed(error, 'ConditionalCheckFailedException'))
          return { item: 'Item' in error ? (error.Item as Item | undefined) : undefined }
        throw withAdvice(error, change)
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
function withAdvice(error: unknown, { step }: Change): unknown {
  if (isNamed(error, 'ResourceNotFoundException'))
    return new HookonceError(
      'CONFIG_INVALID',
      'dynamoKeys(): the table does not exist; create one whose partition key is the string "id", or call ensureDynamoTable()',
      { cause: error },
    )
  if (step && isNamed(error, 'ValidationException') && /size/i.test(error.message))
    return new HookonceError(
      'STEP_RESULT_TOO_LARGE',
      `with the result of step "${step.name}", the item would exceed the 400 KB that DynamoDB allows`,
      { cause: error },
    )
  return error
}
