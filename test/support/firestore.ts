import { FirestoreServer } from '@firestore-emulator/server'
import { Firestore } from '@google-cloud/firestore'
import { freePort } from './free-port.ts'

export interface FirestoreUnderTest {
  /** Whether its transactions are isolated from each other. */
  readonly isolates: boolean
  /** Clients of the official package, one per call. */
  client(): Firestore
  remove(): Promise<void>
}

// The official client would look for its cloud environment.
process.env.METADATA_SERVER_DETECTION = 'none'

/** The emulator of FIRESTORE_EMULATOR_HOST, or an implementation of the API in this process. */
export async function startFirestore(): Promise<FirestoreUnderTest> {
  const emulator = process.env.FIRESTORE_EMULATOR_HOST
  const own = emulator ? undefined : await startOwn()
  const host = emulator ?? own?.host ?? ''
  const clients: Firestore[] = []
  return {
    isolates: emulator !== undefined,
    client() {
      const client = new Firestore({ projectId: 'hookonce', host, ssl: false })
      clients.push(client)
      return client
    },
    async remove() {
      await Promise.all(clients.map((client) => client.terminate()))
      own?.server.stop()
    },
  }
}

async function startOwn() {
  const server = new FirestoreServer()
  const port = await freePort()
  await server.start(port)
  return { server, host: `127.0.0.1:${port}` }
}
