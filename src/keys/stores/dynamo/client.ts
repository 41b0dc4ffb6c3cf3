import type { GetItemInput, UpdateItemInput } from '@aws-sdk/client-dynamodb'
import { HookonceError } from '../../../model/errors.ts'
import { type Change, expressionsOf, type Item } from './item.ts'

/** A `DynamoDBClient` of @aws-sdk/client-dynamodb, by shape, so that anyone's copy will do. */
export interface DynamoLike {
  send(command: never): Promise<unknown>
  destroy(): void
}

/** What is asked of DynamoDB, over the caller's client or one of our own. */
export interface Dynamo {
  get(asked: GetItemInput): Promise<Item | undefined>
  /** Undefined when it was written; else what is there instead, where the server says so. */
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
  // By its shape it can send; whether it speaks with DynamoDB, its first answer tells.
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

// By name: the caller's copy of the client may be another one than ours.
export function isNamed(error: unknown, name: string): error is Error {
  return error instanceof Error && error.name === name
}

/** What waiting will not mend, in words that say what to do. */
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
