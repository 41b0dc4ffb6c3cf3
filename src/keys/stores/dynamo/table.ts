import type { z } from 'zod'
import { check, strict } from '../../../input/checked.ts'
import { connect, isNamed } from './client.ts'
import { dynamoTableFields } from './store.ts'

const optionsSchema = strict(dynamoTableFields)

export type DynamoTableOptions = z.input<typeof optionsSchema>

/** How long creating a table may take. A table billed per request is ready within seconds. */
const MAX_WAIT_SECONDS = 120

/**
 * Creates the table if it is missing, billed per request, and lets the server delete expired items.
 * Call it from a deployment script, with permissions that the application itself should not have.
 * You do not need it if you define the table elsewhere.
 */
export async function ensureDynamoTable(options: DynamoTableOptions = {}): Promise<void> {
  const { client: callerClient, table: TableName } = check(optionsSchema, options, 'ensureDynamoTable()')
  const { sdk, client, close } = await connect(callerClient)
  try {
    const create = new sdk.CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    })
    await unlessNamed(['ResourceInUseException'], client.send(create))
    await sdk.waitUntilTableExists({ client, maxWaitTime: MAX_WAIT_SECONDS }, { TableName })
    const { TimeToLiveDescription: ttl } = await client.send(new sdk.DescribeTimeToLiveCommand({ TableName }))
    if (ttl?.TimeToLiveStatus !== 'DISABLED') return
    const TimeToLiveSpecification = { AttributeName: 'ttl', Enabled: true }
    const expire = new sdk.UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification })
    // Another process was faster, or a local server does not support expiry.
    await unlessNamed(['ValidationException', 'UnknownOperationException'], client.send(expire))
  } finally {
    close()
  }
}

async function unlessNamed(names: readonly string[], call: Promise<unknown>): Promise<void> {
  try {
    await call
  } catch (error) {
    if (!names.some((name) => isNamed(error, name))) throw error
  }
}
