import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { DEFAULT_SCHEMA } from '../model/schema-name.ts'
import { migrateDatabase } from './migrate.ts'

/** A message of the server: its kind, its length, and what it holds. */
function message(kind: string, content: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(kind)
  head.writeInt32BE(content.length + 4, 1)
  return Buffer.concat([head, content])
}

const LOGGED_IN = message('R', Buffer.alloc(4))
const READY = message('Z', Buffer.from('I'))
const SHUTDOWN = message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0'))

test('a server that shuts down in the moment of the login fails a migration, and does not end the process', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(Buffer.concat([LOGGED_IN, READY, SHUTDOWN])))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  // Vitest reports an uncaught exception as an error of the run.
  await expect(migrateDatabase(`postgres://a@127.0.0.1:${port}/a`, DEFAULT_SCHEMA)).rejects.toThrow()
})
