/**
 * A `DynamoDBClient` of @aws-sdk/client-dynamodb, by shape, so that any installed version works.
 * The declarations of `hookonce/keys` name no type of the SDK: most of its users have none.
 */
export interface DynamoLike {
  send(command: never): Promise<unknown>
  destroy(): void
}
