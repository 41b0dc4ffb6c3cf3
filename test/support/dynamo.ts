import type { AddressInfo } from 'node:net'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import dynalite from 'dynalite'

export interface DynamoServer {
  readonly endpoint: string
  /** Clients of the official package, one per call. */
  client(): DynamoDBClient
  remove(): Promise<void>
}

/** An implementation of DynamoDB's API in this process, in memory. */
export async function startDynamo(): Promise<DynamoServer> {
  const server = dynalite({ createTableMs: 0 })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clients: DynamoDBClient[] = []
  return {
    endpoint,
    client() {
      const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
      const client = new DynamoDBClient({ endpoint, region: 'local', credentials })
      clients.push(client)
      return client
    },
    async remove() {
      for (const client of clients) client.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
